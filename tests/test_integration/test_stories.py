"""Generated pairs with one thing planted each: the words are right, and so are the times behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synth import Job, scenario, simulate, write_pair, write_run
from synth.faults import corrupt, cut_front, lose, opaque_graph, unlaunched, without_rank
from synth.truth import CATEGORIES

from abstep.compare.build import CompareOptions
from abstep.pipeline import Reading, compare_traces
from abstep.report.result import result
from abstep.report.text import summary

SMALL = {"steps": 8, "layers": 4, "world": 3}
EXACT_US = 1.0
OFF_US = 20.0
ROLE = "default_pg"


def told(folder, base, variant, **layout):
    """The result of comparing two simulated runs, nothing dropped as warm-up, and the text of its summary."""
    places = write_pair(folder, base, variant, **layout)
    comparison = compare_traces(*places, CompareOptions(warmup=0), Reading(store=folder / "store.duckdb"))
    return result(comparison), " ".join(summary(comparison).split())


def assert_means(found, base, variant, within=EXACT_US):
    """Step time and categories are the truth's means over the windows that were used."""
    for side, run in (("base", base), ("variant", variant)):
        steps = found[side]["steps_used"]
        rows = [w for w in run.truth.completed() if w.step in steps and w.rank in found[side]["ranks"]]
        mean = {
            name: sum(getattr(w, name) for w in rows) / len(rows) / 1e3 for name in (*CATEGORIES, "length")
        }
        assert found["step_time"][f"{side}_us"] == pytest.approx(mean.pop("length"), abs=within)
        got = {row["category"]: row[f"{side}_us"] for row in found["decomposition"]}
        assert got == pytest.approx(mean, abs=within)


def slots_us(run, steps):
    """The truth's slots in us; blocking ones by their consumer's place."""
    return {slot: ns / 1e3 for slot, ns in run.truth.slots(steps).items()}


def assert_split(found, row, runs, key):
    """A slot's peer wait and transport are the truth's, on clocks that may be off."""
    steps = found["base"]["steps_used"]
    for side, run in zip(("base", "variant"), runs, strict=True):
        parts = [part for part in run.truth.exposed if part.slot == key and part.step in steps]
        each = 1e3 * len(steps) * len(run.ranks)
        waited, carried = (
            float(sum(getattr(part, name) for part in parts)) / each for name in ("peer_wait", "transport")
        )
        assert row[f"{side}_peer_wait_us"] == pytest.approx(waited, abs=OFF_US), side
        assert row[f"{side}_transport_us"] == pytest.approx(carried, abs=OFF_US), side


def slot(found, consumer, collective="all_reduce", group=ROLE):
    rows = [
        row
        for row in found["intervals"]
        if row["collective"] == collective
        and row["group"] == group
        and (row["consumer"] or "incidental").startswith(consumer)
    ]
    assert len(rows) == 1, [row["id"] for row in found["intervals"]]
    return rows[0]


def check(found, identifier):
    return next(row for row in found["comparability"]["checks"] if row["id"] == identifier)


def failures(found, identifier, side):
    return [
        row
        for row in found["validity"]
        if row["id"] == identifier and row["side"] == side and row["status"] == "fail"
    ]


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


def test_one_ranks_trace_missing_on_one_side(tmp_path):
    base, variant = scenario("buckets", **SMALL, variant_buckets=4)
    found, text = told(tmp_path, base, without_rank(variant, 1))
    assert found["base"]["ranks"] == found["variant"]["ranks"] == [0, 2]
    assert "partial_ranks" in {row["id"] for row in found["warnings"]}
    assert "partial_ranks" in text
    assert found["step_time"]["verdict"] == "faster"
    assert_means(found, base, variant)


# matching ---------------------------------------------------------------------------------------------------
def never_wrong(found_run, run, within_ns=3_000):
    """Every split that is given is true; what cannot be matched is left unsplit."""
    true = {(call.rank, call.start): call for call in run.truth.calls}
    from synth.kineto import ORIGIN_NS

    given = 0
    for row in found_run.instances.to_dicts():
        call = true[row["rank"], row["start_ns"] - ORIGIN_NS]
        if row["peer_wait_ns"] is None:
            continue
        given += 1
        assert call.complete, (call.step, call.rank, call.label)
        assert abs(row["peer_wait_ns"] - call.peer_wait) <= within_ns, (call.step, call.rank, call.label)
    return given


