"""Contention growth is recovered as planted, and a global slowdown stays out of it (SEMANTICS 6)."""

from __future__ import annotations

import polars as pl
import pytest
from synth import scenario, write_pair

from abstep.compare.build import CompareOptions
from abstep.compare.contention import _alone
from abstep.pipeline import Reading, compare_traces

GROWTHS = (1.0, 1.05, 1.2, 1.9)


def compared(folder, name, **overrides):
    base, variant = scenario(name, **overrides)
    places = write_pair(folder, base, variant)
    found = compare_traces(*places, CompareOptions(warmup=0), Reading(store=folder / "store.duckdb"))
    return base, variant, found


def growth_us(found):
    return sum(row.delta.delta for row in found.contention if row.delta.delta is not None) / 1e3


@pytest.mark.parametrize("slowdown", [1.0, 1.03])
@pytest.mark.parametrize("stretch", GROWTHS)
def test_planted_growth_is_recovered(tmp_path, stretch, slowdown):
    base, variant, found = compared(
        tmp_path, "growth", seed=3, variant_compute_stretch=stretch, variant_slowdown=slowdown
    )
    planted = float(variant.truth.contention() - slowdown * base.truth.contention()) / 1e3
    assert growth_us(found) == pytest.approx(planted, rel=0.10, abs=10)
    if stretch >= 1.2:
        assert planted > 50, "the planted growth is large enough to be told from none"
        assert any(row.delta.verdict in ("grew", "appeared") for row in found.contention)
    if stretch == 1.0:
        assert not [row for row in found.contention if row.delta.verdict in ("grew", "appeared", "shrank")]


@pytest.mark.parametrize(("slowdown", "said"), [(1.03, True), (1.0, False)])
def test_a_global_slowdown_is_named_and_leaves_contention(tmp_path, slowdown, said):
    _, _, found = compared(tmp_path, "slowdown", variant_slowdown=slowdown)
    assert abs(growth_us(found)) < 10
    assert found.control.ratio == pytest.approx(slowdown, abs=0.003)
    sentences = " ".join(found.explanation.sentences)
    assert ("overlaps no collective in either run took" in sentences) is said
    assert ("global slowdown" in sentences) is said
    speed = sum(row.delta for row in found.account if row.part == "speed") / 1e3
    compute = sum(
        row.delta.base for row in found.decomposition if row.category in ("compute_alone", "overlapped")
    )
    assert speed == pytest.approx((slowdown - 1) * compute / 1e3, abs=20)


def test_one_slow_rank_is_that_rank_and_not_contention(tmp_path):
    _, _, found = compared(tmp_path, "straggler")
    assert abs(growth_us(found)) < 10
    sentences = " ".join(found.explanation.sentences)
    assert "On rank 1 alone" in sentences
    assert found.control.by_rank[1] == pytest.approx(1.12, abs=0.01)
    assert found.control.by_rank[0] == pytest.approx(1.0, abs=0.01)


def test_overlap_that_costs_more_than_it_hides_is_said_first(tmp_path):
    base, variant, found = compared(tmp_path, "contention")
    planted = float(variant.truth.contention() - base.truth.contention()) / 1e3
    assert growth_us(found) == pytest.approx(planted, rel=0.10)
    assert found.step_time.verdict == "slower"
    assert "overlap_up_step_slower" in {note.id for note in found.warnings}
    assert found.explanation.sentences[0].startswith("Overlap rose from 0.0 %")
    assert any(sentence.startswith("Contention grew by") for sentence in found.explanation.sentences)
    part = sum(row.delta for row in found.account if row.part == "contention") / 1e3
    assert part == pytest.approx(growth_us(found), abs=0.001)


def test_collectives_beside_compute_are_set_against_those_alone(tmp_path):
    """The reverse direction: transport stretches by the planted factor while compute runs beside it."""
    _, _, found = compared(tmp_path, "contention")
    rows = [row for row in found.beside_compute if row.side == "variant"]
    assert rows, "the last bucket runs alone, the others beside compute"
    for row in rows:
        assert row.alone_count >= 3
        assert row.beside_transport > 1.8 * row.alone_transport
        assert row.beside_busbw_gb_s < row.alone_busbw_gb_s
    assert not [row for row in found.beside_compute if row.side == "base"]


def test_stretch_is_of_spans_mostly_overlapped(tmp_path):
    _, _, found = compared(tmp_path, "growth", variant_compute_stretch=1.9)
    stretches = [row.variant_stretch for row in found.contention if row.variant_stretch is not None]
    assert stretches
    assert max(stretches) == pytest.approx(1.9, abs=0.1)
    assert all(
        row.base_stretch == pytest.approx(1.0, abs=0.02) for row in found.contention if row.base_stretch
    )


@pytest.mark.parametrize("shapes", [False, True])
def test_a_pairs_spans_are_its_computes_and_no_others(tmp_path, shapes):
    """By operator, kernel and shapes, as the pair is named; not all compute where no name fits."""
    runs = scenario("contention", steps=6, layers=3, world=2)
    places = write_pair(tmp_path, *runs, shapes=shapes)
    found = compare_traces(*places, CompareOptions(warmup=0), Reading(store=tmp_path / "s.duckdb"))
    assert len({row.compute for row in found.contention}) > 1
    for row in found.contention:
        op = row.compute.partition(": ")[0]
        assert ("[[" in row.compute) is shapes
        for side, run in zip(("base", "variant"), runs, strict=True):
            spans = found.detail.pair_spans(side, 0, 5, 1, row.compute)
            names = set(spans["name"])
            assert len(names) == 1, row.compute
            true = [
                span
                for span in run.ranks[1].spans
                if span.step == 5 and span.op == op and span.kernel in names
            ]
            assert spans["end_ns"].sum() - spans["start_ns"].sum() == sum(s.end - s.start for s in true)
            assert spans.height == len(true) > 0


def test_shapes_do_not_change_what_grew(tmp_path):
    """In the base nothing overlaps: its shapes are recorded all the same, and its compute is the variant's."""
    runs = scenario("contention", steps=8, layers=4, world=2)
    assert not runs[0].truth.contention()
    growths = {}
    for shapes in (False, True):
        places = write_pair(tmp_path / str(shapes), *runs, shapes=shapes)
        found = compare_traces(*places, CompareOptions(warmup=0), Reading(store=tmp_path / "s.duckdb"))
        growths[shapes] = {row.compute.partition(" [[")[0]: row.delta.delta for row in found.contention}
    planted = float(runs[1].truth.contention()) / 1e3
    assert sum(growths[True].values()) / 1e3 == pytest.approx(planted, rel=0.10)
    assert growths[True] == pytest.approx(growths[False])


def test_alone_durations_are_the_same_to_the_last_digit_in_any_order():
    """Sums of floats depend on their order, and a hash's order changes from run to run."""
    rows = [
        {
            "operator": f"aten::op{n}",
            "base": "k",
            "shape": None,
            "rank": n % 2,
            "alone_ns": 1_000 + 7 * n * n,
            "alone_count": 3 + n % 5,
        }
        for n in range(200)
    ]
    base = pl.DataFrame(rows, schema_overrides={"shape": pl.String, "rank": pl.Int32})
    variant = base.with_columns(
        pl.col("alone_ns") + pl.col("alone_count") * 13, pl.col("alone_count") + pl.col("alone_ns") % 11
    ).filter(pl.col("alone_ns") % 3 > 0)
    first = _alone(base, variant)
    for seed in range(5):
        again = _alone(base.sample(fraction=1.0, shuffle=True, seed=seed), variant)
        assert again.equals(first)
