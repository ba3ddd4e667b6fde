"""One kind of figure at a time: test, adjust, decide, and put it into words (STATISTICS 2.4 to 2.9)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from abstep.compare.statistics.core import CORE_PRIOR, FAMILY_PRIOR, Estimate, Prior, one_sample, two_sample
from abstep.compare.statistics.family import benjamini_hochberg, comes_and_goes, family_two_sample, holm
from abstep.compare.statistics.power import smallest_detectable, units_needed
from abstep.compare.statistics.repeats import repeats_resolution, repeats_test
from abstep.compare.statistics.types import (
    CHANGED,
    Delta,
    Flags,
    Floats,
    StatisticsOptions,
    Unit,
    Verdict,
)
from abstep.compare.statistics.verdicts import Evidence, Kind, decide, note, too_few_note

if TYPE_CHECKING:
    from abstep.compare.statistics.sample import Sample

FLOOR_SHARE = 0.0002
"""Of the baseline step: the floor of intervals and pairs is never below."""
MARGIN_SHARE = 0.001
"""Of the baseline step: the margin of intervals and pairs is never below."""

Test = Literal["core", "family", "sum"]


@dataclass(frozen=True)
class Setting:
    """What all figures of a comparison share.

    Attributes:
        options: the user's.
        unit: windows or repeats.
        tested: false where there are too few windows.
        paired: whether the windows of both sides are pairs.
        windows: a side, the windows of each compared repeat.
        base_step: mean baseline step, ns a rank; None without windows.

    """

    options: StatisticsOptions
    unit: Unit
    tested: bool
    paired: bool
    windows: tuple[tuple[int, ...], tuple[int, ...]]
    base_step: float | None

    @property
    def n(self) -> tuple[int, int]:
        """Return the units of each side."""
        if self.unit == "repeats":
            return len(self.windows[0]), len(self.windows[1])
        return sum(self.windows[0]), sum(self.windows[1])


def estimate(sample: Sample, setting: Setting, test: Test) -> Estimate:
    """Return the differences of a sample with their errors, by the test that fits the unit."""
    if setting.unit == "repeats":
        return repeats_test(
            sample.repeat_means(0),
            sample.repeat_means(1),
            family=test == "family",
            delta=sample.delta,
            least=repeats_resolution(setting.windows),
        )
    a, b = sample.windows(0), sample.windows(1)
    if test == "family":
        return family_two_sample(a, b, delta=sample.delta)
    if test == "core" and setting.paired:
        return one_sample(b - a, delta=sample.delta)
    prior: Prior = CORE_PRIOR if test == "core" else FAMILY_PRIOR
    return two_sample(a, b, delta=sample.delta, prior=prior)


def step_delta(sample: Sample, setting: Setting) -> Delta:
    """Return step time's delta: one test, its own p (STATISTICS 2.8)."""
    if not sample.names:
        return Delta(None, None, None, verdict="too_few", note=too_few_note(setting.n))
    (name,) = sample.names
    if not setting.tested:
        return _described(sample, setting, "step", "too_few")[name]
    tested = estimate(sample, setting, "core")
    return _tested(sample, setting, "step", tested=tested, p=tested.p(), q=tested.p())[name]


def category_deltas(sample: Sample, setting: Setting) -> dict[str, Delta]:
    """Return the categories' deltas: the core test, Holm over the categories."""
    if not sample.names:
        return {}
    if not setting.tested:
        return _described(sample, setting, "category", "too_few")
    tested = estimate(sample, setting, "core")
    p = tested.p()
    return _tested(sample, setting, "category", tested=tested, p=p, q=holm(p))


@dataclass(frozen=True)
class Slots:
    """The deltas of intervals or pairs, and the sums of those that no word singles out."""

    deltas: dict[str, Delta]
    below_floor: Delta | None
    not_called: Delta | None


def slot_deltas(sample: Sample, setting: Setting) -> Slots:
    """Return the deltas of a family of intervals or pairs: moderated, never paired, Benjamini-Hochberg."""
    if not setting.tested:
        return Slots(_described(sample, setting, "slot", "too_few"), None, None)
    floor = max(setting.options.floor, FLOOR_SHARE * (setting.base_step or 0.0))
    counts = np.maximum(np.abs(sample.means(0)), np.abs(sample.means(1))) >= floor
    family, below = sample.select(counts), sample.select(~counts)
    deltas = _described(below, setting, "slot", "below_floor")
    if family.names:
        tested = estimate(family, setting, "family")
        blocks = _in_blocks(family, setting)
        p = np.where(blocks, 1.0, tested.p())
        deltas |= _tested(family, setting, "slot", tested=tested, p=p, q=benjamini_hochberg(p), blocks=blocks)
    quiet = np.array(
        [deltas[name].verdict in ("unchanged", "inconclusive") for name in sample.names], dtype=np.bool_
    )
    return Slots(
        {name: deltas[name] for name in sample.names},
        _sum(below, setting, "below_floor"),
        _sum(sample.select(quiet), setting, None),
    )


def _in_blocks(sample: Sample, setting: Setting) -> Flags:
    if setting.unit == "repeats":
        return np.zeros(len(sample.names), dtype=np.bool_)
    return comes_and_goes(sample.present(0)) | comes_and_goes(sample.present(1))


def _margins(sample: Sample, setting: Setting, kind: Kind) -> Floats:
    step = setting.base_step or 0.0
    base = sample.means(0)
    if kind != "slot":
        return np.full_like(base, setting.options.delta_step * step)
    return np.maximum(MARGIN_SHARE * step, setting.options.delta_interval * np.abs(base))


