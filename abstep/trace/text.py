"""A trace's text cut at event boundaries into lists of events, in bounded memory and whatever the layout.

The cut is guessed by its look and proved by decoding. Only a piece that does not decode goes the slow way: it
is repaired, or its events are read one by one, and those that cannot be read are counted. The first list comes
as it is; from then on python stacks are cut out before decoding where they are many.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from abstep.errors import TraceError
from abstep.trace.boundary import BOUNDARY, SPACE, last_boundary
from abstep.trace.event import (
    decode_events,
    decode_odd,
    decode_texts,
    end_of_list,
    repaired,
)
from abstep.trace.inflate import CutShortError
from abstep.trace.refuse import without_events
from abstep.trace.stacks import StackFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_MARK = b"\xef\xbb\xbf"
#: Text before or after the events that is still taken for metadata.
_MOST_METADATA = 64 << 20
#: How many places are tried for a cut, and how many pieces for one event, before events are given up.
_EARLIER_CUTS = 8
_JOINED = 64
_BROKEN = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class TraceText:
    """One trace's text. Iterate `events()` to the end, then read the rest.

    Attributes:
        stacks: told by the reader what it saw, so that stacks can be cut out before decoding.
        header: the JSON around the events, with the events left out.
        odd: events counted and skipped.
        odd_example: what was wrong with the first.
        notes: what else was odd.
        truncated: the text ended before its JSON did, though behind the last event.

    """

    def __init__(self, name: str, blocks: Iterable[bytes]) -> None:
        self._name = name
        self._blocks = iter(blocks)
        self._read = 0
        self._cut_short: str | None = None
        self._is_list = False
        self._before = b""
        self._after = b""
        self._is_closed = False
        self.stacks = StackFilter()
        self.header = b"{}"
        self.odd = 0
        self.odd_example: str | None = None
        self.notes: list[str] = []
        self.truncated = False

    def events(self) -> Iterator[list[Any]]:
        """Yield the events in lists of some thousands.

        Raises:
            TraceError: no trace events in it, or it breaks off among them.

        """
        rest, block = b"", self._find_events() or self._next()
        while block and not self._ended():
            cut = last_boundary(block)
            if cut == 0:
                rest += block
                if len(rest) > _MOST_METADATA:
                    raise TraceError(
                        f"{self._name}: an event near byte {self._read} is over 64 MB long",
                        "give a trace written by torch.profiler",
                    )
                block = self._next()
                continue
            listed = b"".join((b"[", rest, memoryview(block)[:cut], b"]"))
            events, left = self._read_list(listed)
            if self._ended():
                self._after += block[cut:]
            else:
                rest = b"".join((left, b"," if left else b"", memoryview(block)[cut + 1 :]))
            yield events
            block = b"" if self._ended() else self._next()
        if not self._ended():
            events, left = self._read_broken(rest, last=True)
            if not self._ended():
                self._breaks_off(left)
            yield events
        self._read_tail()

    def _ended(self) -> bool:
        """Return whether the list of events has been closed; then what follows it is kept in `_after`."""
        return self._is_closed

    def _next(self) -> bytes:
        try:
            block = next(self._blocks, b"")
        except CutShortError as error:
            self._cut_short = str(error)
            block = b""
        self._read += len(block)
        return block

    def _find_events(self) -> bytes:
        text = b""
        while block := self._next():
            text += block
            if len(text) < len(_MARK):
                continue
            text = text.removeprefix(_MARK)
            start = text.lstrip(SPACE)[:1]
            if start == b"[":
                self._is_list = True
                return text.lstrip(SPACE)[1:]
            if start != b"{" and start:
                break
            if found := _EVENTS_KEY.search(text):
                self._before = text[: found.start()]
                return text[found.end() :]
            if len(text) > _MOST_METADATA:
                break
        raise without_events(self._name, text, self._cut_short)

    def _breaks_off(self, left: bytes) -> None:
        """Decide about text behind the last whole event: the file ended among its events."""
        if self._is_list and not left.strip(SPACE + b",") and not self._cut_short:
            return  # a bare list may lack its closing bracket by Chrome's format
        raise TraceError(
            f"{self._name}: {self._cut_short or 'it breaks off'}, among its events, after {self._read} bytes of JSON",
            "record or copy it again; the step it was in cannot be told from a whole one",
        )

    def _read_list(self, listed: bytes) -> tuple[list[Any], bytes]:
        """Return the events of a list, and what is left of it when it ends amid an event."""
        cut = self.stacks.without_stacks(listed)
        try:
            if cut is not None and len(events := decode_events(cut[0])) == cut[1]:
                return events, b""
            return decode_events(listed), b""
        except _BROKEN:
            return self._read_broken(listed[1:-1], last=False)

    def _read_broken(self, text: bytes, *, last: bool) -> tuple[list[Any], bytes]:
        """Read comma-separated events that are no whole list, or hold something odd."""
        if (found := self._whole_list(text)) is not None:
            return found, b""
        cut = len(text)
        for _ in range(0 if last else _EARLIER_CUTS):  # the cut was no boundary: an earlier one may be
            cut = last_boundary(text, cut)
            if cut and (found := self._whole_list(text[:cut])) is not None:
                if not self._ended():
                    return found, text[cut + 1 :]
                self._after += text[cut:]
                return found, b""
        whole = repaired(text)
        if (found := self._whole_list(whole)) is not None:
            self._note("text that is no JSON was repaired (control characters, escapes, commas, NaN)")
            return found, b""
        return self._piecewise(whole, last=last)

    def _whole_list(self, text: bytes) -> list[Any] | None:
        """Return the events up to the list's end, or nothing if the text is no list of JSON values."""
        try:
            texts = decode_texts(b"".join((b"[", text, b"]")))
        except msgspec.DecodeError as error:
            end = self._end_of_list(text, error)
            if end is None:
                return None
            text = text[:end]
            texts = decode_texts(b"".join((b"[", text, b"]")))
        except (RecursionError, UnicodeDecodeError):
            return None
        return self._decode(text, texts)

    def _end_of_list(self, text: bytes, error: msgspec.DecodeError) -> int | None:
        """Return where the list's closing bracket stands, and keep what follows it."""
        behind = end_of_list(error)
        if behind is None:
            return None
        inside, bracket, space = text[: behind - 1].rpartition(b"]")
        if not bracket or space.strip(SPACE):
            return None
        self._after, self._is_closed = text[behind - 1 :], True
        return len(inside)

    def _decode(self, text: bytes, texts: list[msgspec.Raw]) -> list[Any]:
        """Return the events of a text that is known to be a list: at once, or those that can be read."""
        try:
            whole: list[Any] = decode_events(b"".join((b"[", text, b"]")))
        except _BROKEN:
            whole, wrong = decode_odd(texts)
            self.count_odd(len(wrong), wrong[0] if wrong else "")
        return whole

    def _piecewise(self, text: bytes, *, last: bool) -> tuple[list[Any], bytes]:
        """Split at what looks like a boundary; each piece is read alone, the last may be incomplete."""
        cuts = [0, *(found.end() for found in BOUNDARY.finditer(text)), len(text)]
        events: list[Any] = []
        place, lost, first_lost = 0, False, len(text)
        while place < len(cuts) - 1:
            for ahead in range(
                place + 1, min(place + _JOINED, len(cuts))
            ):  # a boundary may lie inside an event
                piece = text[cuts[place] : cuts[ahead]].rstrip(SPACE)
                piece = piece.removesuffix(b",") if cuts[ahead] < len(text) else piece
                found = self._piece(piece, lost=lost)
                if found is not None:
                    events += found
                    place, lost = ahead, False
                    break
            else:
                if not last and cuts[-1] - cuts[place] < _MOST_METADATA and place + _JOINED >= len(cuts):
                    return events, text[cuts[place] :]
                if last and place == len(cuts) - 2:
                    return events, text[cuts[place] :]
                self.count_odd(not lost, "text that is no JSON")  # one for a stretch of it
                first_lost = min(first_lost, cuts[place])
                place, lost = place + 1, True
            if self._ended():
                self._after += text[cuts[place] :]
                return events, b""
        return events, text[first_lost:] if last else b""

    def _piece(self, text: bytes, *, lost: bool) -> list[Any] | None:
        """Return a piece's events; nothing if it is no whole event, nor the end of the list."""
        found = self._whole_list(text)
        if self._ended() and (
            lost or b'"ph"' in self._after
        ):  # of a list inside an event, its start elsewhere
            self._after, self._is_closed = b"", False
            return None
        return found

    def count_odd(self, count: int, example: str) -> None:
        """Count events that are skipped, and keep the first one's fault."""
        self.odd += count
        if count and self.odd_example is None:
            self.odd_example = example

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _read_tail(self) -> None:
        after = self._after
        while block := self._next():
            after += block
            if len(after) > _MOST_METADATA:
                raise TraceError(
                    f"{self._name}: over 64 MB of text follow its events", "give one trace a file"
                )
        if self._is_list:
            if after.strip(SPACE + b"]\0"):
                self._note("text behind its end is left out")
            return
        self.truncated = self._cut_short is not None
        for text in (self._before + b'"traceEvents":[]' + after, self._before.rstrip(SPACE + b",") + b"}"):
            for attempt in (text, repaired(text)):
                if (header := self._object(attempt)) is not None:
                    self.header = header
                    if attempt is not text:
                        self._note("metadata that is no JSON was repaired")
                    return
            self.truncated = True

    def _object(self, text: bytes) -> bytes | None:
        """Return the text up to the end of its JSON; nothing if it has none."""
        try:
            msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            end = end_of_list(error)
            if end is None:
                return None
            self._note("text behind its end is left out")
            return text[:end]
        except (RecursionError, UnicodeDecodeError):
            return None
        return text
