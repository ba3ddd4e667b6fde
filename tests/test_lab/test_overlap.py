"""The overlap lab against closed forms, and the account of its gap."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstep.errors import AbstepError
from abstep.lab.backward import MIB, Backward, Rank
from abstep.lab.controls import Controls
from abstep.lab.overlap import CONSTRAINTS, Play, play

US = 1000


def one_rank(ready: tuple[int, ...], backward: int, sizes: tuple[int, ...], **others) -> Backward:
    """A backward whose bytes take 1 ns each, on two ranks that do the same; each group its own bucket."""
    ranks = tuple(Rank(rank, 0, ready, backward) for rank in range(2))
    return Backward(sizes=sizes, ranks=ranks, byte_ns=Fraction(1), **others)


def uniform(buckets: int, compute: int, work: int, cost: int) -> Play:
    """`work` ns of transport in equal buckets over `compute` ns of backward; each costs `cost` ns more."""
    ready = tuple(compute * (k + 1) // buckets for k in range(buckets))
    return play(one_rank(ready, compute, (work // buckets,) * buckets, latency=cost))


@given(st.integers(0, 5000 * US), st.lists(st.integers(0, 500 * US), min_size=1, max_size=12))
def test_fully_overlapped_is_the_larger(compute: int, sizes: list[int]):
    played = play(one_rank((0,) * len(sizes), compute, tuple(sizes)))
    assert played.parts.step == max(compute, sum(sizes))
    assert played.parts.step == played.ideal
    assert played.binding is None


@given(st.integers(0, 5000 * US), st.lists(st.integers(0, 500 * US), min_size=1, max_size=12))
def test_serialized_is_the_sum(compute: int, sizes: list[int]):
    played = play(one_rank((compute,) * len(sizes), compute, tuple(sizes)))
    assert played.parts.step == compute + sum(sizes)
    assert played.parts.overlapped == 0


@given(
    st.lists(st.tuples(st.integers(0, 900 * US), st.integers(1, 500 * US)), min_size=1, max_size=12),
    st.integers(0, 50 * US),
)
def test_late_launch_is_the_tail(groups: list[tuple[int, int]], launch: int):
    ready = tuple(sorted(at for at, _ in groups))
    sizes = tuple(size for _, size in groups)
    compute = 1000 * US
    played = play(one_rank(ready, compute, sizes, late_launch=True, launch=launch))
    assert played.parts.tail == sum(sizes) + len(sizes) * launch
    assert played.parts.exposed == sum(sizes)
    assert played.parts.overlapped == 0
    assert played.parts.step == compute + played.parts.tail


def test_late_launch_is_bound_by_the_tail():
    assert play(Controls(late_launch=True).backward()).binding == "tail"


def test_buckets_cost_least_where_calculus_puts_it():
    """Bound by communication, n buckets take f(n) = T/n + n a + W: the first is ready at T/n, then all queue.

    f'(n) = -T/n^2 + a = 0 at n = sqrt(T/a), where f = 2 sqrt(T a) + W.
    """
    compute, cost = 6400 * US, 100 * US  # n = 8
    work = 5 * 5_405_400 * US // 2  # divides by 1..24 but for the large primes; far above the compute
    steps = {n: uniform(n, compute, work, cost).parts.step for n in range(1, 25)}
    for n, step in steps.items():
        assert step == pytest.approx(compute / n + n * cost + work, abs=2 * n)
    best = min(steps, key=lambda n: steps[n])
    assert best == math.isqrt(compute // cost) == 8
    assert steps[best] == pytest.approx(2 * math.sqrt(compute * cost) + work, abs=32)


def test_buckets_cost_least_where_the_two_regimes_meet():
    """Bound by compute, n buckets take T + a + W/n; that falls until n a = T - W, where queueing takes over."""
    compute, cost, work = 7_200 * US, 150 * US, 3_600 * US
    steps = {n: uniform(n, compute, work, cost).parts.step for n in range(1, 61)}
    meet = (compute - work) // cost
    assert meet == 24
    for n, step in steps.items():
        queued = compute / n + n * cost + work
        assert step == pytest.approx(max(compute + cost + work / n, queued), abs=2 * n)
    assert min(steps, key=lambda n: steps[n]) == meet


def test_two_streams_hide_what_a_collective_costs_but_share_the_link():
    sizes = (100 * US,) * 6
    alone = play(one_rank((0,) * 6, 0, sizes, latency=20 * US))
    both = play(one_rank((0,) * 6, 0, sizes, latency=20 * US, streams=2))
    assert alone.parts.step == 6 * 120 * US
    assert both.parts.step >= sum(sizes)
    assert both.parts.step < alone.parts.step
    free = play(one_rank((0,) * 6, 0, sizes, streams=2))
    assert free.parts.step == sum(sizes)


def test_one_slowed_overlap_lasts_as_long_as_algebra_says():
    """A transport of 100 us beside compute that it slows 1.5x: 100 us on the clock are 66.7 of compute."""
    played = play(one_rank((100 * US,), 1000 * US, (100 * US,), compute_slowdown=Fraction(3, 2)))
    assert played.parts.step == 1000 * US + Fraction(100 * US, 3)
    assert played.parts.contention == Fraction(100 * US, 3)
    assert played.gap["contention"] == Fraction(100 * US, 3)
    assert played.binding == "contention"


def test_transport_beside_compute_goes_on_at_full_rate_after_it():
    """300 us of bytes at half rate for the 200 us that compute lasts, then 200 us alone."""
    played = play(one_rank((0,), 200 * US, (300 * US,), transport_slowdown=Fraction(2)))
    assert played.parts.step == 400 * US
    assert played.parts.overlapped == 200 * US
    assert played.parts.exposed == 200 * US


def test_a_late_rank_makes_the_others_wait():
    late = Controls(late_us=400)
    played = play(late.backward())
    calm = play(Controls().backward())
    assert played.parts.step - calm.parts.step == 400 * US
    assert played.parts.peer_wait == Fraction(3, 4) * 400 * US
    assert played.gap["readiness"] > 0


def test_serialization_binds_when_full_buckets_queue():
    sizes = (10 * US, 10 * US, 900 * US, 5 * US)
    played = play(one_rank((100 * US, 200 * US, 990 * US, 1000 * US), 1000 * US, sizes))
    assert played.binding == "serialization"
    assert played.gap["serialization"] == 890 * US
    assert played.gap["tail"] == 5 * US


controls = st.builds(
    Controls,
    bucket_mb=st.sampled_from([1, 7, 20, 200]),
    streams=st.sampled_from([1, 2]),
    launch_us=st.sampled_from([0, 5, 50]),
    latency_us=st.sampled_from([0, 20, 200]),
    bandwidth=st.sampled_from([5, 20, 75, 300]),
    ranks=st.integers(1, 4),
    late_us=st.sampled_from([0, 130, 3000]),
    compute_slowdown=st.sampled_from([1, 1.2, 1.9]),
    transport_slowdown=st.sampled_from([1, 1.5, 2.3]),
    groups=st.integers(1, 12),
    backward_us=st.sampled_from([0, 1200, 4800]),
    rest_us=st.sampled_from([0, 600]),
    late_launch=st.booleans(),
)


@settings(max_examples=150, deadline=None)
@given(controls)
def test_parts_tile_the_step_and_the_gap_adds_up(at: Controls):
    played = play(at.backward())
    parts = played.parts
    assert parts.compute_alone + parts.overlapped + parts.exposed + parts.idle == parts.step
    assert parts.peer_wait + parts.transport == parts.exposed
    assert sum(played.gap.values()) == parts.step - played.ideal
    assert set(played.gap) == set(CONSTRAINTS)
    others = [value for name, value in played.gap.items() if name != "contention"]
    assert min(others) >= 0
    calm = played.undisturbed
    assert calm.parts.step >= calm.ideal
    exposed = sum(end - start for rank in range(at.ranks) for start, end in played.exposed(rank))
    assert Fraction(exposed) / at.ranks == parts.exposed


@settings(max_examples=100, deadline=None)
@given(controls)
def test_a_play_is_the_same_every_time_and_in_order(at: Controls):
    first, second = play(at.backward()), play(at.backward())
    assert first.events == second.events
    for one in first.events.collectives:
        assert all(ready <= start for ready, start in zip(one.ready, one.start, strict=True))
        assert max(one.start) == one.arrival <= one.moving <= one.end
    for stream in range(at.streams):
        line = [one for one in first.events.collectives if one.stream == stream]
        for before, after in pairwise(line):
            assert before.end <= min(after.start)


@settings(max_examples=60, deadline=None)
@given(controls)
def test_slower_links_and_late_ranks_never_help(at: Controls):
    step = play(replace(at, streams=1).backward()).parts.step
    for worse in (
        replace(at, streams=1, bandwidth=at.bandwidth / 2),
        replace(at, streams=1, late_us=at.late_us + 100),
    ):
        assert play(worse.backward()).parts.step >= step


def test_one_rank_has_nothing_to_communicate():
    played = play(Controls(ranks=1).backward())
    assert played.parts.communication == 0


def test_buckets_close_as_ddp_closes_them():
    whole = Controls(bucket_mb=15, groups=8).backward()
    assert [bucket.bytes for bucket in whole.buckets()] == [20 * MIB] * 4
    even = replace(whole, even=True, bucket=16 * MIB)
    assert [bucket.bytes for bucket in even.buckets()] == [16 * MIB] * 5
    ready = [bucket.ready[0] for bucket in even.buckets()]
    assert ready == [960 * US * (k + 1) for k in range(5)]
    assert sum(bucket.bytes for bucket in replace(whole, bucket=None).buckets()) == 80 * MIB


@pytest.mark.parametrize(
    "wrong",
    [
        {"bandwidth": 0}, {"ranks": 65}, {"compute_slowdown": 0.9}, {"bucket_mb": math.nan}, {"streams": 3},
        {"ready_us": (5, 3)}, {"ready_us": (1, 9999)}, {"ready_us": (1, 2), "sizes_mb": (1,)},
        {"ready_us": (1, 2), "sizes_mb": (1, 0)}, {"late_us": -1},
    ],
)  # fmt: skip
def test_wrong_values_are_one_line_and_exit_2(wrong: dict):
    with pytest.raises(AbstepError) as caught:
        Controls(**wrong)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("--")
