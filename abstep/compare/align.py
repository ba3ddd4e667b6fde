"""Align the compute sequences of two runs, so that an anchor keeps its name where kernels were inserted (SEMANTICS 5).

Launch order, one sequence a thread role and rank, from one typical window of each side. Longest common
subsequence of signatures first (Hyyrö's bit-parallel algorithm, in rapidfuzz), then what it leaves by
(signature, occurrence among the left ones), level by level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.signatures import LEVELS, alike

if TYPE_CHECKING:
    from abstep.compare.sides import MeasuredSide

LARGEST = 400_000_000  # cells of the comparison; larger sequences are matched by occurrence alone
PAIRS = {"base_at": pl.UInt32, "variant_at": pl.UInt32, "level": pl.Int8}
ROLES = ("forward", "backward", "other")


def renamed_anchors(base: MeasuredSide, variant: MeasuredSide) -> pl.DataFrame:
    """Return the variant's anchors in the base's words, where the alignment says they differ.

    Returns:
        consumer (the variant's), matched_consumer (the base's, or the variant's own with a mark where its text
        belongs to another span of the base). Empty where all anchors keep their names.

    """
    votes = []
    shared: list[int | None] = [*sorted(set(base.ranks) & set(variant.ranks))]
    for rank in shared or [None]:
        ours, theirs = alike(*(sequence(side, rank) for side in (base, variant)))
        if ours.select("role", "anchor").equals(theirs.select("role", "anchor")):
            continue
        votes.append(_anchor_pairs(ours, theirs))
    if not votes:
        return pl.DataFrame(schema={"consumer": pl.String, "matched_consumer": pl.String})
    counted = pl.concat(votes).group_by("consumer", "matched_consumer").len()
    best = (
        counted.sort("len", "consumer", "matched_consumer", descending=[True, False, False])
        .group_by("consumer", maintain_order=True)
        .first()
        .unique("matched_consumer", keep="first", maintain_order=True)
    )
    moved = best.filter(pl.col("consumer") != pl.col("matched_consumer")).select(
        "consumer", "matched_consumer"
    )
    if moved.is_empty():
        return moved
    taken = moved["matched_consumer"]
    free = best.filter(pl.col("consumer") == pl.col("matched_consumer"))["consumer"]
    # a variant anchor whose text now stands for another span of the base must not be taken for it
    orphans = pl.DataFrame({"consumer": taken}).filter(
        ~pl.col("consumer").is_in(moved["consumer"].implode()) & ~pl.col("consumer").is_in(free.implode())
    )
    marked = orphans.with_columns(pl.format("{} (variant only)", "consumer").alias("matched_consumer"))
    return pl.concat([moved, marked]).sort("consumer")


def _anchor_pairs(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    frames = []
    for role in ROLES:
        left = ours.filter(pl.col("role") == role).with_row_index("base_at")
        right = theirs.filter(pl.col("role") == role).with_row_index("variant_at")
        pairs = align(left, right)
        frames.append(
            pairs.join(left.select("base_at", pl.col("anchor").alias("matched_consumer")), on="base_at")
            .join(right.select("variant_at", pl.col("anchor").alias("consumer")), on="variant_at")
            .select("consumer", "matched_consumer"),
        )
    return pl.concat(frames)


def sequence(side: MeasuredSide, rank: int | None) -> pl.DataFrame:
    """Return a rank's compute in launch order, from its first repeat: role, anchor, signature columns."""
    held = side.run.sequences
    own = held if rank is None else held.filter(pl.col("rank") == rank)
    first = own.select("repeat", "rank").unique().sort("repeat", "rank").head(1)
    return (
        own.join(first, on=["repeat", "rank"], how="semi", maintain_order="left")
        .sort("at")
        .drop("at", "repeat", "rank")
    )


def align(base: pl.DataFrame, variant: pl.DataFrame) -> pl.DataFrame:
    """Pair two sequences: base_at, variant_at, level (0, 1, 2: the signature that matched; 2 is `renamed`).

    Args:
        base: operator, operator_path, base, shape in order.
        variant: the same.

    """
    pairs = []
    ours = base.select(*LEVELS_COLUMNS).with_row_index("base_at")
    theirs = variant.select(*LEVELS_COLUMNS).with_row_index("variant_at")
    for level, keys in enumerate(LEVELS):
        signed = [_signed(frame, keys) for frame in (ours, theirs)]
        found = (
            _common(signed[0], signed[1])
            if level == 0
            else pl.DataFrame(schema=dict(list(PAIRS.items())[:2]))
        )
        left = [
            signed[0].join(found, on="base_at", how="anti", maintain_order="left"),
            signed[1].join(found, on="variant_at", how="anti", maintain_order="left"),
        ]
        nth = pl.int_range(pl.len()).over("signature").alias("nth")
        by_occurrence = (
            left[0]
            .with_columns(nth)
            .join(left[1].with_columns(nth), on=["signature", "nth"])
            .select("base_at", "variant_at")
        )
        matched = pl.concat([found, by_occurrence]).with_columns(pl.lit(level, dtype=pl.Int8).alias("level"))
        pairs.append(matched)
        ours = ours.join(matched, on="base_at", how="anti", maintain_order="left")
        theirs = theirs.join(matched, on="variant_at", how="anti", maintain_order="left")
    return pl.concat(pairs).sort("base_at")


LEVELS_COLUMNS = ("operator", "operator_path", "base", "shape")


def _signed(frame: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    text = pl.concat_str([pl.col(key).fill_null("?") for key in keys], separator="\x1f")
    return frame.with_columns(text.alias("signature"))


def _common(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """Longest common subsequence of two signed sequences."""
    left, right = ours["signature"].to_list(), theirs["signature"].to_list()
    if left == right:
        return pl.DataFrame({"base_at": ours["base_at"], "variant_at": theirs["variant_at"]})
    if len(left) * len(right) > LARGEST:
        return pl.DataFrame(schema=dict(list(PAIRS.items())[:2]))
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415  only where sequences differ

    blocks = LCSseq.opcodes(left, right).as_matching_blocks()
    base_at = [at for block in blocks for at in range(block.a, block.a + block.size)]
    variant_at = [at for block in blocks for at in range(block.b, block.b + block.size)]
    return pl.DataFrame({"base_at": ours["base_at"][base_at], "variant_at": theirs["variant_at"][variant_at]})
