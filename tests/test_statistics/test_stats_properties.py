"""What holds for any input: order, sums, scale, mirror images, nothing undefined."""

import dataclasses
import math
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statistics_made import MS, many

from abstep.compare.statistics import CHANGED, Delta, RunMetrics, StatisticsOptions, compare_runs

TURNED = {"grew": "shrank", "shrank": "grew", "faster": "slower", "slower": "faster",
          "appeared": "disappeared", "disappeared": "appeared"}  # fmt: skip


@st.composite
def runs(draw, min_windows=0, max_windows=26):
    """Return one repeat with a few categories and slots, sparse ones among them."""
    n = draw(st.integers(min_windows, max_windows))
    seed = draw(st.integers(0, 2**32 - 1))
    k = draw(st.sampled_from([0, 1, 3, 12]))
    ranks = draw(st.sampled_from([1, 2, 8]))
    rng = np.random.default_rng(seed)
    scale = 10.0 ** draw(st.integers(1, 8))
    spread = draw(st.sampled_from([0.0, 0.02, 0.5]))
    parts = {
        name: np.maximum(0, np.rint(scale * (1 + spread * rng.standard_normal(n)))).astype(np.int64)
        for name in ("compute_alone", "exposed", "idle")
    }
    slots = {
        f"slot {j}": np.rint(scale * (rng.random(n) < rng.random()) * rng.uniform(0, 2)).astype(np.int64)
        for j in range(k)
    }
    pairs = {f"pair {j}": np.rint(scale * rng.standard_normal(n)).astype(np.int64) for j in range(k // 3)}
    return RunMetrics(
        np.arange(n), ranks, sum(parts.values(), np.zeros(n, dtype=np.int64)), parts, slots, pairs
    )


def deltas(result):
    """Return every delta of a result."""
    rows = [*result.categories.values(), *result.intervals.values(), *result.contention.values()]
    sums = [
        result.intervals_below_floor,
        result.intervals_not_called,
        result.contention_below_floor,
        result.contention_not_called,
    ]
    return [result.step_time, *rows, *[row for row in sums if row is not None]]


def shuffled(run, seed):
    rng = np.random.default_rng(seed)

    def turn(group):
        names = list(group)
        return {names[i]: group[names[i]] for i in rng.permutation(len(names))}

    return dataclasses.replace(
        run, categories=turn(run.categories), intervals=turn(run.intervals), contention=turn(run.contention)
    )


some_runs = st.lists(runs(), min_size=0, max_size=3)


@settings(max_examples=120, deadline=None)
@given(some_runs, some_runs, st.integers(0, 99))
def test_the_order_of_mappings_changes_no_byte(base, variant, seed):
    straight = compare_runs(base, variant)
    turned = compare_runs([shuffled(r, seed) for r in base], [shuffled(r, seed + 1) for r in variant])
    again = compare_runs(base, variant)
    assert repr(straight).encode() == repr(turned).encode() == repr(again).encode()


@settings(max_examples=120, deadline=None)
@given(some_runs, some_runs, st.sampled_from([None, 0, 2]), st.sampled_from(["auto", "always", "never"]))
def test_everything_is_a_finite_number_or_none(base, variant, skip, pair):
    result = compare_runs(base, variant, StatisticsOptions(skip=skip, pair=pair))
    for delta in deltas(result):
        for field in dataclasses.fields(Delta):
            value = getattr(delta, field.name)
            assert type(value) in (int, float, str, type(None)), field.name
            assert not isinstance(value, float) or math.isfinite(value), (field.name, delta)
        if delta.p_value is not None:
            assert 0 <= delta.p_value <= 1
            assert delta.q_value is None or delta.p_value <= delta.q_value + 1e-15 <= 1 + 2e-15
            assert delta.ci_low <= delta.delta <= delta.ci_high
            assert delta.smallest_detectable > 0
            assert (delta.n_decides is not None) <= (delta.verdict == "inconclusive")
        if delta.verdict in CHANGED:
            assert delta.q_value is None or delta.q_value <= 0.05
            assert (delta.delta > 0) == (delta.verdict in ("grew", "appeared", "slower"))
    for side, repeats in enumerate((base, variant)):
        for r, run in enumerate(repeats):
            indices = [*result.kept[side][r], *[each.index for each in result.dropped[side][r]]]
            assert sorted(indices) == list(range(len(run.step)))
            assert list(result.kept[side][r]) == sorted(result.kept[side][r])


@settings(max_examples=120, deadline=None)
@given(some_runs, some_runs)
def test_categories_always_add_up(base, variant):
    result = compare_runs(base, variant)
    for field in ("base", "variant", "delta"):
        total = getattr(result.step_time, field)
        parts = [getattr(delta, field) for delta in result.categories.values()]
        if total is None:
            assert all(part is None for part in parts)
        elif parts:
            assert math.fsum(parts) == pytest.approx(
                total, abs=max(1e-6, 1e-12 * abs(result.step_time.base or 1))
            )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(5, 40), st.sampled_from([1, 2, 3]), st.sampled_from([0.0, 0.5, 1.0])
)
def test_swapping_the_sides_mirrors_every_figure(seed, n, repeats, factor):
    base, variant = many(seed, n, repeats=repeats), many(seed + 1, n, repeats=repeats, factor=factor)
    there, back = compare_runs(base, variant), compare_runs(variant, base)
    assert there.kept == back.kept[::-1]
    for one, other in zip(deltas(there), deltas(back), strict=False):
        assert one.delta == -other.delta
        assert (one.base, one.n_base, one.presence_base) == (
            other.variant,
            other.n_variant,
            other.presence_variant,
        )
        if one.p_value is not None and other.p_value is not None:
            assert one.p_value == pytest.approx(other.p_value, rel=1e-9)
            assert (one.ci_low, one.ci_high) == pytest.approx((-other.ci_high, -other.ci_low), rel=1e-9)
        if one.verdict in TURNED and other.verdict != "unchanged":  # margins follow the baseline
            assert other.verdict == TURNED[one.verdict]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(5, 40), st.sampled_from([1, 2]), st.sampled_from([2, 10, 1000]))
