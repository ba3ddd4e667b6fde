"""A run against itself: what differs where nothing was changed, and what its windows could show.

Two questions, asked of every figure: do odd steps differ from even ones, and do the repeats differ from each other
by more than their own windows explain? A finding is no fault; it is a fact to know before trusting a comparison.
All families of tests together find something in at most alpha of runs in which nothing differs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from abstep.compare.statistics import special
from abstep.compare.statistics.compare import DEFAULT_OPTIONS, compare_runs
from abstep.compare.statistics.core import (
    CORE_PRIOR,
    FAMILY_PRIOR,
    RESOLUTION,
    Estimate,
    Prior,
    autocorrelation,
    cosine_variance,
    resolution_se,
    side_variance,
)
from abstep.compare.statistics.family import (
    FAMILY_SIZE,
    benjamini_hochberg,
    family_lag,
    family_prior,
    guard_windows,
    holm,
    squeeze,
)
from abstep.compare.statistics.figures import FLOOR_SHARE, MARGIN_SHARE
from abstep.compare.statistics.sample import Columns, Sample, with_residual
from abstep.compare.statistics.types import (
    Floats,
    Ints,
    RunMetrics,
    Sides,
    StatisticsOptions,
    StatisticsResult,
)
from abstep.compare.statistics.windows_used import TESTED_WINDOWS
from abstep.units import pct_text, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

How = Literal["odd_even", "repeats"]
FigureKind = Literal["step_time", "category", "interval", "contention"]

SLOTS = ("interval", "contention")

NEIGHBOURS = Prior(10.0, 0.0)
"""Differences of neighbouring windows are hardly correlated, whatever the windows are."""


@dataclass(frozen=True)
class Finding:
    """One figure that differs within the run. Times in ns a window, mean over ranks.

    Attributes:
        how: between odd and even steps, or between repeats.
        kind: what the figure is.
        name: of the category, slot or pair; "" for step time.
        mean: over all typical windows.
        low: the smaller of the means of odd and even steps, or the smallest of the repeats' means.
        high: the larger, or the largest.
        p_value: unadjusted.
        q_value: adjusted within its family; below alpha over the number of families.
        message: one sentence.

    """

    how: How
    kind: FigureKind
    name: str
    mean: float
    low: float
    high: float
    p_value: float
    q_value: float
    message: str


@dataclass(frozen=True)
class CheckResult:
    """What a run shows of itself.

    Attributes:
        findings: odd and even steps first, then repeats; within each, step time, categories, intervals, pairs.
        pairs: how many neighbouring windows were compared.
        repeats: how many repeats were compared with each other (0: fewer than two have five windows).
        against_itself: the comparison of the run with a copy of itself: every delta is 0, and
            `smallest_detectable` and `half_width` say what a comparison with as many windows could show;
            `kept`, `dropped` and `warnings` are those of the run (side 0).

    """

    findings: tuple[Finding, ...]
    pairs: int
    repeats: int
    against_itself: StatisticsResult


@dataclass(frozen=True)
class _Figures:
    """Figures of one kind over all repeats: a repeat, float (k, n) ns a rank over its windows used."""

    kind: FigureKind
    names: tuple[str, ...]
    repeats: tuple[Floats, ...]
    margin: Floats


def check_run(repeats: Sequence[RunMetrics], options: StatisticsOptions = DEFAULT_OPTIONS) -> CheckResult:
    """Compare a run's odd windows with its even ones, and its repeats with each other.

    Args:
        repeats: of the one run.
        options: as for `compare_runs`; nothing is paired between runs here.

    Raises:
        ValueError: as `compare_runs` does.

    """
    runs = tuple(repeats)
    itself = compare_runs(runs, runs, replace(options, pair="never"))
    itself = replace(
        itself, warnings=tuple(w for w in itself.warnings if w.side == 0 or w.id == "too_few_windows")
    )
    kept = tuple(np.array(index, dtype=np.int64) for index in itself.kept.base)
    chosen = [r for r, index in enumerate(kept) if len(index) >= TESTED_WINDOWS]
    figures = _figures(runs, kept, itself, options)
    evens = [_even_neighbours(run, index) for run, index in zip(runs, kept, strict=True)]
    pairs = sum(len(index) for index in evens)
    families: list[list[Finding]] = []
    if pairs >= TESTED_WINDOWS:
        families += [_odd_even(x, evens) for x in figures]
    if len(chosen) > 1:
        families += [_between(x, chosen) for x in figures]
    level = options.alpha / max(1, len(families))
    return CheckResult(
        findings=tuple(finding for family in families for finding in family if finding.q_value <= level),
        pairs=pairs,
        repeats=len(chosen) if len(chosen) > 1 else 0,
        against_itself=itself,
    )


def _figures(
    runs: tuple[RunMetrics, ...], kept: tuple[Ints, ...], itself: StatisticsResult, options: StatisticsOptions
) -> list[_Figures]:
    """Return the figures of each kind that are above the floor."""
    used = [r for r, index in enumerate(kept) if len(index)]
    step = itself.step_time.base or 0.0
    kinds: tuple[tuple[FigureKind, Columns], ...] = (
        ("step_time", lambda run: {"": run.step}),
        ("category", with_residual(Sides(runs, ()))),
        ("interval", lambda run: run.intervals),
        ("contention", lambda run: run.contention),
    )
    floor = max(options.floor, FLOOR_SHARE * step)
    found = []
    for kind, columns in kinds:
        sample = Sample.gather(
            Sides(tuple(runs[r] for r in used), ()), Sides(tuple(kept[r] for r in used), ()), columns
        )
        columns_of = dict(zip(used, sample.columns.base, strict=True))
        nothing = np.empty((len(sample.names), 0), dtype=np.int64)
        every = tuple(columns_of.get(r, nothing) / run.ranks for r, run in enumerate(runs))
        mean = np.concatenate(every, axis=-1).mean(axis=-1) if used else np.empty(0)
        own = kind in SLOTS
        rows = np.abs(mean) >= floor if own else np.ones(len(mean), dtype=np.bool_)
        margin = np.full_like(mean, options.delta_step * step)
        if own:
            margin = np.maximum(MARGIN_SHARE * step, options.delta_interval * np.abs(mean))
        names = tuple(name for name, taken in zip(sample.names, rows.tolist(), strict=True) if taken)
        if names:
            found.append(_Figures(kind, names, tuple(x[rows] for x in every), margin[rows]))
    return found


def _even_neighbours(run: RunMetrics, kept: Ints) -> Ints:
    """Return the places in `kept` of windows at even steps whose next window is kept too.

    Steps count from the first window's number on, so that repeats agree on what is odd, gaps or not.
    """
    if len(kept) < 2:
        return np.empty(0, dtype=np.int64)
    even = (kept + int(run.step_numbers[0])) % 2 == 0
    return np.flatnonzero(even[:-1] & (np.diff(kept) == 1))


def _adjusted(kind: FigureKind, p: Floats) -> Floats:
    return benjamini_hochberg(p) if kind in SLOTS else holm(p)


def _moderated(kind: FigureKind, variance: Floats, df: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return variances and their degrees of freedom, (k,) each, learning from each other in a family of 10."""
    if kind not in SLOTS or len(variance) < FAMILY_SIZE:
        return variance, df
    squeezed = squeeze(variance / scale**2, df)
    return (variance, df) if squeezed is None else (squeezed.variance * scale**2, squeezed.df)


