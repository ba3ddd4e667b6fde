"""Each ready-made pair plants what it says."""

from __future__ import annotations

import pytest
from synth import scenario

OPTIMIZER = ("blocking", "backward", "default_pg", "all_reduce", "opt0")


def tails(name, **overrides):
    base, variant = scenario(name, steps=6, **overrides)
    return base.truth, variant.truth, base.truth.slots(), variant.truth.slots()


def test_more_buckets_shrink_the_tail_and_the_step():
    base, variant, before, after = tails("buckets")
    assert after[OPTIMIZER] < before[OPTIMIZER] - 300_000
    assert variant.mean("length") < base.mean("length") - 300_000
    assert {c.consumer for c in base.calls} == {c.consumer for c in variant.calls} == {"opt0"}


def test_contention_eats_what_overlap_gains():
    base, variant, before, after = tails("contention")
    assert after[OPTIMIZER] < before[OPTIMIZER] / 5
    assert variant.mean("overlapped") > base.mean("overlapped")
    assert variant.mean("length") > base.mean("length")
    assert base.contention() == 0
    assert variant.contention() > 1_000_000


def test_the_straggler_is_last_everywhere_and_the_others_wait():
    base, variant, before, after = tails("straggler")
    assert {c.late_rank for c in variant.calls if c.step == 5} == {1}
    grown = after[OPTIMIZER] - before[OPTIMIZER]
    waited = sum(r.peer_wait for r in variant.exposed) - sum(r.peer_wait for r in base.exposed)
    assert float(waited) / 24 == pytest.approx(grown, rel=0.1)
    assert variant.clock_offset(1) == pytest.approx(3_000_000, abs=2_000)


def test_a_slower_link_is_transport():
    _, _, before, after = tails("slow_link")
    assert after[OPTIMIZER] == pytest.approx(2 * before[OPTIMIZER], rel=0.1)


def test_prefetch_removes_every_blocking_gather_but_the_first():
    _, _, before, after = tails("fsdp_prefetch")
    gathers = [
        {k[4] for k, ns in s.items() if k[3] == "all_gather" and k[0] == "blocking" and ns > 20_000}
        for s in (before, after)
    ]
    assert len(gathers[0]) >= 15
    assert gathers[1] == {"m0/fwd0/gemm", "m0/bwd7/gelu"}


def test_host_bound_time_is_incidental_and_the_step_stays():
    base, variant, before, after = tails("host_bound")
    shrunk = [key for key in before if after.get(key, 0) < before[key] - 50_000]
    assert ("incidental", "backward", "default_pg", "all_reduce", None) in shrunk
    assert base.mean("idle") > base.mean("length") / 3
    assert variant.mean("length") == pytest.approx(base.mean("length"), rel=0.03)
