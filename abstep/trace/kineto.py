"""Reads one torch.profiler (Kineto) trace: JSON in Chrome's trace event format, plain or gzipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abstep.errors import TraceError
from abstep.trace.assemble import assemble
from abstep.trace.clean import clean
from abstep.trace.facts import base_ns, header_notes, header_of
from abstep.trace.gather import Gather
from abstep.trace.inflate import blocks
from abstep.trace.text import TraceText

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from abstep.trace.tables import FileTables


def read_kineto(path: Path, on_bytes: Callable[[int], None] | None = None) -> FileTables:
    """Return the file as tables.

    Args:
        path: the trace.
        on_bytes: told, now and then, how many bytes of the file on disk have been read.

    Raises:
        TraceError: it is no whole trace, or holds no readable event.

    """
    notes: list[str] = []
    text = TraceText(str(path), blocks(path, on_bytes, notes))
    gathered = Gather()
    try:
        for events in text.events():
            text.stacks.saw(gathered.take(events), len(events))
        return _tables(path, text, gathered, notes)
    finally:
        gathered.close()


def _tables(path: Path, text: TraceText, gathered: Gather, notes: list[str]) -> FileTables:
    gathered.events -= gathered.odd
    gathered.odd += text.odd
    gathered.odd_example = text.odd_example if gathered.odd_example is None else gathered.odd_example
    if not (gathered.device.height or gathered.ops.height):
        fault = (
            f"none of its events can be read (first: {clean(gathered.odd_example)})"
            if gathered.odd_example
            else ("holds no device activity and no operator")
        )
        raise TraceError(f"{path}: {fault}", "give a trace written by torch.profiler")
    header = header_of(text.header)
    notes += [*text.notes, *header_notes(header)]
    return assemble(gathered, header, base_ns(header), notes=notes, truncated=text.truncated)
