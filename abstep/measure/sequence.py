"""The order of a rank's compute in one usual window: what two runs are aligned by (SEMANTICS 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.measure.work import IDS, by_signature
from abstep.model import Kind

if TYPE_CHECKING:
    from abstep.measure.dictionary import Dictionary
    from abstep.measure.names import Names
    from abstep.windows import CutRun

SEQUENCE = {
    "at": pl.UInt32,
    "role": pl.String,
    "anchor": pl.String,
    "operator": pl.String,
    "operator_path": pl.String,
    "base": pl.String,
    "shape": pl.String,
}


def sequence(run: CutRun, names: Names, texts: Dictionary) -> pl.DataFrame:
    """Return one window's compute spans in launch order: at, role (forward, backward, other), anchor, signature.

    The window is the first completed one whose number of compute spans is the most frequent on that rank.
    """
    completed = run.completed["window"]
    spans = run.tables.spans.filter(
        (pl.col("kind") == int(Kind.COMPUTE)) & pl.col("window").is_in(completed.implode())
    )
    counts = spans.group_by("window").len()
    if counts.is_empty():
        return pl.DataFrame(schema=SEQUENCE)
    usual = counts["len"].mode().sort()[0]
    window = counts.filter(pl.col("len") == usual)["window"].min()
    chosen = spans.filter(pl.col("window") == window).select("row", "launch_start", "start_ns", *IDS)
    said = (
        names.of(chosen["row"])
        .join(names.spans.select("row", "packing"), on="row")
        .filter(~pl.col("packing"))
    )
    ordered = chosen.join(said.select("row", "phase", "anchor"), on="row").sort(
        pl.coalesce("launch_start", "start_ns"), "start_ns", "row"
    )
    role = pl.when(pl.col("phase").is_in(["forward", "backward"])).then("phase").otherwise(pl.lit("other"))
    return (
        by_signature(ordered.with_columns(role.alias("role")), texts)
        .with_row_index("at")
        .select(list(SEQUENCE))
    )
