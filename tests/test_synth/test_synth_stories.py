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
    assert variant.mean("length") == pytest.approx(base.mean("length"), rel=0.002)


def test_the_host_waits_for_the_reductions():
    base, variant = scenario("host_wait", steps=4)
    assert {r.wait for r in base.truth.exposed if r.kind == "blocking"} == {"host"}
    assert {r.wait for r in variant.truth.exposed if r.kind == "blocking"} == {"stream"}
    assert base.truth.slots().keys() == variant.truth.slots().keys()
    assert {c.consumer for c in base.truth.calls} == {"opt0"}
    assert all(c.slack > 5_000 for c in base.truth.calls)


def test_freeing_memory_waits_for_the_device():
    base, _ = scenario("free", steps=4)
    assert {r.wait for r in base.truth.exposed if r.kind == "blocking"} == {"host"}


def test_a_missing_rank_leaves_nothing_complete():
    base, variant = scenario("rank_missing", steps=4)
    assert set(variant.ranks) == {0, 1, 3}
    assert all(c.complete for c in base.truth.calls)
    assert not any(c.complete for c in variant.truth.calls)


def test_one_lost_collective_is_missing_on_one_rank_only():
    _, variant = scenario("lost_collective", steps=4)
    calls = [c for c in variant.truth.calls if (c.step, c.label) == (5, "bucket1")]
    assert {c.rank for c in calls} == {0, 2, 3}
    assert not any(c.complete for c in calls)
    assert sum(not c.complete for c in variant.truth.calls) == 3


def test_one_rank_issues_another_order():
    _, variant = scenario("other_order", steps=4)
    step = [i for i in variant.instances if i.step == 5]
    assert [i.members[1].anchor for i in step] == ["bucket1", "bucket0", "bucket2", "bucket3"]
    assert [i.members[0].anchor for i in step] == ["bucket0", "bucket1", "bucket2", "bucket3"]
    assert step[0].members[1].bytes != step[0].members[0].bytes


def test_an_update_that_reads_too_early_and_one_that_may():
    def before_its_gradients(run):
        return {
            (one.step, rank)
            for one in run.instances
            for rank, span in one.members.items()
            for s in run.ranks[rank].spans
            if s.step == one.step and s.anchor == "opt0" and s.start < span.end
        }

    base, variant = scenario("early_read", steps=5)
    assert before_its_gradients(base) == set()
    assert before_its_gradients(variant) == {(5, 2)}
    legal, _ = scenario("legal_overlap", steps=5)
    assert len(before_its_gradients(legal)) == 20


def test_sub_groups_are_one_role_each():
    base, variant = scenario("tp_dp", steps=4, layers=4)
    assert {c.group for c in base.truth.calls} == {"tensor_parallel", "data_parallel"}
    assert {len(i.group.ranks) for i in base.instances} == {2}
    dp = ("blocking", "backward", "data_parallel", "all_reduce", "opt0")
    assert variant.truth.slots()[dp] < base.truth.slots()[dp] / 2


def test_a_late_rank_is_late_in_its_own_groups():
    _, variant = scenario("tp_dp_late", steps=4, layers=4)
    late: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for one in variant.instances:
        late.setdefault((one.group.role, one.group.ranks), []).append(one.late_rank)
    assert set(late["tensor_parallel", (2, 3)]) == {3}
    assert set(late["data_parallel", (1, 3)]) == {3}
    assert set(late["tensor_parallel", (0, 1)]) == {0, 1}


def test_all_to_all_is_hidden_in_the_variant():
    base, variant = scenario("moe", steps=4)
    dispatch = [
        sum(ns for key, ns in run.truth.slots().items() if (key[4] or "").endswith("/expert"))
        for run in (base, variant)
    ]
    assert dispatch[1] < dispatch[0] / 5
    assert variant.truth.mean("length") < base.truth.mean("length")


def test_pipeline_pairs_are_send_and_receive():
    base, _ = scenario("pipeline", steps=4)
    pairs = [i for i in base.instances if i.group.role == "pipeline"]
    assert all({s.collective for s in i.members.values()} == {"send", "recv"} for i in pairs)
    assert all(len(i.group.ranks) == 2 for i in pairs)


@pytest.mark.parametrize("name", ["accumulation", "dtype", "batch", "world"])
def test_runs_that_are_not_the_same_training(name):
    base, variant = scenario(name, steps=3, layers=4)
    size = {
        side: sum(s.bytes for s in run.ranks[0].spans if s.step == 3 and s.kind == "communication")
        for side, run in (("base", base), ("variant", variant))
    }
    passes = {
        len([s for s in run.ranks[0].spans if s.step == 3 and s.op == "aten::nll_loss_forward"])
        for run in (base, variant)
    }
    dims = {run.ranks[0].ranges[5].dims for run in (base, variant)}
    differs = {
        "accumulation": len(passes) == 2,
        "dtype": size["variant"] * 2 == size["base"],
        "batch": len(dims) == 2,
        "world": len(base.ranks) != len(variant.ranks),
    }
    assert differs.pop(name)


def test_two_settings_differ():
    base, variant = scenario("two_settings", steps=3)
    assert {k for k in base.settings if base.settings[k] != variant.settings[k]} == {
        "bucket_cap_mb",
        "nccl_algo",
    }


def test_packing_gives_the_timing_and_the_update_the_name():
    base, _ = scenario("packing", steps=4)
    assert {c.consumer for c in base.truth.calls} == {"opt0"}
    first = base.truth.calls[0]
    spans = base.ranks[first.rank].spans
    assert next(s for s in spans if s.start == first.consumer_start).anchor == "unpack0"


def test_graph_nodes_share_one_launch():
    _, variant = scenario("graph", steps=3, layers=4)
    nodes = [s for s in variant.ranks[0].spans if s.in_graph and s.step == 4]
    assert len(nodes) == 8
    assert len({s.launch for s in nodes}) == 1
    assert nodes[0].launch.name == "cudaGraphLaunch"


def test_every_cycle_ends_in_a_dropped_window():
    base, _ = scenario("cycles")
    assert [w.step for w in base.truth.windows if w.rank == 0 and w.reason] == [6, 10, 14]


def test_warm_up_is_slow_and_then_it_is_not():
    base, _ = scenario("warm_up")
    first, later = base.truth.mean("length", [3]), base.truth.mean("length", range(8, 20))
    assert first > 2 * later
    assert any(c.name == "cudaMalloc" for c in base.ranks[0].calls)
