"""A list of any length: only the rows in sight are drawn, sorting is numeric behind the text, filtering is live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from abstep import units
from abstep.tui.widgets.lines import Line, Span, cells, fit, painted, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from abstep.tui.look import Look

R = TypeVar("R")

_PAN = 8
_GAP = 2
_KEPT = 1000  # rows whose lines stay at hand


@dataclass(frozen=True)
class Column(Generic[R]):
    """One column of a table.

    Attributes:
        title: its heading.
        width: columns it takes; 0: what the others leave.
        text: a row's text there, with its role.
        key: what rows are sorted by; None: not by this column.
        right: whether text stands at the right edge.
        from_width: the width of screen from which it is shown.
        below: the width of screen from which another column takes its place.

    """

    title: str
    width: int
    text: Callable[[R], Span]
    key: Callable[[R], float | str | None] | None = None
    right: bool = True
    from_width: int = 0
    below: int = 10_000


class Table(Generic[R]):
    """Rows under a heading, with a cursor, an order, a filter and a place in the list, all kept between visits."""

    def __init__(
        self,
        columns: Sequence[Column[R]],
        rows: Sequence[R],
        *,
        words: Callable[[R], str] | None = None,
        stands_out: Callable[[R], bool] | None = None,
    ) -> None:
        self.columns = tuple(columns)
        self.rows = rows
        self.query = ""
        self.sorted_by: int | None = None
        self.descending = True
        self.cursor = 0
        self.top = 0
        self.shift = 0
        self._words = words
        self._stands_out = stands_out
        self._spoken: list[str] | None = None
        self._height, self._width = 10, 200
        self._made: dict[int, Line] = {}
        self._made_for: tuple[int, int, Look] | None = None
        self.order: list[int] = list(range(len(rows)))

    @property
    def current(self) -> R | None:
        """Return the row under the cursor."""
        return self.rows[self.order[self.cursor]] if self.order else None

    @property
    def index(self) -> int | None:
        """Return the position of the row under the cursor in `rows`."""
        return self.order[self.cursor] if self.order else None

    def select(self, index: int) -> None:
        """Put the cursor on a row of `rows`, when it is in sight of the filter."""
        if index in self.order:
            self.cursor = self.order.index(index)

    def neighbour(self, index: int, by: int) -> int | None:
        """Return the row before or after one, in the order shown."""
        if index not in self.order:
            return self.order[0] if self.order else None
        at = self.order.index(index) + by
        return self.order[at] if 0 <= at < len(self.order) else None

    def count_text(self) -> str:
        """Return what the filter leaves: `/reduce 14 of 220`, or "" without one."""
        return f"/{self.query} {len(self.order)} of {len(self.rows)}" if self.query else ""

    def act(self, action: str) -> bool:
        """Do what a key asks, when it is a list's to do."""
        last = len(self.order) - 1
        page = max(self._height - 1, 1)
        steps = {"down": 1, "up": -1, "page_down": page, "page_up": -page, "first": -last, "last": last}
        if action in steps:
            self.cursor = min(max(self.cursor + steps[action], 0), max(last, 0))
        elif action in ("left", "right"):
            self.shift = max(self.shift + (_PAN if action == "right" else -_PAN), 0)
        elif action in ("next_match", "previous_match"):
            return self._jump(1 if action == "next_match" else -1)
        elif action == "sort":
            self._sort_next()
        elif action == "reverse":
            self.descending = not self.descending
            self._arrange()
        else:
            return False
        return True

    def filter(self, query: str) -> None:
        """Keep the rows that contain a text; with `!` before it, the others."""
        if query != self.query:
            self.query = query
            self._arrange()

    def draw(self, width: int, height: int, look: Look, *, focused: bool = True) -> list[Line]:
        """Return the heading and the rows in sight."""
        self._height, self._width = max(height - 1, 1), width
        self.top = min(self.top, self.cursor, max(len(self.order) - self._height, 0))
        self.top = max(self.top, self.cursor - self._height + 1, 0)
        lines = [self._heading(width, look)]
        for at in range(self.top, min(self.top + self._height, len(self.order))):
            here = at == self.cursor and focused
            mark = look.glyphs.cursor if here else " "
            row = self._kept(self.order[at], width, look)
            spans = ((mark, ""), *row)
            lines.append(painted(fit(spans, width), "cursor") if here else spans)
        if not self.order:
            lines.append((("  nothing here" + (" contains that" if self.query else ""), "dim"),))
        return lines

    def text(self, width: int, look: Look) -> list[str]:
        """Return every row as text, for copying."""
        rows = [self._heading(width, look)]
        rows += [((" ", ""), *self._row(self.rows[index], width, look)) for index in self.order]
        return [plain(row).rstrip() for row in rows]

    def _layout(self, width: int) -> list[tuple[int, Column[R], int]]:
        seen = [
            (at, column)
            for at, column in enumerate(self.columns)
            if column.from_width <= width < column.below
        ]
        fixed = sum(column.width for _, column in seen) + _GAP * (len(seen) - 1)
        free = max(width - 1 - fixed, 8)
        return [(at, column, column.width or free) for at, column in seen]

    def _heading(self, width: int, look: Look) -> Line:
        spans: list[Span] = [(" ", "")]
        for at, column, columns in self._layout(width):
            title = column.title
            if at == self.sorted_by:
                title += look.glyphs.down if self.descending else look.glyphs.up
            spans += [(_aligned(title, columns, right=column.right), "head"), (" " * _GAP, "")]
        return tuple(spans)

    def _kept(self, index: int, width: int, look: Look) -> Line:
        """Return a row's line, made once while nothing but the cursor moves."""
        frame = (width, self.shift, look)
        if frame != self._made_for or len(self._made) > _KEPT:
            self._made, self._made_for = {}, frame
        found = self._made.get(index)
        if found is None:
            found = self._made[index] = self._row(self.rows[index], width, look)
        return found

    def _row(self, row: R, width: int, look: Look) -> Line:
        spans: list[Span] = []
        for _, column, columns in self._layout(width):
            text, role = column.text(row)
            text = units.name_text(text, ascii=look.ascii) if not text.isprintable() else text
            if not column.width and self.shift:
                text = text[min(self.shift, max(len(text) - columns, 0)) :]
            if cells(text) > columns:
                text = units.name_text(text, width=columns, ascii=look.ascii)
            spans += [(_aligned(text, columns, right=column.right), role), (" " * _GAP, "")]
        return tuple(spans)

    def _sort_next(self) -> None:
        able = [at for at, column, _ in self._layout(self._width) if column.key is not None]
        later = [at for at in able if self.sorted_by is None or at > self.sorted_by]
        self.sorted_by = later[0] if later else None
        first = self.rows[0] if len(self.rows) else None
        key = self.columns[self.sorted_by].key if self.sorted_by is not None else None
        self.descending = not (key is not None and first is not None and isinstance(key(first), str))
        self._arrange()

    def _arrange(self) -> None:
        at = self.index
        order = self._matching()
        if self.sorted_by is not None:
            order = _sorted(order, self.rows, self.columns[self.sorted_by], descending=self.descending)
        elif not self.descending:
            order.reverse()
        self.order = order
        self.cursor = order.index(at) if at is not None and at in order else 0

    def _matching(self) -> list[int]:
        if self._spoken is None and self.query and self._words is not None:
            self._spoken = [self._words(row).lower() for row in self.rows]
        inverted = self.query.startswith("!")
        wanted = self.query.removeprefix("!").lower()
        if not wanted or self._spoken is None:
            return list(range(len(self.rows)))
        return [at for at, words in enumerate(self._spoken) if (wanted in words) is not inverted]

    def _jump(self, by: int) -> bool:
        at = self.cursor + by
        while 0 <= at < len(self.order):
            if self.query or self._stands_out is None or self._stands_out(self.rows[self.order[at]]):
                self.cursor = at
                return True
            at += by
        return False


def _sorted(order: list[int], rows: Sequence[R], column: Column[R], *, descending: bool) -> list[int]:
    """Return positions by a column's key; what is unknown comes last either way."""
    key = column.key
    if key is None:
        return order
    keyed = [(key(rows[at]), at) for at in order]
    known = [(value, at) for value, at in keyed if value is not None]
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return [at for _, at in known] + [at for value, at in keyed if value is None]


def _aligned(text: str, columns: int, *, right: bool) -> str:
    blanks = " " * (columns - cells(text))
    return blanks + text if right else text + blanks
