"""The dependency-respecting bound is what the same job takes when no collective queues behind another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from handmade import collective, joined, kernel, tables
from synth import Job, simulate
from synth.model import Clock

from abstep.measure import replay
from abstep.measure.dependencies import FAR
from abstep.measure.run import measure
from abstep.measure.stops import stops
from abstep.measure.timeline import timelines
from abstep.windows import cut

from .against import measured_run

QUEUEING = {"steps": 6, "layers": 4, "world": 3, "jitter": 0.0, "share_link": False}
SLOW = QUEUEING | {"link_bytes_per_us": 20_000}
JOBS = {
    "nothing queues": Job(**QUEUEING),
    "buckets queue": Job(**SLOW),
    "uneven buckets": Job(**SLOW, uneven=True),
    "all after the backward": Job(**SLOW, overlap=False),
    "the host waits for every step": Job(**SLOW, sync="step"),
    "the host never waits": Job(**SLOW, sync="none"),
    "the host waits before the optimizer": Job(**SLOW, host_wait="cudaStreamSynchronize"),
    "memory freed before the optimizer": Job(**SLOW, host_wait="cudaFree"),
    "a late rank": Job(**SLOW, slow_rank={1: 1.3}),
    "clocks off": Job(**SLOW, clocks={1: Clock(5_000_000), 2: Clock(-3_000_000)}),
    "sharded": Job(**SLOW, parallel="fsdp"),
    "sharded, prefetched": Job(**SLOW, parallel="fsdp", prefetch=2),
    "experts": Job(**QUEUEING, parallel="moe"),
    "tensor and data parallel": Job(**SLOW | {"world": 4}, parallel="tp_dp"),
    "pipeline": Job(**QUEUEING | {"world": 4, "steps": 8}, parallel="pipeline", micro=4),
    "each bucket its own optimizer": Job(**SLOW, per_bucket_optimizer=True),
    "unpacked": Job(**SLOW, packing=True),
    "a graph": Job(**SLOW, graph=True),
    "a starving device": Job(**SLOW, sync="step", host_op_ns=66_000, gemm_ns=18_000, act_ns=6_000),
}
LAUNCH_NS = 5_000
"""Simulated activities start this long after their launch call; a first valid launch is the call itself."""
FIRST = 5  # step from which the pipeline of steps runs steadily


def lengths(one):
    """(step, rank) -> (length, gain), ns, of steady windows."""
    rows = one.measured.windows.join(one.measured.ideal.select("window", "gain_ns"), on="window")
    return {
        (step, rank): (end - start, gain)
        for step, rank, start, end, gain in rows.filter(pl.col("step") >= FIRST)
        .select("step", "rank", "start_ns", "end_ns", "gain_ns")
        .iter_rows()
    }


@pytest.mark.parametrize("name", JOBS)
def test_a_step_without_queues_takes_what_the_replay_says(name, tmp_path):
    """To the launch latency of the few collectives that wait for nothing but their launch."""
    job = JOBS[name]
    queued = lengths(measured_run(simulate(job), tmp_path / "queued"))
    free = lengths(measured_run(simulate(replace(job, own_streams=True)), tmp_path / "free"))
    assert len(queued) >= 6
    for key, (length, gain) in queued.items():
        assert length - gain == pytest.approx(free[key][0], abs=4 * LAUNCH_NS), key
    for key, (_, gain) in free.items():
        assert 0 <= gain <= 4 * LAUNCH_NS, (key, "nothing is left to gain")


def test_queues_cost_what_they_cost(tmp_path):
    """Four buckets of 1.1 ms, a layer's backward apart: the last waits for those before it."""
    job = JOBS["buckets queue"]
    gains = {gain for _, gain in lengths(measured_run(simulate(job), tmp_path / "run")).values()}
    apart = simulate(replace(job, own_streams=True))
    truth = {window.step: window.length for window in apart.truth.completed() if window.rank == 0}
    queued = {window.step: window.length for window in simulate(job).truth.completed() if window.rank == 0}
    assert gains == {queued[FIRST] - truth[FIRST]}
    assert min(gains) > 1_000_000


STEPS = [(1_000 * n, 1_000 * n + 900) for n in range(4)]


def stuck(rank, launched, thread=0):
    """Each step: a kernel, a collective behind it, a kernel behind that. The host stands still before the second."""
    activities, calls = [], []
    for at, _ in STEPS:
        start = at + launched + 5
        activities += [
            kernel(at + 20, at + 40, launch=at + 2),
            collective(at + max(start - at, 40), at + 620, launch=at + launched, stream=7, group_size=2),
            kernel(at + 620, at + 630, launch=at + launched + 7),
        ]
        if launched > 100:
            calls.append(("cudaStreamSynchronize", "sync", at + 30, at + launched - 5))
    run = tables(*activities, steps=STEPS, calls=calls, rank=rank, host="node", world_size=2)
    return replace(run, host_calls=run.host_calls.with_columns(pl.lit(thread, pl.Int32).alias("thread")))


