"""What waits for what, from when, and how it is known: recorded edges, launches and starts, waits of the host."""

from __future__ import annotations

import pytest
from handmade import collective, copy, kernel

from .one_step import EDGE, SUM, UPDATE, consumer, measured, parts, us


# recorded edges ---------------------------------------------------------------------------------------------
def test_a_recorded_wait_blocks_from_where_the_stream_was_free():
    run = measured(collective(100, 200, 10), kernel(200, 300, 16, path=UPDATE), waits=EDGE)
    assert parts(run) == [("blocking", 120, 200, 80)]
    assert run.parts["inferred"].to_list() == [False]
    assert run.parts["consumer"].to_list() == ["optimizer Optimizer.step#Adam #1"]
    assert consumer(run) == 200
    assert run.recorded_edges == 1


def test_before_the_consumer_is_enqueued_nothing_waits():
    """Hiding that part would gain nothing: the host had not asked for the next kernel yet."""
    run = measured(collective(100, 200, 10), kernel(200, 300, 150, path=UPDATE), waits=EDGE)
    assert parts(run) == [("incidental", 120, 150, 30), ("blocking", 150, 200, 50)]


def test_an_edge_makes_a_consumer_however_late_it_starts():
    run = measured(collective(100, 200, 10), kernel(420, 500, 16, path=UPDATE), waits=EDGE)
    assert consumer(run) == 420
    assert run.instances["slack_ns"].to_list() == [220_000]


def test_where_edges_were_recorded_none_is_inferred():
    """The kernel right after the second collective waits for nothing: no edge says so."""
    run = measured(
        collective(100, 200, 10),
        kernel(200, 300, 16, path=UPDATE),
        collective(320, 400, 250),
        kernel(402, 500, 260, path=UPDATE, stream=8),
        waits=EDGE,
    )
    assert [consumer(run, n) for n in (0, 1)] == [200, None]
    assert parts(run)[1] == ("incidental", 320, 400, 80)


def test_other_waits_must_be_done_too():
    """The consumer also waits for a kernel on stream 8 until 160: only from then on is it the collective's fault."""
    run = measured(
        collective(100, 200, 10),
        kernel(130, 160, 5, stream=8),
        kernel(200, 300, 16, path=UPDATE),
        waits=[*EDGE, (7, 8, 15.5, 14.5)],
    )
    assert parts(run) == [("incidental", 120, 130, 10), ("blocking", 160, 200, 40)]


def test_a_consumer_is_reached_through_copies_on_the_waiting_stream():
    run = measured(
        collective(100, 200, 10),
        copy(200, 230, 16),
        kernel(230, 300, 17, path=UPDATE),
        waits=EDGE,
    )
    assert consumer(run) == 230
    assert parts(run) == [("blocking", 120, 200, 80)]


def test_of_several_consumers_the_earliest():
    run = measured(
        collective(100, 200, 10),
        kernel(200, 220, 16, path=UPDATE),
        kernel(240, 260, 18, stream=8, path=("forward",)),
        waits=[*EDGE, (8, 20, 17, 14)],
    )
    assert consumer(run) == 200


def test_what_is_queued_ahead_is_waited_for_too():
    """The wait names the second; the first runs before it on the same stream."""
    run = measured(
        collective(100, 150, 9, kind="all_gather"),
        collective(150, 200, 10),
        kernel(200, 300, 16, path=UPDATE),
        waits=EDGE,
    )
    assert parts(run) == [("blocking", 120, 150, 30), ("blocking", 150, 200, 50)]
    assert [consumer(run, n) for n in (0, 1)] == [200, 200]
    assert run.parts.sort("start_ns")["collective"].to_list() == ["all_gather", "all_reduce"]


def test_what_is_queued_behind_is_not_waited_for():
    run = measured(
        collective(100, 200, 10),
        kernel(200, 260, 16, path=UPDATE),
        collective(200, 280, 17),
        waits=EDGE,
    )
    assert [consumer(run, n) for n in (0, 1)] == [200, None]
    assert parts(run) == [("blocking", 120, 200, 80), ("incidental", 260, 280, 20)]


# division ---------------------------------------------------------------------------------------------------
def test_an_instant_is_divided_equally_among_the_collectives_waited_for():
    run = measured(
        collective(100, 200, 10),
        collective(140, 200, 11, stream=21, kind="all_gather"),
        kernel(200, 300, 16, path=UPDATE),
        waits=[*EDGE, (7, 21, 15.5, 14.5)],
    )
    shares = dict(run.parts.group_by("collective").agg(SUM).iter_rows())
    assert shares == {"all_reduce": 20_000 + 30_000, "all_gather": 30_000}


def test_what_nobody_waits_for_gets_none_of_it_while_another_is_waited_for():
    run = measured(
        collective(100, 200, 10),
        collective(140, 260, 11, stream=21, kind="all_gather"),
        kernel(200, 300, 16, path=UPDATE),
        waits=EDGE,
    )
    assert dict(run.parts.group_by("collective").agg(SUM).iter_rows()) == {"all_reduce": 80_000}


def test_an_odd_nanosecond_goes_to_one_of_them_and_is_not_lost():
    run = measured(
        collective(100, 200.001, 10),
        collective(120, 200.001, 11, stream=21, kind="all_gather"),
        kernel(200.001, 300, 16, path=UPDATE),
        waits=[*EDGE, (7, 21, 15.5, 14.5)],
    )
    assert run.parts["exposed_ns"].sum() == 80_001 == run.windows["exposed"].sum()


