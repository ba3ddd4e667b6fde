"""Find the host annotations that delimit steps (SEMANTICS 1, step window)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from abstep.errors import TraceError

if TYPE_CHECKING:
    from abstep.model import RunTables

CANDIDATES_SHOWN = 5
LEAST_REPEATS = 3


def step_marks(run: RunTables, marker: str | None) -> pl.DataFrame:
    """Return one row a (file, step): file, repeat, rank, step, start_ns, end_ns; sorted by file and start.

    Args:
        run: the run's tables.
        marker: None for ProfilerStep#N; else a regular expression matched on annotation names, whose
            matches are numbered from 0 in order of time on each rank.

    Raises:
        TraceError: the expression is not one, or no annotation marks a step; lists the candidates.

    """
    marks = found_marks(run, marker)
    if marks.is_empty():
        what = (
            f"no annotation matches --step-marker {marker!r}" if marker else "no ProfilerStep#N annotations"
        )
        raise TraceError(f"{run.name}: {what}", _candidates_remedy(run))
    return marks


def found_marks(run: RunTables, marker: str | None) -> pl.DataFrame:
    """Return `step_marks`' rows; none where no annotation marks a step."""
    marks = _matching(run, marker) if marker is not None else run.marks.filter(pl.col("step").is_not_null())
    return (
        marks.group_by("file", "repeat", "rank", "step")
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max())
        .sort("file", "start_ns")
    )


def _matching(run: RunTables, marker: str) -> pl.DataFrame:
    try:
        expression = re.compile(marker)
    except re.error as error:
        raise TraceError(
            f"--step-marker {marker!r} is not a regular expression: {error}", "quote it and escape it"
        ) from None
    wanted = [
        name
        for name, text in run.names.select("name", "text").iter_rows()
        if expression.search(text) is not None
    ]
    found = run.marks.filter(pl.col("name").is_in(wanted)).sort("repeat", "rank", "start_ns")
    return found.with_columns(
        (pl.col("start_ns").cum_count().over("repeat", "rank") - 1).cast(pl.Int64).alias("step"),
    )


def _candidates_remedy(run: RunTables) -> str:
    """Name the repeating annotations, most regular first, as candidates for a marker."""
    gaps = (
        run.marks.sort("file", "name", "start_ns")
        .with_columns((pl.col("start_ns") - pl.col("start_ns").shift(1)).over("file", "name").alias("gap"))
        .group_by("name")
        .agg(
            pl.len().alias("count"),
            (pl.col("gap").std() / pl.col("gap").mean()).fill_null(float("inf")).alias("irregularity"),
        )
        .filter(pl.col("count") >= LEAST_REPEATS)
        .join(run.names, on="name")
        .sort("irregularity", "text")
        .head(CANDIDATES_SHOWN)
    )
    if gaps.is_empty():
        return (
            "record with a profiler schedule and prof.step(), or name an annotation with --step-marker REGEX"
        )
    listed = ", ".join(
        f"{text!r} ({count} times)" for text, count in gaps.select("text", "count").iter_rows()
    )
    return f"name the annotation that marks a step with --step-marker REGEX; candidates: {listed}"
