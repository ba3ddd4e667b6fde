"""Cut step windows: attribution by launch, ends by the next window's start, every dropped one with its reason.

SEMANTICS 1. Host times are moved onto the device clock first; device times are never changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from abstep.errors import TraceError
from abstep.model import Kind, Problem
from abstep.windows.host_clock import HostShift, host_shift
from abstep.windows.markers import found_marks, step_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.model import RunTables

OVERRUN_NS = 1_000  # a microsecond tie is normal (SEMANTICS 2)
WORK = (int(Kind.COMPUTE), int(Kind.COMMUNICATION))


@dataclass(frozen=True)
class Numbering:
    """From where windows and spans are numbered, so that numbers stay apart when ranks are cut one by one."""

    window: int = 0
    row: int = 0


@dataclass(frozen=True)
class CutRun:
    """A run with its windows.

    Attributes:
        tables: the run's tables; host times moved, overrunning spans left out, and `spans` with `window`
            (Int32: the window of the step that launched it, null where unattributed) and `row` (Int32).
        windows: window (Int32), repeat, rank, file, cycle, step, start_ns, end_ns, reason (null: completed),
            own_work (closed by its own work). `start_ns` is null where a step shows no work.
        marks: the step marks, file, repeat, rank, step, start_ns, end_ns (moved).
        shifts: what host times were moved by.
        quarantined: repeat, rank, file, count, time_ns of spans that overran their stream's next one.

    """

    tables: RunTables
    windows: pl.DataFrame
    marks: pl.DataFrame
    shifts: HostShift
    quarantined: pl.DataFrame

    @property
    def completed(self) -> pl.DataFrame:
        """Windows present on every traced rank with both ends inside the trace."""
        return self.windows.filter(pl.col("reason").is_null())


def cut(run: RunTables, marker: str | None = None) -> CutRun:
    """Cut a run into windows.

    Args:
        run: the run's tables, times in ns as recorded.
        marker: see `markers.step_marks`.

    Raises:
        TraceError: no step is marked, or two files of one rank hold the same step.

    """
    found = cut_alone(run, marker)
    if found.windows.is_empty():
        step_marks(run, marker)  # says what is missing
    return replace(found, windows=complete(found.windows))


def cut_alone(run: RunTables, marker: str | None = None, first: Numbering | None = None) -> CutRun:
    """Cut tables without asking whether other ranks have the same windows; none where no step is marked.

    Args:
        run: the tables of a run, or of one of its ranks.
        marker: see `markers.step_marks`.
        first: where the numbers of windows and spans begin.

    Raises:
        TraceError: two files of one rank hold the same step.

    """
    first = first or Numbering()
    host_only = run.files.select("file", "host_only")
    shifts = host_shift(run.spans, host_only)
    spans, quarantined = _quarantine(run.spans)
    spans = shifts.move(spans, "launch_start", "launch_end", "range_start")
    marks = shifts.move(found_marks(run, marker), "start_ns", "end_ns")
    moved = replace(
        run,
        spans=spans,
        waits=shifts.move(run.waits, "wait_start", "record_start"),
        host_calls=shifts.move(run.host_calls, "start_ns", "end_ns"),
        marks=shifts.move(run.marks, "start_ns", "end_ns"),
    )
    steps = _cycles(marks)
    launched = _launched_in(spans, steps)
    windows = _windows(steps, launched, host_only, moved.host_calls, first.window)
    _refuse_collisions(run, windows)
    spans = (
        launched.join(
            windows.select("file", "step", "window"), on=["file", "step"], how="left", maintain_order="left"
        )
        .drop("step")
        .with_row_index("row", offset=first.row)
        .with_columns(pl.col("row").cast(pl.Int32))
    )
    return CutRun(replace(moved, spans=spans), windows, marks, shifts, quarantined)


def joined(header: RunTables, cuts: Sequence[CutRun]) -> CutRun:
    """Put a run together that was cut rank by rank; spans are not held.

    Args:
        header: the run's facts. Files of ranks without any step are left out, and said to be.
        cuts: every rank's cut, windows numbered apart.

    """
    windows = pl.concat([own.windows for own in cuts])
    stepless = header.files.join(windows.select("repeat", "rank").unique(), on=["repeat", "rank"], how="anti")
    problems = tuple(
        Problem("bad_file", path, f"{path}: holds no step, so rank {rank} is left out")
        for path, rank in stepless.select("run_path", "rank").iter_rows()
    )
    files = header.files if windows.is_empty() else header.files.join(stepless, on="file", how="anti")
    return CutRun(
        replace(header, files=files, problems=header.problems + problems),
        windows,
        pl.concat([own.marks for own in cuts]),
        HostShift(pl.concat([own.shifts.shifts for own in cuts])),
        pl.concat([own.quarantined for own in cuts]),
    )


def _quarantine(spans: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Leave out spans that overrun the next activity of their own stream; graph nodes may run side by side."""
    judged = spans.sort("file", "start_ns", "end_ns", "span").with_columns(
        (
            (pl.col("end_ns") > pl.col("start_ns").shift(-1).over("file", "stream") + OVERRUN_NS)
            & ~pl.col("graph")
        )
        .fill_null(value=False)
        .alias("overruns"),
    )
    bad = (
        judged.filter("overruns")
        .group_by("repeat", "rank", "file")
        .agg(pl.len().alias("count"), (pl.col("end_ns") - pl.col("start_ns")).sum().alias("time_ns"))
        .sort("file")
    )
    return judged.filter(~pl.col("overruns")).drop("overruns"), bad


