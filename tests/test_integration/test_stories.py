"""Generated pairs with one thing planted each: the words are right, and so are the times behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synth import Job, scenario, simulate, write_run
from synth.faults import without_rank

from abstep.compare.build import CompareOptions
from abstep.pipeline import Reading, compare_traces
from abstep.report.result import result

from .planted import (
    EXACT_US,
    OFF_US,
    ROLE,
    SMALL,
    assert_means,
    assert_split,
    slot,
    slots_us,
    told,
)


# late or slow -----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def straggler(tmp_path_factory):
    runs = scenario("straggler", **SMALL)
    return runs, *told(tmp_path_factory.mktemp("straggler"), *runs)


def test_clocks_off_by_milliseconds_are_put_on_one(straggler):
    runs, found, _ = straggler
    for side, run in zip(("base", "variant"), runs, strict=True):
        for row in found[side]["clock"]:
            assert row["offset_us"] == pytest.approx(run.truth.clock_offset(row["rank"]) / 1e3, abs=OFF_US)
    assert_means(found, *runs)


def test_a_straggler_is_late_and_the_link_is_not(straggler):
    runs, found, text = straggler
    before, after = (slots_us(run, found["base"]["steps_used"]) for run in runs)
    key = ("blocking", "backward", ROLE, "all_reduce", "opt0")
    tail = slot(found, "optimizer")
    assert (tail["base_us"], tail["variant_us"]) == pytest.approx((before[key], after[key]), abs=EXACT_US)
    assert tail["verdict"] == "grew"
    assert_split(found, tail, runs, key)
    late = [row for row in found["collectives"] if row["side"] == "variant"]
    assert [(row["late_rank"], row["late_reason"]) for row in late] == [(1, "compute")]
    assert late[0]["late_share"] > 0.9
    assert "rank 1" in text
    assert "network" not in text.replace("not the network", "")


def test_a_straggler_removed_gives_its_waiting_back(tmp_path):
    runs = scenario("straggler_removed", **SMALL)
    found, text = told(tmp_path, *runs)
    assert_means(found, *runs)
    late = {row["side"]: row for row in found["collectives"]}
    assert (late["base"]["late_rank"], late["base"]["late_reason"]) == (2, "host")
    fell = late["base"]["peer_wait_us"] - late["variant"]["peer_wait_us"]
    assert fell > 2_000
    assert late["variant"]["transport_us"] == pytest.approx(late["base"]["transport_us"], rel=0.05)
    assert "rank 2" in text
    assert "its host is 4.00 ms a step longer in enumerate(DataLoader)" in text


def test_a_slower_link_is_transport_and_nobody_is_late(tmp_path):
    runs = scenario("slow_link", **SMALL)
    found, _ = told(tmp_path, *runs)
    tail = slot(found, "optimizer")
    assert tail["verdict"] == "grew"
    assert_split(found, tail, runs, ("blocking", "backward", ROLE, "all_reduce", "opt0"))
    assert tail["variant_transport_us"] - tail["base_transport_us"] > 0.95 * tail["delta_us"]
    band = {row["side"]: row["busbw_gb_s"] for row in found["collectives"]}
    assert band["base"] == pytest.approx(75, rel=0.06), "75,000 bytes/us, less the latency of each"
    assert band["variant"] == pytest.approx(37.5, rel=0.06)


def test_one_ranks_trace_missing_on_both_sides_is_unsplit(tmp_path):
    """Its lateness cannot be told from a slow link, and no text calls it the network."""
    whole = scenario("slow_link", **SMALL)
    runs = tuple(without_rank(run, 2) for run in whole)
    found, text = told(tmp_path, *runs)
    assert found["base"]["ranks"] == [0, 1]
    assert_means(found, *runs)
    for row in found["collectives"]:
        assert (row["peer_wait_us"], row["transport_us"], row["busbw_gb_s"], row["late_rank"]) == (None,) * 4
        assert row["duration_us"] > 0
    assert slot(found, "optimizer")["base_transport_us"] is None
    assert "network" not in text
    assert "not separated (ranks are missing)" in text


def test_one_ranks_trace_missing_on_one_side(tmp_path):
    base, variant = scenario("buckets", **SMALL, variant_buckets=4)
    found, text = told(tmp_path, base, without_rank(variant, 1))
    assert found["base"]["ranks"] == found["variant"]["ranks"] == [0, 2]
    assert "partial_ranks" in {row["id"] for row in found["warnings"]}
    assert "partial_ranks" in text
    assert found["step_time"]["verdict"] == "faster"
    assert_means(found, base, variant)


# layouts ----------------------------------------------------------------------------------------------------
def test_tensor_and_data_parallel_groups_are_roles(tmp_path):
    """Each rank has its own tensor-parallel group; they are one slot, and their times are means over ranks."""
    job = Job(**SMALL | {"world": 4}, parallel="tp_dp", buckets=2)
    base, variant = simulate(job, "base"), simulate(replace(job, buckets=4, seed=1), "variant")
    found, _ = told(tmp_path, base, variant)
    assert_means(found, base, variant)
    assert {row["group"] for row in found["collectives"]} == {"tensor_parallel", "data_parallel"}
    assert all(row["matched"] for row in found["intervals"] if row["kind"] == "blocking")
    counts = {(row["side"], row["group"]): 0.0 for row in found["collectives"]}
    for row in found["collectives"]:
        counts[row["side"], row["group"]] += row["count"]
    assert counts["base", "data_parallel"] == pytest.approx(2)
    assert counts["variant", "data_parallel"] == pytest.approx(4)
    assert counts["base", "tensor_parallel"] == pytest.approx(8)
    steps = found["base"]["steps_used"]
    for side, run in (("base", base), ("variant", variant)):
        truth = slots_us(run, steps)
        for group in ("tensor_parallel", "data_parallel"):
            total = sum(row[f"{side}_us"] for row in found["intervals"] if row["group"] == group)
            assert total == pytest.approx(
                sum(us for key, us in truth.items() if key[2] == group), abs=EXACT_US
            )


def test_prefetch_hides_every_gather_but_the_first_of_each_pass(tmp_path):
    base, variant = scenario("fsdp_prefetch", **SMALL)
    found, _ = told(tmp_path, base, variant)
    assert_means(found, base, variant)
    words = {
        row["consumer"]: row["verdict"]
        for row in found["intervals"]
        if row["collective"] == "all_gather" and row["kind"] == "blocking"
    }
    for first in ("forward aten::addmm #1", "backward GeluBackward0 #1"):  # of each pass: nothing hides them
        assert words.pop(first) in ("unchanged", "inconclusive")
    assert set(words.values()) <= {"disappeared", "shrank"}
    assert len(words) == 6


def test_an_all_to_all_that_is_hidden_in_the_variant(tmp_path):
    """The shared expert runs beside the dispatch instead of before it."""
    job = Job(**SMALL, parallel="moe")
    base, variant = simulate(replace(job, overlap=False), "base"), simulate(replace(job, seed=1), "variant")
    found, _ = told(tmp_path, base, variant)
    assert found["step_time"]["verdict"] == "faster"
    assert_means(found, base, variant)
    rows = [row for row in found["intervals"] if row["collective"] == "all_to_all"]
    steps = found["base"]["steps_used"]
    for side, run in (("base", base), ("variant", variant)):
        truth = sum(us for key, us in slots_us(run, steps).items() if key[3] == "all_to_all")
        assert sum(row[f"{side}_us"] for row in rows) == pytest.approx(truth, abs=EXACT_US)
    shrank = sum(row["delta_us"] for row in rows)
    assert shrank < -500
    assert {row["verdict"] for row in rows if row["delta_us"] < -50} <= {"shrank", "disappeared"}


def test_kernels_inserted_and_renamed_do_not_part_the_slots(tmp_path):
    """A dropout in every layer, other kernels' names, other stream numbers: the same slots all the same."""
    base, variant = scenario("buckets", **SMALL, variant_buckets=4, variant_inserted=1)
    write_run(base, tmp_path / "base")
    write_run(variant, tmp_path / "variant", renamed=True, streams={7: 13, 20: 31})
    comparison = compare_traces(
        tmp_path / "base",
        tmp_path / "variant",
        CompareOptions(warmup=0),
        Reading(store=tmp_path / "s.duckdb"),
    )
    found = result(comparison)
    tail = slot(found, "optimizer")
    assert tail["matched"]
    steps = found["base"]["steps_used"]
    key = ("blocking", "backward", ROLE, "all_reduce", "opt0")
    assert tail["base_us"] == pytest.approx(slots_us(base, steps)[key], abs=EXACT_US)
    assert tail["variant_us"] == pytest.approx(slots_us(variant, steps)[key], abs=EXACT_US)


