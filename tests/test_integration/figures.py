"""Figures of a measured run in ms and counts, as the README of published traces speaks of them."""

from __future__ import annotations

import math

CATEGORIES = ("compute_alone", "overlapped", "exposed", "copy_only", "idle")
CHANGED = {"disappeared", "shrank", "grew", "appeared", "faster", "slower"}


def milliseconds(run, *names):
    """(step, rank) -> the named figures of that window in ms; `step` is its length, `compute` C, `talk` M."""
    found = {}
    for row in run.windows.to_dicts():
        row["length"] = row["end_ns"] - row["start_ns"]
        row["compute"] = row["compute_alone"] + row["overlapped"]
        row["talk"] = row["overlapped"] + row["exposed"]
        found[row["step"], row["rank"]] = [row[name] / 1e6 for name in names]
    return found


def steps_of(run):
    return sorted(set(run.windows["step"].to_list()))


def dropped(run):
    rows = run.cut.windows.drop_nulls("reason").select("step", "reason").unique().rows()
    return sorted(rows)


def launched_a_step(run):
    """Distinct numbers of collectives of a kind in a (step, rank)."""
    counts = run.instances.group_by("step", "rank", "collective").len()
    return {
        kind: sorted(set(counts.filter(counts["collective"] == kind)["len"].to_list()))
        for kind in sorted(set(counts["collective"].to_list()))
    }


def tiles(run):
    rows = run.windows.to_dicts()
    return all(sum(row[name] for name in CATEGORIES) == row["end_ns"] - row["start_ns"] for row in rows)


def no_figure_is_nan(value):
    if isinstance(value, dict):
        return all(map(no_figure_is_nan, value.values()))
    if isinstance(value, list):
        return all(map(no_figure_is_nan, value))
    return not isinstance(value, float) or math.isfinite(value)
