"""Which compute span waits for which collective, and since when it was otherwise ready (SEMANTICS 4, 5).

Three sources, in this order: recorded stream-wait edges; what stands behind a collective on its own stream;
inference from launches and starts where a file holds no edges. Host waits (synchronisations and calls that
synchronise the device) come on top. Positions are indexes into a `Timeline`'s arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abstep.measure.expand import expand
from abstep.measure.host_waits import host_only_waits, host_waits
from abstep.measure.timeline import NEVER
from abstep.model import Kind

if TYPE_CHECKING:
    import polars as pl

    from abstep.measure.arrays import Flags, Int64
    from abstep.measure.timeline import Timeline

CONSUMER_WITHIN_NS = 20_000  # 98.7 % of 1,937 real cases lie within 8 us, none between 18 and 400
FAR = np.iinfo(np.int64).max // 4


@dataclass(frozen=True)
class Edges:
    """Stream-wait edges as positions: work from `head` on waits for the work up to `target`.

    Attributes:
        head: (m,) first activity of the waiting stream launched after the wait.
        target: (m,) last activity of the other stream launched before the record.
        inferred: (m,) not recorded.

    """

    head: Int64
    target: Int64
    inferred: Flags


@dataclass(frozen=True)
class Dependencies:
    """What each compute span waits for.

    Attributes:
        edges: all edges, device and inferred.
        consumer: (m,) for each edge the first compute span at or after its head on the waiting stream, -1 none.
        ready: (n,) for each span the instant from which, if it waits for a collective, it is blocked; FAR
            where it waits for none.
        host: (n,) whether a span waits through its launching thread.
        inferred: (n,) whether what a span waits for was inferred, not recorded.
        need: {(span, stream) -> order} as two sorted columns: `need_key` = span * streams + stream code,
            `need_order` = the order on that stream up to which it waits.
        stream_code: (n,) dense stream number of each span.
        streams: how many.
        pairs: (spans, collectives) that wait through the host.
        recorded: the file holds edges.

    """

    edges: Edges
    consumer: Int64
    ready: Int64
    host: Flags
    inferred: Flags
    need_key: Int64
    need_order: Int64
    stream_code: Int64
    streams: int
    pairs: tuple[Int64, Int64]
    recorded: bool

    def waits_for(self, span: Int64, collective: Int64, order: Int64) -> Flags:
        """Return whether each span waits for each collective (positions; `order` of the collective)."""
        if len(self.need_key) == 0:
            return np.zeros(len(span), dtype=bool)
        key = span * self.streams + self.stream_code[collective]
        at = np.minimum(np.searchsorted(self.need_key, key), len(self.need_key) - 1)
        waits: Flags = (self.need_key[at] == key) & (self.need_order[at] >= order) & (span >= 0)
        return waits


def dependencies(line: Timeline, waits: pl.DataFrame, host_calls: pl.DataFrame) -> Dependencies:
    """Resolve what waits for what in one rank trace.

    Args:
        line: the rank trace.
        waits: its rows of schema.sql's `waits`, host times moved.
        host_calls: its rows of `host_calls`, host times moved.

    """
    order = line.stream_order.order
    stream_code = np.unique(line.stream, return_inverse=True)[1].astype(np.int64)
    streams = int(stream_code.max()) + 1 if len(stream_code) else 1
    if line.host_only:
        edges, host_edges, recorded = _none(), host_only_waits(line), False
    else:
        edges = _recorded(line, waits)
        recorded = not waits.is_empty()
        same = _same_stream(line)
        edges = _joined(edges, same) if recorded else _joined(edges, same, _inferred(line))
        host_edges = host_waits(line, host_calls)
    consumer = _next_compute(line, edges.head, stream_code)
    waiting = (consumer >= 0) & (line.kind[edges.head] != Kind.COMMUNICATION)
    on_collective = waiting & (line.kind[edges.target] == Kind.COMMUNICATION)
    ready = _ready(line, edges, consumer, waiting, on_collective)
    host_span, host_collective, host_since = host_edges
    np.minimum.at(ready, host_span, host_since)
    host = np.zeros(len(line.start), dtype=bool)
    host[host_span] = True
    inferred = host.copy()
    inferred[consumer[on_collective & edges.inferred]] = True
    span = np.concatenate([consumer[on_collective], host_span])
    target = np.concatenate([edges.target[on_collective], host_collective])
    key = span * streams + stream_code[target]
    need_key, inverse = np.unique(key, return_inverse=True)
    need_order = np.full(len(need_key), -1, dtype=np.int64)
    np.maximum.at(need_order, inverse, order[target])
    return Dependencies(
        edges=edges,
        consumer=consumer,
        ready=ready,
        host=host,
        inferred=inferred,
        need_key=need_key,
        need_order=need_order,
        stream_code=stream_code,
        streams=streams,
        pairs=(host_span, host_collective),
        recorded=recorded,
    )


def _none() -> Edges:
    empty = np.zeros(0, dtype=np.int64)
    return Edges(empty, empty, np.zeros(0, dtype=bool))


def _joined(*parts: Edges) -> Edges:
    return Edges(
        np.concatenate([part.head for part in parts]),
        np.concatenate([part.target for part in parts]),
        np.concatenate([part.inferred for part in parts]),
    )


def _recorded(line: Timeline, waits: pl.DataFrame) -> Edges:
    """Edges from recorded waits: host order decides what a wait and a record cover."""
    if waits.is_empty():
        return _none()
    stream, on_stream = waits["stream"].to_numpy(), waits["on_stream"].to_numpy()
    wait_start, record_start = waits["wait_start"].to_numpy(), waits["record_start"].to_numpy()
    head = np.full(len(waits), -1, dtype=np.int64)
    target = np.full(len(waits), -1, dtype=np.int64)
    for number in np.unique(np.concatenate([stream, on_stream])):  # a loop over streams
        own = np.flatnonzero((line.stream == number) & (line.launch != NEVER))
        if len(own) == 0:
            continue
        own = own[np.argsort(line.launch[own], kind="stable")]
        launches = line.launch[own]
        waiting = np.flatnonzero(stream == number)
        at = np.searchsorted(launches, wait_start[waiting], side="right")
        head[waiting] = np.where(at < len(own), own[np.minimum(at, len(own) - 1)], -1)
        awaited = np.flatnonzero(on_stream == number)
        at = np.searchsorted(launches, record_start[awaited], side="left") - 1
        target[awaited] = np.where(at >= 0, own[np.maximum(at, 0)], -1)
    known = (head >= 0) & (target >= 0)
    return Edges(head[known], target[known], np.zeros(int(known.sum()), dtype=bool))


def _same_stream(line: Timeline) -> Edges:
    """What stands right behind a collective on its own stream waits for it."""
    collective = line.of(Kind.COMMUNICATION)
    behind = line.stream_order.after[collective]
    stands = (behind >= 0) & (line.kind[behind] != Kind.COMMUNICATION)
    stands &= line.launch[behind] < line.end[collective]
    return Edges(behind[stands], collective[stands], np.zeros(int(stands.sum()), dtype=bool))


def _inferred(line: Timeline) -> Edges:
    """Infer a consumer: the first activity elsewhere that starts right after the end, enqueued before it."""
    collective = line.of(Kind.COMMUNICATION)
    others = np.flatnonzero(line.kind != Kind.COMMUNICATION)
    if len(others) == 0 or len(collective) == 0:
        return _none()
    end = line.end[collective]
    low = np.searchsorted(line.start[others], end, side="left")
    high = np.searchsorted(line.start[others], end + CONSUMER_WITHIN_NS, side="right")
    pair, candidate = expand(low, high)
    candidate = others[candidate]
    fits = (
        (line.launch[candidate] != NEVER)
        & (line.launch[candidate] < end[pair])
        & (line.stream_order.ended_before[candidate] <= end[pair])
        & (line.stream[candidate] != line.stream[collective[pair]])
        & ~line.graph[candidate]
    )
    pair, candidate = pair[fits], candidate[fits]
    first = np.unique(pair, return_index=True)[1]  # candidates ascend by start within a pair
    return Edges(candidate[first], collective[pair[first]], np.ones(len(first), dtype=bool))


def _next_compute(line: Timeline, head: Int64, stream_code: Int64) -> Int64:
    """The first compute span at or after each head on its stream, reached through copies and memsets."""
    count = len(line.start) + 1
    compute = line.of(Kind.COMPUTE)
    if len(compute) == 0 or len(head) == 0:
        return np.full(len(head), -1, dtype=np.int64)
    key = stream_code * count + line.stream_order.order
    compute = compute[np.argsort(key[compute])]
    at = np.searchsorted(key[compute], key[head])
    found = compute[np.minimum(at, len(compute) - 1)]
    same = (at < len(compute)) & (stream_code[found] == stream_code[head])
    return np.where(same, found, -1)


def _ready(
    line: Timeline,
    edges: Edges,
    consumer: Int64,
    waiting: Flags,
    on_collective: Flags,
) -> Int64:
    """From when each consumer was ready but for its collectives: enqueued, stream free, other waits done.

    Before the first activity of a stream in the trace nothing is known of it: its queue begins there, and what
    was enqueued before the collective ended counts as waiting from the collective's start.
    """
    ready = np.full(len(line.start), FAR, dtype=np.int64)
    enqueued = np.maximum(line.launch[edges.head], line.launch[consumer])
    queue_begins = (line.stream_order.before[edges.head] < 0) & (enqueued < line.end[edges.target])
    since = np.where(
        queue_begins, NEVER, np.maximum(enqueued, line.stream_order.work_ended_before[edges.head])
    )
    earliest_head = np.full(len(line.start), FAR, dtype=np.int64)
    np.minimum.at(earliest_head, consumer[on_collective], line.stream_order.order[edges.head[on_collective]])
    is_first = on_collective & (line.stream_order.order[edges.head] == earliest_head[consumer])
    ready[consumer[is_first]] = since[is_first]
    other = waiting & ~on_collective
    known = other & (ready[consumer] < FAR)
    np.maximum.at(ready, consumer[known], line.end[edges.target[known]])
    return ready
