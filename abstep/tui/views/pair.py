"""One contention pair: both stretches, the figures behind them, and the spans of a matched window."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

import numpy as np
import polars as pl

from abstep import units
from abstep.compare import recorded
from abstep.model import Kind
from abstep.tui.nav import Place, Window
from abstep.tui.views import figures
from abstep.tui.views.base import Stage, View
from abstep.tui.views.contention import ContentionView
from abstep.tui.widgets.lanes import Lane
from abstep.tui.widgets.lines import BLANK, Line, line, wrap
from abstep.tui.widgets.table import Column, Table

if TYPE_CHECKING:
    from abstep.compare.comparison import ContentionRow, Detail
    from abstep.compare.statistics import Delta

SIDES = ("base", "variant")
_MOST = 5000  # spans listed
_NARROW = 10  # columns that always hold a side's figure
_RANKS = 4  # ranks read for it: each is a file of its own


class SpanRow(NamedTuple):
    """One compute span of the pair, in a matched window; ns from the window's start."""

    side: str
    rank: int
    name: str
    start: int
    duration: int
    overlapped: float


def spans(detail: Detail, row: ContentionRow, ranks: list[int]) -> list[SpanRow]:
    """Read the spans of a pair's compute, beside its slot or not, in the windows that show its slot best."""
    matched = detail.matched_windows(row.slot)
    if matched is None:
        return []
    found: list[SpanRow] = []
    for side, (repeat, step) in zip(SIDES, matched, strict=True):
        for rank in ranks:
            frame = detail.lanes(side, repeat, step, rank)
            communication = frame.filter(pl.col("kind") == int(Kind.COMMUNICATION))
            lane = Lane.union(
                communication["start_ns"].to_numpy().astype(np.int64),
                communication["end_ns"].to_numpy().astype(np.int64),
            )
            own = detail.pair_spans(side, repeat, step, rank, row.compute)
            for name, start, end in own.select("name", "start_ns", "end_ns").iter_rows():
                busy = float(np.diff(lane.busy_until(np.array([start, end], dtype=float)))[0])
                found.append(SpanRow(side, rank, name, start, end - start, busy / max(end - start, 1)))
            if len(found) > _MOST:
                return found[:_MOST]
    return found


class PairView(View):
    """One row of the contention list."""

    kind: ClassVar[str] = "pair"
    footer: ClassVar[tuple[str, ...]] = (
        "enter=timelines",
        "back",
        "next=next pair",
        "filter",
        "sort",
        "help",
    )
    terms: ClassVar[tuple[str, ...]] = (
        "contention",
        "contention growth",
        "stretch",
        "alone",
        "control",
        "registers",
        "occupancy",
        "thread blocks",
        "channels",
        "copies",
        "p and q",
    )

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        self.row: ContentionRow = self.comparison.contention[place.row or 0]
        self._found: list[SpanRow] | None = None
        self._table: Table[SpanRow] | None = None

    def title(self) -> str:
        """Return the pair's name."""
        return f"#{(self.place.row or 0) + 1} {self.row.compute}"

    def delta(self) -> Delta:
        """Return the growth."""
        return self.row.delta

    def table(self) -> Table[object] | None:
        """Return the list of spans."""
        return cast("Table[object] | None", self._table)

    def sibling(self, by: int) -> Place | None:
        """Return the pair before or after, in the list's order."""
        listed = self.stage.view(Place("contention"))
        assert isinstance(listed, ContentionView)
        row = listed.neighbour(self.place.row or 0, by)
        return None if row is None else self.place.beside(row)

    def opens(self) -> Place | None:
        """Return the timelines of the slot it overlaps, on the rank under the cursor."""
        slot = next((at for at, row in enumerate(self.comparison.intervals) if row.id == self.row.slot), None)
        span = self._table.current if self._table is not None else None
        if span is None:
            return Place("timelines", slot)
        matched = self.comparison.detail.matched_windows(self.row.slot) if self.comparison.detail else None
        window = Window(span.side, *matched[SIDES.index(span.side)]) if matched else None
        return Place("timelines", slot, span.rank, window)

    def body(self, width: int, height: int) -> list[Line]:
        """Return the figures and the spans."""
        lines = self._facts(width)
        detail = self.comparison.detail
        if detail is None:
            return lines
        key = ("pair", self.place.row)
        ranks = sorted(set(self.comparison.base.ranks) & set(self.comparison.variant.ranks))
        found = self.stage.fetch(key, lambda: spans(detail, self.row, ranks[:_RANKS]))
        if found is None:
            return [*lines, *self.waiting(key, width)]
        if found is not self._found:
            self._found = found
            self._table = Table(_columns(), found, words=lambda row: f"{row.side} {row.rank} {row.name}")
        assert self._table is not None
        listed = f"{len(found)} spans in the matched windows"
        if len(ranks) > _RANKS:
            listed += f", of ranks {ranks[0]} to {ranks[_RANKS - 1]}"
        said = self._table.count_text() or listed
        lines += [BLANK, line((f" {said}", "dim"))]
        return [*lines, *self._table.draw(width, max(height - len(lines), 3), self.look)][:height]

    def _facts(self, width: int) -> list[Line]:
        row, delta, table = self.row, self.row.delta, figures.Compared(width, self.look)
        ratios = units.ratio_text(row.base_stretch), units.ratio_text(row.variant_stretch)
        control = units.ratio_text(row.control_ratio)
        lines = [
            line((f" while {row.beside} runs", "dim")),
            table.titles("mean of a window", "growth"),
            table.delta("longer than alone by", delta),
            table.row("stretch", *ratios),
            table.times("overlapped for", row.base_overlap, row.variant_overlap, figures.tested(delta)),
            table.row("control, variant/base", "", control, ("what overlaps nothing", "dim")),
        ]
        for place, fact in enumerate(self._recorded()):
            said = () if place else (("recorded, not a cause", "dim"),)
            if max(len(fact.base), len(fact.variant)) < _NARROW:
                lines.append(table.row(fact.label, fact.base, fact.variant, *said))
            else:  # ranges of large numbers: beside the columns
                lines.append(table.row(fact.label, "", "", (fact.both, "")))
        if row.note:
            lines.append(line((f"  {row.note}", "warning")))
        for told in recorded.host_sentences(self.comparison):
            lines += [line("  ", *piece) for piece in wrap(told, width - 2, role="dim")]
        return lines

    def _recorded(self) -> list[recorded.Fact]:
        """Return what was recorded of the pair: evidence, not causes."""
        return [*recorded.launch_facts(self.row), *recorded.copy_facts(self.row)]


def _columns() -> list[Column[SpanRow]]:
    return [
        Column("side", 8, lambda row: (row.side, row.side), lambda row: row.side, right=False),
        Column("rank", 5, lambda row: (str(row.rank), ""), lambda row: row.rank),
        Column("start", 9, lambda row: (units.time_text(row.start), ""), lambda row: row.start),
        Column("duration", 9, lambda row: (units.time_text(row.duration), ""), lambda row: row.duration),
        Column(
            "overlapped", 10, lambda row: (units.share_text(row.overlapped), ""), lambda row: row.overlapped
        ),
        Column("span", 0, lambda row: (row.name, ""), lambda row: row.name.lower(), right=False),
    ]
