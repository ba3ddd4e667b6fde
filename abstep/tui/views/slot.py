"""One slot: how its exposed time is distributed over windows, on both sides, and which rank made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from abstep import units
from abstep.tui.nav import Place
from abstep.tui.views import figures
from abstep.tui.views.base import Stage, View
from abstep.tui.views.evidence import SIDES, Evidence, RankRow, WindowRow, evidence
from abstep.tui.views.late import clock_spread, reason_of
from abstep.tui.views.slots import slot_beside
from abstep.tui.widgets.histogram import histogram
from abstep.tui.widgets.lines import BLANK, Line, line, plain, wrap
from abstep.tui.widgets.table import Column, Table

if TYPE_CHECKING:
    from abstep.compare.comparison import SlotRow
    from abstep.compare.statistics import Delta


SHORT = 16  # lines under which only the figures that name the cause are shown


class SlotView(View):
    """Level 3."""

    kind: ClassVar[str] = "slot"
    silent: ClassVar[frozenset[str]] = View.silent - {"pane"}
    footer: ClassVar[tuple[str, ...]] = ("enter=rank", "back", "next=next slot", "pane", "copy", "help")
    terms: ClassVar[tuple[str, ...]] = (
        "slot", "consumer", "blocking", "incidental", "presence", "peer wait", "transport", "last to arrive",
        "could have hidden it", "p and q", "inferred", "unsplit",
    )  # fmt: skip

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        self.row: SlotRow = self.comparison.intervals[place.row or 0]
        self._found: Evidence | None = None
        self._ranks: Table[RankRow] | None = None
        self._windows: Table[WindowRow] | None = None
        self._pane = 0

    def title(self) -> str:
        """Return the slot's name."""
        return f"#{(self.place.row or 0) + 1} {figures.slot_name(self.row)}"

    def delta(self) -> Delta:
        """Return the slot's change."""
        return self.row.delta

    def table(self) -> Table[object] | None:
        """Return the pane's list."""
        return cast("Table[object] | None", self._windows if self._pane else self._ranks)

    def act(self, action: str) -> bool:
        """Change panes, or move in the one shown."""
        if action == "pane":
            self._pane = 1 - self._pane
            return True
        return super().act(action)

    def opens(self) -> Place | None:
        """Return the collective across ranks, seen from the rank or in the window under the cursor."""
        rank, window = None, None
        if self._pane == 0 and self._ranks is not None and self._ranks.current is not None:
            rank = self._ranks.current.rank
        elif self._pane == 1 and self._windows is not None and self._windows.current is not None:
            rank, window = self._windows.current.rank, self._windows.current.window
        return Place("collective", self.place.row, rank, window)

    def sibling(self, by: int) -> Place | None:
        """Return the slot before or after this one, in the list's order."""
        return slot_beside(self, by)

    def body(self, width: int, height: int) -> list[Line]:
        """Return the facts, the distribution, and the ranks or windows."""
        short = height < SHORT
        lines = [*self._about(width)[: 1 if short else 3], *self._facts(width, short=short)]
        detail = self.comparison.detail
        if detail is None:
            return [*lines, line((" the runs themselves are not at hand", "dim"))]
        key = ("slot", self.row.id)
        found = self.stage.fetch(key, lambda: evidence(detail, self.row.id, self._spread()))
        if found is None:
            return [*lines, *self.waiting(key, width)]
        if found is not self._found:
            self._take(found)
        lines += self._late(found)
        roomy = height >= 30
        bars = histogram(found.values, self._notes(found), width, self.look, rows=3 if roomy else 1)
        lines += [BLANK, *bars, BLANK] if roomy or height >= 21 else bars if height >= 17 else []
        table = self._windows if self._pane else self._ranks
        assert table is not None
        lines.append(self._panes(width))
        return [*lines, *table.draw(width, max(height - len(lines), 3), self.look)][:height]

    def text(self) -> list[str]:
        """Return the page, with every rank and window."""
        lines = super().text() if self._found is None else []
        if self._found is not None and self._ranks is not None and self._windows is not None:
            page = [
                " " + figures.slot_line(self.row),
                *(plain(fact) for fact in self._facts(100)),
            ]
            lines = [*page, "", *self._ranks.text(160, self.look), "", *self._windows.text(160, self.look)]
        return lines

    def _spread(self) -> dict[str, float | None]:
        """Return how far each side's clocks agree; None where nobody waits for a late rank (a pipeline's recv)."""
        paired = self.row.collective == "send_recv"
        return {name: None if paired else clock_spread(self.comparison, name) for name in SIDES}

    def _about(self, width: int) -> list[Line]:
        return [((" ", ""), *text) for text in wrap(figures.slot_line(self.row), width - 2, role="dim")]

    def _take(self, found: Evidence) -> None:
        self._found = found
        self._ranks = Table(_rank_columns(), found.ranks)
        self._windows = Table(
            _window_columns(), found.windows, words=lambda row: " ".join(map(str, row.window))
        )
        late = [one.rank for one in found.late.values() if one is not None and one.named]
        wanted = self.place.rank if self.place.rank is not None else next(iter(late), None)
        self._ranks.select(next((i for i, row in enumerate(found.ranks) if row.rank == wanted), 0))

    def _facts(self, width: int, *, short: bool = False) -> list[Line]:
        """Return the slot's figures; `short`: only what names the cause."""
        row, delta, table = self.row, self.row.delta, figures.Compared(width, self.look)
        share = units.share_text(row.base_presence), units.share_text(row.variant_presence)
        lines = [
            table.titles("mean of a window", "change"),
            table.delta("exposed", delta),
            _two(
                table,
                "  waiting for a late rank",
                row.base_peer_wait,
                row.variant_peer_wait,
                self._uncertain(),
            ),
            _two(table, "  transport", row.base_transport, row.variant_transport),
        ]
        if short:
            return lines
        return [
            *lines,
            _two(table, "compute that could hide it", row.base_independent, row.variant_independent),
            table.row("windows that have it", *share, figures.tested(delta)),
        ]

    def _uncertain(self) -> str:
        """Return how far the split into waiting and transport can be off, through the clocks."""
        sign = "+-" if self.look.ascii else "±"
        off = self.row.split_uncertain
        return "" if off is None else f" {sign}{units.time_text(off)}"

    def _notes(self, found: Evidence) -> dict[str, str]:
        return {side: f"{len(found.values[side])} windows" for side in SIDES}

    def _late(self, found: Evidence) -> list[Line]:
        """Return who arrives last, a line a side that has the slot."""
        lines = []
        for side in SIDES:
            late = found.late[side]
            if late is not None:
                reason = reason_of(self.comparison, side, self.row, late.rank)
                said = (late.sentence(reason), "strong" if late.named else "dim")
                lines.append(line(f"  last in {side:<9}", said))
        return lines

    def _panes(self, width: int) -> Line:
        del width
        names = ("ranks", "windows")
        return line(
            " ", *((f" {name} ", "chosen" if at == self._pane else "dim") for at, name in enumerate(names))
        )


