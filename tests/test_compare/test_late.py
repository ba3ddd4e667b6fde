"""Who is late, how surely, and why; and how fast the bytes went (SEMANTICS 4)."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest
from handmade import collective, joined, kernel, tables
from test_report.sample import comparison

from abstep.compare.build import CompareOptions, compare
from abstep.compare.lateness import Lateness, lateness, longer_range, waited_for
from abstep.compare.waiting import lateness_sentences
from abstep.measure.ranks import bus_factor
from abstep.measure.run import measure
from abstep.windows import cut

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
    "lateness_ns": pl.Int64,
    "start_ns": pl.Int64,
    "host_launch": pl.Int64,
}


def group(
    *lates,
    lead=10 * US,
    spread=1.0 * US,
    queue=0,
    busy=(0, 0),
    waited=(0, 0),
    passed=(0, 0),
    ahead=0,
):
    """One collective of ranks 0 and 1 for each name in `lates`: the rank that arrived last, None where unsplit.

    Launched 1 us before it starts; by the late rank's host so much further ahead.
    """
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
            "lateness_ns": lead if rank == late else 0,
            "start_ns": 500 * US + (lead if rank == late else 0),
            "host_launch": 499 * US + (lead - ahead if rank == late else 0),
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
        ("host", {"ahead": 4 * US}),
        (None, {"ahead": 6 * US}),
        (None, {"ahead": 30 * US, "busy": (100 * US, 104 * US)}),
        ("compute", {"ahead": 30 * US, "busy": (100 * US, 106 * US)}),
    ],
)
def test_lateness_splits_at_the_ranks_own_readiness(why, figures):
    """It computed longer; or its stream carried another collective; or its host launched later; else not known."""
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


def replicas(lead):
    """Ranks 0, 1 and 2, 3 are two stages' replicas: rank 1 is held in its sends, rank 3 computes longer."""
    held = group(1, 1, 1, lead=20 * US, passed=(0, 30 * US))
    own = group(1, 1, 1, lead=lead, busy=(100 * US, 130 * US))
    return pl.concat([held, own.with_columns(pl.col("rank", "late_rank") + 2, pl.col("instance") + 3)])


def test_who_is_late_in_its_stage_is_not_hidden_by_whom_the_schedule_holds_in_another():
    found = lateness(replicas(9 * US))
    assert (found.rank, found.share, found.reason, found.called) == (3, 1.0, "compute", True)
    within_the_clock = lateness(replicas(2 * US))
    assert (within_the_clock.rank, within_the_clock.pipelined, within_the_clock.called) == (1, True, False)


def test_of_several_called_late_the_one_furthest_behind():
    other = group(1, 1, 1, lead=40 * US).with_columns(pl.col("rank", "late_rank") + 2, pl.col("instance") + 9)
    assert lateness(pl.concat([group(1, 1, 1, 1), other])).rank == 3


@pytest.mark.parametrize(("wait", "found"), [(30 * US, (1, 0.75)), (2 * US, (2, 10 / 12))])
def test_waiting_for_the_root_of_a_reduce_is_not_for_the_last_rank(wait, found):
    """Rank 0 waits for the root, 1; only the root waits for rank 2, which is the last."""
    told = {"rank": [0, 1, 2], "last_rank": [1, 2, 2], "late_rank": [2] * 3, "lead_ns": [10 * US] * 3}
    rows = pl.DataFrame(told | {"peer_wait_ns": [wait, 10 * US, 0], "uncertain_ns": [1.0 * US] * 3})
    assert waited_for(rows.with_columns(weight=0.5)) == found


def told(*, pipelined, sure=True):
    """Base and variant: 1 ms of waiting in a step of some 100 ms becomes 40 ms; who is last follows the schedule."""
    told = comparison()
    row = replace(
        told.collectives[0], collective="all_reduce", late_rank=1, late_share=0.7, late_called=False
    )
    rows = [
        replace(row, side=side, peer_wait=wait, transport=1e6, pipelined=held, late_sure=sure)
        for side, wait, held in (("base", 1e6, pipelined[0]), ("variant", 4e7, pipelined[1]))
    ]
    return list(lateness_sentences(replace(told, collectives=tuple(rows))))


def test_what_follows_the_schedule_on_one_side_is_no_change_of_waiting():
    """Left out on one side only, it would read as 39 or 40 ms more or less waiting for a late rank."""
    assert any("Over all collectives, waiting" in text for text in told(pipelined=(False, False)))
    for held in ((True, False), (False, True), (True, True)):
        assert not any("waiting for another rank went" in text for text in told(pipelined=held))


def test_the_schedule_is_told_of_a_rank_that_is_surely_last_and_how_often():
    *_, text = told(pipelined=(True, True))
    assert "rank 1 arrives last, 70.0 % of the time, because it was held in send_recv" in text
    assert not any("schedule" in text for text in told(pipelined=(True, True), sure=False))


def test_what_was_for_a_late_rank_is_not_all_waiting():
    """Rank 1 is last in six of eight steps, by 40 us; rank 0 in two, by 200."""
    traces = []
    for rank in (0, 1):
        spans = []
        for n in range(9):
            at, late = 1_000 * n, 200 * (rank == 0) if n % 4 == 3 else 40 * (rank == 1)
            spans.append(kernel(at + 20, at + 90, launch=at + 5))
            start = at + 100 + late
            spans.append(collective(start, at + 500, launch=start - 3, group_ranks="0,1", group_size=2))
            spans.append(kernel(at + 501, at + 600, launch=at + 400, name="update"))
        steps = [(1_000 * n, 1_000 * n + 900) for n in range(9)]
        traces.append(tables(*spans, steps=steps, rank=rank, host="node", world_size=2))
    run = measure(cut(joined(*traces)))
    found = compare(run, run, CompareOptions(warmup=0))
    row = found.collectives[0]
    assert (row.late_rank, row.late_share, row.late_called) == (1, 0.75, True)
    assert (row.peer_wait, row.late_wait) == (pytest.approx(40 * US), pytest.approx(15 * US))
    (text,) = (text for text in lateness_sentences(found) if "In the base, rank 1" in text)
    assert "the other ranks wait for it, 15.0 us a step" in text


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
    side = SimpleNamespace(run=SimpleNamespace(ranges=ranges), windows=windows, own=lambda frame: frame)
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
