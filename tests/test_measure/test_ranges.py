"""What a host says it was doing: its outermost annotations, step by step."""

from __future__ import annotations

import polars as pl
from handmade import ZERO_NS, joined, kernel, tables

from abstep.measure.ranges import host_ranges
from abstep.windows import cut

STEPS = [(0, 100), (100, 200), (200, 300)]
KERNELS = [kernel(at + 50, at + 60, launch=at + 5) for at, _ in STEPS]


def ranges(*marks):
    run = cut(tables(*KERNELS, steps=STEPS, marks=marks))
    window = run.windows.select("window", "step")
    rows = (
        host_ranges(run)
        .join(window, on="window")
        .sort("step", "range")
        .select("step", "range", "begins", "ns")
    )
    return [
        (step, name, (begins - ZERO_NS) / 1_000, ns / 1_000) for step, name, begins, ns in rows.iter_rows()
    ]


def test_time_of_each_annotation_in_each_step():
    found = ranges(("load", 0, 30), ("load", 40, 45), ("load", 110, 115), ("forward", 50, 70))
    assert found == [(0, "forward", 50, 20), (0, "load", 0, 35), (1, "load", 110, 5)]


def test_only_the_outermost_counts():
    assert ranges(("load", 10, 40), ("decode", 15, 30), ("decode", 50, 60)) == [
        (0, "decode", 50, 10),
        (0, "load", 10, 30),
    ]


def test_a_trailing_number_is_no_part_of_the_name():
    assert ranges(("batch #1", 10, 20), ("batch #2", 110, 130)) == [
        (0, "batch", 10, 10),
        (1, "batch", 110, 20),
    ]


def test_between_steps_belongs_to_none():
    assert ranges(("load", 310, 340)) == []


def test_other_threads_say_nothing_of_the_host():
    run = tables(*KERNELS, steps=STEPS, marks=[("load", 10, 40)])
    loader = run.marks.with_columns(
        pl.when(pl.col("step").is_null()).then(pl.lit(7, pl.Int32)).otherwise("thread").alias("thread")
    )
    other = cut(joined(type(run)(**{**vars(run), "marks": loader})))
    assert host_ranges(other).is_empty()