def _two(
    table: figures.Compared, label: str, base: float | None, variant: float | None, more: str = ""
) -> Line:
    change = None if base is None or variant is None else variant - base
    text = "" if change is None else f"  {units.time_text(change, sign=True)}{more}"
    return table.times(label, base, variant, (text, "dim"))


def _rank_columns() -> list[Column[RankRow]]:
    def time(title: str, get: str, *, sign: bool = False, wide: int = 0) -> Column[RankRow]:
        return Column(
            title, max(9, len(title) + 1), lambda row: (units.time_text(getattr(row, get), sign=sign), ""),
            lambda row: cast("float | None", getattr(row, get)), from_width=wide,
        )  # fmt: skip

    def share(title: str, get: str) -> Column[RankRow]:
        return Column(
            title, len(title) + 1, lambda row: (units.share_text(getattr(row, get)), ""),
            lambda row: cast("float | None", getattr(row, get)),
        )  # fmt: skip

    return [
        Column("rank", 5, lambda row: (str(row.rank), ""), lambda row: row.rank),
        time("base", "base"), time("variant", "variant"), time("change", "delta", sign=True),
        share("last: base", "base_last"), share("variant", "variant_last"),
        time("waits: base", "base_wait", wide=78), time("variant ", "variant_wait", wide=96),
        Column("", 0, lambda _row: ("", "")),
    ]  # fmt: skip


def _window_columns() -> list[Column[WindowRow]]:
    return [
        Column(
            "side",
            8,
            lambda row: (row.window.side, row.window.side),
            lambda row: row.window.side,
            right=False,
        ),
        Column("repeat", 7, lambda row: (str(row.window.repeat), ""), lambda row: row.window.repeat),
        Column("step", 6, lambda row: (str(row.window.step), ""), lambda row: row.window.step),
        Column("mean", 9, lambda row: (units.time_text(row.exposed), ""), lambda row: row.exposed),
        Column("most", 9, lambda row: (units.time_text(row.highest), ""), lambda row: row.highest),
        Column("on rank", 8, lambda row: (str(row.rank), ""), lambda row: row.rank),
        Column("", 0, lambda row: ("" if row.typical else "not used", "dim"), right=False),
    ]
