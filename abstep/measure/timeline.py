"""One rank trace as sorted columns, and the sweep that every measure of it starts from.

A sweep cuts the time line at every start, end and window edge; between two cuts nothing changes, so sets
of running spans are constant there and every quantity is a sum over segments. All times int64 ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.measure.arrays import Flags, Int64
    from abstep.windows import CutRun

NEVER = np.iinfo(np.int64).min // 4
"""Stands in numpy columns for a time that is not known (no launch record)."""


@dataclass(frozen=True)
class Sweep:
    """Elementary segments of one rank trace inside its windows.

    Attributes:
        start, end: (n,) segment edges, ns, ascending, only segments inside a window.
        window: (n,) index into `Timeline.windows` arrays.
        compute, communication, other: (n,) how many spans of each run (copies and memsets are other).

    """

    start: Int64
    end: Int64
    window: Int64
    compute: Int64
    communication: Int64
    other: Int64

    @property
    def length(self) -> Int64:
        """Length of each segment, ns."""
        return self.end - self.start


@dataclass(frozen=True)
class Timeline:
    """One rank trace (one file), sorted by start.

    Attributes:
        file, repeat, rank: which.
        host_only: whether its spans are host ranges.
        row: (n,) `row` in the cut run's spans.
        start, end, kind, stream, name: (n,) of the spans.
        launch: (n,) start of the launch call, NEVER where there is no launch record.
        launch_end: (n,) its end.
        thread: (n,) launching thread, -1 where unknown.
        window: (n,) window of the step that launched it, -1 where unattributed.
        graph: (n,) launched inside a graph launch.
        packing: (n,) moves reduced or gathered data in or out of a collective's buffer.
        windows: (w,) window numbers; window_start, window_end: (w,) edges; disjoint, ascending.

    """

    file: int
    repeat: int
    rank: int
    host_only: bool
    row: Int64
    start: Int64
    end: Int64
    kind: Int64
    stream: Int64
    name: Int64
    launch: Int64
    launch_end: Int64
    thread: Int64
    window: Int64
    graph: Flags
    packing: Flags
    windows: Int64
    window_start: Int64
    window_end: Int64

    def of(self, *kinds: Kind) -> Int64:
        """Return positions of the spans of these kinds, by start."""
        return np.flatnonzero(np.isin(self.kind, [int(kind) for kind in kinds]))

    @cached_property
    def sweep(self) -> Sweep:
        """The sweep of this trace, over all spans, clipped at window edges by time."""
        return _sweep(self)

    @cached_property
    def stream_order(self) -> StreamOrder:
        """Predecessors and successors on each stream, in device order."""
        return _stream_order(self)


@dataclass(frozen=True)
class StreamOrder:
    """Device order on each stream.

    Attributes:
        order: (n,) number of a span on its stream, by start.
        before: (n,) position of the previous span on its stream, -1 at the first.
        after: (n,) position of the next span on its stream, -1 at the last.
        ended_before: (n,) latest end of any earlier span on its stream, NEVER at the first.
        work_ended_before: the same, of earlier spans that are not communication.

    """

    order: Int64
    before: Int64
    after: Int64
    ended_before: Int64
    work_ended_before: Int64


def timelines(
    run: CutRun, packing: pl.Series | None = None, *, completed_only: bool = True
) -> Iterator[Timeline]:
    """Yield the run's rank traces, by repeat, rank and file.

    Args:
        run: a cut run.
        packing: rows of spans that pack or unpack a collective's buffer (`names.named_spans`).
        completed_only: only windows without a reason to be dropped (spans are kept all the same).

    """
    windows = run.completed if completed_only else run.windows.drop_nulls(["start_ns", "end_ns"])
    by_file = {
        key[0]: frame for key, frame in windows.sort("start_ns").partition_by("file", as_dict=True).items()
    }
    files = run.tables.files.sort("repeat", "rank", "file")
    packs = pl.lit(value=False) if packing is None else pl.col("row").is_in(packing.implode())
    spans = run.tables.spans.with_columns(packs.alias("packing")).partition_by(
        "file", as_dict=True, maintain_order=True
    )
    for file, repeat, rank, host_only in files.select("file", "repeat", "rank", "host_only").iter_rows():
        frame = spans.get((file,))
        cut = by_file.get(file)
        if frame is None or cut is None:
            continue
        frame = frame.sort("start_ns", "end_ns", "row")
        yield Timeline(
            file,
            repeat,
            rank,
            host_only,
            row=_column(frame, "row"),
            start=_column(frame, "start_ns"),
            end=_column(frame, "end_ns"),
            kind=_column(frame, "kind"),
            stream=_column(frame, "stream"),
            name=_column(frame, "name"),
            launch=_column(frame, "launch_start", NEVER),
            launch_end=_column(frame, "launch_end", NEVER),
            thread=_column(frame, "thread", -1),
            window=_column(frame, "window", -1),
            graph=frame["graph"].to_numpy(),
            packing=frame["packing"].to_numpy(),
            windows=_column(cut, "window"),
            window_start=_column(cut, "start_ns"),
            window_end=_column(cut, "end_ns"),
        )


def _column(frame: pl.DataFrame, name: str, missing: int = 0) -> Int64:
    return frame[name].cast(pl.Int64).fill_null(missing).to_numpy()


def _sweep(line: Timeline) -> Sweep:
    # one comparison of a span's time with its windows instead of many: spans outside all windows go first
    inside = (line.end > line.window_start[0]) & (line.start < line.window_end[-1])
    start, end, kind = line.start[inside], line.end[inside], line.kind[inside]
    cuts = np.sort(np.concatenate([start, end, line.window_start, line.window_end]))
    cuts = cuts[np.diff(cuts, prepend=cuts[0] - 1) > 0]  # np.unique's hash table takes ten times as long
    counts = [
        _running(cuts, start[chosen], end[chosen])
        for chosen in (
            kind == Kind.COMPUTE,
            kind == Kind.COMMUNICATION,
            (kind == Kind.COPY) | (kind == Kind.MEMSET),
        )
    ]
    left, right = cuts[:-1], cuts[1:]
    window = np.searchsorted(line.window_start, left, side="right") - 1
    within = (window >= 0) & (left < line.window_end[np.maximum(window, 0)])
    return Sweep(left[within], right[within], window[within], *(count[:-1][within] for count in counts))


def _running(cuts: Int64, start: Int64, end: Int64) -> Int64:
    """How many of the spans run from each cut to the next."""
    change = np.bincount(np.searchsorted(cuts, start), minlength=len(cuts))
    change -= np.bincount(np.searchsorted(cuts, end), minlength=len(cuts))
    return np.cumsum(change)


def _stream_order(line: Timeline) -> StreamOrder:
    count = len(line.start)
    by_stream = np.lexsort((np.arange(count), line.stream))
    streams = line.stream[by_stream]
    first = np.ones(count, dtype=bool)
    first[1:] = streams[1:] != streams[:-1]
    heads = np.flatnonzero(first)
    number = np.arange(count) - np.repeat(heads, np.diff(np.append(heads, count)))
    order = np.empty(count, dtype=np.int64)
    before = np.full(count, -1, dtype=np.int64)
    after = np.full(count, -1, dtype=np.int64)
    ended = np.full(count, NEVER, dtype=np.int64)
    work_ended = np.full(count, NEVER, dtype=np.int64)
    work_end = np.where(line.kind == Kind.COMMUNICATION, NEVER, line.end)
    order[by_stream] = number
    later = np.flatnonzero(~first)
    before[by_stream[later]] = by_stream[later - 1]
    after[by_stream[later - 1]] = by_stream[later]
    for head, tail in zip(heads, np.append(heads[1:], count), strict=True):  # a loop over streams, not spans
        own = by_stream[head:tail]
        ended[own[1:]] = np.maximum.accumulate(line.end[own])[:-1]
        work_ended[own[1:]] = np.maximum.accumulate(work_end[own])[:-1]
    return StreamOrder(order, before, after, ended, work_ended)