def test_a_host_that_is_held_up_by_nothing_on_its_device_is_as_late_as_it_was():
    """Rank 1's synchronisation returns 460 us after its device was done: what held it is not known to move."""
    run = measure(cut(joined(stuck(0, 10), stuck(1, 505))))
    rows = run.windows.join(run.ideal, on="window").filter(pl.col("step") < 3).sort("step", "rank")
    assert set(run.instances["queue_ns"]) == {0, 5_000}
    assert set(rows["gain_ns"]) == {0}, "the next step is launched by a host that stands where it stood"


def timeline(run):
    (found,) = timelines(cut(run), completed_only=False)
    return found


def test_stops_are_those_of_the_threads_that_train():
    run = stuck(0, 505)
    line = timeline(run)
    found = stops(line, run.host_calls, run.threads)
    assert [line.end[at] - line.start[0] for at in found.awaited] == [
        20_000 + 1_000_000 * step for step in range(4)
    ], "each waits for its step's first kernel"
    assert found.before.tolist()[:6] == [-1, 0, 0, 0, 1, 1]
    of_a_loader = stuck(0, 505, thread=7)
    assert len(stops(line, of_a_loader.host_calls, run.threads).awaited) == 0


def ahead(compute, more=()):
    """Each step opens with an all_gather that was launched long before, behind the step before's reduce_scatter."""
    activities, waits, steps = [], [], []
    for at in range(0, 5_000, 1_000):
        call = at - 900
        steps.append((call, call + 400))
        activities += [
            collective(at, at + 100, launch=call + 10, kind="all_gather", group_size=2, bytes=8),
            kernel(at + 100, at + 100 + compute, launch=call + 20),
            collective(at + 500, at + 1_000, launch=call + 30, kind="reduce_scatter", group_size=2, bytes=8),
        ]
        activities += [kernel(at + start, at + end, launch=call + 25, stream=8) for start, end in more]
        waits.append((7, 20, call + 15, call + 14))
    both = (
        tables(*activities, steps=steps, waits=waits, rank=rank, host="node", world_size=2) for rank in (0, 1)
    )
    return measure(cut(joined(*both)))


@pytest.mark.parametrize(("compute", "gain"), [(450, 500_000), (800, 200_000)])
def test_a_window_moves_by_its_own_collectives_and_not_below_its_compute(compute, gain):
    """The reduce_scatter can go 500 us ahead, to where its window begins; not the window's own beginning."""
    rows = ahead(compute).ideal
    assert rows.height == 8
    assert set(rows["gain_ns"]) == {gain}


def test_a_window_ends_with_the_first_activity_of_the_next_whatever_else_starts_then():
    """A kernel of its own, behind nothing, starts at that instant, and is what the next reduce_scatter waits for."""
    rows = ahead(450, more=[(1_000, 1_001)]).ideal.sort("step", "rank")
    assert rows["gain_ns"].to_list() == [500_000] * 2 + [499_000] * 6


def brute(source, node, slack, nodes):
    earlier = [0] + [FAR] * (nodes - 1)
    for _ in range(nodes):
        for a, b, by in zip(source, node, slack, strict=True):
            earlier[b] = min(earlier[b], earlier[a] + by)
    return earlier


@pytest.mark.parametrize("seed", range(40))
def test_shortest_paths_are_found_around_circles_too(seed):
    random = np.random.default_rng(seed)
    nodes, count = int(random.integers(2, 30)), int(random.integers(0, 100))
    source, node = random.integers(0, nodes, count), random.integers(1, nodes, count)
    slack = random.integers(0, 6, count) * random.integers(0, 2, count)
    found = replay._earlier(source, node, slack, nodes)
    assert found.tolist() == brute(source.tolist(), node.tolist(), slack.tolist(), nodes)


def test_every_link_is_followed_once(monkeypatch):
    """A host that runs ahead ever further: each activity could be earlier than its launch allows the first."""
    count = 2_000
    followed = []

    def counted(low, high):
        followed.append(int((high - low).sum()))
        return expand(low, high)

    expand = replay.expand
    monkeypatch.setattr(replay, "expand", counted)
    nodes = np.arange(1, count + 1)
    source, node = np.concatenate([0 * nodes, nodes[:-1]]), np.concatenate([nodes, nodes[1:]])
    slack = np.concatenate([1_000 * nodes, 0 * nodes[1:]])
    assert set(replay._earlier(source, node, slack, count + 1)[1:]) == {1_000}
    assert sum(followed) == len(source)
