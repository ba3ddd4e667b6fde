"""Python call stacks cut out of a trace's text before it is decoded, where they are most of it."""

from __future__ import annotations

import re

import msgspec

from abstep.trace.boundary import last_boundary
from abstep.trace.event import decode_texts

_STACK = re.compile(rb'[^{}]{0,200}?"cat"\s*:\s*"python_function"')
#: Share of stack events from which cutting them out first is faster than decoding them.
_WORTH = 0.2
#: Bytes in which the first two events are looked for.
_SAMPLE = 64 << 10


class StackFilter:
    """Decides by the lists read so far whether cutting pays in the next one, then cuts.

    The text is split at the exact bytes that stand between its first two events. Where these also occur inside
    an event, what is decoded is not one event a part, and the reader takes the text as it was.
    """

    def __init__(self) -> None:
        self._pays = False

    def saw(self, stacks: int, events: int) -> None:
        """Learn how many of the events decoded from the last list were stacks; a list cut free of them has none."""
        self._pays = self._pays or stacks > _WORTH * events

    def without_stacks(self, listed: bytes) -> tuple[bytes, int] | None:
        """Return the list of events without python stacks and how many it holds; nothing if cutting does not pay.

        An event is taken for a stack when it begins as the first one does, up to its category; a stack that
        begins otherwise is decoded, and dropped later.
        """
        if not self._pays:
            return None
        between = _between(listed)
        if between is None:
            return None
        parts = listed.split(between)
        parts[0], parts[-1] = parts[0].partition(b"{")[2], parts[-1].rpartition(b"}")[0]
        stack = next((found for part in parts if (found := _STACK.match(part))), None)
        if stack is None:
            return None
        start = stack.group()
        kept = [part for part in parts if not part.startswith(start)]
        return (b"".join((b"[{", between.join(kept), b"}]")), len(kept)) if kept else (b"[]", 0)


def _between(listed: bytes) -> bytes | None:
    """Return what stands between the first two events, with their braces."""
    sample = listed[:_SAMPLE]
    cut = last_boundary(sample)
    while cut:
        try:
            events = decode_texts(b"".join((sample[:cut], b"]")))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            cut = last_boundary(sample, cut)
            continue
        first = bytes(events[0])
        end = sample.index(first) + len(first)
        return sample[end - 1 : sample.index(b"{", end) + 1]
    return None
