"""Which rank each trace file of a repeat is (SEMANTICS 1)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abstep.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Sequence

_IN_NAME = re.compile(r"(?:rank|worker)[-_]?(\d+)", re.IGNORECASE)
_MOST = 100_000


@dataclass(frozen=True)
class RankFile:
    """What decides a file's rank.

    Attributes:
        path: as the user would name it.
        name: its file name.
        rank: what its content says; null when it does not.
        start, end: first and last time of its activities, ns.

    """

    path: str
    name: str
    rank: int | None
    start: int
    end: int


def ranks_of(files: Sequence[RankFile]) -> tuple[list[int], bool]:
    """Return each file's rank, and whether they had to be guessed from the files' order.

    Raises:
        TraceError: two files claim one rank and overlap in time.

    """
    claimed = [file.rank if file.rank is not None and file.rank >= 0 else None for file in files]
    _refuse_overlap(files, claimed)
    if any(rank is None for rank in claimed):
        named = [
            _in_name(file.name) if rank is None else rank for file, rank in zip(files, claimed, strict=True)
        ]
        if any(rank is None for rank in named) or not _distinct(files, named):
            if all(rank is None for rank in claimed):
                return list(range(len(files))), True
            return _filled(claimed), True
        claimed = named
    _refuse_overlap(files, claimed)
    return [rank for rank in claimed if rank is not None], False


def _refuse_overlap(files: Sequence[RankFile], claimed: Sequence[int | None]) -> None:
    if (pair := _overlapping(files, claimed)) is not None:
        first, second, rank = pair
        raise TraceError(
            f"{first.path} and {second.path} are both rank {rank} and overlap in time",
            "keep one capture of each rank in a directory",
        )


def _in_name(name: str) -> int | None:
    found = _IN_NAME.search(name)
    return int(found.group(1)) if found and int(found.group(1)) < _MOST else None


def _distinct(files: Sequence[RankFile], ranks: Sequence[int | None]) -> bool:
    """Return whether the numbers tell the files apart: all differ, or those of one number follow in time."""
    counts = Counter(ranks)
    if len(counts) == len(files):
        return True
    return len(counts) > 1 and _overlapping(files, ranks) is None


def _overlapping(
    files: Sequence[RankFile], ranks: Sequence[int | None]
) -> tuple[RankFile, RankFile, int] | None:
    last: dict[int, RankFile] = {}
    order = sorted(range(len(files)), key=lambda index: (files[index].start, files[index].end))
    for index in order:
        rank = ranks[index]
        if rank is None:
            continue
        before = last.get(rank)
        if before is not None and files[index].start < before.end:
            return before, files[index], rank
        if before is None or files[index].end > before.end:
            last[rank] = files[index]
    return None


def _filled(claimed: Sequence[int | None]) -> list[int]:
    """Give the files that say nothing the free ranks, in order."""
    taken = {rank for rank in claimed if rank is not None}
    free = (rank for rank in range(len(claimed) + len(taken) + 1) if rank not in taken)
    return [next(free) if rank is None else rank for rank in claimed]