def test_times_in_another_unit_give_the_same_words(seed, n, repeats, factor):
    # far above the 0.5 us that time stamps resolve
    def scaled(run):
        def times(group):
            return {name: factor * column for name, column in group.items()}

        return RunMetrics(
            run.step_numbers, run.ranks, factor * run.step, times(run.categories), times(run.intervals), {}
        )

    base, variant = many(seed, n, repeats=repeats), many(seed + 1, n, repeats=repeats, factor=0.5)
    options = StatisticsOptions(floor=0.0)
    small, large = (
        compare_runs(*sides, options)
        for sides in ((base, variant), ([scaled(r) for r in base], [scaled(r) for r in variant]))
    )
    assert small.kept == large.kept
    for one, other in zip(deltas(small), deltas(large), strict=True):
        assert one.verdict == other.verdict
        assert other.delta == pytest.approx(factor * one.delta, rel=1e-9, abs=1e-3)
        if one.p_value is not None:
            assert other.p_value == pytest.approx(one.p_value, rel=1e-6, abs=1e-300)
            assert other.ci_low == pytest.approx(factor * one.ci_low, rel=1e-6, abs=1e-3)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(5, 30), st.sampled_from([2, 8]))
def test_ranks_are_divided_out(seed, n, ranks):
    base, variant = many(seed, n), many(seed + 1, n)
    together = [many(seed, n, ranks=ranks), many(seed + 1, n, ranks=ranks)]
    assert compare_runs(base, variant) == compare_runs(*together)


def test_inputs_are_not_changed():
    base, variant = many(1, 20), many(2, 20)
    frozen = []
    for run in (*base, *variant):
        for column in (run.step, *run.categories.values(), *run.intervals.values()):
            column.setflags(write=False)
        frozen.append(
            dataclasses.replace(
                run, intervals=MappingProxyType(run.intervals), categories=MappingProxyType(run.categories)
            )
        )
    before = [run.step.copy() for run in frozen]
    compare_runs(frozen[:1], frozen[1:])
    assert all((run.step == step).all() for run, step in zip(frozen, before, strict=True))


def test_thousands_of_slots():
    rng = np.random.default_rng(1)
    sides = []
    for _ in range(2):
        slots = {f"s{j}": rng.integers(0, 2 * MS, 30) for j in range(3000)}
        step = rng.integers(99 * MS, 101 * MS, 30)
        sides.append([RunMetrics(np.arange(30), 1, step, {}, slots, {})])
    result = compare_runs(*sides)
    assert len(result.intervals) == 3000
    assert sum(delta.verdict in CHANGED for delta in result.intervals.values()) <= 1
