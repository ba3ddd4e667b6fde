"""One collective across ranks: who was ready when, who waited for whom, how long it moved, what waited for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from abstep import units
from abstep.tui.nav import Place, Window
from abstep.tui.views.base import Stage, View
from abstep.tui.views.late import clock_spread, reason_of
from abstep.tui.views.slots import slot_beside
from abstep.tui.widgets.gantt import Part, gantt, legend
from abstep.tui.widgets.lines import Line, line
from abstep.tui.widgets.table import Column, Table

if TYPE_CHECKING:
    from abstep.compare.comparison import Detail, SlotRow
    from abstep.compare.statistics import Delta


CLOSEST = 1000.0  # ns; arrivals nearer than that are together, however well the clocks agree


class Member(NamedTuple):
    """One rank's part in one collective; ns, None where unknown."""

    rank: int
    host_launch: float | None
    ready: float | None
    start: float
    end: float
    queue: float | None
    wait: float | None
    transport: float | None
    consumer: str | None
    consumer_start: float | None
    slack: float | None
    exposed: float | None


class Instance(NamedTuple):
    """One collective of one window, on every rank that took part."""

    window: Window
    number: int
    label: str
    members: tuple[Member, ...]

    @property
    def first(self) -> float:
        """Return the first rank's start."""
        return min(member.start for member in self.members)

    @property
    def last(self) -> Member | None:
        """Return the rank the others waited for: the one that waited for nobody."""
        known = [member for member in self.members if member.wait is not None]
        first = min(known, key=lambda member: member.wait or 0.0, default=None)
        return first if first is not None and len(known) > 1 and not first.wait else None

    @property
    def lead(self) -> float:
        """Return how far the last rank was behind the one before it."""
        waits = sorted(member.wait for member in self.members if member.wait is not None)
        return waits[1] - waits[0] if len(waits) > 1 else 0.0


def instances(detail: Detail, slot: str) -> list[Instance]:
    """Read the collectives booked to a slot, by side and window."""
    frame = detail.slot_instances(slot)
    columns = (
        "rank host_launch_ns first_valid_launch_ns start_ns end_ns queue_ns peer_wait_ns "
        "transport_ns consumer consumer_start_ns slack_ns exposed_ns"
    )
    frame = frame.drop_nulls(["start_ns", "end_ns"]).sort("side", "repeat", "step", "instance", "rank")
    keys = ["side", "repeat", "step", "instance"]
    found = []
    for (side, repeat, step, number), rows in frame.group_by(keys, maintain_order=True):
        members = tuple(Member(*row) for row in rows.select(columns.split()).iter_rows())
        window = Window(str(side), int(cast("int", repeat)), int(cast("int", step)))
        found.append(Instance(window, int(cast("int", number)), str(rows["label"][0] or ""), members))
    return found


