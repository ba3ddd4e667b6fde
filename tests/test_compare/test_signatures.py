"""What makes two compute spans the same work: first level that matches, and how much of it (SEMANTICS 5, 8)."""

from __future__ import annotations

import polars as pl
import pytest

from abstep.compare.signatures import match_work, matched_share

SCHEMA = {
    "operator": pl.String,
    "operator_path": pl.String,
    "base": pl.String,
    "shape": pl.String,
    "count": pl.Float64,
    "ns": pl.Float64,
}


def work(*rows):
    """(operator, base kernel name, shape, count, ns); its path is `model > operator` unless said."""
    full = [
        (
            row[0],
            row[5] if len(row) > 5 else f"model > {row[0]}",
            row[1],
            row[2],
            float(row[3]),
            float(row[4]),
        )
        for row in rows
    ]
    return pl.DataFrame(full, schema=SCHEMA, orient="row")


def levels(found):
    return {
        (level, base): (ours, theirs)
        for level, base, ours, theirs in found.matched.select(
            "level", "base", "base_ns", "variant_ns"
        ).iter_rows()
    }


def test_operator_kernel_and_shape_first():
    found = match_work(work(("mm", "gemm", "[1]", 2, 100)), work(("mm", "gemm", "[1]", 2, 120)))
    assert levels(found) == {(0, "gemm"): (100, 120)}
    assert found.added.is_empty()
    assert found.removed.is_empty()


def test_another_shape_in_the_same_place_next():
    found = match_work(work(("mm", "gemm", "[1]", 2, 100)), work(("mm", "gemm", "[2]", 2, 120)))
    assert levels(found) == {(1, "gemm"): (100, 120)}


def test_another_kernel_in_the_same_place_is_renamed():
    found = match_work(work(("mm", "gemm", "[1]", 2, 100)), work(("mm", "cutlass", "[1]", 2, 120)))
    assert levels(found) == {(2, "gemm"): (100, 120)}


def test_another_place_is_other_work():
    found = match_work(
        work(("mm", "gemm", "[1]", 2, 100)), work(("addmm", "fused", "[1]", 2, 120, "other > addmm"))
    )
    assert found.matched.is_empty()
    assert found.removed.rows() == [("mm", "gemm", 100)]
    assert found.added.rows() == [("addmm", "fused", 120)]


def test_the_count_says_how_much_of_it_is_the_same():
    """Three of four stayed: a quarter of the base's time is removed work, nothing is added."""
    found = match_work(work(("mm", "gemm", "[1]", 4, 100)), work(("mm", "gemm", "[1]", 3, 90)))
    assert levels(found) == {(0, "gemm"): (75, 90)}
    assert found.removed.rows() == [("mm", "gemm", 25)]


def test_what_one_level_leaves_the_next_may_match():
    """Four of shape 1 against two of it and two of shape 2: half matches by shape, half by place."""
    found = match_work(
        work(("mm", "gemm", "[1]", 4, 100)),
        work(("mm", "gemm", "[1]", 2, 60), ("mm", "gemm", "[2]", 2, 80)),
    )
    assert levels(found) == {(0, "gemm"): (50, 60), (1, "gemm"): (50, 80)}


def test_every_nanosecond_is_in_one_place():
    ours = work(("a", "k1", None, 3, 30), ("b", "k2", "[1]", 5, 50), ("c", "k3", None, 1, 7))
    theirs = work(("a", "k1", None, 2, 26), ("b", "k9", "[1]", 6, 66), ("d", "k4", None, 2, 9, "x > d"))
    found = match_work(ours, theirs)
    assert found.matched["base_ns"].sum() + found.removed["ns"].sum() == pytest.approx(87)
    assert found.matched["variant_ns"].sum() + found.added["ns"].sum() == pytest.approx(101)


def test_unknown_shapes_match_each_other():
    found = match_work(work(("mm", "gemm", None, 1, 10)), work(("mm", "gemm", None, 1, 12)))
    assert levels(found) == {(0, "gemm"): (10, 12)}


def test_the_share_is_the_smaller_direction():
    """All of the base is in the variant, but only half of the variant is in the base."""
    ours = work(("mm", "gemm", "[1]", 2, 100))
    theirs = work(("mm", "gemm", "[1]", 2, 100), ("x", "new", "[1]", 1, 100))
    assert matched_share(ours, theirs) == pytest.approx(0.5)
    assert matched_share(theirs, ours) == pytest.approx(0.5)


def test_the_share_counts_first_level_matches_only():
    assert matched_share(work(("mm", "gemm", "[1]", 2, 100)), work(("mm", "gemm", "[2]", 2, 100))) == 0


def test_the_share_of_nothing_is_unknown():
    assert matched_share(work(), work(("mm", "gemm", None, 1, 10))) is None
