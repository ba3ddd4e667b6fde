"""The figures behind the verdict, further down its page: categories, milestones, collectives, ranks, the path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abstep import units
from abstep.tui.views import figures
from abstep.tui.widgets.lines import BLANK, Line, line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from abstep.compare.comparison import CollectiveRow, Comparison
    from abstep.tui.look import Look

CATEGORIES = {
    "compute_alone": "compute alone",
    "overlapped": "compute and communication",
    "exposed": "exposed communication",
    "copy_only": "copies only",
    "idle": "idle",
}
MILESTONES = (
    ("backward ends at", "backward_end"),
    ("last collective ends at", "last_collective_end"),
    ("update ends at", "update_end"),
    ("backward to optimizer", "tail"),
)
_COLUMN = 8
_ISOLATED_FROM = 90


def behind(comparison: Comparison, width: int, look: Look) -> Iterable[Line]:
    """Return the lines."""
    for section in (_categories, _milestones, _collectives, _ranks, _path):
        lines = list(section(comparison, width, look))
        if lines:
            yield BLANK
            yield from lines


def _categories(comparison: Comparison, width: int, look: Look) -> Iterable[Line]:
    table = figures.Compared(width, look)
    yield table.titles("time of a window, mean", "change")
    for row in comparison.decomposition:  # overlap is neither good nor bad
        yield table.delta(
            CATEGORIES.get(row.category, row.category), row.delta, neutral=row.category == "overlapped"
        )
    tail = comparison.tail
    if tail.delta is not None:
        counts = f"({tail.windows_base} and {tail.windows_variant})"
        windows = f"  {units.time_text(tail.delta, sign=True)} {counts}"
        yield table.times("outlier windows add", tail.base, tail.variant, (windows, "dim"))


def _milestones(comparison: Comparison, width: int, look: Look) -> Iterable[Line]:
    base, variant, table = comparison.base, comparison.variant, figures.Compared(width, look)
    for label, name in (("communication", "overlap_of_communication"), ("compute", "overlap_of_compute")):
        one, two = (units.share_text(getattr(side, name)) for side in (base, variant))
        yield table.row(f"overlap, of {label}", one, two)
    for label, name in MILESTONES:
        yield table.times(label, *(getattr(side.milestones, name) for side in (base, variant)))
    yield table.times("ideal: started together", base.ideal, variant.ideal)
    yield table.times("bound: nothing queues", base.bound, variant.bound)


def _collectives(comparison: Comparison, width: int, look: Look) -> Iterable[Line]:
    rows = comparison.collectives
    if not rows:
        return
    isolated = width >= _ISOLATED_FROM and any(row.isolated is not None for row in rows)
    titles = ("moves", "waits", "exposed", "hidden", "GB/s", *(("alone",) if isolated else ()), "last")
    yield _titles("collectives of a window", titles)
    kinds = dict.fromkeys((row.collective, row.group, row.phase) for row in rows)
    for kind in kinds:
        of_kind = [row for row in rows if (row.collective, row.group, row.phase) == kind]
        for at, row in enumerate(sorted(of_kind, key=lambda row: row.side)):
            name = (
                units.name_text(f"{kind[0]} {kind[2]} {kind[1]}", width=19, ascii=look.ascii)
                if at == 0
                else ""
            )
            yield _collective(name, row, isolated=isolated)


def _collective(name: str, row: CollectiveRow, *, isolated: bool) -> Line:
    times = [units.time_text(value) for value in (row.transport, row.peer_wait, row.exposed, row.hidden)]
    bandwidth = units.rate_text(row.busbw_gb_s).removesuffix(" GB/s")
    alone = [units.time_text(row.isolated)] if isolated else []
    late = units.ABSENT if row.late_rank is None else f"rank {row.late_rank}"
    return _row(name, row.side, [*times, bandwidth, *alone, late])


def _ranks(comparison: Comparison, _width: int, _look: Look) -> Iterable[Line]:
    if not comparison.ranks:
        return
    yield _titles("ranks", ("compute", "overlap", "exposed", "idle", "waits", "late"))
    for row in sorted(comparison.ranks, key=lambda row: (row.rank, row.side)):
        name = f"rank {row.rank}" if row.side == "base" else ""
        values = (row.compute_alone, row.overlapped, row.exposed, row.idle, row.peer_wait, row.lateness)
        yield _row(name, row.side, [units.time_text(value) for value in values])


def _path(comparison: Comparison, _width: int, _look: Look) -> Iterable[Line]:
    if not comparison.path:
        return
    yield _titles("longest path of a window", ("compute", "moves", "host", "idle", "on"))
    for row in comparison.path:
        most = max(row.ranks.items(), key=lambda item: (item[1], -item[0]), default=None)
        on = units.ABSENT if most is None else f"rank {most[0]}"
        times = [units.time_text(value) for value in (row.compute, row.transport, row.host, row.idle)]
        yield _row("", row.side, [*times, on])


def _titles(label: str, names: tuple[str, ...]) -> Line:
    return line((f"  {label:<28}" + "".join(f"{name:>{_COLUMN}}" for name in names), "head"))


def _row(label: str, side: str, values: list[str]) -> Line:
    numbers = "".join(f"{value:>{_COLUMN}}" for value in values)
    return line(f"  {label:<20}", (f"{side:<8}", side), numbers)
