"""Every check of SEMANTICS 8, on runs that differ in that one thing: its word, and both values."""

from __future__ import annotations

import gzip
import json

import pytest
from synth import Job, simulate, write_run

from abstep.compare.build import CompareOptions, compare
from abstep.pipeline import Reading, read_run
from abstep.report.result import result

JOB = Job(steps=6, layers=4, world=2)
LAYOUT = {"host_name": "node-a", "shapes": True}
IDS = (
    "world_size",
    "device",
    "placement",
    "software",
    "profiler",
    "steps",
    "backend",
    "collective_semantics",
    "message_work",
    "accumulation",
    "input_work",
    "compute_work",
    "one_setting",
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure a job's run, with a layout, settings and words in its files exchanged; each once."""
    place = tmp_path_factory.mktemp("runs")
    held = {}

    def get(job=JOB, *, settings=None, exchange=(), **layout):
        key = repr((job, settings, exchange, layout))
        if key not in held:
            run = simulate(job, "run", settings)
            folder = write_run(run, place / f"run{len(held)}", **(LAYOUT | layout))
            if settings is None:
                (folder / "run.json").unlink()
            for file in folder.glob("rank*") if exchange else ():
                text = gzip.decompress(file.read_bytes())
                for old, new in exchange:
                    assert old in text
                    text = text.replace(old, new)
                file.write_bytes(gzip.compress(text, 1))
            held[key] = read_run(folder, Reading(store=place / "store.duckdb"))
        return held[key]

    return get


def checks(base, variant):
    found = result(compare(base, variant, CompareOptions(warmup=0)))["comparability"]
    return found, {row["id"]: row for row in found["checks"]}


def other(**changes):
    return Job(**{**JOB.__dict__, "seed": 1, **changes})


def test_all_checks_are_there_in_the_order_of_the_definitions(measured):
    found, rows = checks(measured(settings={"a": 1}), measured(other(), settings={"a": 1}))
    assert tuple(rows) == IDS
    assert {row["status"] for row in rows.values()} == {"pass"}
    assert found["status"] == "comparable"
    for row in rows.values():
        assert row["base"]
        assert row["variant"]


def test_unknown_never_lowers_the_status(measured):
    found, rows = checks(measured(), measured(other()))
    assert rows["one_setting"]["status"] == "unknown"
    assert found["status"] == "comparable"


DIFFERENT = {
    # id -> (job's changes, other arguments, status, what each side's value says)
    "world_size": ({"world": 4}, {}, "fail", ("2", "4")),
    "device": ({}, {"device": "Tesla V100"}, "fail", ("A100", "V100")),
    "placement": ({}, {"host_name": "node-b"}, "warn", ("node-a", "node-b")),
    "software": (
        {},
        {"exchange": ((b'"cuda_runtime_version":12010', b'"cuda_runtime_version":12060'),)},
        "warn",
        ("12010", "12060"),
    ),
    "profiler": ({}, {"stacks": True}, "warn", ("with_stack 0", "with_stack 1")),
    "steps": ({"first_step": 5}, {}, "warn", ("3–8", "5–10")),
    "backend": ({}, {"exchange": ((b'"backend":"nccl"', b'"backend":"ucc"'),)}, "warn", ("nccl", "ucc")),
    "collective_semantics": ({"dtype": "Half"}, {}, "fail", ("all_reduce", "Half")),
    "accumulation": ({"micro": 2}, {}, "fail", ("1", "2")),
    "input_work": ({"batch": 48}, {}, "fail", ("32", "48")),
}


@pytest.mark.parametrize("identifier", DIFFERENT)
def test_one_thing_differs(measured, identifier):
    changes, more, status, values = DIFFERENT[identifier]
    found, rows = checks(measured(settings={"a": 1}), measured(other(**changes), settings={"a": 2}, **more))
    row = rows[identifier]
    assert row["status"] == status
    assert values[0] in row["base"]
    assert values[1] in row["variant"]
    assert row["message"], "a remedy"
    overall = {row["status"] for row in rows.values()}
    expected = "not_comparable" if "fail" in overall else "qualified"
    assert found["status"] == expected
    if status == "warn":
        assert found["status"] == "qualified", [r for r in rows.values() if r["status"] == "fail"]


def test_another_reduction_is_another_collective(measured):
    """A sum and an average of the same bytes are not the same semantics."""
    exchange = ((b"ncclDevKernel_AllReduce_Sum_", b"ncclDevKernel_AllReduce_Avg_"),)
    _, rows = checks(measured(settings={}), measured(other(), settings={}, exchange=exchange))
    assert rows["collective_semantics"]["status"] == "fail"


def test_sharding_moves_more_than_the_all_reduce_it_replaces(measured):
    """Only all_reduce(S) against reduce_scatter(S) + all_gather(S) is a warning; here S is gathered twice."""
    _, rows = checks(measured(settings={}), measured(other(parallel="fsdp"), settings={}))
    assert rows["collective_semantics"]["status"] == "fail"


@pytest.mark.parametrize(("more", "status"), [(0.0, "pass"), (0.008, "pass"), (0.03, "warn"), (0.08, "fail")])
def test_message_work(measured, more, status):
    grad_bytes = round(JOB.grad_bytes * (1 + more)) // 64 * 64
    _, rows = checks(measured(settings={}), measured(other(grad_bytes=grad_bytes), settings={}))
    assert rows["message_work"]["status"] == status
    assert "67.109 MB" in rows["message_work"]["base"]
    assert f"{grad_bytes / 1e6:.3f} MB" in rows["message_work"]["variant"]


def test_bucketing_changes_counts_and_sizes_but_not_the_sum(measured):
    _, rows = checks(measured(settings={}), measured(other(buckets=2), settings={}))
    assert rows["message_work"]["status"] == "pass"
    assert rows["collective_semantics"]["status"] == "pass"


@pytest.mark.parametrize(("inserted", "status"), [(2, "pass"), (6, "warn"), (30, "fail")])
def test_compute_work_is_the_smaller_share_in_common(measured, inserted, status):
    """A layer takes 0.9 ms, an inserted kernel 30 us; it has no shapes, so input_work does not see it."""
    base, variant = measured(settings={}), measured(other(inserted=inserted), settings={})
    _, there = checks(base, variant)
    _, back = checks(variant, base)
    assert there["compute_work"]["status"] == back["compute_work"]["status"] == status
    share = float(there["compute_work"]["base"].split(" %")[0]) / 100
    layers = 4 * 0.9
    whole = layers + 2 * 0.18 + 0.015
    assert share == pytest.approx(whole / (whole + 4 * 0.03 * inserted), abs=0.02)


def test_a_slower_kernel_is_the_same_work(measured):
    _, rows = checks(measured(settings={}), measured(other(slowdown=2.0), settings={}))
    assert rows["compute_work"]["status"] == "pass"


@pytest.mark.parametrize(
    ("ours", "theirs", "status", "changed"),
    [
        ({"a": 1}, {"a": 1}, "pass", []),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, "pass", ["b"]),
        ({"a": 1, "b": 2}, {"a": 0, "b": 3}, "warn", ["a", "b"]),
        ({"a": 1}, {"c": 1}, "warn", ["a", "c"]),
        ({"a": 1}, {}, "pass", ["a"]),
    ],
)
def test_one_setting(measured, ours, theirs, status, changed):
    found, rows = checks(measured(settings=ours), measured(other(), settings=theirs))
    assert rows["one_setting"]["status"] == status
    assert [row["key"] for row in found["settings_changed"]] == changed
    for row in found["settings_changed"]:
        assert (row["base"], row["variant"]) == (ours.get(row["key"]), theirs.get(row["key"]))


def test_shapes_that_were_not_recorded_are_unknown(measured):
    _, rows = checks(measured(settings={}, shapes=False), measured(other(), settings={}, shapes=False))
    assert rows["input_work"]["status"] == "unknown"
    assert "record_shapes" in rows["input_work"]["message"]


def test_sizes_that_were_not_recorded_are_unknown(measured):
    runs = [measured(job, settings={}, metadata="none") for job in (JOB, other())]
    _, rows = checks(*runs)
    assert rows["message_work"]["status"] == "unknown"


def test_a_fail_withholds_every_verdict_and_shows_the_figures(measured):
    comparison = compare(
        measured(settings={}), measured(other(micro=2), settings={}), CompareOptions(warmup=0)
    )
    found = result(comparison)
    rows = [found["step_time"], *found["decomposition"], *found["intervals"], *found["contention"]]
    assert {row["verdict"] for row in rows} == {None}
    assert {value for row in rows for value in (row["ci_low_us"], row["p_value"], row["q_value"])} == {None}
    assert found["step_time"]["variant_us"] > found["step_time"]["base_us"] > 0
    assert json.loads(json.dumps(found)) == found