def _odd_even(figures: _Figures, evens: list[Ints]) -> list[Finding]:
    """Return how odd steps differ from the even ones before them, a figure each; within the margin is no finding."""
    even = np.concatenate([x[:, at] for x, at in zip(figures.repeats, evens, strict=True)], axis=-1)
    odd = np.concatenate([x[:, at + 1] for x, at in zip(figures.repeats, evens, strict=True)], axis=-1)
    difference = odd - even
    n = difference.shape[-1]
    side = side_variance(difference, autocorrelation((difference,), NEIGHBOURS))
    means = np.concatenate(figures.repeats, axis=-1).mean(axis=-1)
    variance, df = _moderated(figures.kind, side.variance, side.df, means)
    least = resolution_se(n, n)
    estimate = Estimate(difference.mean(axis=-1), np.maximum(np.sqrt(variance * side.tau / n), least), df)
    q = _adjusted(figures.kind, estimate.p())
    within = np.abs(estimate.delta) + estimate.half_width(0.9) < figures.margin
    p = estimate.p()
    found = []
    for i in np.flatnonzero(~within).tolist():
        low, high = sorted((float(even[i].mean()), float(odd[i].mean())))
        found.append(
            _finding(
                figures,
                i,
                how="odd_even",
                means=(float(means[i]), low, high),
                p=(float(p[i]), float(q[i])),
                message=f"odd steps take {time_text(float(estimate.delta[i]), sign=True)} against even ones",
            )
        )
    return found


