"""What a step could be at best, and what lies between, adding up (SEMANTICS 7, ideal)."""

from __future__ import annotations

import pytest
from synth import scenario, write_pair

from abstep.compare.build import CompareOptions
from abstep.pipeline import Reading, compare_traces


def sides(folder, name, **overrides):
    places = write_pair(folder, *scenario(name, **overrides))
    found = compare_traces(*places, CompareOptions(warmup=0), Reading(store=folder / "store.duckdb"))
    return found, {"base": found.step_time.base, "variant": found.step_time.variant}


@pytest.mark.parametrize("name", ["buckets", "straggler", "fsdp_prefetch", "host_bound", "contention"])
def test_the_bound_and_what_lies_between_add_up_to_the_step(tmp_path, name):
    found, steps = sides(tmp_path, name)
    for side, about in found.sides:
        bounds = about.bounds
        assert bounds.together + sum(bounds.kept_by.values()) == pytest.approx(steps[side], abs=0.01)
        assert 0 < bounds.together <= bounds.at_first_valid_launch <= steps[side] + 0.01
        assert about.ideal == pytest.approx(bounds.together)
        gained = steps[side] - bounds.at_first_valid_launch
        assert bounds.kept_by["serialization"] <= gained + 1, "no queue costs more than is gained without any"


def test_a_late_rank_keeps_the_step_from_its_bound(tmp_path):
    found, _ = sides(tmp_path, "straggler")
    slot = next(row for row in found.intervals if row.kind == "blocking")
    late = found.variant.bounds.kept_by["late_readiness"]
    assert late == pytest.approx(slot.variant_peer_wait, rel=0.01)
    assert late > 10 * found.base.bounds.kept_by["late_readiness"]
    assert "late ranks" in " ".join(found.explanation.sentences)


def test_without_a_rank_there_is_no_bound(tmp_path):
    found, _ = sides(tmp_path, "rank_missing")
    assert found.variant.bounds is None
    assert found.variant.ideal is None


def test_the_replay_says_what_queues_cost(tmp_path):
    """Four buckets queue behind one another on a slow link; the step without that is what a job without it takes."""
    slow = {"jitter": 0.0, "share_link": False, "link_bytes_per_us": 20_000}
    found, steps = sides(
        tmp_path, "buckets", steps=10, layers=4, world=2, base_buckets=2, variant_buckets=4, **slow
    )
    _, free = scenario(
        "buckets",
        steps=10,
        layers=4,
        world=2,
        base_buckets=2,
        variant_buckets=4,
        variant_own_streams=True,
        **slow,
    )
    used = found.variant.steps_used
    truth = [w.length for w in free.truth.completed() if w.step in used]
    bound = found.variant.bounds.at_first_valid_launch
    assert bound == pytest.approx(sum(truth) / len(truth), abs=20_000)
    assert steps["variant"] - bound > 500_000
    assert "at its first valid launch" in " ".join(found.explanation.sentences)
