"""What a span is called: its phase, and the place in the step that survives other bucket counts (SEMANTICS 4).

Name = outermost meaningful range + `#k`, its occurrence among that phase's ranges of that name in the step.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from abstep.model import Kind, Phase

if TYPE_CHECKING:
    from abstep.windows import CutRun

BACKWARD_PREFIX = "autograd::engine::evaluate_function: "
PACKING = re.compile(r"copy_bucket_to_grad|fsdp::.*copy|chunk_cat|split_with_sizes_copy", re.IGNORECASE)
VIEW = re.compile(r"^aten::as_strided$")
"""A view takes no time of its own; bare in a step it prepares packing (reducers view their buckets so)."""
BACKWARD = re.compile(r"^autograd::engine::evaluate_function|Backward")
OPTIMIZER = re.compile(r"^Optimizer\.step#")
FORWARD = re.compile(r"\.forward$")
TRITON_SIGNATURE = re.compile(r"(?:__|_)0d1d\w*$")
TRAILING_NUMBER = re.compile(r"_\d+$")


def base_name(text: str) -> str:
    """Return a kernel's name without `void`, template arguments, parameters and generated suffixes."""
    text = text.removeprefix("void ")
    kept: list[str] = []
    depth = 0
    for letter in text.replace("(anonymous namespace)::", ""):
        if letter in "<(":
            if letter == "(" and depth == 0:
                break
            depth += 1
        elif letter in ">)":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(letter)
    short = TRITON_SIGNATURE.sub("", "".join(kept).strip())
    return TRAILING_NUMBER.sub("", short) or text


def path_facts(run: CutRun) -> pl.DataFrame:
    """Return what each host-range path says: path, in_optimizer, in_backward, in_forward, packing, label, full.

    `label` is the text of the path's own (innermost) range without autograd's prefix; `full` that of all its
    ranges. One row a distinct path: a loop over the dictionary, not over spans.
    """
    text = dict(run.tables.names.select("name", "text").iter_rows())
    own: dict[int, tuple[int, str]] = {
        path: (parent, text.get(name, "")) for path, parent, name in run.tables.paths.iter_rows()
    }
    said: dict[int, tuple[bool, bool, bool, bool, str]] = {-1: (False, False, False, False, "")}
    for path in own:
        chain = []
        at = path
        while at not in said:
            chain.append(at)
            at = own[at][0] if at in own else -1
        for step in reversed(chain):
            parent, name = own[step]
            before = said.get(parent, said[-1])
            said[step] = (
                before[0] or OPTIMIZER.search(name) is not None,
                before[1] or BACKWARD.search(name) is not None,
                before[2] or FORWARD.search(name) is not None,
                before[3] or PACKING.search(name) is not None,
                f"{before[4]} > {name}" if before[4] else name,
            )
    return pl.DataFrame(
        [(path, *said[path], name.removeprefix(BACKWARD_PREFIX)) for path, (_, name) in own.items()],
        schema={
            "path": pl.Int32,
            "in_optimizer": pl.Boolean,
            "in_backward": pl.Boolean,
            "in_forward": pl.Boolean,
            "packing": pl.Boolean,
            "full": pl.String,
            "label": pl.String,
        },
        orient="row",
    )


def base_names(run: CutRun, used: pl.Series) -> pl.DataFrame:
    """Return name -> base (text) for the names in `used`."""
    texts = run.tables.names.filter(pl.col("name").is_in(used.unique().implode()))
    return texts.select("name", pl.col("text").map_elements(base_name, return_dtype=pl.String).alias("base"))


def named_spans(run: CutRun) -> pl.DataFrame:
    """Return the phase and name of every span that belongs to a window.

    Returns:
        row, phase, anchor (name with occurrence), range_label (the same without), packing; sorted by row.

    """
    spans = run.tables.spans.filter(pl.col("window").is_not_null()).select(
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
    facts = path_facts(run)
    threads = run.tables.threads.select("file", "thread", "has_step", "has_backward")
    spans = (
        spans.join(facts.drop("label", "full"), on="path", how="left", maintain_order="left")
        .join(
            facts.select(pl.col("path").alias("range_path"), pl.col("label").alias("range_label")),
            on="range_path",
            how="left",
            maintain_order="left",
        )
        .join(threads, on=["file", "thread"], how="left", maintain_order="left")
        .join(base_names(run, spans["name"]), on="name", how="left", maintain_order="left")
        .with_columns(
            pl.col("packing").fill_null(value=False)
            | pl.col("range_label").str.contains(VIEW.pattern).fill_null(value=False),
            pl.col("range_label").fill_null(pl.col("base")),
        )
    )
    spans = _phases(spans)
    place = pl.coalesce("range_start", "launch_start", "start_ns")
    spans = spans.with_columns(
        place.rank("dense").over("window", "phase", "range_label").cast(pl.Int32).alias("occurrence"),
    ).with_columns(pl.format("{} {} #{}", "phase", "range_label", "occurrence").alias("anchor"))
    return _past_packing(spans).select("row", "phase", "anchor", "range_label", "packing").sort("row")


def _phases(spans: pl.DataFrame) -> pl.DataFrame:
    no = pl.lit(value=False)
    backward_thread = pl.col("has_backward").fill_null(no) & ~pl.col("has_step").fill_null(no)
    in_backward = pl.col("in_backward").fill_null(no) | backward_thread
    in_optimizer = pl.col("in_optimizer").fill_null(no)
    last_backward = pl.col("launch_start").filter(in_backward & ~in_optimizer).max().over("window")
    before_backward = pl.col("has_step").fill_null(no) & (pl.col("launch_start") < last_backward)
    return spans.with_columns(
        pl.when(in_optimizer)
        .then(pl.lit(Phase.OPTIMIZER.value))
        .when(in_backward)
        .then(pl.lit(Phase.BACKWARD.value))
        .when(pl.col("in_forward").fill_null(no) | before_backward.fill_null(no))
        .then(pl.lit(Phase.FORWARD.value))
        .otherwise(pl.lit(Phase.OTHER.value))
        .alias("phase"),
    )


def _past_packing(spans: pl.DataFrame) -> pl.DataFrame:
    """Give a packing span the phase and name of the first span after it on its stream that is not packing."""
    compute = spans.filter(pl.col("kind") == int(Kind.COMPUTE)).sort("file", "stream", "start_ns", "row")
    carried = compute.select(
        "row",
        *(
            pl.when(~pl.col("packing"))
            .then(pl.col(column))
            .backward_fill()
            .over("file", "stream")
            .alias(f"next_{column}")
            for column in ("phase", "anchor", "range_label")
        ),
    )
    return spans.join(carried, on="row", how="left", maintain_order="left").with_columns(
        pl.when("packing").then(pl.coalesce(f"next_{column}", column)).otherwise(column).alias(column)
        for column in ("phase", "anchor", "range_label")
    )