def test_where_no_awaited_one_runs_all_running_share_it_as_incidental():
    """The awaited all_reduce has ended; two others run on, and nobody waits for these."""
    run = measured(
        collective(100, 150, 10),
        collective(100, 190, 11, stream=21, kind="all_gather"),
        collective(100, 190, 12, stream=22, kind="broadcast"),
        kernel(190, 300, 16, path=UPDATE),
        waits=EDGE,
    )
    found = {
        (kind, collective): total
        for kind, collective, total in run.parts.group_by("kind", "collective").agg(SUM).iter_rows()
    }
    assert found == {
        ("blocking", "all_reduce"): 30_000,
        ("incidental", "all_gather"): 20_000,
        ("incidental", "broadcast"): 20_000,
    }


# inference --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("start", "consumes"), [(200, True), (208, True), (220, True), (220.001, False)])
def test_a_consumer_is_inferred_within_20_us_of_the_end(start, consumes):
    run = measured(collective(100, 200, 10), kernel(start, 300, 16, path=UPDATE))
    assert (consumer(run) == start) is consumes
    assert parts(run) == [("blocking" if consumes else "incidental", 120, 200, 80)]
    assert run.parts["inferred"].to_list() == [consumes]


@pytest.mark.parametrize(("launch", "consumes"), [(199, True), (200.5, False)])
def test_it_must_have_been_enqueued_before_that_end(launch, consumes):
    run = measured(collective(100, 200, 10), kernel(206, 300, launch, path=UPDATE))
    assert (consumer(run) is not None) is consumes


def test_its_stream_must_have_been_free_before_that_end():
    """It starts right after the end, but because its predecessor ended just then."""
    run = measured(
        collective(100, 200, 10),
        kernel(125, 205, 12),
        kernel(205, 300, 16, path=UPDATE),
    )
    assert consumer(run) is None
    assert parts(run) == [("incidental", 120, 125, 5)]


def test_what_is_queued_behind_on_the_same_stream_waits():
    run = measured(collective(100, 200, 10), kernel(230, 300, 16, path=UPDATE, stream=20))
    assert consumer(run) == 230
    assert parts(run) == [("blocking", 120, 200, 80)]


def test_without_a_launch_record_nothing_is_inferred():
    run = measured(collective(100, 200, 10), kernel(202, 300, None, path=UPDATE))
    assert consumer(run) is None
    assert parts(run)[0][0] == "incidental"


def test_nodes_of_a_graph_are_not_inferred_from_their_starts():
    """Every node counts as enqueued at the graph's launch: what follows what is not known."""
    run = measured(collective(100, 200, 10), kernel(202, 300, 16, path=UPDATE, graph=True))
    assert consumer(run) is None


# producers, slack and what could have hidden it -------------------------------------------------------------
def test_readiness_is_the_later_of_launch_and_producer():
    run = measured(
        collective(130, 200, 10),
        kernel(200, 300, 16, path=UPDATE),
        waits=[(20, 7, 9, 8), *EDGE],
    )
    row = run.instances.to_dicts()[0]
    assert (us(row["host_launch"]), us(row["producer_end"]), us(row["first_valid_launch"])) == (10, 120, 120)
    assert row["queue_ns"] == 10_000


def test_a_producer_is_inferred_in_host_order():
    """The last compute span enqueued before the launch that ended no later than the collective's start."""
    run = measured(
        kernel(125, 140, -20, stream=8),
        kernel(150, 190, -10, stream=9),
        collective(145, 200, 10),
        kernel(200, 300, 16, path=UPDATE),
    )
    row = run.instances.to_dicts()[0]
    assert us(row["producer_end"]) == 140, "the one on stream 9 was enqueued later but ran on"
    assert row["queue_ns"] == 5_000


def test_a_late_launch_is_readiness_not_queue():
    run = measured(collective(400, 500, 390), kernel(500, 600, 395, path=UPDATE), waits=[(7, 20, 394, 393)])
    row = run.instances.to_dicts()[0]
    assert us(row["first_valid_launch"]) == 390
    assert row["queue_ns"] == 10_000


def test_slack_hidden_and_what_could_have_hidden_it():
    run = measured(
        collective(100, 200, 90),
        kernel(150, 250, 20, name="more backward"),
        kernel(270, 300, 95, path=UPDATE),
        waits=[(7, 20, 94, 93)],
    )
    row = run.instances.to_dicts()[0]
    assert row["slack_ns"] == 70_000
    assert row["hidden_ns"] == 20_000 + 50_000, "compute beside it: 100-120 and 150-200"
    assert row["independent_ns"] == 30_000 + 100_000, "compute from readiness (90) to the consumer (270)"
    assert row["completion_wait_ns"] == 0


def test_completion_wait_is_how_long_the_stream_stood_still():
    run = measured(collective(100, 200, 10), kernel(200, 300, 16, path=UPDATE), waits=EDGE)
    assert run.instances["completion_wait_ns"].to_list() == [80_000]


def test_a_consumer_cannot_start_before_the_end_so_slack_is_never_negative():
    """Where a kernel that should wait starts early, that is a matter of validity, not of slack."""
    run = measured(collective(100, 200, 10), kernel(180, 300, 16, path=UPDATE), waits=EDGE)
    assert run.instances["slack_ns"].to_list() in ([None], [0])
