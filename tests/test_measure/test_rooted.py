"""Broadcast, scatter, reduce and gather: each rank against the root only; sends and receives in larger groups."""

from __future__ import annotations

import json

import pytest
from handmade import collective, joined, kernel, tables

from abstep.measure.run import measure
from abstep.windows import cut

STEPS = [(200 * n, 200 * n + 190) for n in range(3)]
ROOT_AT_1 = {"peer": 1}


def ranks_of(*starts, kind="broadcast", ends=90, **said):
    """One collective a step, starting at each rank's own time (us into the step) and ending together."""
    said = {"group_size": len(starts), "group_ranks": ",".join(map(str, range(len(starts))))} | said
    traces = []
    for rank, start in enumerate(starts):
        activities = []
        for at, _ in STEPS:
            activities.append(kernel(at + 10, at + 15, launch=at + 5))
            activities.append(
                collective(at + start, at + ends, launch=at + start - 3, kind=kind, bytes=8_000, **said)
            )
        traces.append(tables(*activities, steps=STEPS, rank=rank, host="node", world_size=len(starts)))
    return measure(cut(joined(*traces)))


def first_step(run, column):
    own = run.instances.filter(run.instances["step"] == 0).sort("rank")[column]
    return [None if value is None else value / 1_000 for value in own]


def last(run):
    return run.instances.filter(run.instances["step"] == 0).sort("rank")["late_rank"].to_list()


@pytest.mark.parametrize("kind", ["broadcast", "scatter"])
def test_receivers_wait_for_the_root_and_the_root_for_nobody(kind):
    """Rank 1 is the root and starts at 40: rank 0 waits 20 for it, rank 2 started later and waits for nobody."""
    run = ranks_of(20, 40, 70, kind=kind, **ROOT_AT_1)
    assert first_step(run, "peer_wait_ns") == [20, 0, 0]
    assert first_step(run, "transport_ns") == [50, 50, 20]
    assert last(run) == [None] * 3, "rank 2 is last, but nobody waits for it"


def test_a_root_that_comes_last_is_late():
    run = ranks_of(20, 60, 30, **ROOT_AT_1)
    assert first_step(run, "peer_wait_ns") == [40, 0, 30]
    assert last(run) == [1] * 3
    assert first_step(run, "lead_ns") == [30] * 3


@pytest.mark.parametrize("kind", ["reduce", "gather"])
def test_a_root_that_receives_waits_for_the_last_and_the_others_for_the_root(kind):
    run = ranks_of(20, 40, 70, kind=kind, **ROOT_AT_1)
    assert first_step(run, "peer_wait_ns") == [20, 30, 0]
    assert last(run) == [2] * 3


def test_without_a_recorded_root_nothing_is_split():
    run = ranks_of(20, 40, 70)
    assert first_step(run, "peer_wait_ns") == [None] * 3
    assert last(run) == [None] * 3


def test_the_root_counts_within_its_group():
    """Root 1 of the group (3, 5, 7) is rank 5."""
    traces = []
    for rank, start in ((3, 20), (5, 60), (7, 30)):
        activities = []
        for at, _ in STEPS:
            activities.append(kernel(at + 10, at + 15, launch=at + 5))
            said = {"peer": 1, "group_size": 3, "group_ranks": "3,5,7", "bytes": 8}
            activities.append(
                collective(at + start, at + 90, launch=at + start - 3, kind="broadcast", **said)
            )
        traces.append(tables(*activities, steps=STEPS, rank=rank, host="node", world_size=8))
    run = measure(cut(joined(*traces)))
    assert first_step(run, "peer_wait_ns") == [40, 0, 30]
    assert last(run) == [5] * 3


def test_a_root_counts_within_the_whole_job_where_the_groups_ranks_are_cut_short():
    run = ranks_of(20, 60, 30, group_ranks=None, **ROOT_AT_1)
    assert first_step(run, "peer_wait_ns") == [40, 0, 30]


def test_a_lost_broadcast_is_counted_as_unmatched():
    run = ranks_of(20, 40, 30, **ROOT_AT_1)
    assert run.across.unmatched.is_empty()
    spans = run.cut.tables.spans
    gone = spans.filter((spans["rank"] == 2) & (spans["kind"] == 1))["row"][0]
    from abstep.measure.ranks import across_ranks

    kept = run.instances.filter(run.instances["row"] != gone)
    again = across_ranks(kept.drop(ADDED), run.cut.tables.files)
    assert again.unmatched.rows() == [("broadcast", "default_pg", 2)]


