"""Python call stacks cut out of a trace's text before it is decoded, where they are most of it."""

from __future__ import annotations

import re

_BETWEEN = re.compile(rb"\}\s*,\s*\{")
_STACK = re.compile(rb'"cat"\s*:\s*"python_function"')
#: Steps are kept even where a recorder writes them among the stacks.
_STEP = b"ProfilerStep"
#: Share of stack events from which cutting them out first is faster than decoding them.
_WORTH = 0.2


class StackFilter:
    """Decides by the lists read so far whether cutting pays in the next one, then cuts.

    The text is split at the exact bytes that stand between two events in it. Where these also occur inside an
    event that is cut, what remains does not decode, and the reader takes the text as it was.
    """

    def __init__(self) -> None:
        self._pays = False

    def saw(self, stacks: int, events: int) -> None:
        """Learn how many of the events decoded from the last list were stacks; a list cut free of them has none."""
        self._pays = self._pays or stacks > _WORTH * events

    def without_stacks(self, listed: bytes) -> bytes:
        """Return the list of events without python stacks, if that pays."""
        if not self._pays:
            return listed
        stack, between = _STACK.search(listed), _BETWEEN.search(listed)
        if stack is None or between is None:
            return listed
        text = listed[1:-1].strip()
        if text[:1] != b"{" or text[-1:] != b"}":
            return listed
        needle, cut = stack.group(), between.group()
        kept = [part for part in text[1:-1].split(cut) if needle not in part or _STEP in part]
        return b"".join((b"[{", cut.join(kept), b"}]")) if kept else b"[]"
