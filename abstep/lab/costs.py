"""What a measured run's collectives cost: launch, latency, bytes, and how compute and transport slow each other."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from abstep.lab.measured import MeasuredBackward, RankWindow
    from abstep.measure.run import MeasuredRun

SAME_SIZE = 0.05
"""Sizes within this share of each other are the same size."""
OTHER_SIZE = 1.5
"""Sizes this far apart tell latency from bandwidth."""
BESIDE, ALONE = 0.9, 0.1
"""From this share of a transport beside compute it counts as overlapped; up to this one as alone."""
LEAST_ALONE = 3
LEAST_KNOWN = 0.2
"""Share of overlapped compute whose alone duration must be known before a slowdown is named."""
NOTICED = 1.02
"""Slowdowns below this are noise and count as none."""
SIGNATURE = ("rank", "operator", "base", "shape")


@dataclass(frozen=True)
class Costs:
    """What was measured. Times ns; None where the run cannot tell.

    Attributes:
        launch: between a collective's turn and its start, the median.
        latency: of transport, before bytes count; None: one size only was measured.
        byte_ns: of transport, a byte of the bucket.
        compute_slowdown: of compute beside collectives; None: no alone durations to compare with.
        beside: the share of compute time that ran beside collectives: what that rests on.
        transport_slowdown: of bytes beside compute; None: no two alike, one beside compute and one alone.
        whole: whether waiting for late ranks could be taken out of every transport.

    """

    launch: float
    latency: float | None
    byte_ns: float
    compute_slowdown: float | None
    beside: float
    transport_slowdown: float | None
    whole: bool


class Transport(NamedTuple):
    """One bucket of the step, mean over windows: bytes, ns of transport, the share of it beside compute."""

    bytes: float
    ns: float
    beside: float


def costs(run: MeasuredRun, found: MeasuredBackward, latency: float | None = None) -> Costs:
    """Measure what collectives cost.

    Args:
        run: the run.
        found: its backward.
        latency: ns, where the user knows it and one size only was measured.

    """
    transports, whole = _transports(found)
    slowdown = _transport_slowdown(transports)
    calm = [
        (each.bytes, each.ns * (1 - each.beside * (1 - 1 / slowdown)) if slowdown else each.ns)
        for each in transports
    ]
    measured, byte_ns = _line(calm, latency)
    return Costs(
        launch=_launch(ranked for window in found.windows for ranked in window),
        latency=measured,
        byte_ns=byte_ns,
        compute_slowdown=_compute_slowdown(run),
        beside=_beside(run),
        transport_slowdown=slowdown,
        whole=whole,
    )


def _launch(ranks: Iterable[RankWindow]) -> float:
    """Median time between a collective's turn (ready, the one before it ended) and its start."""
    gaps = []
    for ranked in ranks:
        free = 0
        for one in ranked.reductions:
            if one.start >= free:  # else another stream carried it
                gaps.append(one.start - max(one.ready, free))
            free = max(free, one.end)
    return max(float(median(gaps)), 0.0)


def _transports(found: MeasuredBackward) -> tuple[list[Transport], bool]:
    """Return each bucket's mean transport, by its place and size, over windows that have it."""
    sums: dict[tuple[int, int], list[Transport]] = {}
    whole = True
    for window in found.windows:
        # on a common time: the first reduction ends together
        shift = [ranked.reductions[0].end for ranked in window]
        busy_until = max(ranked.backward_end - moved for ranked, moved in zip(window, shift, strict=True))
        for place, of_ranks in enumerate(zip(*(ranked.reductions for ranked in window), strict=True)):
            known = [one.transport for one in of_ranks if one.transport is not None]
            whole = whole and len(known) == len(of_ranks)
            length = fmean(known) if known else min(one.end - one.start for one in of_ranks)
            end = fmean(one.end - moved for one, moved in zip(of_ranks, shift, strict=True))
            beside = min(max(busy_until - (end - length), 0.0), length) / length if length > 0 else 0.0
            sums.setdefault((place, of_ranks[0].bytes), []).append(
                Transport(of_ranks[0].bytes, length, beside)
            )
    means = [Transport(*(fmean(column) for column in zip(*rows, strict=True))) for rows in sums.values()]
    return means, whole


def _transport_slowdown(transports: Sequence[Transport]) -> float | None:
    """Compare transports of one size, beside compute and alone."""
    ratios = []
    for beside in transports:
        if beside.beside < BESIDE:
            continue
        alone = [
            each.ns
            for each in transports
            if each.beside <= ALONE and abs(each.bytes - beside.bytes) <= SAME_SIZE * beside.bytes
        ]
        if alone and fmean(alone) > 0:
            ratios.append(beside.ns / fmean(alone))
    if not ratios:
        return None
    return fmean(ratios) if fmean(ratios) >= NOTICED else 1.0


def _line(points: Sequence[tuple[float, float]], latency: float | None) -> tuple[float | None, float]:
    """Fit ns = latency + bytes x byte_ns by least squares; where that gives no latency, through the origin."""
    sizes = [size for size, _ in points]
    if max(sizes) >= OTHER_SIZE * min(sizes):
        middle, height = fmean(sizes), fmean(ns for _, ns in points)
        spread = sum((size - middle) ** 2 for size in sizes)
        slope = sum((size - middle) * (ns - height) for size, ns in points) / spread
        start = height - slope * middle
        if slope > 0 and start >= 0:
            return start, slope
        return 0.0, _through(points, 0.0)
    given = min(latency or 0.0, *(ns for _, ns in points))
    return (None if latency is None else given), _through(points, given)


def _through(points: Sequence[tuple[float, float]], start: float) -> float:
    return sum(size * (ns - start) for size, ns in points) / sum(size * size for size, _ in points)


def _beside(run: MeasuredRun) -> float:
    overlap, total = run.signatures.select(pl.col("overlap_ns").sum(), pl.col("ns").sum()).row(0)
    return overlap / total if total else 0.0


def _compute_slowdown(run: MeasuredRun) -> float | None:
    """Time beside collectives against the time the same work takes alone, where that is known."""
    summed = run.signatures.group_by(SIGNATURE).agg(
        pl.col("count", "ns", "alone_count", "alone_ns", "overlap_ns").sum()
    )
    beside = summed.filter(pl.col("overlap_ns") > 0)
    known = beside.filter(pl.col("alone_count") >= LEAST_ALONE)
    total, overlap = int(beside["overlap_ns"].sum()), int(known["overlap_ns"].sum())
    if not total or overlap < LEAST_KNOWN * total:
        return None
    alone = pl.col("alone_ns") / pl.col("alone_count")
    excess = pl.col("ns") - pl.col("alone_ns") - alone * (pl.col("count") - pl.col("alone_count"))
    work = overlap - float(known.select(excess.sum()).item())
    slowdown = overlap / work if work > 0 else None
    return slowdown if slowdown is None or slowdown >= NOTICED else 1.0