def _cycles(marks: pl.DataFrame) -> pl.DataFrame:
    """Number profiler cycles within a rank's repeat: a new file, or a gap in the step numbers, starts one."""
    return marks.sort("repeat", "rank", "start_ns").with_columns(
        ((pl.col("step") != pl.col("step").shift(1) + 1) | (pl.col("file") != pl.col("file").shift(1)))
        .fill_null(value=True)
        .cum_sum()
        .over("repeat", "rank")
        .cast(pl.Int32)
        .sub(1)
        .alias("cycle"),
    )


def _launched_in(spans: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Add `step`: that of the mark that contains the launch call, null in none (the unattributed bin)."""
    marks = steps.select(
        "file", "step", pl.col("start_ns").alias("mark_start"), pl.col("end_ns").alias("mark_end")
    )
    found = (
        spans.select("file", "launch_start")
        .with_row_index("at")
        .filter(pl.col("launch_start").is_not_null())
        .sort("launch_start")
        .join_asof(
            marks.sort("mark_start"),
            left_on="launch_start",
            right_on="mark_start",
            by="file",
            check_sortedness=False,
        )
        .filter(pl.col("launch_start") < pl.col("mark_end"))
        .select("at", "step")
    )
    return spans.with_row_index("at").join(found, on="at", how="left", maintain_order="left").drop("at")


def _windows(
    steps: pl.DataFrame,
    launched: pl.DataFrame,
    host_only: pl.DataFrame,
    host_calls: pl.DataFrame,
    first: int,
) -> pl.DataFrame:
    """Give every marked step its start, end and, where it cannot be used, its reason."""
    work = (
        launched.filter(pl.col("step").is_not_null())
        .group_by("file", "step")
        .agg(
            pl.col("start_ns").filter(pl.col("kind").is_in(WORK)).min().alias("first_work"),
            pl.col("end_ns").max().alias("last_end"),
        )
    )
    graphs = (
        host_calls.filter(pl.col("kind") == "graph")
        .join(
            steps.select("file", "step", pl.col("start_ns").alias("s"), pl.col("end_ns").alias("e")),
            on="file",
        )
        .filter((pl.col("start_ns") >= pl.col("s")) & (pl.col("start_ns") < pl.col("e")))
        .select("file", "step")
        .unique()
        .with_columns(opaque=pl.lit(value=True))
    )
    cycle = ("repeat", "rank", "cycle")
    found = (
        steps.rename({"start_ns": "mark_start", "end_ns": "mark_end"})
        .join(work, on=["file", "step"], how="left")
        .join(graphs, on=["file", "step"], how="left")
        .join(host_only, on="file", how="left")
        .sort("repeat", "rank", "mark_start")
        .with_columns(
            pl.when("host_only").then("mark_start").otherwise("first_work").alias("start_ns"),
            (pl.int_range(pl.len()).over(cycle) == pl.len().over(cycle) - 1).alias("last"),
            (pl.len().over(cycle) == 1).alias("only"),
        )
        .with_columns(pl.col("start_ns").shift(-1).over(cycle).alias("next_start"))
        .with_columns((pl.col("only") & ~pl.col("host_only")).alias("own_work"))
        .with_columns(
            pl.when("host_only")
            .then("mark_end")
            .when("own_work")
            .then(pl.max_horizontal("mark_end", "last_end"))
            .otherwise("next_start")
            .alias("end_ns"),
        )
    )
    unusable = (
        pl.col("start_ns").is_null() | pl.col("end_ns").is_null() | (pl.col("end_ns") <= pl.col("start_ns"))
    )
    return (
        found.with_columns(
            pl.when(pl.col("opaque").fill_null(value=False) & pl.col("first_work").is_null())
            .then(pl.lit("opaque_graph"))
            .when(pl.col("last") & ~pl.col("only") & ~pl.col("host_only"))
            .then(pl.lit("last_in_cycle"))
            .when(unusable)
            .then(pl.lit("incomplete"))
            .alias("reason"),
        )
        .sort("repeat", "rank", "cycle", "mark_start")
        .with_row_index("window", offset=first)
        .select(
            pl.col("window").cast(pl.Int32),
            "repeat",
            "rank",
            "file",
            "cycle",
            "step",
            "start_ns",
            "end_ns",
            "reason",
            "own_work",
        )
    )


def complete(windows: pl.DataFrame) -> pl.DataFrame:
    """Drop a step on every rank where one traced rank of its repeat lacks it or cannot use it (SEMANTICS 1)."""
    ranks = windows.group_by("repeat").agg(pl.col("rank").n_unique().alias("all_ranks"))
    usable = (
        windows.filter(pl.col("reason").is_null())
        .group_by("repeat", "step")
        .agg(pl.col("rank").n_unique().alias("usable_ranks"))
    )
    return (
        windows.join(ranks, on="repeat", how="left", maintain_order="left")
        .join(usable, on=["repeat", "step"], how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("reason").is_null() & (pl.col("usable_ranks") < pl.col("all_ranks")))
            .then(pl.lit("incomplete"))
            .otherwise("reason")
            .alias("reason"),
        )
        .drop("all_ranks", "usable_ranks")
    )


def _refuse_collisions(run: RunTables, windows: pl.DataFrame) -> None:
    """Refuse two files of one rank that hold the same step number in one repeat."""
    twice = (
        windows.group_by("repeat", "rank", "step")
        .agg(pl.col("file").unique().sort().alias("held_by"))
        .filter(pl.col("held_by").list.len() > 1)
        .sort("repeat", "rank", "step")
    )
    if twice.is_empty():
        return
    rank, step, held_by = twice.row(0)[1:]
    held = run.files.filter(pl.col("file").is_in(held_by)).sort("file")["run_path"]
    paths = [str(Path(run.name) / path) for path in held]  # not where the content was first seen
    raise TraceError(
        f"{run.name}: step {step} of rank {rank} is in {' and in '.join(paths)}",
        "keep one of them, or put separate launches into sub-directories",
    )
