"""Lines to read, some of which open something: the cursor goes from one of these to the next, and the page follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from abstep.tui.widgets.lines import BLANK, Line, fit, painted, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.tui.look import Look
    from abstep.tui.nav import Place


class DocLine(NamedTuple):
    """One line, and the place it opens."""

    line: Line
    opens: Place | None = None


class Document:
    """A page of lines with a cursor on those that open something."""

    def __init__(self, first: Place | None = None) -> None:
        self._first = first
        self.lines: Sequence[DocLine] = ()
        self.top = 0
        self.cursor: int | None = None
        self._height = 10

    @property
    def opens(self) -> Place | None:
        """Return what the line under the cursor opens."""
        return self.lines[self.cursor].opens if self.cursor is not None else None

    def fill(self, lines: Sequence[DocLine]) -> None:
        """Take new lines; the cursor stays on the same one of those that open something."""
        before = self._doors().index(self.cursor) if self.cursor in self._doors() else None
        self.lines = lines
        doors = self._doors()
        if before is None:
            before = next((at for at, door in enumerate(doors) if lines[door].opens == self._first), 0)
        self.cursor = doors[min(before, len(doors) - 1)] if doors else None

    def act(self, action: str) -> bool:
        """Do what a key asks, when it is a page's to do."""
        most = max(len(self.lines) - self._height, 0)
        if action in ("down", "up"):
            by = 1 if action == "down" else -1
            if not self._step(by):
                self.top = min(max(self.top + by, 0), most)
        elif action in ("page_down", "page_up"):
            by = self._height - 1 if action == "page_down" else 1 - self._height
            self.top = min(max(self.top + by, 0), most)
            self._follow()
        elif action in ("first", "last"):
            self.top = 0 if action == "first" else most
            doors = self._doors()
            if doors:
                self.cursor = doors[0 if action == "first" else -1]
        else:
            return False
        return True

    def draw(self, width: int, height: int, look: Look) -> list[Line]:
        """Return the lines in sight."""
        self._height = max(height, 1)
        self.top = min(self.top, max(len(self.lines) - self._height, 0))
        drawn: list[Line] = []
        for at in range(self.top, min(self.top + self._height, len(self.lines))):
            spans = self.lines[at].line
            if at == self.cursor:
                marked = look.glyphs.cursor + plain(fit(spans, width))[1:]
                drawn.append(painted(((marked, ""),), "cursor"))
            else:
                drawn.append(spans)
        drawn += [BLANK] * (height - len(drawn))
        return drawn

    def text(self) -> list[str]:
        """Return every line as text."""
        return [plain(entry.line).rstrip() for entry in self.lines]

    def _doors(self) -> list[int]:
        return [at for at, entry in enumerate(self.lines) if entry.opens is not None]

    def _step(self, by: int) -> bool:
        """Move to the next line that opens something, when it is in sight; else the page moves by a line."""
        ahead = [at for at in self._doors() if self.cursor is None or (at - self.cursor) * by > 0]
        target = (ahead[0] if by > 0 else ahead[-1]) if ahead else None
        if target is None or not self.top <= target < self.top + self._height:
            return False
        self.cursor = target
        return True

    def _follow(self) -> None:
        """Bring the cursor into sight after the page moved."""
        if self.cursor is None or self.top <= self.cursor < self.top + self._height:
            return
        inside = [at for at in self._doors() if self.top <= at < self.top + self._height]
        if inside:
            self.cursor = inside[0 if self.cursor < self.top else -1]
