"""Which files of a run are in the store already: by content, not by path or time."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abstep.errors import TraceError
from abstep.store.parallel import cores
from abstep.trace import kinds
from abstep.trace.detect import READER_VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from abstep.store.layout import RunLayout


@dataclass(frozen=True)
class Found:
    """One trace file of a run.

    Attributes:
        repeat: number of its repeat in the layout.
        path: where it is.
        size: bytes on disk.
        content: what identifies its content and how it is read.

    """

    repeat: int
    path: Path
    size: int
    content: str


def identify(layout: RunLayout) -> list[Found | tuple[Path, TraceError]]:
    """Return the run's files in order, or what is wrong with one."""
    places = [(number, path) for number, repeat in enumerate(layout.repeats) for path in repeat.files]
    version = f"{READER_VERSION}-{kinds.load().identity}"

    def one(place: tuple[int, Path]) -> Found | tuple[Path, TraceError]:
        number, path = place
        try:
            size, digest = _digest(path)
        except OSError as error:
            return path, TraceError(f"{path}: cannot be read ({error.strerror})", "check its permissions")
        return Found(number, path, size, f"{digest}-{version}")

    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(one, places))


def _digest(path: Path) -> tuple[int, str]:
    digest = hashlib.blake2b(digest_size=20)
    size = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
            size += len(block)
    return size, digest.hexdigest()
