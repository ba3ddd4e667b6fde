"""Runs that do not do the same work, and records with faults: refused or set right, and described all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synth import scenario
from synth.faults import corrupt, opaque_graph, unlaunched

from .planted import (
    SMALL,
    assert_means,
    check,
    told,
)


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