def test_a_gather_before_a_layer_behind_an_inserted_one_keeps_its_slot(tmp_path):
    """Launch order aligns the two compute sequences: `forward aten::addmm #3` means the same layer in both."""
    job = Job(**SMALL | {"world": 2}, parallel="fsdp")
    base, variant = simulate(job, "base"), simulate(replace(job, inserted=1, seed=1), "variant")
    found, _ = told(tmp_path, base, variant)
    gathers = [
        row for row in found["intervals"] if row["collective"] == "all_gather" and row["kind"] == "blocking"
    ]
    assert all(row["matched"] for row in gathers)
    assert len(gathers) == 8
    steps = found["base"]["steps_used"]
    for side, run in (("base", base), ("variant", variant)):
        truth = sorted(
            us for key, us in slots_us(run, steps).items() if key[3] == "all_gather" and key[0] == "blocking"
        )
        assert sorted(row[f"{side}_us"] for row in gathers) == pytest.approx(truth, abs=EXACT_US)


def test_a_pipelines_schedule_is_no_late_rank(tmp_path):
    """The first stage ends last: the others wait for it in the small all_reduce of the norm, and nobody is late."""
    runs = scenario("pipeline", **SMALL | {"world": 4})
    found, text = told(tmp_path, *runs)
    assert_means(found, *runs)
    passed = [row for row in found["collectives"] if row["collective"] == "send_recv"]
    assert {row["phase"] for row in passed} == {"forward", "backward"}
    assert {row["late_rank"] for row in passed} == {None}
    steps = found["base"]["steps_used"]
    for side, run in (("base", runs[0]), ("variant", runs[1])):
        calls = [c for c in run.truth.calls if c.step in steps]
        (norm,) = (
            row for row in found["collectives"] if row["side"] == side and row["collective"] == "all_reduce"
        )
        waited = sum(c.peer_wait for c in calls if c.collective == "all_reduce") / len(steps) / 4e3
        assert norm["peer_wait_us"] == pytest.approx(waited, abs=EXACT_US)
        assert (norm["late_rank"], norm["late_share"], norm["late_reason"]) == (0, 1.0, None)
        sent = sum(c.peer_wait for c in calls if c.collective != "all_reduce") / len(steps) / 4e3
        named = sum(row["peer_wait_us"] for row in passed if row["side"] == side)
        assert named == pytest.approx(sent, abs=EXACT_US)
        kept_by = found[side]["ideal_kept_by"]
        assert kept_by["late_readiness_us"] == pytest.approx(0, abs=EXACT_US)
        assert kept_by["pipeline_us"] > norm["peer_wait_us"]
    assert (
        "rank 0 arrives last, 100 % of the time, because it was held in send_recv, which is no sign of a late rank"
    ) in text
    assert "late ranks" not in text
    assert "its stream still carries" not in text
    assert "waiting for a late rank" not in text


def test_a_run_too_short_for_a_common_clock_does_not_miss_ranks(tmp_path):
    """Three steps of one bucket: too few collectives to put the clocks on one, though every rank was traced."""
    runs = scenario("slow_link", **SMALL | {"steps": 4}, buckets=1)
    found, text = told(tmp_path, *runs)
    assert {row["transport_us"] for row in found["collectives"]} == {None}
    assert "the ranks' clocks could not be put on one" in text
    assert "ranks are missing" not in text
    assert "Trace every rank" not in text
