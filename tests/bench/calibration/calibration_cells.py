"""The cells of the calibration table: each makes data sets, compares them, counts, and knows its bar.

A bar is (lowest, highest) in percent; the bars with a number in STATISTICS 3 are that number. `None` marks what is
measured but known to be beyond one run a side (STATISTICS 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import calibration_data as data
import numpy as np

from abstep.compare.statistics import CHANGED, RunMetrics, check_run, compare_runs
from abstep.compare.statistics.family import benjamini_hochberg
from abstep.compare.statistics.special import t_two_sided

K = 100
Bar = tuple[float, float] | None
Measure = Callable[[int], dict[str, float]]


class Row(NamedTuple):
    """What was measured, in percent of so many data sets, beside its bar."""

    group: str
    cell: str
    figure: str
    value: float
    bar: Bar
    datasets: int

    @property
    def holds(self) -> bool:
        return self.bar is None or self.bar[0] <= self.value <= self.bar[1]


@dataclass(frozen=True)
class Cell:
    """One kind of data set: how to measure it, and the bar of each figure it gives."""

    group: str
    name: str
    measure: Measure
    bars: dict[str, Bar]

    def rows(self, datasets: int) -> list[Row]:
        found = self.measure(datasets)
        return [
            Row(self.group, self.name, figure, found[figure], bar, datasets)
            for figure, bar in self.bars.items()
        ]


# Step time


def step_pair(rng, n, *, repeats=1, rho=0.3, shape="plain", run_sd=0.0, effect=0.0, shared=0.0):
    """Return the repeats of both sides; the variant's steps take (1 + effect) times as long.

    `shared` is the correlation of steps with the same number: both runs see the same batches.
    """
    batches = data.skewed(rng, (n,)) * data.STEP_CV
    sides = []
    for factor in (1.0, 1.0 + effect):
        side = []
        for _ in range(repeats):
            own = data.steps(rng, n, rho, shape, data.STEP_CV * np.sqrt(1.0 - shared))
            step = own + np.sqrt(shared) * batches * data.STEP_NS
            side.append(data.run(step * factor * (1.0 + run_sd * rng.standard_normal())))
        sides.append(side)
    return sides


def step_rates(datasets: int, n: int, **kind) -> dict[str, float]:
    """Return how often p is within .05, how often a change is called, and how often "unchanged" is."""
    seen = []
    for i in range(datasets):
        found = compare_runs(*step_pair(data.rng_of("step", n, sorted(kind.items()), i), n, **kind))
        step = found.step_time
        seen.append(
            (
                step.p_value is not None and step.p_value <= 0.05,
                step.verdict in CHANGED,
                step.verdict == "unchanged",
                found.paired,
            )
        )
    return dict(
        zip(("rejected", "called", "unchanged", "paired"), 100.0 * np.mean(seen, axis=0), strict=True)
    )


def step_rates_over_rho(datasets: int, n: int, **kind) -> dict[str, float]:
    """Return the mean of step_rates over uncorrelated and moderately correlated steps (rho 0 and .3)."""
    found = [step_rates(datasets // 2, n, rho=rho, **kind) for rho in (0.0, 0.3)]
    return {name: float(np.mean([each[name] for each in found])) for name in found[0]}


# Families of intervals


def family_pair(rng, of, n, factors, *, repeats=1, rho=0.3, run_sd=0.0, common_sd=0.0, step_sd=0.0):
    """Return the repeats of both sides; the variant's intervals are multiplied by factors (k,).

    Args:
        run_sd: each interval's own difference from launch to launch.
        common_sd: the difference from launch to launch that all intervals share.
        step_sd: the step's.
    """
    sides = []
    for factor in (np.ones(K), factors):
        side = []
        for _ in range(repeats):
            launch = np.exp(run_sd * rng.standard_normal(K) + common_sd * rng.standard_normal())
            step = data.steps(rng, n, rho) * (1.0 + step_sd * rng.standard_normal())
            side.append(data.run(step, data.intervals(rng, of, n, factor * launch)))
        sides.append(side)
    return sides


def family_rates(
    datasets: int,
    n: int,
    *,
    factors: tuple[float, ...] = (),
    changed: int = 10,
    margins: float = 0.0,
    dwell: float = 0.0,
    welch: bool = False,
    **kind,
) -> dict[str, float]:
    """Compare families of 100 intervals.

    Args:
        datasets: how many.
        n: windows a repeat.
        factors: what the changed intervals are multiplied by, in turn; none changed without.
        changed: how many are.
        margins: instead of factors: they grow by so many times what counts as no change.
        dwell: intermittent intervals stay on or off for so many windows.
        welch: call by plain Welch tests instead (a negative control).
        kind: of `family_pair`.
    """
    counts: dict[str, list[float]] = {
        name: [] for name in ("any", "FDR", "found", "labelled", "cover nulls", "cover changed", "unchanged")
    }
    for i in range(datasets):
        rng = data.rng_of("family", n, factors, margins, dwell, sorted(kind.items()), i)
        of = data.family(rng, K, kind.get("rho", 0.3), dwell)
        factor = np.ones(K)
        picked = rng.choice(K, changed if factors or margins else 0, replace=False)
        for j, row in enumerate(picked):
            margin = max(1e-3 * data.STEP_NS / of.true_mean[row], 0.1)
            factor[row] = factors[j % len(factors)] if factors else 1.0 + margins * margin
        truly = factor != 1.0
        base, variant = family_pair(rng, of, n, factor, **kind)
        if welch:
            calls = welch_calls(base[0], variant[0])
            counts["any"].append(calls.any())
            continue
        deltas = [*compare_runs(base, variant).intervals.values()]  # sorted: in row order
        calls = np.array([delta.verdict in CHANGED for delta in deltas])
        counts["any"].append(calls.any())
        counts["FDR"].append((calls & ~truly).sum() / max(1, calls.sum()))
        true = of.true_mean * (factor - 1.0)
        covered = np.array(
            [x.ci_low is None or x.ci_low <= d <= x.ci_high for x, d in zip(deltas, true, strict=True)]
        )
        counts["cover nulls"].append(covered[~truly].mean())
        if truly.any():
            gone = np.array([delta.verdict == "disappeared" for delta in deltas])
            counts["found"].append(calls[truly].mean())
            counts["labelled"] += gone[calls & truly].tolist()
            counts["cover changed"].append(covered[truly].mean())
            counts["unchanged"].append(np.mean([deltas[j].verdict == "unchanged" for j in picked]))
    return {name: 100.0 * float(np.mean(values)) for name, values in counts.items() if values}


# Negative controls: what must fail


def welch_p(a, b):
    """Return the p of plain Welch tests of rows (k, n)."""
    va, vb = a.var(axis=-1, ddof=1) / a.shape[-1], b.var(axis=-1, ddof=1) / b.shape[-1]
    spread = va**2 / (a.shape[-1] - 1) + vb**2 / (b.shape[-1] - 1)
    t = np.divide(
        b.mean(axis=-1) - a.mean(axis=-1), np.sqrt(va + vb), out=np.zeros(len(a)), where=va + vb > 0
    )
    df = np.divide((va + vb) ** 2, spread, out=np.ones(len(a)), where=spread > 0)
    return t_two_sided(t, df)


def welch_calls(base: RunMetrics, variant: RunMetrics):
    """Return which intervals plain Welch tests with Benjamini-Hochberg call changed, (k,)."""
    a, b = (np.stack([*run.intervals.values()]).astype(float) for run in (base, variant))
    return benjamini_hochberg(welch_p(a, b)) <= 0.05


def welch_steps(datasets: int, n: int, rho: float) -> dict[str, float]:
    p = []
    for i in range(datasets):
        a, b = (
            side[0].step[None].astype(float)
            for side in step_pair(data.rng_of("welch", n, rho, i), n, rho=rho)
        )
        p.append(welch_p(a, b)[0])
    return {"rejected": 100.0 * float(np.mean(np.array(p) <= 0.05))}


def ranks_as_replicates(datasets: int, n: int, ranks: int = 8) -> dict[str, float]:
    """Count every rank's step as if it were a window of its own; ranks of one step differ by .2 %."""
    p = []
    for i in range(datasets):
        rng = data.rng_of("ranks", n, i)
        sides = [
            (
                data.steps(rng, n, 0.3)[:, None] + 2e-3 * data.STEP_NS * rng.standard_normal((n, ranks))
            ).reshape(1, -1)
            for _ in range(2)
        ]
        p.append(welch_p(*sides)[0])
    return {"rejected": 100.0 * float(np.mean(np.array(p) <= 0.05))}


# A run against itself


def check_rate(datasets: int, n: int, repeats: int, rho: float = 0.3) -> dict[str, float]:
    found = 0
    for i in range(datasets):
        rng = data.rng_of("check", n, repeats, rho, i)
        of = data.family(rng, K, rho)
        found += bool(
            check_run(
                [data.run(data.steps(rng, n, rho), data.intervals(rng, of, n)) for _ in range(repeats)]
            ).findings
        )
    return {"found": 100.0 * found / datasets}