@pytest.fixture
def measured_from(tmp_path):
    from abstep.pipeline import read_run

    def read(run, **layout):
        return read_run(write_run(run, tmp_path / "run", **layout), Reading(store=tmp_path / "s.duckdb"))

    return read


DDP = Job(**SMALL, slow_rank={1: 1.1}, uneven=True)


@pytest.mark.parametrize("host", [False, True])
def test_one_collective_lost_on_one_rank_costs_only_itself_where_numbers_say_so(measured_from, host):
    run = lose(simulate(DDP), 2, 5, "bucket1", host=host)
    found = measured_from(run)
    assert never_wrong(found, run) == 4 * 3 * 7 - 3, "the other ranks' parts of that one are unsplit too"
    assert found.across.unmatched["count"].to_list() == [2]


def test_one_collective_lost_on_one_rank_without_numbers(measured_from):
    """Sizes tell them apart, or the step is left out: a wrong partner is worse than none."""
    run = lose(simulate(DDP), 2, 5, "bucket1", host=True)
    found = measured_from(run, seq="absent")
    assert never_wrong(found, run) >= 4 * 3 * 6
    assert found.across.unmatched["count"].sum() >= 2


def test_leading_collectives_cut_off_are_counted_from_the_steps_end(measured_from):
    """A capture that begins late on one rank misses the first ones: the later ones still meet."""
    run = cut_front(simulate(DDP), 2, 2)
    found = measured_from(run, seq="absent")
    assert never_wrong(found, run) >= 4 * 3 * 6 + 3 * 2


def test_another_order_on_one_rank_is_a_violation_that_names_it(tmp_path):
    base, _ = scenario("same", **SMALL, uneven=True)
    swapped = simulate(replace(base.job, swapped=((5, 2),), seed=7), "variant", base.settings)
    found, _ = told(tmp_path, base, swapped)
    rows = failures(found, "collective_order", "variant")
    assert [(row["rank"], row["step"]) for row in rows] == [(2, 5)]
    assert rows[0]["collective"]
    assert not failures(found, "collective_order", "base")
    assert_means(found, base, swapped)


def test_a_complete_set_is_said_to_be_so_and_a_lost_one_is_named(tmp_path):
    base, variant = scenario("same", **SMALL)
    found, _ = told(tmp_path, base, lose(variant, 2, 5, "bucket1", host=True))
    rows = failures(found, "complete_set", "variant")
    assert [(row["rank"], row["step"]) for row in rows] == [(2, 5)]
    passed = {(row["id"], row["side"]) for row in found["validity"] if row["status"] == "pass"}
    assert ("complete_set", "base") in passed
    assert ("collective_order", "base") in passed


# consumption ------------------------------------------------------------------------------------------------
def test_an_optimizer_that_reads_too_early_is_named(tmp_path):
    base, _ = scenario("same", **SMALL)
    buggy = simulate(replace(base.job, early_read=((6, 2),), seed=7), "variant", base.settings)
    found, text = told(tmp_path, base, buggy)
    rows = failures(found, "early_consumption", "variant")
    assert [(row["rank"], row["step"]) for row in rows] == [(2, 6)]
    assert "all_reduce" in rows[0]["collective"]
    assert not failures(found, "early_consumption", "base")
    assert "rank 2" in text
    assert_means(found, base, buggy)


def test_an_optimizer_that_always_overlaps_reductions_is_no_bug(tmp_path):
    """Each kernel waits for its own bucket only: legal, so nothing is held against it, and that is said."""
    legal = {"per_bucket_optimizer": True, "link_bytes_per_us": 20_000}
    base, variant = scenario("same", **SMALL, **legal)
    found, _ = told(tmp_path, base, variant)
    for side in ("base", "variant"):
        assert not failures(found, "early_consumption", side)
        statuses = {
            row["status"]
            for row in found["validity"]
            if row["id"] == "early_consumption" and row["side"] == side
        }
        assert statuses <= {"pass", "unknown"}
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


