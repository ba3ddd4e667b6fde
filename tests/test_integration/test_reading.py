"""Rank by rank out of the store, all at once in memory, or kept measures: the same figures to the last digit."""

from __future__ import annotations

import json

import pytest
from polars.testing import assert_frame_equal
from synth import Job, scenario, simulate, write_pair, write_run

from abstep.compare.build import CompareOptions, compare
from abstep.pipeline import Reading, compare_traces, read_run
from abstep.report.result import dumps

FRAMES = (
    "windows",
    "instances",
    "parts",
    "work",
    "signatures",
    "beside",
    "idle",
    "milestones",
    "path",
    "violations",
)
JOBS = {
    "ddp": Job(steps=6, layers=4, world=2, packing=True),
    "fsdp": Job(steps=4, layers=4, world=2, parallel="fsdp", prefetch=1),
    "tp and dp": Job(steps=4, layers=4, world=4, parallel="tp_dp"),
    "two cycles": Job(steps=8, layers=4, world=2, cycles=2),
}


def same(first, second):
    for name in FRAMES:
        one, other = getattr(first, name), getattr(second, name)
        order = [column for column in one.columns if column not in ("file", "row", "window", "consumer_row")]
        keep = one.select(order).columns
        assert_frame_equal(
            one.select(keep).sort(keep, nulls_last=True),
            other.select(keep).sort(keep, nulls_last=True),
            check_exact=False,
            abs_tol=1e-3,
        )
    assert first.recorded_edges == second.recorded_edges
    assert_frame_equal(first.across.clock.rows, second.across.clock.rows)


def assert_near(value, other):
    """Equal but for the last digits of sums taken in another order."""
    if isinstance(value, dict):
        assert list(value) == list(other)
        for key in value:
            assert_near(value[key], other[key])
    elif isinstance(value, list):
        assert len(value) == len(other)
        for one, another in zip(value, other, strict=True):
            assert_near(one, another)
    elif isinstance(value, float):
        assert value == pytest.approx(other, rel=1e-9, abs=1e-6)
    else:
        assert value == other


@pytest.mark.parametrize("name", JOBS)
def test_rank_by_rank_and_at_once_measure_the_same(name, tmp_path):
    place = write_run(simulate(JOBS[name]), tmp_path / "run")
    reading = Reading(store=tmp_path / "s.duckdb")
    by_rank = read_run(place, reading)
    at_once = read_run(place, reading, spans=True)
    same(by_rank, at_once)
    kept = read_run(place, reading)
    same(by_rank, kept)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    place = tmp_path_factory.mktemp("pair")
    return write_pair(place, *scenario("buckets", world=2, steps=8, layers=4, variant_buckets=4))


def test_the_same_comparison_gives_the_same_bytes(pair, tmp_path):
    """However often it is made: no sum may depend on which thread was first."""
    reading = Reading(store=tmp_path / "s.duckdb")
    runs = [read_run(place, reading) for place in pair]
    assert len({dumps(compare(*runs, CompareOptions(warmup=0))) for _ in range(8)}) == 1


def test_a_comparison_out_of_kept_measures_is_the_same_file(pair, tmp_path):
    reading = Reading(store=tmp_path / "s.duckdb")
    options = CompareOptions(warmup=0)
    first = dumps(compare_traces(*pair, options, reading))
    again = dumps(compare_traces(*pair, options, reading))
    assert_near(json.loads(again), json.loads(first))
    at_once = [read_run(place, reading, spans=True) for place in pair]
    assert_near(json.loads(dumps(compare(*at_once, options))), json.loads(first))


def test_what_was_kept_is_measured_anew_when_a_file_changes(tmp_path):
    """The same folder, another recording: neither spans nor measures of the old one are used."""
    reading = Reading(store=tmp_path / "s.duckdb")
    job = Job(steps=4, layers=4, world=2)
    before = read_run(write_run(simulate(job), tmp_path / "run"), reading)
    slower = simulate(Job(steps=4, layers=4, world=2, slowdown=1.5))
    after = read_run(write_run(slower, tmp_path / "run"), reading)
    assert after.windows["compute_alone"].sum() > 1.3 * before.windows["compute_alone"].sum()
    again = read_run(write_run(simulate(job), tmp_path / "run"), reading)
    same(before, again)


def test_another_step_marker_does_not_get_the_measures_of_the_first(tmp_path):
    place = write_run(simulate(Job(steps=4, layers=4, world=2, micro=2)), tmp_path / "run")
    store = tmp_path / "s.duckdb"
    steps = read_run(place, Reading(store=store))
    passes = read_run(place, Reading(store=store, step_marker=r"^DistributedDataParallel\.forward$"))
    assert steps.windows["step"].n_unique() == 3
    assert passes.windows["step"].n_unique() == 7
    same(steps, read_run(place, Reading(store=store)))
