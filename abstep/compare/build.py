"""Put a comparison together: two measured runs in, one `Comparison` out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from abstep import __version__
from abstep.compare.account import account
from abstep.compare.across import collective_rows
from abstep.compare.align import renamed_anchors
from abstep.compare.beside import beside_compute
from abstep.compare.comparability import comparability
from abstep.compare.comparison import CategoryRow, Comparison, Explanation, SlotRow, Tail
from abstep.compare.contention import contention, contention_rows, control
from abstep.compare.describe import described_side, path_row, rank_rows, validity_rows
from abstep.compare.detail import PairDetail
from abstep.compare.evidence import with_evidence
from abstep.compare.explain import explanation
from abstep.compare.ideals import ideal_of
from abstep.compare.said import statistics_sentences
from abstep.compare.sides import compared_ranks, run_metrics, side, weights
from abstep.compare.slots import (
    slot_independent,
    slot_label,
    slot_presence,
    slot_splits,
    slot_table,
    slot_windows,
    with_slots,
)
from abstep.compare.statistics import (
    StatisticsOptions,
    compare_runs,
    window_weights,
)
from abstep.compare.statistics.types import Sides
from abstep.compare.warnings import warnings
from abstep.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from abstep.compare.isolated import Isolated
    from abstep.compare.sides import MeasuredSide, Weights
    from abstep.compare.statistics import Delta, StatisticsResult
    from abstep.measure.run import MeasuredRun

    Pair = tuple[tuple[MeasuredSide, Weights], tuple[MeasuredSide, Weights]]

ORDER = (
    "disappeared",
    "shrank",
    "grew",
    "appeared",
    "inconclusive",
    "unchanged",
    "too_few",
    "below_floor",
    None,
)
ABSENT = (0.0, 0.0, None)
"""A slot that a side does not have is split all the same: into nothing and nothing."""


@dataclass(frozen=True)
class CompareOptions:
    """What a user may choose (RESULT, Commands).

    Attributes:
        alpha: error rate of each family of tests.
        min_effect_pct: changes of the step below this many percent of the base count as none.
        warmup: windows to drop at the start of each repeat; None finds them.
        isolated: isolated durations to show beside concurrent ones.

    """

    alpha: float = 0.05
    min_effect_pct: float = 1.0
    warmup: int | None = None
    isolated: Isolated | None = None

    def statistics(self) -> StatisticsOptions:
        """Return the same as the statistics take it."""
        return StatisticsOptions(alpha=self.alpha, delta_step=self.min_effect_pct / 100.0, skip=self.warmup)


def compare(
    base_run: MeasuredRun, variant_run: MeasuredRun, options: CompareOptions | None = None
) -> Comparison:
    """Compare two measured runs.

    Raises:
        TraceError: a side has no completed window at all.

    """
    options = options or CompareOptions()
    base_ranks, variant_ranks, partial = compared_ranks(base_run, variant_run)
    base, variant = side("base", base_run, base_ranks), side("variant", variant_run, variant_ranks)
    for each in (base, variant):
        if each.cells.is_empty():
            raise TraceError(
                f"{each.run.cut.tables.name}: no completed step window ({dropped_words(each)})",
                "record more active steps in one profiler cycle: the last one of a cycle has no end",
            )
    checks = comparability(base, variant)
    renamed = renamed_anchors(base, variant)
    parts = (with_slots(base.parts), with_slots(variant.parts, renamed))
    exposed = (slot_windows(parts[0]), slot_windows(parts[1]))
    bare = Sides(tuple(run_metrics(base, exposed[0])), tuple(run_metrics(variant, exposed[1])))
    # which windows are typical depends on the steps alone; contention is measured on these
    first = compare_runs(bare.base, bare.variant, options.statistics())
    shares = window_weights(bare, first.kept, first.compared)
    pair = ((base, weights(base, shares.base)), (variant, weights(variant, shares.variant)))
    typical = (pair[0][1].cells, pair[1][1].cells)
    slowed = contention(base, variant, typical, renamed)
    metrics = Sides(
        tuple(run_metrics(base, exposed[0], slowed.values[0])),
        tuple(run_metrics(variant, exposed[1], slowed.values[1])),
    )
    found = compare_runs(metrics.base, metrics.variant, options.statistics())
    if checks.status == "not_comparable":
        found = descriptive(found)
    slots = slot_rows(parts, found, pair)
    pairs = with_evidence(contention_rows(slowed, found.contention), (base, variant), typical, renamed)
    rows = account(pair, found.step_time, found.categories, slots, pairs)
    sides = tuple(
        replace(
            described_side(measured, share, kept, dropped, found.warmup),
            bounds=ideal_of(measured, share, step),
        )
        for (measured, share), kept, dropped, step in zip(
            pair, found.kept, found.dropped, (found.step_time.base, found.step_time.variant), strict=True
        )
    )
    comparison = Comparison(
        version=__version__,
        options=_options(options),
        base=sides[0],
        variant=sides[1],
        comparability=checks,
        validity=tuple(row for measured, _ in pair for row in validity_rows(measured)),
        step_time=found.step_time,
        tail=Tail(
            found.tail.base,
            found.tail.variant,
            found.tail.delta,
            found.tail.windows_base,
            found.tail.windows_variant,
        ),
        decomposition=tuple(CategoryRow(name, delta) for name, delta in found.categories.items()),
        account=rows,
        intervals=slots,
        contention=pairs,
        collectives=tuple(
            row for measured, share in pair for row in collective_rows(measured, share, options.isolated)
        ),
        ranks=tuple(row for measured, share in pair for row in rank_rows(measured, share)),
        path=tuple(path_row(measured, share) for measured, share in pair),
        explanation=Explanation("", (), None, None),
        warnings=(),
        unit="repeat" if found.unit == "repeats" else "window",
        pairing="windows paired by step number" if found.paired else None,
        sentences=statistics_sentences(found, base, variant),
        not_called=found.intervals_not_called,
        below_floor=found.intervals_below_floor,
        step_p50=(found.step_p50.base, found.step_p50.variant),
        beside_compute=tuple(row for measured, share in pair for row in beside_compute(measured, share)),
        control=None if checks.status == "not_comparable" else control(slowed, metrics, options.statistics()),
        unmatched=unmatched(pair),
        no_communication=base.instances.is_empty()
        and variant.instances.is_empty()
        and base.parts.is_empty()
        and variant.parts.is_empty(),
        detail=PairDetail(pair, parts),
    )
    comparison = replace(comparison, warnings=warnings(comparison, pair, found, partial=partial))
    return replace(comparison, explanation=explanation(comparison))


def unmatched(pair: Pair) -> tuple[Mapping[str, Any], ...]:
    """Return the collectives that could not be matched over their ranks, counted: side, collective, group, count."""
    return tuple(
        {"side": measured.name, "collective": collective, "group": group, "count": count}
        for measured, _ in pair
        for collective, group, count in measured.run.across.unmatched.iter_rows()
    )


def slot_rows(
    parts: tuple[pl.DataFrame, pl.DataFrame], found: StatisticsResult, pair: Pair
) -> tuple[SlotRow, ...]:
    """Return one row a slot: disappeared, shrank, grew, appeared first, then by size of change."""
    rows = []
    splits = [
        slot_splits(own, measured.instances, weights)
        for own, (measured, weights) in zip(parts, pair, strict=True)
    ]
    presences = [slot_presence(own, weights) for own, (_, weights) in zip(parts, pair, strict=True)]
    hidden = [
        slot_independent(own, measured.instances, weights)
        for own, (measured, weights) in zip(parts, pair, strict=True)
    ]
    table = slot_table(parts)
    several = table["group"].n_unique() > 1
    for row in table.iter_rows(named=True):
        delta = found.intervals.get(row["slot"])
        if delta is None:
            continue
        rows.append(
            SlotRow(
                id=row["slot"],
                label=slot_label(
                    row["collective"], row["phase"], row["consumer"], row["group"] if several else None
                ),
                phase=row["phase"],
                group=row["group"],
                collective=row["collective"],
                kind=row["kind"],
                consumer=row["consumer"],
                inferred=row["inferred"],
                matched=row["in_base"] and row["in_variant"],
                delta=delta,
                base_peer_wait=splits[0].get(row["slot"], ABSENT)[0],
                variant_peer_wait=splits[1].get(row["slot"], ABSENT)[0],
                base_transport=splits[0].get(row["slot"], ABSENT)[1],
                variant_transport=splits[1].get(row["slot"], ABSENT)[1],
                base_presence=presences[0].get(row["slot"], 0.0),
                variant_presence=presences[1].get(row["slot"], 0.0),
                base_independent=hidden[0].get(row["slot"]),
                variant_independent=hidden[1].get(row["slot"]),
                split_uncertain=max(
                    (split[2] for side in splits if (split := side.get(row["slot"], ABSENT))[2] is not None),
                    default=None,
                ),
            ),
        )
    return tuple(
        sorted(rows, key=lambda row: (ORDER.index(row.delta.verdict), -abs(row.delta.delta or 0.0), row.id)),
    )


def descriptive(found: StatisticsResult) -> StatisticsResult:
    """Withhold every verdict: the runs are not the same work, so nothing is tested (SEMANTICS 8)."""

    def bare(delta: Delta) -> Delta:
        return replace(
            delta,
            ci_low=None,
            ci_high=None,
            p_value=None,
            q_value=None,
            verdict=None,
            note="",
            fcr_low=None,
            fcr_high=None,
            half_width=None,
            smallest_detectable=None,
            n_unchanged=None,
            n_decides=None,
        )

    def family(deltas: Mapping[str, Delta]) -> dict[str, Delta]:
        return {name: bare(delta) for name, delta in deltas.items()}

    return replace(
        found,
        step_time=bare(found.step_time),
        categories=family(found.categories),
        intervals=family(found.intervals),
        contention=family(found.contention),
        intervals_below_floor=None,
        intervals_not_called=None,
        contention_below_floor=None,
        contention_not_called=None,
    )


def dropped_words(measured: MeasuredSide) -> str:
    """Return why a side has no window, in words."""
    reasons = measured.run.cut.windows.group_by("reason").len().sort("reason")
    listed = ", ".join(f"{count} {reason}" for reason, count in reasons.iter_rows())
    return f"dropped: {listed}" if listed else "none cut"


def _options(options: CompareOptions) -> Mapping[str, Any]:
    return {
        "alpha": options.alpha,
        "min_effect_pct": options.min_effect_pct,
        "warmup": "auto" if options.warmup is None else options.warmup,
        "version": __version__,
    }
