"""Names of collectives, sizes of types, and bytes of a message, from what recorders write."""

from __future__ import annotations

import json
import re

#: Searched in this order in a name without case, underscores and hyphens.
_KINDS = (
    ("reducescatter", "reduce_scatter"),
    ("allreduce", "all_reduce"),
    ("crossdevicereduce", "all_reduce"),
    ("allgather", "all_gather"),
    ("alltoall", "all_to_all"),
    ("broadcast", "broadcast"),
    ("barrier", "barrier"),
    ("sendrecv", "send_recv"),
    ("coalesced", "unknown"),
    ("isend", "send"),
    ("irecv", "recv"),
    ("send", "send"),
    ("recv", "recv"),
    ("allshot", "all_reduce"),
    ("gather", "gather"),
    ("scatter", "scatter"),
    ("reduce", "reduce"),
    ("memcpy", "send_recv"),
)
_REDUCTIONS = re.compile(r"_(Sum|Avg|SumPostDiv|PreMulSum|Max|Min|MinMax|Prod)(?=_|\(|$)")
_DIGITS = 10
_MOST_BYTES = 2**50
"""More than any message has; sums of many such stay within the tables' integers."""
_SIZES = {
    "float": 4,
    "float32": 4,
    "double": 8,
    "float64": 8,
    "half": 2,
    "float16": 2,
    "bfloat16": 2,
    "long": 8,
    "longint": 8,
    "int64": 8,
    "int": 4,
    "int32": 4,
    "short": 2,
    "int16": 2,
    "byte": 1,
    "uint8": 1,
    "unsignedchar": 1,
    "char": 1,
    "signedchar": 1,
    "int8": 1,
    "bool": 1,
    "complexfloat": 8,
    "complexdouble": 16,
}


def collective_of(text: str) -> str:
    """Return a collective's kind from any name for it: metadata, range, operator or kernel."""
    plain = re.sub(r"[\s_\-]", "", text.split("(", maxsplit=1)[0]).lower()
    for part, kind in _KINDS:
        if part in plain:
            return kind
    return "unknown"


def reduction_of(kernel: str) -> str | None:
    """Return the reduction an NCCL kernel's name carries."""
    if "Reduce" not in kernel:
        return None
    found = _REDUCTIONS.search(kernel)
    if found is None:
        return None
    return {"SumPostDiv": "avg", "PreMulSum": "sum"}.get(found.group(1), found.group(1).lower())


def peer_of(kind: str, raw: bytes | None) -> int | None:
    """Return the rank within its group that a collective's record names; null where it names none.

    Recorders write one `Rank`: the root of a rooted collective, the other side of a send or recv, and of every
    other kind only the rank that records.
    """
    named = kind in ("broadcast", "reduce", "gather", "scatter", "send", "recv")
    return small_int(int(raw)) if named and raw and raw.isdigit() and len(raw) <= _DIGITS else None


def small_int(value: object) -> int | None:
    """Return a count or rank that the tables can hold; null for anything else."""
    return value if type(value) is int and 0 <= value < 2**31 else None


def message_bytes(elements: int | None, dtype: str | None) -> int | None:
    """Return the bytes of a message; null where its elements or their type are not known, or beyond belief."""
    width = bytes_of_type(dtype) if dtype else None
    whole = elements * width if elements is not None and width is not None else None
    return whole if whole is not None and 0 <= whole < _MOST_BYTES else None


def bytes_of_type(dtype: str) -> int | None:
    """Return the bytes of one element; null for a type not known."""
    plain = re.sub(r"^(c10::|at::|torch\.)|[\s_]", "", dtype).lower()
    if plain.startswith("float8"):
        return 1
    return _SIZES.get(plain)


def message_elements(
    kind: str, in_nelems: int | None, out_nelems: int | None, group_size: int | None
) -> int | None:
    """Return the elements of S in the bus-bandwidth formula of that kind (SEMANTICS 4)."""
    if in_nelems is None and out_nelems is None:
        return None
    into, out = in_nelems or 0, out_nelems or 0
    if kind == "all_gather":
        return out or (into * group_size if group_size else None)
    if kind == "reduce_scatter":
        return into or (out * group_size if group_size else None)
    if kind in ("gather", "scatter"):
        small, large = sorted((into, out))
        return large if small else (large * group_size if group_size else None)
    if kind == "recv":
        return out or into
    if kind in ("all_to_all", "send", "all_reduce", "reduce"):
        return into or out
    return max(into, out)


def element_counts(dims: bytes) -> list[int]:
    """Return the elements of each leading tensor argument of recorded `Input Dims`, lists of tensors summed."""
    try:
        value = json.loads(dims)
    except ValueError:
        return []
    counts: list[int] = []
    for argument in value if isinstance(value, list) else []:
        count = _count(argument)
        if count is None:
            break
        counts.append(count)
    return counts


def _count(value: object) -> int | None:
    if not isinstance(value, list) or not value:
        return None
    if all(isinstance(part, int) for part in value):
        product = 1
        for part in value:
            product *= part
        return product
    counts = [_count(part) for part in value]
    return sum(count for count in counts if count is not None) if any(c is not None for c in counts) else None


def first_type(types: bytes) -> str | None:
    """Return the element type of the first argument of recorded `Input type`; null when it is not said."""
    try:
        value = json.loads(types)
    except ValueError:
        return None
    if isinstance(value, list) and value and isinstance(value[0], str) and bytes_of_type(value[0]):
        return re.sub(r"^c10::", "", value[0])
    return None


def ranks_text(raw: bytes) -> str | None:
    """Return '0,1,2,3' from recorded `Process Group Ranks`; null when it is cut short by the recorder."""
    text = raw.decode("utf-8", "replace").strip().strip('"').strip()
    if not text.startswith("[") or not text.endswith("]") or "..." in text:
        return None
    ranks = [part.strip() for part in text[1:-1].split(",")]
    known = all(part.isascii() and part.isdigit() and len(part) <= _DIGITS for part in ranks)
    return ",".join(ranks) if known and all(int(part) < 2**31 for part in ranks) else None
