"""Several files a rank, several launches, a rank without steps: what joins, what is left out, what is refused."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace

import pytest
from synth import Clock, Job, simulate, write_repeats, write_run

from abstep.compare.build import CompareOptions
from abstep.errors import TraceError
from abstep.pipeline import Reading, compare_traces, read_run
from abstep.report.result import result

JOB = Job(steps=5, layers=4, world=2)
LATER = {0: Clock(1_000_000_000), 1: Clock(1_000_000_000)}
"""A capture a second later."""


@pytest.fixture
def reading(tmp_path):
    return Reading(store=tmp_path / "s.duckdb")


def second_capture(job, folder):
    """Another capture of the same ranks, its files beside those that are there."""
    made = write_run(simulate(job), folder.parent / "made")
    for file in made.glob("rank*"):
        shutil.move(file, folder / f"second_{file.name}")


def test_captures_with_other_step_numbers_join_as_cycles(tmp_path, reading):
    place = write_run(simulate(JOB), tmp_path / "run")
    second_capture(replace(JOB, first_step=20, clocks=LATER, seed=1), place)
    run = read_run(place, reading)
    assert sorted(set(run.windows["step"])) == [3, 4, 5, 6, 20, 21, 22, 23]
    reasons = run.cut.windows.drop_nulls("reason").select("step", "reason").unique().sort("step").rows()
    assert reasons == [(7, "last_in_cycle"), (24, "last_in_cycle")]


def test_captures_with_the_same_step_numbers_are_refused_by_their_names(tmp_path, reading):
    place = write_run(simulate(JOB), tmp_path / "run")
    second_capture(replace(JOB, clocks=LATER, seed=1), place)
    with pytest.raises(TraceError) as caught:
        read_run(place, reading)
    for name in ("rank0.json.gz", "second_rank0.json.gz"):
        assert str(place / name) in str(caught.value)


def test_a_refusal_names_the_files_of_this_run_not_where_their_content_was_first_seen(tmp_path, reading):
    """The store keeps a content once; a copy in another folder is told by its own name."""
    original = write_run(simulate(JOB), tmp_path / "original")
    read_run(original, reading)
    place = shutil.copytree(original, tmp_path / "copy")
    second_capture(replace(JOB, clocks=LATER, seed=1), place)
    with pytest.raises(TraceError) as caught:
        read_run(place, reading)
    assert str(original) not in str(caught.value)
    assert str(place / "rank0.json.gz") in str(caught.value)


def test_overlapping_captures_of_one_rank_are_refused(tmp_path, reading):
    place = write_run(simulate(JOB), tmp_path / "run")
    second_capture(replace(JOB, first_step=20, seed=1), place)
    with pytest.raises(TraceError, match="both rank 0 and overlap in time"):
        read_run(place, reading)


def test_launches_are_repeats_and_the_unit_of_the_test(tmp_path, reading):
    sides = []
    for name, buckets in (("base", 2), ("variant", 4)):
        runs = [simulate(replace(JOB, buckets=buckets, seed=10 * buckets + n), name) for n in range(3)]
        sides.append(write_repeats(runs, tmp_path / name))
    found = result(compare_traces(*sides, CompareOptions(warmup=0), reading))
    assert (found["base"]["repeats"], found["variant"]["repeats"]) == (3, 3)
    assert (found["step_time"]["n_base"], found["step_time"]["n_variant"]) == (3, 3)
    assert found["base"]["windows_used"] == 12
    assert [row["repeat"] for row in found["base"]["dropped"]] == [0, 1, 2]
    assert "single_repeat" not in {row["id"] for row in found["warnings"]}
    assert found["step_time"]["verdict"] == "faster"


def test_a_rank_that_holds_no_step_is_left_out_and_named(tmp_path, reading):
    place = write_run(simulate(JOB), tmp_path / "run")
    file = place / "rank1.json.gz"
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b"ProfilerStep#", b"step "), 1))
    found = result(compare_traces(place, place, CompareOptions(warmup=0), reading))
    assert found["base"]["ranks"] == [0]
    assert found["base"]["windows_used"] == 4
    assert any("rank1.json.gz" in row["message"] for row in found["warnings"] if row["id"] == "bad_file")


@pytest.mark.parametrize("text", ["{oops", "[1]", '{"label": 5, "settings": [1], "recorded": "x"}'])
def test_a_run_json_that_is_none_costs_only_the_settings(tmp_path, reading, text):
    place = write_run(simulate(JOB), tmp_path / "run")
    (place / "run.json").write_text(text)
    found = result(compare_traces(place, place, CompareOptions(warmup=0), reading))
    assert found["base"]["settings"] == {}
    assert found["base"]["label"] == "run"
    assert (
        next(row for row in found["comparability"]["checks"] if row["id"] == "one_setting")["status"]
        == "unknown"
    )
    if not text.startswith('{"'):
        assert any("run.json" in row["message"] for row in found["warnings"] if row["id"] == "bad_file")


def test_one_step_is_described_closed_by_its_own_work(tmp_path, reading):
    place = write_run(simulate(replace(JOB, steps=1)), tmp_path / "run")
    run = read_run(place, reading)
    assert run.windows["own_work"].all()
    found = result(compare_traces(place, place, CompareOptions(warmup=0), reading))
    assert found["step_time"]["verdict"] == "too_few"
    assert found["step_time"]["base_us"] > 0
