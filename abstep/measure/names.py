"""What a span is called: its phase, and the place in the step that survives other bucket counts (SEMANTICS 4).

Name = phase + outermost meaningful range + `#k`, its occurrence among that phase's ranges of that name in the
step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from abstep.model import Kind, Phase

if TYPE_CHECKING:
    from abstep.measure.dictionary import Dictionary
    from abstep.windows import CutRun

PHASES = pl.Enum([str(phase) for phase in Phase])


@dataclass(frozen=True)
class Names:
    """The names of a rank's spans, as codes until someone reads them.

    Attributes:
        spans: row, phase, label (code), occurrence, packing, has_range; of all spans in a window and of all
            communication; sorted by row.
        dictionary: the texts.

    """

    spans: pl.DataFrame
    dictionary: Dictionary

    def of(self, rows: pl.Series) -> pl.DataFrame:
        """Return row, phase, anchor (phase, name and occurrence), range_label of the spans with these rows."""
        chosen = self.spans.filter(pl.col("row").is_in(rows.unique().implode()))
        labels = self.dictionary.labels.select("label", pl.col("text").alias("range_label"))
        return chosen.join(labels, on="label", how="left", maintain_order="left").select(
            "row",
            pl.col("phase").cast(pl.String),
            pl.format("{} {} #{}", "phase", "range_label", "occurrence").alias("anchor"),
            "range_label",
        )

    @property
    def packing(self) -> pl.Series:
        """Rows of the spans that pack or unpack a collective's buffer."""
        return self.spans.filter("packing")["row"]


def named(run: CutRun, texts: Dictionary) -> Names:
    """Name the spans of a rank (or run) that belong to a window, and all communication."""
    communicates = pl.col("kind") == int(Kind.COMMUNICATION)
    spans = run.tables.spans.filter(pl.col("window").is_not_null() | communicates).select(
        "row",
        "file",
        "window",
        "kind",
        "stream",
        "start_ns",
        "launch_start",
        "thread",
        "path",
        "range_path",
        "range_start",
        "name",
    )
    threads = run.tables.threads.select("file", "thread", "has_step", "has_backward")
    ranges = texts.paths.select(pl.col("path").alias("range_path"), pl.col("label").alias("range_label"))
    said = texts.paths.select("path", "in_optimizer", "in_backward", "in_forward", "packing")
    views = texts.labels.filter("view")["label"]
    spans = (
        spans.join(said, on="path", how="left", maintain_order="left")
        .join(ranges, on="range_path", how="left", maintain_order="left")
        .join(threads, on=["file", "thread"], how="left", maintain_order="left")
        .join(texts.kernels.select("name", "label"), on="name", how="left", maintain_order="left")
        .with_columns(pl.coalesce("range_label", "label").alias("label"))
        .with_columns(
            pl.col("packing").fill_null(value=False) | pl.col("label").is_in(views.implode()),
            _phase().alias("phase"),
        )
        .with_columns(
            pl.coalesce("range_start", "launch_start", "start_ns")
            .rank("dense")
            .over("window", "phase", "label")
            .cast(pl.Int32)
            .alias("occurrence"),
        )
    )
    if spans["packing"].any():
        spans = _past_packing(spans)
    return Names(spans.select("row", "phase", "label", "occurrence", "packing").sort("row"), texts)


def _phase() -> pl.Expr:
    """Give each span the phase of its launch (SEMANTICS 4)."""

    def true(column: str) -> pl.Expr:
        return pl.col(column).fill_null(value=False)

    in_backward = true("in_backward") | (true("has_backward") & ~true("has_step"))
    in_optimizer = true("in_optimizer")
    last_backward = pl.col("launch_start").filter(in_backward & ~in_optimizer).max().over("window")
    before_backward = (true("has_step") & (pl.col("launch_start") < last_backward)).fill_null(value=False)
    return (
        pl.when(in_optimizer)
        .then(pl.lit(str(Phase.OPTIMIZER), dtype=PHASES))
        .when(in_backward)
        .then(pl.lit(str(Phase.BACKWARD), dtype=PHASES))
        .when(true("in_forward") | before_backward)
        .then(pl.lit(str(Phase.FORWARD), dtype=PHASES))
        .otherwise(pl.lit(str(Phase.OTHER), dtype=PHASES))
    )


def _past_packing(spans: pl.DataFrame) -> pl.DataFrame:
    """Give a packing span the phase and name of the first span after it on its stream that is not packing."""
    carried = ("phase", "label", "occurrence")
    compute = spans.filter(pl.col("kind") == int(Kind.COMPUTE)).sort("file", "stream", "start_ns", "row")
    following = compute.select(
        "row",
        *(
            pl.when(~pl.col("packing"))
            .then(pl.col(column))
            .backward_fill()
            .over("file", "stream")
            .alias(f"next_{column}")
            for column in carried
        ),
    )
    return spans.join(following, on="row", how="left", maintain_order="left").with_columns(
        pl.when("packing").then(pl.coalesce(f"next_{column}", column)).otherwise(column).alias(column)
        for column in carried
    )
