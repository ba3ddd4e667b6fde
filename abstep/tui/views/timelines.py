"""Two stacked timelines, base over variant, aligned where the matched consumer starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from abstep import units
from abstep.tui.nav import Place
from abstep.tui.views.base import Stage, View
from abstep.tui.views.slots import slot_beside
from abstep.tui.views.tracks import SIDES, Pair, Tracks, framed, limits, zero
from abstep.tui.widgets.gantt import axis
from abstep.tui.widgets.lanes import Marked, brackets, copies, drawn
from abstep.tui.widgets.lines import BLANK, Line, line

if TYPE_CHECKING:
    from abstep.compare.comparison import SlotRow
    from abstep.compare.statistics import Delta
    from abstep.tui.views.spans import Strand, Stretch
    from abstep.tui.widgets.lanes import Shares

LABEL = 13
_ZOOM = 1.6
_CLOSEST = 200.0  # ns over the whole width
_STEPS = {"down": 1, "up": -1, "page_down": 4, "page_up": -4}


class Chosen(NamedTuple):
    """The exposed stretch that is described below the lanes."""

    side: str
    at: int


class TimelinesView(View):
    """Level 5."""

    kind: ClassVar[str] = "timelines"
    silent: ClassVar[frozenset[str]] = frozenset({"filter", "sort", "reverse"})
    footer: ClassVar[tuple[str, ...]] = (
        "left=pan",
        "zoom_in=zoom",
        "next_match=exposed",
        "down=rank",
        "back",
        "help",
    )
    terms: ClassVar[tuple[str, ...]] = (
        "timelines",
        "consumer",
        "exposed",
        "blocking",
        "incidental",
        "peer wait",
        "transport",
        "idle",
    )

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        rows, detail = self.comparison.intervals, self.comparison.detail
        self.row: SlotRow | None = rows[place.row] if place.row is not None else None
        self._slot = self.row.id if self.row else None
        self._tracks = Tracks(stage, detail, self._slot, place.window) if detail is not None else None
        known = [set(side.ranks) for _, side in self.comparison.sides]
        self._ranks = sorted(known[0] & known[1]) or sorted(known[0] | known[1])
        self._at = self._ranks.index(place.rank) if place.rank in self._ranks else 0
        self._here: dict[str, Strand] = {}
        self._low: float | None = None
        self._span = 0.0
        self._columns = 1
        self._chosen: Chosen | None = None
        self._side = "base"

    def title(self) -> str:
        """Return this place's piece of the breadcrumbs."""
        return "timelines"

    def delta(self) -> Delta:
        """Return the slot's change, or the step's."""
        return self.row.delta if self.row is not None else self.comparison.step_time

    def sibling(self, by: int) -> Place | None:
        """Return the timelines of the slot before or after."""
        return slot_beside(self, by) if self.row is not None else None

    def opens(self) -> Place | None:
        """Return the slot of the chosen stretch."""
        stretch = self._stretch()
        for at, row in enumerate(self.comparison.intervals):
            if stretch is not None and row.id == stretch.slot and row is not self.row:
                return Place("slot", at, self._ranks[self._at])
        return None

    def act(self, action: str) -> bool:
        """Pan, zoom, change rank or side, or choose an exposed stretch."""
        if action in _STEPS:
            self._at = min(max(self._at + _STEPS[action], 0), len(self._ranks) - 1)
            self._chosen = None
        elif self._low is None:
            return False
        elif action in ("left", "right"):
            cell = self._span / self._columns
            self._low += cell * max(self._columns // 4, 1) * (1 if action == "right" else -1)
        elif action in ("zoom_in", "zoom_out"):
            self._zoom(1 / _ZOOM if action == "zoom_in" else _ZOOM)
        elif action in ("first", "last"):
            low, high = limits(self._here)
            self._low = low if action == "first" else high - self._span
        elif action in ("next_match", "previous_match"):
            self._choose(1 if action == "next_match" else -1)
        elif action == "pane":
            self._side = "variant" if self._side == "base" else "base"
            self._chosen = None
        else:
            return False
        return True

    def body(self, width: int, height: int) -> list[Line]:
        """Return the lanes of as many ranks as fit, and the chosen stretch."""
        if self._tracks is None or not self._ranks:
            return [line((" the runs themselves are not at hand", "dim"))]
        pair = self._tracks.pair()
        if pair is None:
            return self.waiting(self._tracks.pending, width)
        if not pair:
            return [line(("  no pair of windows to show", "dim"))]
        here = self._tracks.of(pair, self._ranks[self._at])
        if len(here) < len(SIDES):
            return self.waiting(self._tracks.pending, width)
        self._here = here
        if self._low is None:
            low, high = framed(here, self._slot)
            self._low, self._span = low, max(high - low, _CLOSEST)
        return self._both(self._tracks, pair, width, height)

    def _both(self, tracks: Tracks, pair: Pair, width: int, height: int) -> list[Line]:
        columns = self._columns = max(width - LABEL - 1, 10)
        assert self._low is not None
        edges = np.linspace(self._low, self._low + self._span, columns + 1)
        room = max((height - 5) // 2, 3)
        lines = [self._heading()]
        for side, run in self.comparison.sides:
            window = pair[side]
            label = units.name_text(run.label, width=30, ascii=self.look.ascii)
            where = f"  repeat {window.repeat}, step {window.step}"
            lines.append(
                line((f" {side} ", "chosen" if side == self._side else side), f" {label}", (where, "dim"))
            )
            lines += self._block(tracks, pair, side, edges, room)
            if side == "base":
                lines.append(axis(float(edges[0]), float(edges[-1]), columns, self.look, label=LABEL))
        lines += [BLANK] * (height - 1 - len(lines))
        return [*lines[: height - 1], self._about()]

    def _block(self, tracks: Tracks, pair: Pair, side: str, edges: Shares, room: int) -> list[Line]:
        """Return the lanes of the rank under the cursor and of those around it, as many as fit."""
        lines: list[Line] = []
        each = 3 + any(len(one.copy.starts) for one in self._here.values())
        first = max(min(self._at, len(self._ranks) - room // each), 0)
        for rank in self._ranks[first:]:
            one = tracks.of(pair, rank).get(side)
            if one is None:
                break
            lanes = self._lanes(one, side, rank, edges, thin=room < 4)
            if lines and len(lines) + len(lanes) > room:
                break
            lines += lanes
        return lines[:room]

    def _lanes(self, one: Strand, side: str, rank: int, edges: Shares, *, thin: bool) -> list[Line]:
        own, here = edges + zero(one), rank == self._ranks[self._at]
        mark = self.look.glyphs.cursor if here else " "
        rest = LABEL - 5
        lines: list[Line] = [
            ((f"{mark}{rank:<4}{'compute':<{rest}}", ""), *drawn(one.compute.shares(own), self.look)),
            (
                (f"     {'comm':<{rest}}", ""),
                *drawn(one.communication.shares(own), self.look, communication=True),
            ),
        ]
        if len(one.copy.starts) and not thin:
            lines.append(((f"     {'copies':<{rest}}", ""), *copies(one.copy.shares(own))))
        marks = [self._marked(one, s, self._role(here, side, at, s)) for at, s in enumerate(one.stretches)]
        lines.append(((f"     {'exposed':<{rest}}", ""), *brackets(marks, edges, self.look)))
        return lines

    @staticmethod
    def _marked(one: Strand, stretch: Stretch, role: str) -> Marked:
        words = units.time_text(stretch.end - stretch.start)
        return Marked(stretch.start - zero(one), stretch.end - zero(one), stretch.waited, words, role)

    def _role(self, here: bool, side: str, at: int, stretch: Stretch) -> str:
        if here and self._chosen == Chosen(side, at):
            return "chosen"
        return "strong" if stretch.slot == self._slot else "dim"

    def _heading(self) -> Line:
        if self.row is None:
            return line((" time from the window's start", "dim"))
        lost = any(one.anchor is None for one in self._here.values())
        consumer = self.row.consumer or "the next compute"
        return line(
            (" 0 is where ", "dim"),
            consumer,
            (" starts" + (", on the side that has it" if lost else ""), "dim"),
        )

    def _about(self) -> Line:
        stretch = self._stretch()
        if stretch is None:
            count = sum(len(one.stretches) for one in self._here.values())
            spans = sum(one.spans for one in self._here.values())
            rank = self._ranks[self._at]
            return line(
                (f" rank {rank}: {count} exposed stretches in {spans} spans; n goes to the next", "dim")
            )
        said = f" {units.time_text(stretch.end - stretch.start)} exposed, {stretch.kind}"
        if stretch.wait is not None and stretch.transport is not None:
            said += (
                f": {units.time_text(stretch.wait)} peer wait, {units.time_text(stretch.transport)} transport"
            )
        return line(said + (f"; {stretch.consumer} waits" if stretch.consumer else "; nothing waits for it"))

    def _zoom(self, factor: float) -> None:
        """Zoom around the chosen stretch, else around the middle."""
        assert self._low is not None
        low, high = limits(self._here)
        span = min(max(self._span * factor, _CLOSEST), (high - low) * 1.2)
        stretch, middle = self._stretch(), self._low + self._span / 2
        if stretch is not None and self._chosen is not None:
            middle = (stretch.start + stretch.end) / 2 - zero(self._here[self._chosen.side])
        self._low, self._span = middle - span / 2, span

    def _stretch(self) -> Stretch | None:
        one = self._here.get(self._chosen.side) if self._chosen is not None else None
        if one is None or self._chosen is None or self._chosen.at >= len(one.stretches):
            return None
        return one.stretches[self._chosen.at]

    def _choose(self, by: int) -> None:
        """Choose the next exposed stretch of the side, and bring it into sight."""
        one = self._here.get(self._side)
        if one is None or not one.stretches or self._low is None:
            return
        own = [(s.start - zero(one), s.end - zero(one)) for s in one.stretches]
        if self._chosen is None:
            middle = self._low + self._span / 2
            at = min(range(len(own)), key=lambda at: abs(own[at][0] + own[at][1] - 2 * middle))
        else:
            at = min(max(self._chosen.at + by, 0), len(own) - 1)
        self._chosen = Chosen(self._side, at)
        start, end = own[at]
        if start < self._low or end > self._low + self._span:
            self._low = (start + end) / 2 - self._span / 2
