"""What kernels take of the device, as recorded at their launch: one row for each distinct way of launching.

Kernels repeat a handful of launch configurations, so a span keeps only the number of its row. Nothing is
computed here that the recorder did not write, but for the products of its grid and block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from abstep.trace.tables import RESOURCES, frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

#: Grid, block, registers per thread, shared memory, estimated occupancy: raw JSON as recorded, empty where missing.
Recorded = tuple[bytes, bytes, bytes, bytes, bytes]
NOTHING: Recorded = (b"", b"", b"", b"", b"")
#: A recorder rounds occupancy to whole percent; a kernel that takes this share of the device cannot have rounded to 0.
_SURELY_SHOWN = 0.01
_INT32 = 2**31


def resource_table(recorded: Iterable[Recorded], device: Mapping[str, Any]) -> pl.DataFrame:
    """Return tables.RESOURCES, one row a distinct launch configuration, in the order of their numbers.

    Args:
        recorded: the configurations; the first is that of kernels without any.
        device: the device's entry of deviceProperties; empty where not recorded.

    """
    columns: dict[str, list[Any]] = {name: [] for name in RESOURCES}
    for number, (grid, block, registers, shared, occupancy) in enumerate(recorded):
        if not number:
            continue
        blocks, threads = _product(grid), _product(block)
        columns["resource"].append(number)
        columns["blocks"].append(blocks)
        columns["threads"].append(threads)
        columns["registers"].append(_count(registers))
        columns["shared_bytes"].append(_count(shared))
        columns["occupancy_pct"].append(_occupancy(_number(occupancy), blocks, threads, device))
    return frame(columns, RESOURCES)


def _occupancy(
    percent: float | None, blocks: int | None, threads: int | None, device: Mapping[str, Any]
) -> float | None:
    """Return the recorder's estimate; None where it says that it could not make one.

    Its calculator's failure is recorded as a negative number, and a kernel for which it finds no room (shared
    memory beyond the default limit, as NCCL's kernels opt in to) as 0, although that kernel ran.
    """
    if percent is None or not 0 <= percent <= 100:
        return None
    processors, most = (_positive(device.get(key)) for key in ("numSms", "maxThreadsPerMultiprocessor"))
    if percent == 0 and None not in (blocks, threads, processors, most):
        share = blocks * threads / (processors * most)  # type: ignore[operator] # none of them is null
        if share >= _SURELY_SHOWN:
            return None
    return percent


def _product(raw: bytes) -> int | None:
    """Return the product of a grid or block, recorded as a list or as the text of one; None for anything else."""
    parts = [part.strip() for part in raw.strip(b'"[] \n\t').split(b",")]
    if not all(part.isdigit() and len(part) < 10 for part in parts):
        return None
    product = 1
    for part in parts:
        product *= int(part)
    return product if product < _INT32 else None


def _number(raw: bytes) -> float | None:
    try:
        value = msgspec.json.decode(raw.strip(b'"')) if raw else None
    except (msgspec.DecodeError, RecursionError):
        return None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _count(raw: bytes) -> int | None:
    value = _number(raw)
    return int(value) if value is not None and 0 <= value < _INT32 and value == int(value) else None


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
