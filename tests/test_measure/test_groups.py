"""Process groups as roles: one role for each rank's own sub-group, another where the size differs (SEMANTICS 4)."""

from __future__ import annotations

import polars as pl
from handmade import collective, joined, kernel, tables

from abstep.measure.run import measure
from abstep.windows import cut

STEPS = [(100 * n, 100 * n + 90) for n in range(8)]


def rank_trace(rank, *groups, host="node", **more):
    """A kernel and a collective of each group in every step; groups are (name, description, ranks)."""
    activities = []
    for n in range(8):
        at = 100 * n
        activities.append(kernel(at + 20, at + 30, launch=at + 5))
        for number, (name, description, ranks) in enumerate(groups):
            activities.append(
                collective(
                    at + 30 + 10 * number,
                    at + 38 + 10 * number,
                    launch=at + 10 + number,
                    stream=20 + number,
                    group_name=name,
                    group_desc=description,
                    group_size=len(ranks.split(",")) if ranks else None,
                    group_ranks=ranks,
                    bytes=1_000,
                    **more,
                )
            )
    return tables(*activities, steps=STEPS, rank=rank, host=host, world_size=4)


def measured(*traces):
    return measure(cut(joined(*traces)))


def roles(run):
    return {
        rank: sorted(set(run.instances.filter(run.instances["rank"] == rank)["group"].to_list()))
        for rank in sorted(set(run.instances["rank"].to_list()))
    }


def test_sub_groups_of_one_description_and_size_are_one_role():
    run = measured(
        *(rank_trace(r, ("1", "tp", "0,1")) for r in (0, 1)),
        *(rank_trace(r, ("2", "tp", "2,3")) for r in (2, 3)),
    )
    assert roles(run) == {rank: ["tp"] for rank in range(4)}
    assert run.instances["peer_wait_ns"].null_count() == 0
    assert set(run.instances["members"]) == {2}


def test_groups_of_one_description_and_two_sizes_are_two_roles_on_every_rank():
    """Rank 2 is in the large one only; it is the same role there as on rank 0, which is in both."""
    every, half = ("0", "undefined", "0,1,2,3"), ("1", "undefined", "0,1")
    run = measured(*(rank_trace(r, every, half) for r in (0, 1)), *(rank_trace(r, every) for r in (2, 3)))
    found = roles(run)
    assert len(found[0]) == 2
    assert found[1] == found[0]
    assert found[2] == found[3]
    assert set(found[2]) < set(found[0])
    whole = run.instances.filter(run.instances["group_size"] == 4)
    assert set(whole["members"]) == {4}
    assert whole["peer_wait_ns"].null_count() == 0


def test_without_a_description_the_name_is_the_role():
    run = measured(*(rank_trace(r, ("7", None, "0,1,2,3")) for r in range(4)))
    assert roles(run)[0] == ["group 7"]


def test_where_nothing_is_known_it_says_so():
    run = measured(*(rank_trace(r, (None, None, None)) for r in range(4)))
    assert roles(run)[0] == ["unknown group"]


def test_one_rank_untraced_leaves_only_its_groups_unsplit():
    run = measured(*(rank_trace(r, ("1", "tp", "0,1")) for r in (0, 1)), rank_trace(2, ("2", "tp", "2,3")))
    split = run.instances.group_by("rank").agg(pl.col("peer_wait_ns").is_null().any())
    assert dict(split.iter_rows()) == {0: False, 1: False, 2: True}
