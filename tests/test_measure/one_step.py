"""One step of one rank by hand: what was measured of it, in us from zero."""

from __future__ import annotations

import polars as pl
from handmade import kernel, ns, tables

from abstep.measure.run import measure
from abstep.windows import cut

UPDATE = ("Optimizer.step#Adam",)
END = 1_000
STEPS = [(-100, 900), (900, 1_900)]
CLOSING = kernel(END, END + 10, launch=910)
"""Begins the next step, so that the first has an end."""
BEFORE = kernel(0, 120, launch=-50, name="backward gemm")
SUM = pl.col("exposed_ns").sum()
EDGE = [(7, 20, 15, 14)]
"""Stream 7 waits, from us 15 on, for what was on stream 20 at us 14."""


def measured(*activities, **more):
    return measure(cut(tables(BEFORE, *activities, CLOSING, steps=STEPS, **more)))


def us(value):
    return None if value is None else (value - ns(0)) / 1000


def parts(run):
    """(kind, from, to, exposed us) in order of time."""
    rows = run.parts.sort("start_ns", "row").to_dicts()
    return [(r["kind"], us(r["start_ns"]), us(r["end_ns"]), r["exposed_ns"] / 1000) for r in rows]


def consumer(run, number=0):
    """When the consumer of the nth collective starts."""
    return us(run.instances.sort("start_ns")["consumer_start"][number])
