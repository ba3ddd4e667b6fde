"""Which windows a comparison uses: one choice for every metric, so that means still add (STATISTICS 2.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from abstep.compare.statistics.repeats import REPEAT_WINDOWS, REPEATS_NEEDED
from abstep.compare.statistics.types import (
    Dropped,
    Flags,
    Floats,
    Ints,
    RunMetrics,
    Sides,
    StatisticsWarning,
    Unit,
)

MAD_TO_SD = 1.4826
TRIM_WINDOWS = 8
"""From this many windows a repeat, outlier windows are left out of the typical ones."""
TRIM_SD = 6.0
TRIM_SHARE = 0.2
TESTED_WINDOWS = 5
"""Fewer windows of one repeat a side are only described."""
SIDE_NAMES = ("base", "variant")

Runs = Sides[tuple[RunMetrics, ...]]


@dataclass(frozen=True)
class WindowsUsed:
    """The windows used, a side and a repeat, and what was decided on the way; see StatisticsResult."""

    kept: Sides[tuple[Ints, ...]]
    dropped: Sides[tuple[tuple[Dropped, ...], ...]]
    compared: Sides[tuple[int, ...]]
    unit: Unit
    warmup: int
    warnings: tuple[StatisticsWarning, ...]

    def warm(self) -> Sides[tuple[Ints, ...]]:
        """Return the indices of the windows past warm-up and ratio, outliers included: a side, a repeat."""
        base, variant = (
            tuple(
                np.sort(np.append(kept, [d.index for d in dropped if d.reason == "outlier"])).astype(np.int64)
                for kept, dropped in zip(*side, strict=True)
            )
            for side in zip(self.kept, self.dropped, strict=True)
        )
        return Sides(base, variant)

    def counts(self) -> Sides[tuple[int, ...]]:
        """Return the typical windows of each compared repeat."""
        base, variant = (
            tuple(len(kept[r]) for r in chosen) for kept, chosen in zip(self.kept, self.compared, strict=True)
        )
        return Sides(base, variant)


def warmup_ends(steps: list[Floats]) -> list[tuple[int, bool]]:
    """Return for each repeat (n,) how many windows at its start are warm-up, and whether it became steady.

    The second half of a repeat says what is normal. Its warm-up ends at the first three windows in a row within
    three deviations (fewer where the repeat ends), as in STATISTICS 2.2, with three cares more, none of which
    drops a window that its formula keeps. A deviation from a handful of windows is corrected for being too small
    (Croux and Rousseeuw 1992). That of all repeats together counts where it is larger. And from 10
    windows on, they are given up only when on average six deviations away, as far as what is an outlier anywhere
    else. Without these, steady steps that happen to end calmly lose good windows, and the calm ones left look
    better known than they are (tests/bench/calibration/README.md).
    """
    halves = [step[len(step) // 2 :] for step in steps]
    medians = [float(np.median(half)) if len(half) else 0.0 for half in halves]
    residuals = [np.abs(half - median) for half, median in zip(halves, medians, strict=True)]
    together = np.concatenate(residuals) if residuals else np.empty(0)
    ends = []
    for step, median, residual in zip(steps, medians, residuals, strict=True):
        n = len(step)
        if not n:
            ends.append((0, True))
            continue
        mad = max(float(np.median(residual)), float(np.median(together)))
        m = len(residual)
        limit = 3.0 * max(MAD_TO_SD * mad * m / (m - 0.8), (0.02 if n < 10 else 0.005) * median)
        distance = np.abs(step - median)
        near = np.concatenate([distance <= limit, [True, True]])
        steady = np.flatnonzero((near[:-2] & near[1:-1] & near[2:])[: n // 2 + 1])
        end = int(steady[0]) if len(steady) else n // 2
        if n >= 10 and end and distance[:end].mean() <= 2.0 * limit:
            end = 0
        ends.append((end, bool(len(steady))))
    return ends


def _warmup(runs: Runs, skip: int | None) -> tuple[int, list[StatisticsWarning]]:
    if skip is not None:
        return skip, []
    places = [(side, r) for side, repeats in enumerate(runs) for r in range(len(repeats))]
    longest = max((len(runs[side][r].step) for side, r in places), default=0)
    if longest < TESTED_WINDOWS and len(places) < REPEATS_NEEDED:
        return 0, []  # nothing will be tested: every window there is is described
    ends = warmup_ends([runs[side][r].step / runs[side][r].ranks for side, r in places])
    warnings = [
        StatisticsWarning(
            "no_steady_state",
            f"{SIDE_NAMES[side]} repeat {r}: no steady state; {end} windows count as warm-up",
            side,
            r,
        )
        for (side, r), (end, found) in zip(places, ends, strict=True)
        if not found
    ]
    return max((end for end, _ in ends), default=0), warnings


def _choose_repeats(left: Sides[tuple[int, ...]]) -> tuple[Unit, Sides[tuple[int, ...]]]:
    """Choose the unit and the repeats compared, from the windows left in each repeat."""
    usable = [tuple(r for r, n in enumerate(side) if n >= REPEAT_WINDOWS) for side in left]
    if all(usable) and sum(len(side) for side in usable) >= REPEATS_NEEDED:
        return "repeats", Sides(usable[0], usable[1])
    first = []
    for side in left:
        tested = [r for r, n in enumerate(side) if n >= TESTED_WINDOWS]
        first.append((tested[0],) if tested else (0,) if side else ())
    return "windows", Sides(first[0], first[1])


def _cap_ratio(kept: list[list[Ints]], compared: Sides[tuple[int, ...]]) -> None:
    """Keep the last windows of a much longer side, so that one side's variance does not carry the test."""
    if not (compared.base and compared.variant):
        return
    base, variant = kept[0][compared.base[0]], kept[1][compared.variant[0]]
    small = min(len(base), len(variant))
    most = small * (2 if small < 10 else 3)
    if small:
        kept[0][compared.base[0]] = base[-most:]
        kept[1][compared.variant[0]] = variant[-most:]


