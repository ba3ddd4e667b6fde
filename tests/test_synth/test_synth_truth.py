"""The generator's truth agrees with itself and with a count of single nanoseconds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from synth import PAIRS, Job, scenario, simulate
from synth.model import COMM, COMPUTE
from synth.truth import CATEGORIES, categories, local_windows

JOBS = {
    "ddp": Job(steps=4),
    "gaps": Job(steps=4, gap_ns=600, buckets=2),
    "late": Job(steps=4, overlap=False),
    "accumulated": Job(steps=4, micro=2),
    "own_bucket": Job(steps=4, per_bucket_optimizer=True),
    "fsdp": Job(steps=4, parallel="fsdp"),
    "prefetch": Job(steps=4, parallel="fsdp", prefetch=1),
    "tp_dp": Job(steps=4, parallel="tp_dp"),
    "moe": Job(steps=4, parallel="moe"),
    "pipeline": Job(steps=4, parallel="pipeline", micro=4),
    "eager": Job(steps=4, parallel="pipeline", micro=4, eager_send=True),
    "host_wait": Job(steps=4, host_wait="cudaStreamSynchronize"),
    "starving": Job(steps=4, sync="step", host_op_ns=66_000, gemm_ns=18_000, act_ns=6_000),
    "contended": Job(steps=4, compute_stretch=1.9, comm_stretch=2.3),
}


@pytest.fixture(params=JOBS, scope="module")
def run(request):
    return simulate(JOBS[request.param])


def test_categories_tile_every_window(run):
    for window in run.truth.windows:
        assert sum(getattr(window, name) for name in CATEGORIES) == window.length > 0


def test_windows_of_a_rank_touch(run):
    for rank in run.ranks:
        mine = [w for w in run.truth.windows if w.rank == rank]
        assert [w.reason for w in mine] == [None] * 3 + ["last_in_cycle"]
        assert all(a.end == b.start for a, b in pairwise(mine))


def test_slots_and_stretches_add_up_to_exposed(run):
    truth = run.truth
    assert sum(truth.slots().values()) == pytest.approx(truth.mean("exposed"), abs=1e-6)
    for window in truth.windows:
        rows = [r for r in truth.exposed if (r.step, r.rank) == (window.step, window.rank)]
        assert sum(r.ns for r in rows) == window.exposed
        assert sum(b - a for a, b in truth.stretches[window.step, window.rank]) == window.exposed
        assert all(0 <= r.peer_wait <= r.ns for r in rows)


def test_collectives_end_together_after_the_last_arrival(run):
    for one in run.instances:
        assert set(one.members) == set(one.group.ranks)
        assert one.last_arrival == max(s.start for s in one.members.values())
        if not run.job.eager_send or one.kind not in {"send", "recv"}:
            assert {s.end for s in one.members.values()} == {one.end}


def test_call_parts_add_up(run):
    for call in run.truth.calls:
        assert call.peer_wait + call.transport == call.end - call.start
        assert 0 <= call.exposed <= call.end - call.start
        assert call.queue == max(0, call.start - call.first_valid_launch)
        if call.consumer_start is not None:
            assert call.consumer_start >= call.end


def test_streams_run_in_order_and_after_their_launch(run):
    for trace in run.ranks.values():
        for span in trace.spans:
            assert span.start >= span.launch.start + run.job.launch_ns
            assert span.previous is None or span.start >= span.previous.end
            assert all(m.span is None or span.start >= m.span.end for m in span.after)


def test_path_is_no_longer_than_the_steps_it_spans(run):
    for step, path in run.truth.paths.items():
        mine = [w for w in run.truth.windows if w.step == step]
        ends = max(s.end for trace in run.ranks.values() for s in trace.spans if s.step == step)
        assert path.length <= ends - min(w.start for w in mine)
        assert sum(path.ranks.values()) == path.length > 0


def test_categories_agree_with_counting_every_nanosecond():
    run = simulate(Job(steps=2, layers=2, gemm_ns=900, act_ns=200, opt_ns=500, grad_bytes=60_000, world=2))
    window = run.truth.windows[0]
    spans = run.ranks[0].spans
    count = dict.fromkeys(CATEGORIES, 0)
    for t in range(window.start, window.end):
        kinds = {s.kind for s in spans if s.start <= t < s.end}
        if COMPUTE in kinds:
            count["overlapped" if COMM in kinds else "compute_alone"] += 1
        else:
            count["exposed" if COMM in kinds else "copy_only" if kinds else "idle"] += 1
    assert count == categories(spans, window.start, window.end)


def test_same_seed_same_run_other_seed_other_noise():
    first, again, other = simulate(Job(steps=3)), simulate(Job(steps=3)), simulate(Job(steps=3, seed=1))
    assert first.truth.windows == again.truth.windows
    assert first.truth.windows != other.truth.windows


@pytest.mark.parametrize("slowdown", [1.0, 1.03])
@pytest.mark.parametrize("stretch", [1.0, 1.05, 1.2, 1.9])
def test_planted_contention_is_what_overlapped_compute_lost(stretch, slowdown):
    run = simulate(Job(steps=4, jitter=0.0, compute_stretch=stretch, slowdown=slowdown))
    window = run.truth.windows[0]
    lost = window.overlapped * (1 - 1 / stretch)
    assert run.truth.contention([window.step]) == pytest.approx(lost, rel=0.02, abs=60)
    control = [s for s in run.ranks[0].spans if s.anchor.startswith("m0/fwd")]
    assert all(s.end - s.start == s.work for s in control)
    assert control[0].work == round(240_000 * slowdown)


def test_local_windows_differ_from_true_ones_by_the_clock_only():
    base, _ = scenario("straggler", steps=4)
    for true, local in zip(base.truth.windows, local_windows(base), strict=True):
        shown = base.clock(true.rank)
        assert (local.start, local.end) == (shown.show(true.start), shown.show(true.end))
        assert sum(getattr(local, name) for name in CATEGORIES) == local.length


@pytest.mark.parametrize("name", PAIRS)
def test_every_pair_simulates(name):
    base, variant = scenario(name, steps=6, layers=4)
    assert base.truth.mean("length") > 0
    assert variant.truth.mean("length") > 0
