"""Where the training threads' host stood still for its device, and which launches came after (SEMANTICS 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.timeline import NEVER
from abstep.model import Kind

if TYPE_CHECKING:
    from abstep.measure.arrays import Flags, Int64
    from abstep.measure.timeline import Timeline


@dataclass(frozen=True)
class Stops:
    """Calls of the host that wait for the device, by their end.

    Attributes:
        start: (k,) of the call, ns; NEVER where nothing but what it awaited limits it.
        awaited: (k,) position of the activity that ended last before the call did.
        ahead: (k,) the stop before it, -1 the first.
        before: (n,) for each span the last stop before its launch, on the threads that train; -1 none.

    """

    start: Int64
    awaited: Int64
    ahead: Int64
    before: Int64


def stops(line: Timeline, host_calls: pl.DataFrame, threads: pl.DataFrame) -> Stops:
    """Find where the host stood still.

    The thread that carries the steps and those that run autograd nodes take turns: they are one host. Another
    thread's launches (a data loader's) follow no stop.

    Args:
        line: one rank trace.
        host_calls: its synchronisations, blocking copies and calls that synchronise the device, host times moved.
        threads: its threads.

    """
    by_end = np.argsort(line.end, kind="stable")
    if line.host_only:
        return _of_launches(line, by_end)
    trains = threads.filter(pl.col("has_step") | pl.col("has_backward"))
    calls = host_calls.filter(
        (pl.col("kind") != "graph") & pl.col("thread").is_in(trains["thread"].implode())
    ).sort("end_ns", "start_ns")
    start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    at = np.searchsorted(line.end[by_end], end, side="right") - 1
    known = at >= 0
    start, end, awaited = start[known], end[known], by_end[at[known]]
    before = np.full(len(line.start), -1, dtype=np.int64)
    ours: Flags = (line.launch != NEVER) & np.isin(line.thread, trains["thread"].to_numpy())
    before[ours] = np.searchsorted(end, line.launch[ours], side="right") - 1
    return Stops(start, awaited, np.arange(len(start)) - 1, before)


def _of_launches(line: Timeline, by_end: Int64) -> Stops:
    """On the host itself a collective is launched after the operator before it, at once."""
    collective = np.flatnonzero((line.kind == Kind.COMMUNICATION) & (line.launch != NEVER))
    at = np.searchsorted(line.end[by_end], line.launch[collective], side="right") - 1
    collective, at = collective[at >= 0], at[at >= 0]
    before = np.full(len(line.start), -1, dtype=np.int64)
    before[collective] = np.arange(len(collective))
    return Stops(np.full(len(collective), NEVER), by_end[at], np.full(len(collective), -1), before)
