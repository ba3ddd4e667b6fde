"""Picks the reader of a trace file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abstep.trace.kineto import read_kineto

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from abstep.trace.tables import FileTables

#: Changes when the same file would give other tables, so that stored ones are read again.
READER_VERSION = 3


def read_trace(path: Path, on_bytes: Callable[[int], None] | None = None) -> FileTables:
    """Return one trace file as tables; plain or gzipped is told by its content.

    Args:
        path: the file.
        on_bytes: told, now and then, how many bytes of the file on disk have been read.

    Raises:
        TraceError: it cannot be read as a trace; the message names it and the remedy.

    """
    return read_kineto(path, on_bytes)