def _described(sample: Sample, setting: Setting, kind: Kind, verdict: Verdict | None) -> dict[str, Delta]:
    """Return deltas without a test: means where a side has windows, and the word that says why."""
    n, k = setting.n, len(sample.names)
    nothing: list[None] = [None] * k
    base, variant = (nothing if x is None else x.floats().tolist() for x in sample.exact)
    delta = nothing if None in sample.exact else sample.delta.tolist()
    presence = [_shares(sample, side) if kind == "slot" else nothing for side in (0, 1)]
    text = too_few_note(n) if verdict == "too_few" else ""
    return {
        name: Delta(
            base=base[i],
            variant=variant[i],
            delta=delta[i],
            n_base=n[0],
            n_variant=n[1],
            presence_base=presence[0][i],
            presence_variant=presence[1][i],
            verdict=verdict,
            note=text,
        )
        for i, name in enumerate(sample.names)
    }


def _shares(sample: Sample, side: int) -> list[float | None]:
    return [count / n if n else None for count, n in sample.presence(side)]


def _sum(sample: Sample, setting: Setting, verdict: Verdict | None) -> Delta | None:
    """Return the sum of figures as one row with its own interval; it is not tested, having been picked."""
    if not sample.names:
        return None
    total = sample.total()
    tested = estimate(total, setting, "sum")
    half = float(tested.half_width(1.0 - setting.options.alpha)[0])
    row = _described(total, setting, "sum", verdict)[""]
    assert row.delta is not None
    return replace(
        row,
        ci_low=row.delta - half,
        ci_high=row.delta + half,
        half_width=float(tested.half_width(1.0 - 2.0 * setting.options.alpha)[0]),
    )


def _tested(
    sample: Sample,
    setting: Setting,
    kind: Kind,
    *,
    tested: Estimate,
    p: Floats,
    q: Floats,
    blocks: Flags | None = None,
) -> dict[str, Delta]:
    """Return the deltas of tested figures.

    Args:
        sample: the figures, k of them, all of one family.
        setting: of the comparison.
        kind: what the verdict words are.
        tested: their estimates.
        p: (k,) unadjusted.
        q: (k,) adjusted; the step's is its p.
        blocks: (k,) which come and go in blocks.

    """
    alpha, k = setting.options.alpha, len(sample.names)
    described = _described(sample, setting, kind, None)
    base, variant = sample.means(0), sample.means(1)
    margin = _margins(sample, setting, kind)
    half = tested.half_width(1.0 - 2.0 * alpha)
    presence = [sample.presence(0), sample.presence(1)]
    evidence = [
        Evidence(
            kind=kind,
            base=float(base[i]),
            variant=float(variant[i]),
            delta=float(tested.delta[i]),
            called=bool(q[i] <= alpha),
            half_width=float(half[i]),
            margin=float(margin[i]),
            presence=(presence[0][i], presence[1][i]),
            in_blocks=blocks is not None and bool(blocks[i]),
        )
        for i in range(k)
    ]
    verdicts = [decide(x) for x in evidence]
    changed = sum(verdict in CHANGED for verdict in verdicts)
    level = alpha * max(changed, 1) / k if kind == "slot" else alpha / k
    wide = tested.half_width(1.0 - alpha)
    selected = tested.half_width(1.0 - alpha * max(changed, 1) / k)
    detectable = smallest_detectable(tested, level)
    needed = _needed(tested, setting, margin, level, verdicts)
    deltas = {}
    for i, name in enumerate(sample.names):
        d, verdict = evidence[i].delta, verdicts[i]
        counts = (None, None) if evidence[i].in_blocks else needed[i]
        fcr = kind == "slot" and verdict in CHANGED
        deltas[name] = replace(
            described[name],
            ci_low=d - float(wide[i]),
            ci_high=d + float(wide[i]),
            p_value=float(p[i]),
            q_value=None if kind == "step" else float(q[i]),
            verdict=verdict,
            note=note(
                verdict,
                evidence[i],
                unit=setting.unit,
                alpha=alpha,
                n_unchanged=counts[0],
                n_decides=counts[1],
            ),
            margin=evidence[i].margin,
            half_width=evidence[i].half_width,
            fcr_low=d - float(selected[i]) if fcr else None,
            fcr_high=d + float(selected[i]) if fcr else None,
            smallest_detectable=float(detectable[i]),
            n_unchanged=counts[0],
            n_decides=counts[1],
        )
    return deltas


def _needed(
    tested: Estimate, setting: Setting, margin: Floats, level: float, verdicts: list[Verdict]
) -> list[tuple[int | None, int | None]]:
    """Return, a figure, the units a side for `unchanged` if nothing changed, and for a word if as seen."""
    open_rows = np.array([verdict == "inconclusive" for verdict in verdicts], dtype=np.bool_)
    counts: list[tuple[int | None, int | None]] = [(None, None)] * len(verdicts)
    if not open_rows.any():
        return counts
    rows = tested.of(open_rows)
    alpha, n, unit = setting.options.alpha, setting.n, setting.unit
    seen = np.abs(rows.delta)
    margins = margin[open_rows]
    unchanged = units_needed(rows, n=n, unit=unit, tail=alpha, allowed=margins)
    decided = np.fmin(
        units_needed(rows, n=n, unit=unit, tail=alpha, allowed=margins - seen),
        units_needed(rows, n=n, unit=unit, tail=level / 2.0, allowed=seen),
    )
    for i, a, b in zip(np.flatnonzero(open_rows).tolist(), unchanged.tolist(), decided.tolist(), strict=True):
        counts[i] = (
            None if np.isnan(a) or a <= min(n) else int(a),
            None if np.isnan(b) else max(int(b), min(n) + 1),
        )
    return counts
