"""Two runs in, verdicts out: `compare_runs` (STATISTICS 0 and 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from abstep.compare.statistics.additive import exact_means
from abstep.compare.statistics.drift import find_drift
from abstep.compare.statistics.figures import Setting, category_deltas, slot_deltas, step_delta
from abstep.compare.statistics.pairing import Pairs, find_pairs
from abstep.compare.statistics.repeats import REPEAT_WINDOWS, REPEATS_NEEDED
from abstep.compare.statistics.sample import Sample, check_run_metrics, with_residual
from abstep.compare.statistics.types import (
    ONE_RUN_SENTENCE,
    Floats,
    Ints,
    RunMetrics,
    Sides,
    StatisticsOptions,
    StatisticsResult,
    StatisticsWarning,
    Tail,
)
from abstep.compare.statistics.verdicts import too_few_note
from abstep.compare.statistics.windows_used import (
    SIDE_NAMES,
    TESTED_WINDOWS,
    Runs,
    WindowsUsed,
    choose_windows,
    keep_only,
)
from abstep.units import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

DEFAULT_OPTIONS = StatisticsOptions()


def compare_runs(
    base: Sequence[RunMetrics], variant: Sequence[RunMetrics], options: StatisticsOptions = DEFAULT_OPTIONS
) -> StatisticsResult:
    """Compare the repeats of a baseline with those of a variant (STATISTICS 2).

    One repeat a side: windows are the units. Four or more repeats in all: repeats are. It reads no clock, no
    file and no random number; the order of mappings changes nothing, nor does that of repeats where these
    are the units.

    Args:
        base: the baseline's repeats; may be empty, then everything is only described.
        variant: the variant's repeats.
        options: the user's choices.

    Returns:
        Deltas in ns a window, mean over ranks, over typical windows.

    Raises:
        ValueError: a column has not one whole number of ns a window, or ranks is below 1.

    """
    runs = Sides(tuple(base), tuple(variant))
    for side, repeats in enumerate(runs):
        for r, run in enumerate(repeats):
            check_run_metrics(run, f"{SIDE_NAMES[side]} repeat {r}")
    used = choose_windows(runs, options.skip)
    pairs = _pairs(runs, used, options)
    if pairs is not None:
        used = keep_only(used, runs, pairs.indices)
    compared = _chosen(runs, used)
    kept = _chosen(used.kept, used)
    step = Sample.gather(compared, kept, lambda run: {"step": run.step})
    counts = used.counts()
    setting = Setting(
        options=options,
        unit=used.unit,
        tested=used.unit == "repeats"
        or (all(used.compared) and min(counts.base[0], counts.variant[0]) >= TESTED_WINDOWS),
        paired=pairs is not None,
        windows=(counts.base, counts.variant),
        base_step=None if step.exact.base is None else float(step.means(0)[0]),
    )
    categories = with_residual(runs)
    described = _described_steps(runs, used)
    intervals = slot_deltas(Sample.gather(compared, kept, lambda run: run.intervals), setting)
    contention = slot_deltas(Sample.gather(compared, kept, lambda run: run.contention), setting)
    return StatisticsResult(
        step_time=step_delta(step, setting),
        categories=category_deltas(Sample.gather(compared, kept, categories), setting),
        intervals=intervals.deltas,
        contention=contention.deltas,
        kept=_tuples(used.kept),
        dropped=used.dropped,
        warnings=_warnings(runs, used, setting, described),
        unit=used.unit,
        compared=used.compared,
        warmup=used.warmup,
        paired=setting.paired,
        tail=_tail(compared, step, used),
        intervals_below_floor=intervals.below_floor,
        intervals_not_called=intervals.not_called,
        contention_below_floor=contention.below_floor,
        contention_not_called=contention.not_called,
        described=described,
        step_p50=_p50(compared, kept),
    )


def _chosen(values: Sides[tuple[T, ...]], used: WindowsUsed) -> Sides[tuple[T, ...]]:
    """Return the values of the compared repeats."""
    base, variant = (
        tuple(side[r] for r in chosen) for side, chosen in zip(values, used.compared, strict=True)
    )
    return Sides(base, variant)


def _pairs(runs: Runs, used: WindowsUsed, options: StatisticsOptions) -> Pairs | None:
    if used.unit == "repeats" or not all(used.compared):
        return None
    (base,), (variant,) = _chosen(runs, used)
    (kept_base,), (kept_variant,) = _chosen(used.kept, used)
    (warm_base,), (warm_variant,) = _chosen(used.warm(), used)
    return find_pairs(
        Sides(base, variant), Sides(kept_base, kept_variant), Sides(warm_base, warm_variant), options.pair
    )


def _tail(compared: Runs, typical: Sample, used: WindowsUsed) -> Tail:
    """Return what the outlier windows add: exact means of all warm windows less those of the typical ones."""
    warm = _chosen(used.warm(), used)
    everything = Sample.gather(compared, warm, lambda run: {"step": run.step})
    tails = [
        None if of_all is None or of_typical is None else of_all.minus(of_typical)
        for of_all, of_typical in zip(everything.exact, typical.exact, strict=True)
    ]
    values = [None if tail is None else float(tail.floats()[0]) for tail in tails]
    base, variant = tails
    total = [sum(len(x) for x in side) for side in warm]
    left = [sum(n) for n in used.counts()]
    return Tail(
        base=values[0],
        variant=values[1],
        delta=None if base is None or variant is None else float(variant.minus(base).floats()[0]),
        windows_base=total[0] - left[0],
        windows_variant=total[1] - left[1],
        all_windows_base=total[0],
        all_windows_variant=total[1],
    )


def _left_out(used: WindowsUsed, side: int, r: int, mean: float | None) -> StatisticsWarning:
    """Return the line that describes a repeat which is not compared (STATISTICS 2.6)."""
    n = len(used.kept[side][r])
    text = f"{SIDE_NAMES[side]} repeat {r} is only described: {n} windows" + (
        "" if mean is None else f", mean step {time_text(mean)}"
    )
    if used.unit == "repeats":
        return StatisticsWarning("too_few_windows", f"{text}; {REPEAT_WINDOWS} make a repeat count", side, r)
    return StatisticsWarning(
        "single_repeat", f"{text}; {REPEATS_NEEDED} repeats in all make repeats the unit", side, r
    )


def _warnings(
    runs: Runs, used: WindowsUsed, setting: Setting, described: Sides[tuple[float | None, ...]]
) -> tuple[StatisticsWarning, ...]:
    warnings = list(used.warnings)
    if not setting.tested:
        warnings.append(StatisticsWarning("too_few_windows", too_few_note(setting.n)))
    if used.unit == "windows":
        warnings.append(StatisticsWarning("single_repeat", ONE_RUN_SENTENCE))
    for side, repeats in enumerate(runs):
        left_out = sorted(set(range(len(repeats))) - set(used.compared[side]))
        warnings += [_left_out(used, side, r, described[side][r]) for r in left_out]
    for side, repeats in enumerate(runs):
        for r, run in enumerate(repeats):
            drift = find_drift(run.step[used.kept[side][r]] / run.ranks)
            if drift is not None:
                text = f"{SIDE_NAMES[side]} repeat {r}: not stationary: drift of {drift.percent:+.2g} %"
                warnings.append(StatisticsWarning("drift", text, side, r))
    return tuple(warnings)


def _described_steps(runs: Runs, used: WindowsUsed) -> Sides[tuple[float | None, ...]]:
    """Return the mean step of every repeat's typical windows, compared or not."""
    base, variant = (
        tuple(
            float(exact_means([run.step[None, index]], [run.ranks]).floats()[0]) if len(index) else None
            for run, index in zip(repeats, kept, strict=True)
        )
        for repeats, kept in zip(runs, used.kept, strict=True)
    )
    return Sides(base, variant)


def _p50(compared: Runs, kept: Sides[tuple[Ints, ...]]) -> Sides[float | None]:
    base, variant = (
        [run.step[index] / run.ranks for run, index in zip(repeats, indices, strict=True)]
        for repeats, indices in zip(compared, kept, strict=True)
    )
    return Sides(_median(base), _median(variant))


def _median(columns: list[Floats]) -> float | None:
    together = np.concatenate(columns) if columns else np.empty(0)
    return float(np.median(together)) if len(together) else None


def _tuples(kept: Sides[tuple[Ints, ...]]) -> Sides[tuple[tuple[int, ...], ...]]:
    base, variant = (tuple(tuple(index.tolist()) for index in side) for side in kept)
    return Sides(base, variant)
