"""One collective across ranks: by its sequence number where that can be trusted, else by order (SEMANTICS 4)."""

from __future__ import annotations

import polars as pl
import pytest

from abstep.measure.matching import matched

COLUMNS = {
    "repeat": pl.Int32,
    "rank": pl.Int32,
    "step": pl.Int64,
    "row": pl.Int32,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "host_launch": pl.Int64,
    "collective": pl.String,
    "group": pl.String,
    "group_name": pl.String,
    "group_ranks": pl.String,
    "group_size": pl.Int32,
    "seq": pl.Int64,
    "bytes": pl.Int64,
    "direction": pl.String,
    "peer_rank": pl.Int32,
}


def instances(*calls):
    """(rank, step, label, more): launched in the order given on each rank; the label stays with the row."""
    rows = []
    for number, (rank, step, label, more) in enumerate(calls):
        rows.append(
            {
                "repeat": 0,
                "rank": rank,
                "step": step,
                "row": number,
                "start_ns": 1_000 * number,
                "end_ns": 1_000 * number + 500,
                "host_launch": 1_000 * number - 100,
                "collective": "all_reduce",
                "group": "default_pg",
                "group_name": "0",
                "group_ranks": "0,1",
                "group_size": 2,
                "seq": None,
                "bytes": 100,
                "direction": None,
                "peer_rank": None,
                "label": label,
            }
            | more
        )
    return pl.DataFrame(rows, schema=COLUMNS | {"label": pl.String})


def pairs(frame):
    """The labels that were matched, as sets of (rank, label); single ones too."""
    found = matched(frame)
    return sorted(
        sorted(zip(group["rank"], group["label"], strict=True)) for group in found.partition_by("instance")
    )


def both(labels, step=0, **more):
    """The same calls on ranks 0 and 1."""
    return [
        (rank, step, label, {key: values[n] for key, values in more.items()})
        for rank in (0, 1)
        for n, label in enumerate(labels)
    ]


def how(frame):
    return set(matched(frame)["matched_by"])


def together(*labels):
    return sorted([(0, label), (1, label)] for label in labels)


def test_sequence_numbers_that_rise_are_trusted():
    frame = instances(*both("abc", seq=[4, 5, 9]))
    assert how(frame) == {"sequence"}
    assert pairs(frame) == together(*"abc")


@pytest.mark.parametrize("seq", [[7, 7, 7], [3, 2, 1], [0, 0, 0]])
def test_constant_or_falling_numbers_are_not(seq):
    frame = instances(*both("abc", seq=seq))
    assert how(frame) == {"order"}
    assert pairs(frame) == together(*"abc")


def test_numbers_on_some_only_are_not():
    calls = both("abc", seq=[1, 2, 3])
    calls[1] = (*calls[1][:3], {"seq": None})
    assert how(instances(*calls)) == {"order"}


def test_numbers_under_which_ranks_do_other_things_are_not():
    """Point-to-point calls raised one rank's counter: 5 is an all_reduce here and an all_gather there."""
    calls = [
        (0, 0, "a", {"seq": 4, "collective": "all_gather"}),
        (0, 0, "b", {"seq": 5}),
        (1, 0, "a", {"seq": 5, "collective": "all_gather"}),
        (1, 0, "b", {"seq": 6}),
    ]
    frame = instances(*calls)
    assert how(frame) == {"order"}
    assert pairs(frame) == together("a", "b")


def test_with_numbers_a_lost_one_costs_only_itself():
    calls = both("abc", seq=[1, 2, 3])
    del calls[4]
    frame = instances(*calls)
    assert how(frame) == {"sequence"}
    assert pairs(frame) == sorted([*together("a", "c"), [(0, "b")]])


def test_in_order_of_launch_not_of_start():
    """On two streams the second may start first on one rank."""
    calls = both("ab")
    calls[2] = (1, 0, "a", {"start_ns": 9_000, "host_launch": 1_900})
    calls[3] = (1, 0, "b", {"start_ns": 3_000, "host_launch": 2_900})
    assert pairs(instances(*calls)) == together("a", "b")


def test_each_kind_is_counted_by_itself():
    """An extra all_gather on one rank does not shift the all_reduces."""
    calls = [
        (0, 0, "a", {}),
        (0, 0, "b", {}),
        (1, 0, "a", {}),
        (1, 0, "x", {"collective": "all_gather"}),
        (1, 0, "b", {}),
    ]
    assert pairs(instances(*calls)) == sorted([*together("a", "b"), [(1, "x")]])


def test_each_step_is_counted_by_itself():
    calls = [*both("ab", step=0), *both("cd", step=1)]
    calls = [call for call in calls if call[:3] != (1, 0, "a")]
    assert together("c", "d")[0] in pairs(instances(*calls))
    assert together("c", "d")[1] in pairs(instances(*calls))


def test_each_group_is_counted_by_itself():
    """Tensor-parallel sub-groups bear one role and one size; a rank's own is told by name and ranks."""
    calls = [
        (0, 0, "a", {"group": "tp", "group_name": "1", "group_ranks": "0,1"}),
        (1, 0, "a", {"group": "tp", "group_name": "1", "group_ranks": "0,1"}),
        (2, 0, "b", {"group": "tp", "group_name": "2", "group_ranks": "2,3"}),
        (3, 0, "b", {"group": "tp", "group_name": "2", "group_ranks": "2,3"}),
    ]
    assert pairs(instances(*calls)) == [[(0, "a"), (1, "a")], [(2, "b"), (3, "b")]]


def test_groups_of_one_role_without_names_are_told_by_their_ranks():
    calls = [
        (rank, 0, label, {"group": "tp", "group_name": None, "group_ranks": ranks})
        for rank, label, ranks in ((0, "a", "0,1"), (1, "a", "0,1"), (2, "b", "2,3"), (3, "b", "2,3"))
    ]
    assert pairs(instances(*calls)) == [[(0, "a"), (1, "a")], [(2, "b"), (3, "b")]]


def test_where_counts_differ_it_is_counted_from_the_steps_end():
    """The capture of rank 1 began late: its first ones are missing."""
    calls = [*both("abcd")]
    calls = [call for call in calls if call[:3] not in ((1, 0, "a"), (1, 0, "b"))]
    assert pairs(instances(*calls)) == sorted([*together("c", "d"), [(0, "a")], [(0, "b")]])


def test_another_size_is_another_collective():
    """Counted from the end, "b" of rank 0 would meet "a" of rank 1: their sizes say they are not one."""
    calls = [call for call in both("abc", bytes=[10, 20, 30]) if call[:3] != (1, 0, "b")]
    found = pairs(instances(*calls))
    assert [(0, "b"), (1, "a")] not in found


SEND = {"collective": "send_recv", "direction": "send", "group": "pipeline"}
RECV = {"collective": "send_recv", "direction": "recv", "group": "pipeline"}


def test_a_send_and_its_recv_are_one():
    calls = [
        (0, 0, "a", SEND),
        (0, 0, "b", SEND),
        (1, 0, "a", RECV),
        (1, 0, "b", RECV),
    ]
    assert pairs(instances(*calls)) == together("a", "b")


def test_numbers_are_unique_over_repeats():
    calls = both("a")
    frame = pl.concat(
        [instances(*calls), instances(*calls).with_columns(repeat=pl.lit(1, pl.Int32), row=pl.col("row") + 2)]
    )
    assert matched(frame)["instance"].n_unique() == 2