def _typical(steps: list[Floats], in_pool: list[bool]) -> tuple[list[Flags], list[bool]]:
    """Return which windows of each repeat are typical, and which repeats look multi-modal.

    Args:
        steps: a repeat, (n,) step times.
        in_pool: which repeats' residuals say what is normal.

    """
    flags = [np.ones(len(x), dtype=np.bool_) for x in steps]
    modal = [False] * len(steps)
    pool = [x for x, pooled in zip(steps, in_pool, strict=True) if pooled]
    if not pool or min(len(x) for x in pool) < TRIM_WINDOWS:
        return flags, modal
    residuals = [np.abs(x - np.median(x)) if len(x) else x for x in steps]
    pooled = np.concatenate([res for res, used in zip(residuals, in_pool, strict=True) if used])
    deviation = MAD_TO_SD * float(np.median(pooled))
    for r, res in enumerate(residuals):
        if len(res) < TRIM_WINDOWS:
            continue
        outlier = res > TRIM_SD * deviation
        if deviation == 0.0 or outlier.mean() > TRIM_SHARE:
            modal[r] = bool(outlier.any())
        else:
            flags[r] = ~outlier
    return flags, modal


def choose_windows(runs: Runs, skip: int | None = None) -> WindowsUsed:
    """Choose the typical windows of every repeat of both sides (STATISTICS 2.2).

    Warm-up, the same for every repeat; then, with one repeat a side, at most 2 or 3 times the shorter side's
    windows; then outlier windows.
    """
    warmup, warnings = _warmup(runs, skip)
    kept = [[np.arange(min(warmup, len(run.step)), len(run.step)) for run in side] for side in runs]
    dropped: list[list[dict[int, str]]] = [
        [dict.fromkeys(range(min(warmup, len(run.step))), "warm-up") for run in side] for side in runs
    ]
    unit, compared = _choose_repeats(Sides(tuple(len(x) for x in kept[0]), tuple(len(x) for x in kept[1])))
    if unit == "windows":
        _cap_ratio(kept, compared)
        for side, repeats in enumerate(runs):
            for r in range(len(repeats)):
                cut = range(warmup, int(kept[side][r][0])) if len(kept[side][r]) else range(0)
                dropped[side][r].update(dict.fromkeys(cut, "ratio"))
    places = [(side, r) for side, repeats in enumerate(runs) for r in range(len(repeats))]
    flags, modal = _typical(
        [runs[side][r].step[kept[side][r]] / runs[side][r].ranks for side, r in places],
        [r in compared[side] for side, r in places],
    )
    for (side, r), typical, is_modal in zip(places, flags, modal, strict=True):
        dropped[side][r].update(dict.fromkeys(kept[side][r][~typical].tolist(), "outlier"))
        kept[side][r] = kept[side][r][typical]
        if is_modal:
            warnings.append(
                StatisticsWarning(
                    "multi_modal",
                    f"{SIDE_NAMES[side]} repeat {r}: multi-modal step times; no outlier window was left out",
                    side,
                    r,
                )
            )
    numbered = [
        tuple(
            tuple(
                Dropped(i, int(run.step_numbers[i]), reason) for i, reason in sorted(dropped[side][r].items())
            )
            for r, run in enumerate(runs[side])
        )
        for side in (0, 1)
    ]
    return WindowsUsed(
        kept=Sides(tuple(kept[0]), tuple(kept[1])),
        dropped=Sides(numbered[0], numbered[1]),
        compared=compared,
        unit=unit,
        warmup=warmup,
        warnings=tuple(warnings),
    )


def keep_only(used: WindowsUsed, runs: Runs, chosen: Sides[Ints]) -> WindowsUsed:
    """Return `used` with the compared repeats cut to `chosen` indices; the others become outliers.

    Windows paired by step number go in pairs: where one is an outlier its partner goes too (STATISTICS 2.7).
    """
    kept, dropped = [list(side) for side in used.kept], [list(side) for side in used.dropped]
    for side in (0, 1):
        r = used.compared[side][0]
        gone = np.setdiff1d(kept[side][r], chosen[side])
        steps = runs[side][r].step_numbers
        extra = [Dropped(int(i), int(steps[i]), "outlier") for i in gone]
        dropped[side][r] = tuple(sorted([*dropped[side][r], *extra]))
        kept[side][r] = chosen[side]
    return replace(
        used,
        kept=Sides(tuple(kept[0]), tuple(kept[1])),
        dropped=Sides(tuple(dropped[0]), tuple(dropped[1])),
    )
