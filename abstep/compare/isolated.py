"""Isolated durations from nccl-tests output, shown beside concurrent ones, never in their place (SEMANTICS 6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abstep.errors import AbstepError

if TYPE_CHECKING:
    from pathlib import Path

    from abstep.measure.arrays import Floats

KINDS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "all_to_all": "all_to_all",
    "broadcast": "broadcast",
    "sendrecv": "send_recv",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
}
STARTING = re.compile(r"Collective test starting:\s*(\w+?)_perf")
ROW = re.compile(r"^\s*(\d+)\s+\d+\s+\w+\s+\S+\s+-?\d+\s+([\d.]+)\s+[\d.]+\s+[\d.]+")
LARGEST_FILE = 8_000_000


@dataclass(frozen=True)
class Isolated:
    """What a collective takes alone, by message size.

    Attributes:
        collective: its kind.
        sizes: (k,) bytes S, ascending.
        times: (k,) ns, out of place.

    """

    collective: str
    sizes: Floats
    times: Floats

    def at(self, size: Floats) -> Floats:
        """Return the duration at each size, ns, straight in log-log between measured sizes; NaN outside them."""
        with np.errstate(divide="ignore"):
            found = np.exp(np.interp(np.log(size), np.log(self.sizes), np.log(self.times)))
        return np.where((size >= self.sizes[0]) & (size <= self.sizes[-1]), found, np.nan)


def read_isolated(path: Path) -> Isolated:
    """Read what all_reduce_perf and its kin print.

    Raises:
        AbstepError: the file cannot be read, names no collective or holds no measured row.

    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise AbstepError(
                f"--isolated {path}: too large for nccl-tests output", "give the text one test printed"
            )
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise AbstepError(
            f"--isolated {path}: cannot be read ({error.strerror})", "give nccl-tests output"
        ) from None
    rows = [(int(found[1]), float(found[2])) for line in text.splitlines() if (found := ROW.match(line))]
    measured = {size: time for size, time in rows if size > 0 and time > 0}
    if not measured:
        raise AbstepError(
            f"--isolated {path}: no row of nccl-tests output", "give what all_reduce_perf or its kin printed"
        )
    sizes = sorted(measured)
    return Isolated(
        _kind(path, text),
        np.array(sizes, dtype=np.float64),
        np.array([measured[size] * 1e3 for size in sizes], dtype=np.float64),
    )


def _kind(path: Path, text: str) -> str:
    """Which collective the test ran: what the output says, else the file's name."""
    said = STARTING.search(text)
    for name in sorted(KINDS, key=len, reverse=True):
        if (said and said[1] == name) or (said is None and name in path.name.lower()):
            return KINDS[name]
    raise AbstepError(
        f"--isolated {path}: does not say which collective was measured",
        "keep the test's name in the file's name, e.g. all_reduce_perf.txt",
    )
