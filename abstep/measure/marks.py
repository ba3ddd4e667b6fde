"""Annotations of a rank's host: which are outermost, and in which step each begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from abstep.windows import CutRun


def outermost(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the annotations that lie inside no other of the frame on their thread; by file, thread and start."""
    covered = pl.col("end_ns").cum_max().shift(1).over("file", "thread")
    return marks.sort("file", "thread", "start_ns", "end_ns", descending=[False, False, False, True]).filter(
        covered.is_null() | (pl.col("start_ns") >= covered)
    )


def in_steps(run: CutRun, events: pl.DataFrame) -> pl.DataFrame:
    """Return the events (file, start_ns, …) that begin inside a step's host mark, with its window."""
    steps = run.marks.join(run.windows.select("file", "step", "window"), on=["file", "step"]).select(
        "file", "window", pl.col("start_ns").alias("mark_start"), pl.col("end_ns").alias("mark_end")
    )
    return (
        events.sort("start_ns")
        .join_asof(
            steps.sort("mark_start"),
            left_on="start_ns",
            right_on="mark_start",
            by="file",
            check_sortedness=False,
        )
        .filter(pl.col("start_ns") < pl.col("mark_end"))
    )
