"""What must hold of any run: windows are tiled, exposed time is booked once, every part divides, an account adds up."""

from __future__ import annotations

import random
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from synth import simulate, write_run
from synth.kineto import ORIGIN_NS
from synth.strategies import count_windows, loose_runs, small_jobs
from synth.truth import CATEGORIES

from abstep.compare.build import CompareOptions, compare
from abstep.pipeline import Reading, read_run
from abstep.report.result import dumps, result

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""An example costs half a second, so that making it smaller would cost minutes; the jobs are small as they are."""
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")
"""A run is shown whole where an example fails."""
EACH = settings(max_examples=12, deadline=None, phases=UNSHRUNK, suppress_health_check=[HealthCheck.too_slow])
FEW = settings(EACH, max_examples=5)
WINDOW = ("repeat", "rank", "step")


@contextmanager
def folder():
    """A place for one example; hypothesis runs many examples in one test."""
    place = Path(tempfile.mkdtemp(prefix="abstep-test-"))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def measure(run, place, name="run", **layout):
    return read_run(write_run(run, place / name, **layout), Reading(store=place / "store.duckdb"))


@EACH
@given(loose_runs())
def test_categories_agree_with_counting_every_nanosecond(run):
    with folder() as place:
        measured = measure(run, place)
    found = {(row["step"], row["rank"]): row for row in measured.windows.to_dicts()}
    empty = {
        (w.step, w.rank) for w in count_windows(run) if w.end == w.start
    }  # nothing lies in it: not completed
    for counted in count_windows(run):
        if any((counted.step, rank) in empty for rank in run.ranks):
            continue
        row = found[counted.step, counted.rank]
        assert row["start_ns"] == ORIGIN_NS + counted.start
        assert row["end_ns"] == ORIGIN_NS + counted.end
        assert {name: row[name] for name in CATEGORIES} == counted.categories


@EACH
@given(loose_runs())
def test_exposed_stretches_are_booked_once_and_whole(run):
    """Shares may be divided among collectives; together they are the exposed category of their window."""
    with folder() as place:
        measured = measure(run, place)
    booked = measured.parts.group_by(WINDOW).agg(pl.col("exposed_ns").sum())
    both = measured.windows.join(booked, on=WINDOW, how="left").with_columns(
        pl.col("exposed_ns").fill_null(0)
    )
    assert both["exposed_ns"].to_list() == both["exposed"].to_list()
    for counted in count_windows(run):
        own = measured.parts.filter(
            (pl.col("step") == counted.step) & (pl.col("rank") == counted.rank)
        ).to_dicts()
        stretches = [(start + ORIGIN_NS, end + ORIGIN_NS) for start, end in counted.stretches]
        assert all(any(a <= row["start_ns"] and row["end_ns"] <= b for a, b in stretches) for row in own)


@EACH
@given(small_jobs())
def test_figures_of_physical_runs(job):
    with folder() as place:
        measured = measure(simulate(job), place)
    assert_tiled(measured)
    assert_divided(measured)
    assert_same_spans(measured)


def assert_tiled(measured):
    windows = measured.windows.with_columns(
        pl.sum_horizontal(CATEGORIES).alias("sum"), (pl.col("end_ns") - pl.col("start_ns")).alias("length")
    )
    assert windows["sum"].to_list() == windows["length"].to_list()
    causes = pl.sum_horizontal("end_of_step", "host_late", "stream_wait", "unknown")
    idle = windows.join(measured.idle.with_columns(causes.alias("causes")), on=WINDOW, how="left")
    assert idle["causes"].to_list() == idle["idle"].to_list()
    booked = measured.parts.group_by(WINDOW).agg(pl.col("exposed_ns").sum())
    parts = windows.join(booked, on=WINDOW, how="left")
    assert parts["exposed_ns"].fill_null(0).to_list() == parts["exposed"].to_list()
    work = measured.work.group_by(WINDOW).agg(pl.col("ns").sum())
    busy = windows.join(work, on=WINDOW, how="left").with_columns(
        (pl.col("ns").fill_null(0.0) - pl.col("compute_alone") - pl.col("overlapped")).abs().alias("off")
    )
    assert busy["off"].max() is None or busy["off"].max() < 1, "each instant is one ns of compute, shared"


def assert_divided(measured):
    parts = measured.parts
    assert (parts["exposed_ns"] > 0).all()
    assert (parts["exposed_ns"] <= parts["end_ns"] - parts["start_ns"]).all()
    split = parts.drop_nulls("peer_wait_ns")
    assert (split["peer_wait_ns"] + split["transport_ns"] == split["exposed_ns"]).all()
    assert (split["peer_wait_ns"] >= 0).all()
    assert (split["transport_ns"] >= 0).all()
    whole = measured.instances.drop_nulls("peer_wait_ns")
    length = whole["end_ns"] - whole["start_ns"]
    assert (whole["peer_wait_ns"] + whole["transport_ns"] == length).all()
    assert ((whole["peer_wait_ns"] >= 0) & (whole["peer_wait_ns"] <= length)).all()
    together = whole.group_by("instance").agg(pl.col("peer_wait_ns").min())
    assert (together["peer_wait_ns"] == 0).all(), "the last to arrive waits for nobody"


def assert_same_spans(measured):
    """Collectives belong to the step that launched them: the same number in every window of a rank."""
    counts = measured.instances.group_by(WINDOW).len()
    assert counts.group_by("rank").agg(pl.col("len").n_unique())["len"].eq(1).all()
    blocking = measured.parts.filter(pl.col("kind") == "blocking")
    assert blocking["consumer"].null_count() == 0
    assert measured.parts.filter(pl.col("kind") == "incidental")["consumer"].drop_nulls().is_empty()


def both_sides(place, job, other):
    runs = [measure(simulate(each), place, name) for name, each in (("base", job), ("variant", other))]
    return compare(*runs, CompareOptions(warmup=0))


def assert_adds_up(found):
    step = found["step_time"]["delta_us"]
    assert abs(sum(row["delta_us"] for row in found["decomposition"]) - step) <= 0.001
    assert abs(sum(row["delta_us"] for row in found["account"]) - step) <= 0.001
    for side in ("base", "variant"):
        exposed = next(row for row in found["decomposition"] if row["category"] == "exposed")
        slots = sum(row[f"{side}_us"] for row in found["intervals"])
        assert abs(slots - exposed[f"{side}_us"]) <= 0.001
        booked = sum(row["exposed_us"] for row in found["collectives"] if row["side"] == side)
        assert booked <= exposed[f"{side}_us"] + sum(
            row["duration_us"] for row in found["collectives"] if row["side"] == side
        )
        for row in found["intervals"]:
            halves = row[f"{side}_peer_wait_us"], row[f"{side}_transport_us"]
            if None not in halves:
                assert abs(sum(halves) - row[f"{side}_us"]) <= 0.001
        ranks = [row for row in found["ranks"] if row["side"] == side]
        for name in CATEGORIES:
            total = next(row for row in found["decomposition"] if row["category"] == name)[f"{side}_us"]
            assert abs(sum(row[f"{name}_us"] for row in ranks) / len(ranks) - total) <= 0.001


@FEW
@given(small_jobs(), small_jobs())
def test_the_account_adds_up_between_any_two_runs(job, other):
    """Even between runs that are not comparable: figures are shown as description, and still add up."""
    other = replace(other, world=job.world, steps=job.steps)
    with folder() as place:
        found = result(both_sides(place, job, other))
    assert_adds_up(found)


@FEW
@given(small_jobs())
def test_a_run_against_itself_differs_in_nothing(job):
    with folder() as place:
        measured = measure(simulate(job), place)
        found = result(compare(measured, measured, CompareOptions(warmup=0)))
    assert found["comparability"]["status"] == "comparable"
    for family in ("decomposition", "intervals", "contention"):
        for row in found[family]:
            assert row["delta_us"] == 0
            assert row["verdict"] in ("unchanged", "inconclusive", "too_few", "below_floor"), row
    assert found["step_time"]["delta_us"] == 0
    assert all(abs(row["delta_us"]) < 1e-9 for row in found["account"])
    assert found["tail"]["delta_us"] in (0, None)
    assert all(row["matched"] for row in found["intervals"])


@settings(FEW, max_examples=3)
@given(small_jobs(), st.randoms(use_true_random=False))
def test_order_of_events_and_of_files_changes_no_byte(job, chance):
    """Neither the order in a file nor the names of the files, nor which run the store read first."""
    job = replace(job, steps=3, world=2)
    run, other = simulate(job), simulate(replace(job, seed=job.seed + 1))
    told = []
    with folder() as place:
        for number in range(2):
            names = random.Random(chance.random())
            here = place / f"n{number}"
            prefix = "".join(names.choices("abcxyz", k=3)) if number else ""
            order = "shuffled" if number else "threads"
            layout = {"order": order, "file_name": f"{prefix}rank{{}}.json"}
            reading = Reading(store=here / "s.duckdb")
            places = [
                write_run(each, here / name, **layout) for each, name in ((run, "base"), (other, "variant"))
            ]
            if number:
                rename_backwards(places)
                read_run(places[1], reading)
            runs = [read_run(each, reading) for each in places]
            told.append(dumps(compare(*runs, CompareOptions(warmup=0))))
    assert told[0] == told[1]


def rename_backwards(places):
    """Files sorted by name come in the reverse order of ranks; the rank stands in the file."""
    for place in places:
        for number, file in enumerate(sorted(place.glob("*rank*"), reverse=True)):
            file.rename(place / f"part{number}.json.gz")
