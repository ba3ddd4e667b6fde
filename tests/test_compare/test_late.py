"""Who is late, how surely, and why; and how fast the bytes went (SEMANTICS 4)."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from abstep.compare.lateness import Lateness, lateness, longer_range
from abstep.measure.ranks import bus_factor

US = 1_000
SCHEMA = {
    "instance": pl.Int64,
    "rank": pl.Int32,
    "late_rank": pl.Int32,
    "lead_ns": pl.Int64,
    "uncertain_ns": pl.Float64,
    "queue_ns": pl.Int64,
    "busy_ns": pl.Int64,
    "waited_ns": pl.Int64,
    "pipeline_ns": pl.Int64,
}


def group(*lates, lead=10 * US, spread=1.0 * US, queue=0, busy=(0, 0), waited=(0, 0), passed=(0, 0)):
    """One collective of ranks 0 and 1 for each name in `lates`: the rank that arrived last, None where unsplit."""
    rows = [
        {
            "instance": number,
            "rank": rank,
            "late_rank": late,
            "lead_ns": None if late is None else lead,
            "uncertain_ns": None if late is None else spread,
            "queue_ns": queue,
            "busy_ns": busy[rank],
            "waited_ns": waited[rank],
            "pipeline_ns": passed[rank],
        }
        for number, late in enumerate(lates)
        for rank in (0, 1)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def test_the_rank_that_most_often_arrives_last_and_how_often():
    assert lateness(group(1, 1, 0, 1))[:2] == (1, 0.75)


def test_of_as_many_times_the_lower_rank():
    assert lateness(group(1, 0))[:2] == (0, 0.5)


def test_unsplit_instances_say_nothing():
    assert lateness(group(None, None))[:3] == (None, None, None)
    assert lateness(group(None, 1, 1))[:2] == (1, 1.0)


def called(frame):
    return lateness(frame).called


@pytest.mark.parametrize(("times", "is_called"), [(6, True), (5, False)])
def test_a_rank_is_called_late_when_it_is_last_in_60_percent(times, is_called):
    assert called(group(*([1] * times + [0] * (10 - times)))) is is_called


@pytest.mark.parametrize(("lead", "is_called"), [(3_001, True), (3_000, False), (500, False)])
def test_and_leads_by_more_than_three_times_the_clocks_spread(lead, is_called):
    assert called(group(1, 1, 1, lead=lead)) is is_called


def test_nobody_is_called_late_without_a_clock():
    assert not called(group(None, None))


@pytest.mark.parametrize(
    ("why", "figures"),
    [
        ("compute", {"busy": (100 * US, 110 * US)}),
        ("host", {"busy": (100 * US, 100 * US)}),
        ("host", {"busy": (100 * US, 90 * US)}),
        ("queue", {"queue": 8 * US}),
        ("queue", {"waited": (0, 9 * US)}),
        ("compute", {"busy": (100 * US, 160 * US), "queue": 2 * US}),
    ],
)
def test_lateness_splits_at_the_ranks_own_readiness(why, figures):
    """It computed longer than the others; or its stream carried another collective; else its host was late."""
    assert lateness(group(1, 1, 1, **figures)).reason == why


@pytest.mark.parametrize(
    ("passed", "busy", "pipelined"),
    [
        ((0, 9 * US), (0, 0), True),
        ((0, 4 * US), (0, 0), False),
        ((0, 9 * US), (0, 50 * US), True),
        ((9 * US, 9 * US), (0, 50 * US), False),
    ],
)
def test_a_rank_held_in_sends_and_receives_is_never_called_late(passed, busy, pipelined):
    """Its schedule is why, even if it computed longer too; but only what it was held longer than the others."""
    found = lateness(group(1, 1, 1, passed=passed, busy=busy))
    assert (found.rank, found.share, found.lead) == (1, 1.0, 10 * US)
    assert found.pipelined is pipelined
    assert found.called is not pipelined
    assert found.reason == (None if pipelined else "compute" if busy[1] else "host")


@pytest.mark.parametrize(
    ("kind", "size", "factor"),
    [
        ("all_reduce", 4, 1.5),
        ("all_reduce", 2, 1.0),
        ("all_gather", 4, 0.75),
        ("reduce_scatter", 8, 0.875),
        ("all_to_all", 4, 0.75),
        ("gather", 4, 0.75),
        ("scatter", 4, 0.75),
        ("broadcast", 4, 1.0),
        ("reduce", 4, 1.0),
        ("send_recv", 2, 1.0),
    ],
)
def test_bus_bandwidth_factors(kind, size, factor):
    assert bus_factor(kind, size) == pytest.approx(factor)


def longer(extra_us, *, reason="host", lead=10 * US, ranks=(0, 1, 2), launched=1_000):
    """Which annotation of rank 1 is named, where it takes extra_us more than the 50 us of the others."""
    cells = pl.DataFrame({"repeat": [0, 0], "step": [3, 4]}, schema={"repeat": pl.Int32, "step": pl.Int64})
    windows = cells.join(pl.DataFrame({"rank": ranks}, schema={"rank": pl.Int32}), how="cross")
    ranges = pl.concat(
        [
            windows.with_columns(
                pl.lit("load").alias("range"),
                pl.lit(900, pl.Int64).alias("begins"),
                (50 * US + pl.when(pl.col("rank") == 1).then(int(extra_us * US)).otherwise(0))
                .cast(pl.Int64)
                .alias("ns"),
            ),
            windows.with_columns(
                pl.lit("forward").alias("range"),
                pl.lit(950, pl.Int64).alias("begins"),
                pl.lit(500 * US, pl.Int64).alias("ns"),
            ),
        ]
    )
    side = SimpleNamespace(run=SimpleNamespace(ranges=ranges), windows=windows, ranks=ranks)
    late = Lateness(1, 1.0, reason, called=True, lead=float(lead), pipelined=False)
    group = windows.with_columns(pl.lit(launched, pl.Int64).alias("host_launch"))
    return longer_range(side, SimpleNamespace(cells=cells), group, late)


@pytest.mark.parametrize(("extra", "named"), [(4.9, False), (5.0, True), (400, True)])
def test_a_late_hosts_annotation_is_named_where_it_accounts_for_half_of_the_lead(extra, named):
    assert longer(extra) == (("load", extra * US) if named else None)


def test_no_annotation_is_named_for_another_reason_or_without_another_rank():
    assert longer(400, reason="compute") is None
    assert longer(400, ranks=(1,)) is None


def test_an_annotation_behind_the_last_launch_is_not_why():
    assert longer(400, launched=901) == ("load", 400 * US)
    assert longer(400, launched=900) is None
