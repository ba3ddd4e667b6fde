"""Comparing two simulated runs, and their truth in the words of the result file."""

from __future__ import annotations

import pytest
from synth import write_pair
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
    comparison = compare_traces(
        *places, CompareOptions(warmup=0), Reading(store=folder.parent / "planted.duckdb")
    )
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