ADDED = (
    "instance", "matched_by", "members", "expected", "last_arrival", "peer_wait_ns", "transport_ns", "last_rank",
    "late_rank", "lateness_ns", "lead_ns", "uncertain_ns",
)  # fmt: skip


def test_sends_in_a_group_of_four_are_paired_by_the_ranks_they_name():
    """0 sends to 2 and then to 1; each receives at its own time. Without names they would be taken in order."""
    calls = {
        0: [(20, 40, "send", 2), (45, 70, "send", 1)],
        1: [(30, 70, "recv", 0)],
        2: [(10, 40, "recv", 0)],
        3: [],
    }
    traces = []
    for rank, own in calls.items():
        activities = []
        for at, _ in STEPS:
            activities.append(kernel(at + 5, at + 8, launch=at + 1))
            for start, end, kind, peer in own:
                said = {"peer": peer, "group_size": 4, "group_ranks": "0,1,2,3", "bytes": 8}
                activities.append(collective(at + start, at + end, launch=at + start - 3, kind=kind, **said))
        traces.append(tables(*activities, steps=STEPS, rank=rank, host="node", world_size=4))
    run = measure(cut(joined(*traces)))
    rows = run.instances.filter(run.instances["step"] == 0).sort("rank", "start_ns")
    assert set(rows["collective"]) == {"send_recv"}
    told = rows.select("rank", "direction", "peer_rank", "peer_wait_ns", "late_rank").rows()
    assert told == [
        (0, "send", 2, 0, None),
        (0, "send", 1, 0, None),
        (1, "recv", 0, 15_000, None),
        (2, "recv", 0, 10_000, None),
    ]
    assert run.across.unmatched.is_empty()


@pytest.mark.parametrize(
    "odd", [{"pg_size": "two"}, {"pg_size": None}, {"ranks": 5}, {"ranks": [[0], [1]]}, {}]
)
def test_groups_recorded_oddly_are_no_error(odd):
    """What pg_config holds is kept as recorded: here groups whose size or ranks are of another type."""
    groups = json.dumps([{"pg_name": "0", "pg_size": 2, "ranks": [0, 1]} | odd, "odd"])
    step = [kernel(10, 15, launch=5), collective(20, 90, launch=17, group_size=2, bytes=8)]
    traces = [
        tables(*step, steps=[(0, 190)], rank=rank, host="node", world_size=2, groups=groups)
        for rank in (0, 1)
    ]
    assert measure(cut(joined(*traces))).across.unmatched.is_empty()


def test_ranks_that_name_two_roots_are_not_split():
    traces = []
    for rank, (start, root) in enumerate(((20, 1), (60, 1), (30, 2))):
        activities = []
        for at, _ in STEPS:
            activities.append(kernel(at + 10, at + 15, launch=at + 5))
            said = {"peer": root, "group_size": 3, "group_ranks": "0,1,2", "bytes": 8}
            activities.append(
                collective(at + start, at + 90, launch=at + start - 3, kind="broadcast", **said)
            )
        traces.append(tables(*activities, steps=STEPS, rank=rank, host="node", world_size=3))
    run = measure(cut(joined(*traces)))
    assert first_step(run, "peer_wait_ns") == [None] * 3


@pytest.mark.parametrize(
    ("kind", "passed"), [("send", 30), ("recv", 30), ("send_recv", 0), ("all_to_all", 0)]
)
def test_only_recorded_sends_and_receives_are_a_pipelines(kind, passed):
    """A kernel that is only called SendRecv may be an all_to_all: what it holds up is waiting, not a schedule."""
    traces = []
    for rank in (0, 1):
        activities = []
        for at, _ in STEPS:
            activities.append(kernel(at + 10, at + 15, launch=at + 5))
            activities.append(collective(at + 20, at + 50, launch=at + 16, kind=kind))
            activities.append(collective(at + 60, at + 90, launch=at + 17))
        traces.append(tables(*activities, steps=STEPS, rank=rank, host="node", world_size=2))
    run = measure(cut(joined(*traces)))
    last = run.instances.filter(run.instances["collective"] == "all_reduce")
    assert set(last["pipeline_ns"]) == {passed * 1_000}
    assert set(last["waited_ns"]) == {(30 - passed) * 1_000}
