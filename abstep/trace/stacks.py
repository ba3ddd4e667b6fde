"""Python call stacks cut out of a trace's text before it is decoded, where they are most of it."""

from __future__ import annotations

import re
from typing import Any

_BETWEEN = re.compile(rb"\}\s*,\s*\{")
_STACK = b'"python_function"'
#: Steps are kept even where a recorder writes them among the stacks.
_STEP = b"ProfilerStep"
#: Share of stack events from which cutting them out first is faster than decoding them.
_WORTH = 0.2


class StackFilter:
    """Decides by the first list of events whether cutting pays, then cuts.

    The text is split at the exact bytes that stand between two events in this file. Where these also occur
    inside an event, what remains does not decode, and the reader takes the text as it was.
    """

    def __init__(self) -> None:
        self._decided = False
        self._between: bytes | None = None

    def look_at(self, text: bytes, events: list[Any]) -> None:
        """Decide, once, by a list that has been decoded in full."""
        if self._decided or not events:
            return
        self._decided = True
        found = _BETWEEN.search(text)
        if found is None or text.count(_STACK) < _WORTH * len(events):
            return
        between = found.group()
        if text.count(between) + 1 == len(events):
            self._between = between

    def without_stacks(self, listed: bytes) -> bytes:
        """Return the list of events without python stacks, if that pays."""
        if self._between is None:
            return listed
        text = listed[1:-1].strip()
        if text[:1] != b"{" or text[-1:] != b"}":
            return listed
        kept = [part for part in text[1:-1].split(self._between) if _STACK not in part or _STEP in part]
        return b"".join((b"[{", self._between.join(kept), b"}]")) if kept else b"[]"