def _between(figures: _Figures, chosen: list[int]) -> list[Finding]:
    """Return how the repeats differ, a figure each: one-way analysis of variance of autocorrelated windows.

    With 20 windows in every repeat, or as few as `guard_windows` says, the cosines' variance stands beside it, and the
    larger p counts (2.4's guard).
    """
    repeats = tuple(figures.repeats[r] for r in chosen)
    n = np.array([x.shape[-1] for x in repeats])
    means = np.stack([x.mean(axis=-1) for x in repeats], axis=-1)
    overall = np.concatenate(repeats, axis=-1).mean(axis=-1)

    def p_of(variance: Floats, df: Floats, weights: Floats) -> Floats:
        """Return p, (k,); the arguments are (k, R): variance of one window, its df, windows' worth."""
        pooled = (df * variance).sum(axis=-1) / df.sum(axis=-1)
        known, known_df = _moderated(figures.kind, pooled, df.sum(axis=-1), overall)
        centre = (weights * means).sum(axis=-1) / weights.sum(axis=-1)
        spread = (weights * (means - centre[:, None]) ** 2).sum(axis=-1) / (len(n) - 1)
        return special.f_upper(spread / np.maximum(known, RESOLUTION**2), len(n) - 1.0, known_df)

    lag = family_lag(repeats) if figures.kind in SLOTS else None
    rho = autocorrelation(repeats, family_prior(lag, FAMILY_PRIOR) if figures.kind in SLOTS else CORE_PRIOR)
    parts = [side_variance(x, rho) for x in repeats]
    variance, tau, df = (np.stack(columns, axis=-1) for columns in zip(*parts, strict=True))
    p = p_of(variance, df, n / tau)
    if n.min() >= guard_windows(lag):
        cosines = [cosine_variance(x) for x in repeats]
        variance = np.stack([mean for mean, _ in cosines], axis=-1) * n
        df = np.broadcast_to(np.array([float(count) for _, count in cosines]), variance.shape)
        p = np.maximum(p, p_of(variance, df, np.broadcast_to(n, variance.shape)))
    q = _adjusted(figures.kind, p)
    return [
        _finding(
            figures,
            i,
            how="repeats",
            means=(float(overall[i]), float(means[i].min()), float(means[i].max())),
            p=(float(p[i]), float(q[i])),
            message=f"repeats go from {time_text(float(means[i].min()))} to {time_text(float(means[i].max()))}",
        )
        for i in range(len(figures.names))
    ]


def _finding(
    figures: _Figures,
    i: int,
    *,
    how: How,
    means: tuple[float, float, float],
    p: tuple[float, float],
    message: str,
) -> Finding:
    name = figures.names[i]
    mean, low, high = means
    share = f" ({pct_text(100 * (high - low) / mean, sign=False)})" if mean > 0 else ""
    of = f"{name}: " if name else "step time: "
    return Finding(how, figures.kind, name, mean, low, high, *p, message=f"{of}{message}{share}")