# what is not the same work ----------------------------------------------------------------------------------
def refused(found, text, identifier):
    assert found["comparability"]["status"] == "not_comparable"
    assert check(found, identifier)["status"] == "fail"
    rows = [found["step_time"], *found["decomposition"], *found["intervals"], *found["contention"]]
    assert {row["verdict"] for row in rows} == {None}
    assert {row["p_value"] for row in rows} == {None}
    assert identifier in text
    assert "no verdict" in text.lower()


UNFAIR = {
    "accumulation": ({"variant_micro": 2}, {}),
    "collective_semantics": ({"variant_dtype": "BFloat16"}, {}),
    "input_work": ({"variant_batch": 48}, {"shapes": True}),
    "world_size": ({"variant_world": 2}, {}),
    "message_work": ({"variant_grad_bytes": 80 << 20}, {}),
    "compute_work": ({"variant_inserted": 30}, {}),
}


@pytest.mark.parametrize("identifier", UNFAIR)
def test_other_work_is_refused_and_described(tmp_path, identifier):
    changes, layout = UNFAIR[identifier]
    base, variant = scenario("same", **SMALL, **changes)
    found, text = told(tmp_path, base, variant, **layout)
    refused(found, text, identifier)
    assert_means(found, base, variant)


def test_two_settings_changed_qualify_every_verdict(tmp_path):
    base, variant = scenario("buckets", **SMALL, variant_buckets=4)
    variant = replace(variant, settings=variant.settings | {"nccl_algo": "tree"})
    found, text = told(tmp_path, base, variant)
    assert found["comparability"]["status"] == "qualified"
    assert check(found, "one_setting")["status"] == "warn"
    assert [row["key"] for row in found["comparability"]["settings_changed"]] == [
        "bucket_cap_mb",
        "nccl_algo",
    ]
    assert found["step_time"]["verdict"] == "faster"
    assert "one_setting" in text
    assert_means(found, base, variant)


# faulty records ---------------------------------------------------------------------------------------------
def test_a_corrupt_duration_is_left_out_and_said(tmp_path):
    base, variant = scenario("same", **SMALL)
    variant = corrupt(variant, 1, 5, "m0/bwd2/dx")
    found, _ = told(tmp_path, base, variant)
    notes = [row["message"] for row in found["warnings"] if row["id"] == "quarantined"]
    assert len(notes) == 1
    assert "variant: 1 activities" in notes[0]
    assert_means(found, base, variant)


def test_an_activity_without_a_launch_record_still_takes_its_time(tmp_path):
    base, variant = scenario("same", **SMALL)
    variant = unlaunched(variant, 1, 5, "m0/bwd2/dx")
    found, _ = told(tmp_path, base, variant)
    assert found["variant"]["unattributed_share"] == pytest.approx(240 / (8 * 3 * 4_000), rel=0.3)
    assert found["base"]["unattributed_share"] == 0
    assert_means(found, base, variant)


def test_a_step_of_an_opaque_graph_is_dropped_with_its_reason(tmp_path):
    base, variant = scenario("same", **SMALL)
    found, _ = told(tmp_path, base, opaque_graph(variant, 6))
    dropped = {(row["step"], row["reason"]) for row in found["variant"]["dropped"]}
    assert (6, "opaque_graph") in dropped
    assert "opaque_graph" in {row["id"] for row in found["warnings"]}
    assert 6 not in found["variant"]["steps_used"]


def test_profiler_cycles_lose_one_window_each(tmp_path):
    base, variant = scenario("same", **SMALL, cycles=2)
    found, _ = told(tmp_path, base, variant)
    dropped = [(row["step"], row["reason"]) for row in found["base"]["dropped"]]
    assert dropped == [(6, "last_in_cycle"), (10, "last_in_cycle")]
    assert found["base"]["windows_used"] == 6
    assert_means(found, base, variant)
