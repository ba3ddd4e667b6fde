"""The dependency path of a step across ranks: what its length is made of (SEMANTICS 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.timeline import NEVER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abstep.measure.chain import Chain
    from abstep.windows.clock import CommonClock

PATH = {
    "repeat": pl.Int32,
    "step": pl.Int64,
    "rank": pl.Int32,
    "compute_ns": pl.Int64,
    "transport_ns": pl.Int64,
    "host_ns": pl.Int64,
    "idle_ns": pl.Int64,
}
KINDS = ("compute", "transport", "host", "idle")
MOST_NODES = 100_000  # a walk is shorter than a step has collectives and waits; this ends one that loops


@dataclass(frozen=True)
class _Arrivals:
    """Where each collective's path goes on: by its span's row."""

    last_arrival: Mapping[int, int | None]
    late_row: Mapping[int, int]


def dependency_paths(
    chains: Sequence[Chain], windows: pl.DataFrame, instances: pl.DataFrame, clock: CommonClock
) -> pl.DataFrame:
    """Walk back from each step's latest-ending activity to the start of the window then on the path.

    Args:
        chains: one a rank trace.
        windows: window, repeat, rank, step, start_ns, end_ns of completed windows.
        instances: `AcrossRanks.instances`.
        clock: the common clock, on which ends of ranks are compared.

    Returns:
        repeat, step, rank, compute_ns, transport_ns, host_ns, idle_ns: the path's time on each rank; a step
        whose path meets a collective that could not be split has no rows.

    """
    arrivals = _arrivals(instances)
    by_row = {int(row): (number, at) for number, own in enumerate(chains) for at, row in _collectives(own)}
    last = _last_activities(chains, windows, clock)
    window_start = dict(windows.select("window", "start_ns").iter_rows())
    window_of = {
        (repeat, step, rank): window
        for window, repeat, step, rank in windows.select("window", "repeat", "step", "rank").iter_rows()
    }
    rows: list[tuple[int, ...]] = []
    for (repeat, step), (number, at) in last.items():
        starts = [
            window_start.get(window_of.get((repeat, step, own.rank), -1), NEVER)
            if own.repeat == repeat
            else NEVER
            for own in chains
        ]
        walk = _Walk(chains, starts, arrivals, by_row)
        if walk.back_from(number, at):
            rows += [
                (repeat, step, rank, *(walk.time.get((rank, kind), 0) for kind in KINDS))
                for rank in sorted({rank for rank, _ in walk.time})
            ]
    return pl.DataFrame(rows, schema=PATH, orient="row")


def _collectives(own: Chain) -> list[tuple[int, int]]:
    at = np.flatnonzero(own.communication)
    return list(zip(at.tolist(), own.row[at].tolist(), strict=True))


def _arrivals(instances: pl.DataFrame) -> _Arrivals:
    waited = instances.select("instance", pl.col("rank").alias("last_rank"), pl.col("row").alias("late_row"))
    joined = instances.drop_nulls("last_rank").join(
        waited.unique(["instance", "last_rank"], keep="first", maintain_order=True),
        on=["instance", "last_rank"],
    )
    return _Arrivals(
        dict(instances.select("row", "last_arrival").iter_rows()),
        dict(joined.select("row", "late_row").iter_rows()),
    )


def _last_activities(
    chains: Sequence[Chain], windows: pl.DataFrame, clock: CommonClock
) -> dict[tuple[int, int], tuple[int, int]]:
    """For each step the trace and position of the activity launched in it that ends last, on any rank.

    Ends are compared on the common clock; where a rank's is not known, from each window's own start.
    """
    offsets = {
        (repeat, rank): offset
        for repeat, rank, offset in clock.rows.select("repeat", "rank", "offset_ns").iter_rows()
    }
    common = all(offsets.get((own.repeat, own.rank)) is not None for own in chains)
    where = {
        window: (repeat, step, start)
        for window, repeat, step, start in windows.select("window", "repeat", "step", "start_ns").iter_rows()
    }
    best: dict[tuple[int, int], tuple[int, int, int]] = {}
    for number, own in enumerate(chains):
        launched = np.flatnonzero(own.window >= 0)
        if len(launched) == 0:
            continue
        by_window = launched[np.lexsort((own.end[launched], own.window[launched]))]
        ends_group = np.append(own.window[by_window][1:] != own.window[by_window][:-1], [True])
        for at in by_window[ends_group].tolist():
            if int(own.window[at]) not in where:
                continue
            repeat, step, start = where[int(own.window[at])]
            origin = round(offsets[own.repeat, own.rank]) if common else start
            end = int(own.end[at]) - origin
            if (repeat, step) not in best or end > best[repeat, step][0]:
                best[repeat, step] = (end, number, at)
    return {step: (number, at) for step, (_, number, at) in sorted(best.items())}


class _Walk:
    """One step's path as it grows backwards: time by (rank, kind)."""

    def __init__(
        self,
        chains: Sequence[Chain],
        starts: Sequence[int],
        arrivals: _Arrivals,
        by_row: Mapping[int, tuple[int, int]],
    ) -> None:
        self.chains = chains
        self.starts = starts
        self.arrivals = arrivals
        self.by_row = by_row
        self.time: dict[tuple[int, str], int] = {}

    def add(self, rank: int, kind: str, time: int) -> None:
        """Book time to a kind on a rank."""
        if time > 0:
            self.time[rank, kind] = self.time.get((rank, kind), 0) + time

    def back_from(self, number: int, at: int) -> bool:
        """Walk to the window's start; False where a collective on the way could not be split."""
        until = int(self.chains[number].end[at])
        for _ in range(MOST_NODES):
            if self.chains[number].communication[at]:
                over = self._across(number, at, until)
                if over is None:
                    return False
                number, at = over
            else:
                at = self._along(number, at)
            until = int(self.chains[number].start[at])
            before = self._before(number, at)
            if before is None:
                return True
            at = before
        return True

    def _across(self, number: int, at: int, until: int) -> tuple[int, int] | None:
        """Book a collective's transport and go to the rank that arrived last."""
        own, floor = self.chains[number], self.starts[number]
        row = int(own.row[at])
        arrival = self.arrivals.last_arrival.get(row)
        if arrival is None:
            return None
        end = min(int(own.end[at]), until)
        self.add(own.rank, "transport", end - max(min(arrival, end), floor))
        late = self.arrivals.late_row.get(row)
        return (number, at) if late is None else self.by_row.get(late, (number, at))

    def _along(self, number: int, at: int) -> int:
        """Walk a run of compute in one step; return where it begins, or the first span of it in the window."""
        own, floor = self.chains[number], self.starts[number]
        head = int(own.run[at])
        if int(own.start[head]) < floor:
            low, high = int(own.place[head]), int(own.place[at])
            inside = low + int(np.searchsorted(own.start[own.by_stream[low : high + 1]], floor, side="left"))
            head = int(own.by_stream[min(inside, high)])
        busy = int(own.busy_before[at] - own.busy_before[head]) + int(own.end[at] - own.start[at])
        self.add(own.rank, "compute", busy - max(0, floor - int(own.start[head])))
        self.add(own.rank, "host" if own.host_only else "idle", int(own.end[at] - own.start[head]) - busy)
        return head

    def _before(self, number: int, at: int) -> int | None:
        """Book the gap before a span and return what it started after; None at the window's start."""
        own, floor = self.chains[number], self.starts[number]
        start = int(own.start[at])
        if start <= floor:
            return None
        if own.host[at]:
            synced = int(own.synced[at])
            self.add(own.rank, "host", start - max(floor, synced))
            before, start = (_ended_before(own, synced) if synced > floor else -1), synced
            if before < 0:
                return None
        else:
            before = int(own.link[at])
            if before < 0:
                self.add(own.rank, "idle", start - floor)
                return None
        # on the host a gap between operators is the host's own time
        gap = "host" if own.host_only and not own.communication[before] else "idle"
        self.add(own.rank, gap, start - max(int(own.end[before]), floor))
        return before if int(own.end[before]) > floor else None


def _ended_before(own: Chain, when: int) -> int:
    """Position of the span that ended last, no later than `when`; -1 none."""
    upper = int(np.searchsorted(own.start, when, side="right"))
    ended = np.flatnonzero(own.end[:upper] <= when)
    return int(ended[np.argmax(own.end[ended])]) if len(ended) else -1