class CollectiveView(View):
    """Level 4."""

    kind: ClassVar[str] = "collective"
    silent: ClassVar[frozenset[str]] = View.silent - {"pane"}
    footer: ClassVar[tuple[str, ...]] = (
        "enter=timelines",
        "back",
        "pane=side",
        "next_match=next step",
        "next=next slot",
        "help",
    )
    terms: ClassVar[tuple[str, ...]] = (
        "collective", "first valid launch", "queue", "peer wait", "transport", "last to arrive", "consumer", "slack",
        "common clock", "unsplit",
    )  # fmt: skip

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        self.row: SlotRow = self.comparison.intervals[place.row or 0]
        self._all: list[Instance] | None = None
        self._at = 0
        self._table: Table[Member] | None = None

    def title(self) -> str:
        """Return this place's piece of the breadcrumbs."""
        return f"rank {self.rank}"

    @property
    def rank(self) -> int | None:
        """Return the rank under the cursor."""
        if self._table is not None and self._table.current is not None:
            return self._table.current.rank
        return self.place.rank if self.place.rank is not None else 0

    def delta(self) -> Delta:
        """Return the slot's change."""
        return self.row.delta

    def table(self) -> Table[object] | None:
        """Return the list of ranks."""
        return cast("Table[object] | None", self._table)

    def act(self, action: str) -> bool:
        """Change side or window, or move over the ranks."""
        if self._all and action in ("pane", "next_match", "previous_match"):
            side = self._all[self._at].window.side
            if action == "pane":
                self._to_side("variant" if side == "base" else "base")
            else:
                self._show(self._at + (1 if action == "next_match" else -1))
            return True
        return super().act(action)

    def opens(self) -> Place | None:
        """Return the timelines of this window, on the rank under the cursor."""
        window = self._all[self._at].window if self._all else None
        return Place("timelines", self.place.row, self.rank, window)

    def sibling(self, by: int) -> Place | None:
        """Return the same view of the slot before or after."""
        return slot_beside(self, by)

    def body(self, width: int, height: int) -> list[Line]:
        """Return the ranks' parts as numbers and as lines on one axis."""
        detail = self.comparison.detail
        if detail is None:
            return [line((" the runs themselves are not at hand", "dim"))]
        key = ("instances", self.row.id)
        found = self.stage.fetch(key, lambda: instances(detail, self.row.id))
        if found is None:
            return self.waiting(key, width)
        if found is not self._all:
            self._take(found)
        if not found:
            return [line(("  no collective was booked to this slot", "dim"))]
        one = found[self._at]
        lines = [self._heading(one), self._late(one)]
        members = len(one.members)
        drawn = members + 2 if height >= 2 * members + 6 else 0
        table = self._table
        assert table is not None
        rows = table.draw(width, max(height - len(lines) - drawn - 1, 3), self.look)
        lines += rows
        if drawn:
            parts = [Part(m.rank, m.ready, m.start, m.end, m.wait, m.consumer_start) for m in one.members]
            lines += [(), *gantt(parts, width, self.look, chosen=self.rank), legend(self.look)]
        return lines[:height]

    def _take(self, found: list[Instance]) -> None:
        self._all = found
        wanted = self.place.window or self._usual()
        inside = [at for at, one in enumerate(found) if one.window == wanted] or range(len(found))
        widest = max(inside, key=lambda at: sum(m.exposed or 0 for m in found[at].members), default=0)
        self._table = None
        if found:
            self._show(widest)

    def _usual(self) -> Window | None:
        """Return the matched window of the side that has more of the slot."""
        detail, delta = self.comparison.detail, self.row.delta
        matched = detail.matched_windows(self.row.id) if detail is not None else None
        if matched is None:
            return None
        side = "variant" if (delta.variant or 0.0) > (delta.base or 0.0) else "base"
        return Window(side, *matched[side == "variant"])

    def _to_side(self, side: str) -> None:
        assert self._all is not None
        here = self._all[self._at].window
        other = [at for at, one in enumerate(self._all) if one.window.side == side]
        if other:
            near = min(
                other, key=lambda at: (abs(self._all[at].window.step - here.step) if self._all else 0, at)
            )
            self._show(near)

    def _show(self, at: int) -> None:
        assert self._all is not None
        rank = self.rank
        self._at = min(max(at, 0), len(self._all) - 1)
        one = self._all[self._at]
        self._table = Table(self._columns(one), one.members)
        self._table.select(next((i for i, member in enumerate(one.members) if member.rank == rank), 0))

    def _heading(self, one: Instance) -> Line:
        assert self._all is not None
        same = [i for i in self._all if i.window.side == one.window.side]
        said = f"repeat {one.window.repeat}, step {one.window.step}, {units.name_text(one.label)}"
        count = f"  ({same.index(one) + 1} of {len(same)})"
        spread = clock_spread(self.comparison, one.window.side)
        clock = "" if spread is None else f"  clocks within {units.time_text(spread)}"
        return line((f" {one.window.side} ", "chosen"), f" {said}", (count + clock, "dim"))

    def _late(self, one: Instance) -> Line:
        if all(member.wait is None for member in one.members):
            return line(("  waiting and transport can't be told apart here: unsplit, see ?", "warning"))
        last = one.last
        if last is None:
            return line(("  the rank that arrived last is not among these", "dim"))
        spread = clock_spread(self.comparison, one.window.side)
        if spread is None or one.lead <= max(3 * spread, CLOSEST):
            apart = f"the last two are {units.time_text(one.lead)} apart"
            return line("  no rank was clearly last: ", (apart, "dim"))
        reason = reason_of(self.comparison, one.window.side, self.row, last.rank)
        usual = f"; as a rule {reason}" if reason else ""
        behind = f", {units.time_text(one.lead)} after the one before{usual}"
        return line("  waited for ", (f"rank {last.rank}", "strong"), behind)

    def _columns(self, one: Instance) -> list[Column[Member]]:
        def time(title: str, get: str, wide: int = 0, columns: int = 9) -> Column[Member]:
            return Column(
                title, columns, lambda row: (units.time_text(getattr(row, get)), ""),
                lambda row: cast("float | None", getattr(row, get)), from_width=wide,
            )  # fmt: skip

        first = one.first

        def since(title: str, get: str, wide: int = 0) -> Column[Member]:
            def text(row: Member) -> tuple[str, str]:
                value = getattr(row, get)
                return (units.ABSENT if value is None else units.time_text(value - first, sign=True), "")

            return Column(
                title, 9, text, lambda row: cast("float | None", getattr(row, get)), from_width=wide
            )

        return [
            Column("rank", 5, lambda row: (str(row.rank), ""), lambda row: row.rank),
            since("ready", "ready"), since("start", "start"), time("queue", "queue", 96), time("waits", "wait", 70),
            time("moves", "transport"), since("consumer", "consumer_start", 84), time("slack", "slack", 110),
            time("exposed", "exposed"),
            Column("", 0, lambda row: (self.look.glyphs.last if row is one.last else "", "strong"), right=False),
        ]  # fmt: skip
