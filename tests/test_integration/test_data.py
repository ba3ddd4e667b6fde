"""Real traces that others published: what their README says of each is what is measured and concluded."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from abstep.errors import TraceError
from abstep.report.result import result
from abstep.report.text import summary

from .figures import launched_a_step, milliseconds, no_figure_is_nan, steps_of, tiles


@pytest.fixture(scope="module")
def data(shared):
    return shared / "data"


# different_world_size ---------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def mismatched(data, compared):
    return compared(*(data / "different_world_size" / side for side in ("base", "variant")))


def test_different_world_size_is_refused(mismatched):
    found = result(mismatched)
    checks = {row["id"]: row for row in found["comparability"]["checks"]}
    assert found["comparability"]["status"] == "not_comparable"
    assert (checks["world_size"]["status"], checks["device"]["status"]) == ("fail", "fail")
    assert (checks["world_size"]["base"], checks["world_size"]["variant"]) == ("8", "2")
    assert "A100" in checks["device"]["base"]
    assert "V100" in checks["device"]["variant"]
    assert checks["steps"]["status"] == "pass"
    rows = [found["step_time"], *found["decomposition"], *found["intervals"], *found["contention"]]
    assert {row["verdict"] for row in rows} == {None}
    assert {row["p_value"] for row in rows} == {None}
    assert found["step_time"]["base_us"] > 0, "figures are shown all the same, as description"
    assert (found["base"]["ranks"], found["variant"]["ranks"]) == ([3], [1])


def test_different_world_size_says_no_verdict_in_words(mismatched):
    for text in (mismatched.explanation.headline, summary(mismatched)):
        assert "not comparable" in text.lower()
        assert not any(word in text.lower() for word in ("is faster", "is slower", "unchanged within"))


def test_different_world_size_is_not_split(mismatched):
    """One rank of each side was traced: who waited for whom cannot be known, and no text blames a network."""
    found = result(mismatched)
    kinds = {(row["side"], row["collective"]) for row in found["collectives"]}
    assert kinds == {(s, c) for s in ("base", "variant") for c in ("all_to_all", "all_reduce")}
    for row in found["collectives"]:
        assert (row["peer_wait_us"], row["transport_us"], row["late_rank"]) == (None, None, None)
    assert "network" not in summary(mismatched).lower()


# single ranks -----------------------------------------------------------------------------------------------
def test_dlrm_8_ranks(data, with_spans):
    run = with_spans(data / "dlrm_8_ranks")
    assert steps_of(run) == [10]
    assert run.windows["own_work"].all()
    assert sorted(run.windows["rank"]) == list(range(8))
    assert launched_a_step(run) == {"all_reduce": [3], "all_to_all": [5]}
    marks = run.cut.marks.with_columns(length=run.cut.marks["end_ns"] - run.cut.marks["start_ns"])
    assert marks["length"].min() / 1e6 == pytest.approx(12.5, abs=0.05)
    assert marks["length"].max() / 1e6 == pytest.approx(19.9, abs=0.05)
    assert tiles(run)


def test_dlrm_8_ranks_is_only_described(data, compared):
    found = result(compared(data / "dlrm_8_ranks", data / "dlrm_8_ranks"))
    assert found["step_time"]["verdict"] == "too_few"
    assert found["base"]["windows_used"] == 1


def test_ddp_resnet50(data, measured):
    run = measured(data / "ddp_resnet50_rank0_of_2")
    found = milliseconds(run, "length", "compute", "talk", "exposed")
    assert sorted(found) == [(4, 0), (5, 0)]
    assert found[4, 0] == pytest.approx([222.1, 38.5, 12.0, 10.2], abs=0.06)
    assert found[5, 0] == pytest.approx([219.7, 38.5, 12.3, 10.5], abs=0.1)
    assert launched_a_step(run) == {"all_reduce": [5], "broadcast": [2]}
    assert set(run.instances["source"]) == {"metadata"}
    assert run.instances["bytes"].null_count() == 0
    assert set(run.instances["group_size"]) == {2}


def test_ddp_resnet50_is_host_bound(data, measured):
    """The device starves between kernels, so most exposed time costs nothing."""
    run = measured(data / "ddp_resnet50_rank0_of_2")
    ns = dict(run.parts.group_by("kind").agg(pl.col("exposed_ns").sum()).iter_rows())
    assert ns["incidental"] > 0.5 * sum(ns.values())
    assert run.windows["idle"].sum() > run.windows["compute_alone"].sum()


def test_many_small_collectives(data, with_spans):
    run = with_spans(data / "ddp_many_small_collectives_rank1_of_2")
    kinds = run.cut.tables.collectives.group_by("collective").len()
    assert dict(kinds.iter_rows()) == {"all_reduce": 2020}
    assert run.cut.windows.height == 5
    assert launched_a_step(run) == {"all_reduce": [404]}
    assert tiles(run)


def test_rocm(data, with_spans):
    run = with_spans(data / "rocm_ddp_rank0_of_8")
    found = milliseconds(run, "length", "exposed", "talk")
    assert sorted(found) == [(15, 0), (16, 0)]
    for figures in found.values():
        assert figures[0] == pytest.approx(19.0, abs=0.05)
        assert 11.85 <= figures[1] <= 12.05
        assert figures[2] == pytest.approx(15.9, abs=0.05)
    marks = run.cut.marks
    host = (marks["end_ns"] - marks["start_ns"]) / 1e6
    assert 15.5 < host.min() <= host.max() < 17.5
    files = run.cut.tables.files.row(0, named=True)
    assert (files["device"], files["rank"], files["device_index"]) == ("rocm", 0, 2)


def test_rocm_collectives_with_and_without_metadata(data, with_spans):
    run = with_spans(data / "rocm_ddp_rank0_of_8")
    rows = run.cut.tables.collectives
    talk = run.cut.tables.spans.filter(run.cut.tables.spans["kind"] == 1)
    assert talk.height == 17
    assert talk["stream"].n_unique() == 1
    described = Counter(rows["source"].to_list())
    assert described["metadata"] == 12
    assert sum(described.values()) == 17


def test_rocm_device_lags_the_host(data, with_spans):
    """By one to two steps, so that cutting at host annotations would misplace most of the work."""
    run = with_spans(data / "rocm_ddp_rank0_of_8")
    windows = {row["step"]: row["start_ns"] for row in run.windows.to_dicts()}
    marks = {row["step"]: (row["start_ns"], row["end_ns"]) for row in run.cut.marks.to_dicts()}
    for step, start in windows.items():
        began, ended = marks[step]
        assert ended - began < start - began < 2.2 * (ended - began)


def test_gloo_without_launches(data, measured, compared):
    """One step, eleven annotations, no operator and no launch: communication is there, its launch is not."""
    place = data / "gloo_cpu_only_rank34_of_300"
    run = measured(place)
    files = run.cut.tables.files.row(0, named=True)
    assert (files["rank"], files["world_size"], files["device"], files["host_only"]) == (34, 300, "cpu", True)
    assert steps_of(run) == [551]
    assert not run.windows["own_work"].any(), "a host-only window is its annotation"
    found = milliseconds(run, "length", "exposed", "compute")[551, 34]
    assert found == pytest.approx([210.109, 178.777, 0.0], abs=0.002)
    told = result(compared(place, place))
    assert told["step_time"]["verdict"] == "too_few"
    assert no_figure_is_nan(told)


def test_sync_events_without_steps_is_an_error_that_says_what_to_do(data, measured):
    with pytest.raises(TraceError) as caught:
        measured(data / "cuda_sync_events")
    assert "cuda_sync_events" in caught.value.message
    assert "ProfilerStep" in caught.value.message
    assert "--step-marker" in caught.value.remedy
    assert "\n" not in str(caught.value)


def test_sync_events_hold_the_one_recorded_stream_wait(data):
    from abstep.trace.kineto import read_kineto

    tables = read_kineto(data / "cuda_sync_events" / "event_sync_trace.json.gz")
    assert tables.waits.height == 1
    assert tables.spans.height == 6, "synchronisation rows are no activities"


def test_single_gpu(data, with_spans):
    run = with_spans(data / "single_gpu_no_collectives")
    found = milliseconds(run, "length")
    assert [figures[0] for _, figures in sorted(found.items())] == pytest.approx(
        [97.7, 95.7, 95.6, 95.7], abs=0.06
    )
    marks = run.cut.marks.sort("step")
    host = ((marks["end_ns"] - marks["start_ns"]) / 1e6).to_list()
    assert host[:2] == pytest.approx([35, 72], abs=0.6)


def test_single_gpu_no_communication_is_a_sentence(data, compared):
    place = data / "single_gpu_no_collectives"
    comparison = compared(place, place)
    found = result(comparison)
    assert comparison.no_communication
    assert "No communication was found in the traces" in " ".join(found["explanation"]["sentences"])
    assert "no communication" in summary(comparison).lower()
    assert (found["intervals"], found["collectives"], found["contention"]) == ([], [], [])
    assert found["base"]["overlap_of_communication_pct"] is None
    assert no_figure_is_nan(found)
    assert "nan" not in summary(comparison).lower()
