"""What limits when each activity of a rank trace could start: the links that a replay of its steps walks.

A replay moves collectives forward and lets the rest follow. An activity that starts right after the latest of
several limits can start earlier by the least of (how much earlier the limit is) + (how long before the latest it
was). So how much earlier anything ends is a shortest path over these links, from what cannot move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abstep.measure.chain import TIE_NS
from abstep.measure.collectives import latest_compute
from abstep.measure.timeline import NEVER
from abstep.model import Kind

if TYPE_CHECKING:
    from abstep.measure.arrays import Flags, Int64
    from abstep.measure.chain import Chain
    from abstep.measure.dependencies import Dependencies
    from abstep.measure.stops import Stops
    from abstep.measure.timeline import Timeline

FIXED = -1
"""Stands for what no replay moves: earlier steps, and a host that has not waited for its device."""


@dataclass(frozen=True)
class Links:
    """The links of one rank trace. Nodes are stretches of a stream between which nothing else joins or leaves.

    Attributes:
        nodes: how many.
        source, node, slack: (m,) a node can be earlier by no more than its source (FIXED: 0) and slack, ns.
        row, own: (c,) rows of the collectives and their nodes: reached when the collective and those queued ahead
            of it have ended.
        member, limit, at: (k,) a collective (index into `row`), a node that its first valid launch waits for, and
            when that was reached, ns on the rank's own clock.
        window, last: (w,) windows, and the node whose start ends each.

    """

    nodes: int
    source: Int64
    node: Int64
    slack: Int64
    row: Int64
    own: Int64
    member: Int64
    limit: Int64
    at: Int64
    window: Int64
    last: Int64


def links(line: Timeline, needs: Dependencies, produced: Int64, chain: Chain, stops: Stops) -> Links:
    """Link the activities of a rank trace that its completed windows launched.

    Args:
        line: the rank trace.
        needs: what its spans wait for.
        produced: `collectives.producers` of it.
        chain: what each of its spans started right after.
        stops: where its host stood still.

    """
    return _Linked(line, needs, produced, chain, stops).links()


class _Linked:
    """One rank trace while it is linked; positions are indexes into the timeline."""

    def __init__(
        self, line: Timeline, needs: Dependencies, produced: Int64, chain: Chain, stops: Stops
    ) -> None:
        self.line, self.needs, self.produced = line, needs, produced
        self.chain, self.stops = chain, stops
        self.window = _frames(line)
        self.collective = line.kind == Kind.COMMUNICATION
        self.before = line.stream_order.before
        link_end = np.where(chain.link >= 0, line.end[chain.link], NEVER)
        self.latest = np.where(chain.host, line.launch, link_end)
        self.head, self.target = needs.edges.head, needs.edges.target
        if line.host_only:
            self.head, self.target = needs.pairs
        self.ends = self._window_ends()
        self.own, self.nodes = self._nodes()
        self.found: list[tuple[Int64, Int64, Int64]] = []

    def links(self) -> Links:
        line, at = self.line, np.flatnonzero(~self.collective)
        self._limited_by_streams_and_waits(at, self.own, self.window)
        self._limited_by_host(at, self.own, self.window)
        self._limited_by_the_queue()
        last = self.nodes + np.arange(len(self.ends))
        ends = self.ends
        self._limited_by_stops()
        of_end = np.full(len(line.start), -1, dtype=np.int64)
        known = ends >= 0
        of_end[ends[known]] = last[known]
        window = np.full(len(line.start), -1, dtype=np.int64)
        window[ends[known]] = line.windows[known]
        self._limited_by_streams_and_waits(ends[known], of_end, window)
        self._limited_by_host(ends[known], of_end, window)
        closing = self._closing()
        last = np.where(known, last, np.where(closing >= 0, self.own[closing], -1))
        known = last >= 0
        source, node, slack = (np.concatenate(part) for part in zip(*self.found, strict=True))
        collective = np.flatnonzero(self.collective & (self.window >= 0))
        member, limit, reached = self._readiness(collective)
        return Links(
            self.nodes + len(ends) + len(self.stops.awaited),
            *_least(source, node, slack),
            row=line.row[collective],
            own=self.own[collective],
            member=member,
            limit=limit,
            at=reached,
            window=line.windows[known],
            last=last[known],
        )

    def _launched(self, at: Int64, window: Int64) -> Int64:
        """Return the node that spans' launch follows within a window: where their host last stood still, or FIXED."""
        stop = self.stops.before[at]
        node = np.full(len(at), FIXED, dtype=np.int64)
        after = np.flatnonzero(stop >= 0)
        after = after[self.window[self.stops.awaited[stop[after]]] == window[after]]
        node[after] = self.nodes + len(self.ends) + stop[after]
        return node

    def _limited_by_stops(self) -> None:
        """Where the host stood still it goes on by what it awaited, and by when it came there."""
        stops = self.stops
        node = self.nodes + len(self.ends) + np.arange(len(stops.awaited))
        window = self.window[stops.awaited]
        since = np.maximum(stops.start, self.line.end[stops.awaited])
        self._add(stops.awaited, node, since - self.line.end[stops.awaited], window)
        ahead = stops.ahead
        same = (ahead >= 0) & (self.window[stops.awaited[ahead]] == window) & (window >= 0)
        self.found.append((np.where(same, node[ahead], FIXED), node, since - stops.start))

    def _window_ends(self) -> Int64:
        """For each window the activity whose start ends it, -1 where its own work does."""
        line = self.line
        opens = np.flatnonzero((line.kind <= Kind.COMMUNICATION) & (self.window >= 0))
        # only a step's first: where times are whole microseconds others start at that instant too
        opens = np.sort(opens[np.unique(self.window[opens], return_index=True)[1]])
        at = np.searchsorted(line.start[opens], line.window_end, side="left")
        found = opens[np.minimum(at, len(opens) - 1)] if len(opens) else np.full(len(at), -1)
        fits = (
            (at < len(opens)) & (line.start[found] == line.window_end) & (self.window[found] != line.windows)
        )
        return np.where(fits, found, -1)

    def _closing(self) -> Int64:
        """For each window the activity that ends last of its own, -1 none; on the host itself of its computation."""
        line = self.line
        kinds = [Kind.COMPUTE] if line.host_only else list(Kind)
        at = line.of(*kinds)
        at = at[np.argsort(line.end[at], kind="stable")]
        place = np.minimum(np.searchsorted(line.windows, self.window[at]), len(line.windows) - 1)
        own = line.windows[place] == self.window[at]
        closing = np.full(len(line.windows), -1, dtype=np.int64)
        closing[place[own]] = at[own]  # the latest end is written last and stays
        return closing

    def _nodes(self) -> tuple[Int64, int]:
        """Number the stretches of streams: one begins wherever another limit joins or something else is limited."""
        line, count = self.line, len(self.line.start)
        begins = self.collective.copy()
        begins[self.head] = True
        leaves = np.zeros(count, dtype=bool)
        leaves[self.target] = True
        leaves[self.stops.awaited] = True
        leaves[self.produced] = True
        follows = self.before >= 0
        previous = self.before[follows]
        binding = self.chain.link[follows] == previous
        same = binding & ~self.chain.host[follows] & ~self.collective[previous] & ~leaves[previous]
        same &= self.window[previous] == self.window[follows]
        begins |= ~follows
        begins[follows] |= ~same
        by_stream = np.lexsort((line.stream_order.order, line.stream))
        own = np.empty(count, dtype=np.int64)
        own[by_stream] = np.cumsum(begins[by_stream]) - 1
        self.begins = begins
        return own, int(begins.sum())

    def _add(self, limit: Int64, node: Int64, slack: Int64, window: Int64) -> None:
        """Limit nodes by positions (-1: fixed); what another step launched is fixed."""
        fixed = (limit < 0) | (window < 0) | (self.window[limit] != window)
        self.found.append((np.where(fixed, FIXED, self.own[limit]), node, np.maximum(slack, 0)))

    def _limited_by_streams_and_waits(self, at: Int64, node: Int64, window: Int64) -> None:
        """The end of what is ahead on the stream, and of what the stream was made to wait for."""
        line = self.line
        chosen = at[self.begins[at] | (node[at] >= self.nodes)]
        ahead = self.before[chosen]
        here = (ahead >= 0) & (line.end[ahead] <= line.start[chosen] + TIE_NS)
        self._add(
            ahead[here],
            node[chosen[here]],
            self.latest[chosen[here]] - line.end[ahead[here]],
            window[chosen[here]],
        )
        mine = np.zeros(len(line.start), dtype=bool)
        mine[at] = True
        held = mine[self.head] & (line.end[self.target] <= line.start[self.head] + TIE_NS)
        head, target = self.head[held], self.target[held]
        self._add(target, node[head], self.latest[head] - line.end[target], window[head])

    def _limited_by_host(self, at: Int64, node: Int64, window: Int64) -> None:
        """The launch call; on the host itself nothing but the thread."""
        line = self.line
        if line.host_only:
            at = at[self.before[at] < 0]
            self.found.append((np.full(len(at), FIXED), node[at], np.zeros(len(at), dtype=np.int64)))
            return
        unknown = line.launch[at] == NEVER
        slack = np.where(unknown, 0, np.maximum(self.latest[at] - line.launch[at], 0))
        launched = np.where(unknown, FIXED, self._launched(at, window[at]))
        self.found.append((launched, node[at], slack))

    def _limited_by_the_queue(self) -> None:
        """Waiting for a collective is waiting for those ahead of it on its stream, in whatever order they end."""
        line = self.line
        at = np.flatnonzero(self.collective & (self.before >= 0))
        at = at[self.collective[self.before[at]]]
        ahead = self.before[at]
        self._add(ahead, self.own[at], line.end[at] - line.end[ahead], self.window[at])

    def _readiness(self, collective: Int64) -> tuple[Int64, Int64, Int64]:
        """What each collective's first valid launch waits for: its producers, its launch call and its window.

        It may have been launched before its window begins, behind the step before; that moves nothing of this one.
        """
        line, edges = self.line, self.needs.edges
        count = len(line.start)
        number = np.full(count, -1, dtype=np.int64)
        number[collective] = np.arange(len(collective))
        awaited = (number[edges.head] >= 0) & ~edges.inferred
        compute = latest_compute(line)[edges.target[awaited]]
        other = edges.target[awaited]
        other = np.where(self.collective[other], other, -1)
        ahead = self.before[collective]
        ahead = np.where((ahead >= 0) & ~self.collective[ahead], ahead, -1)
        member = np.concatenate(
            [np.arange(len(collective)), *(number[edges.head[awaited]],) * 2, np.arange(len(collective))]
        )
        limit = np.concatenate([self.produced[collective], compute, other, ahead])
        there = limit >= 0
        member, limit = member[there], limit[there]
        at = line.end[limit]
        fixed = self.window[limit] != self.window[collective[member]]
        limit = np.where(fixed, FIXED, self.own[limit])
        unknown = line.launch[collective] == NEVER
        launched = np.where(unknown, FIXED, self._launched(collective, self.window[collective]))
        own = np.minimum(np.searchsorted(line.windows, self.window[collective]), len(line.windows) - 1)
        whole = line.windows[own] == self.window[collective]
        begins = np.where(whole, line.window_start[own], line.start[collective])
        return (
            np.concatenate([member, *(np.arange(len(collective)),) * 2]),
            np.concatenate([limit, launched, np.full(len(collective), FIXED)]),
            np.concatenate([at, np.where(unknown, line.start[collective], line.launch[collective]), begins]),
        )


def _frames(line: Timeline) -> Int64:
    """Return in which window's replay each span moves, (n,): its launching step's, -1 none.

    What a step copies before its window begins (a prefetched input) moves in the window before.
    """
    at = np.maximum(np.searchsorted(line.window_start, line.start, side="right") - 1, 0)
    ahead = (line.kind > Kind.COMMUNICATION) & (line.window > line.windows[at])
    ahead &= (line.start >= line.window_start[at]) & (line.start < line.window_end[at])
    return np.where(ahead, line.windows[at], line.window)


def _least(source: Int64, node: Int64, slack: Int64) -> tuple[Int64, Int64, Int64]:
    """Keep the tightest of several links between the same two nodes."""
    order = np.lexsort((slack, source, node))
    source, node, slack = source[order], node[order], slack[order]
    first: Flags = np.ones(len(order), dtype=bool)
    first[1:] = (source[1:] != source[:-1]) | (node[1:] != node[:-1])
    return source[first], node[first], slack[first]
