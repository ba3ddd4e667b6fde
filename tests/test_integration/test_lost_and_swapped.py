"""Collectives that one rank lost, swapped or read too early: named, and never paired with the wrong one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synth import Job, scenario, simulate, write_run
from synth.faults import cut_front, lose
from synth.kineto import ORIGIN_NS

from abstep.pipeline import Reading, read_run

from .planted import (
    SMALL,
    assert_means,
    failures,
    told,
)


# matching ---------------------------------------------------------------------------------------------------
def never_wrong(found_run, run, within_ns=3_000):
    """Every split that is given is true; what cannot be matched is left unsplit."""
    true = {(call.rank, call.start): call for call in run.truth.calls}
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
