"""Predict what a change would do to a measured run's step: every typical window played as it was, and changed.

What is predicted is the difference between the two plays, added to what was measured: what the model leaves out
is in both and drops out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from abstep.lab.assumptions import assumptions
from abstep.lab.backward import MIB, Backward, Rank
from abstep.lab.controls import ns
from abstep.lab.costs import costs
from abstep.lab.measured import measured_backward
from abstep.lab.overlap import CONSTRAINTS, Parts, Play, play

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abstep.lab.backward import Time
    from abstep.lab.costs import Costs
    from abstep.lab.measured import MeasuredBackward, RankWindow
    from abstep.measure.run import MeasuredRun

MOST_WINDOWS, LEAST_WINDOWS = 200, 10
MOST_EVENTS = 100_000
"""More typical windows than can be played in seconds are thinned evenly: buckets x ranks^2 a window."""


@dataclass(frozen=True)
class Change:
    """What is asked. None keeps what was measured.

    Attributes:
        bucket_mb: MiB at which a bucket closes.
        late_launch: launch when the backward has ended (True) or as buckets fill (False).
        streams: communication streams.
        launch_us: launch cost, us.
        bandwidth: bus bandwidth, decimal GB/s.
        latency_us, compute_slowdown, transport_slowdown: how the system is, where the run cannot tell: they are
            used to read the run as well.

    """

    bucket_mb: float | None = None
    late_launch: bool | None = None
    streams: int | None = None
    launch_us: float | None = None
    bandwidth: float | None = None
    latency_us: float | None = None
    compute_slowdown: float | None = None
    transport_slowdown: float | None = None


@dataclass(frozen=True)
class Prediction:
    """A prediction. Times ns, means a window and rank.

    Attributes:
        measured: the run's backward.
        costs: what its collectives cost.
        replay: the model's parts of the run as it was.
        predicted: the model's parts of the changed run.
        gap: what keeps the changed step from its ideal.
        ideal: the changed step's.
        buckets: bytes of the changed run's buckets.
        sample: one window as it was, and changed, for the timelines.
        assumptions: sentences.

    """

    measured: MeasuredBackward
    costs: Costs
    replay: Parts
    predicted: Parts
    gap: Mapping[str, float]
    ideal: float
    buckets: tuple[int, ...]
    sample: tuple[Play, Play]
    assumptions: tuple[str, ...]

    @property
    def step(self) -> float:
        """Return the predicted step: what was measured, and the model's difference."""
        return self.measured.step + self.delta("step")

    def delta(self, part: str) -> float:
        """Return the predicted change of the step or of a part."""
        return float(getattr(self.predicted, part) - getattr(self.replay, part))

    @property
    def binding(self) -> str | None:
        """Return what costs the changed step most; None when its ideal is reached."""
        name = max(CONSTRAINTS, key=lambda each: self.gap[each])
        return name if self.gap[name] > 0 else None


def predict(run: MeasuredRun, change: Change) -> Prediction:
    """Predict a change of a measured run.

    Args:
        run: the run, all ranks.
        change: what would be different.

    Raises:
        AbstepError: the run holds no data-parallel backward.

    """
    found = measured_backward(run)
    known = costs(run, found, None if change.latency_us is None else 1000 * change.latency_us)
    slow = (
        _factor(change.compute_slowdown, known.compute_slowdown),
        _factor(change.transport_slowdown, known.transport_slowdown),
    )
    chosen = _thinned(found)
    plays = []
    for index in chosen:
        base = _as_measured(found, found.windows[index], known, slow)
        plays.append((play(base), play(_changed(base, change, len(found.windows[index])))))
    shares = [found.shares[index] for index in chosen]
    total = sum(shares)
    weights = [share / total for share in shares]
    replay, predicted = (_mean_parts([pair[side].parts for pair in plays], weights) for side in (0, 1))
    gap = {
        name: sum(float(pair[1].gap[name]) * weight for pair, weight in zip(plays, weights, strict=True))
        for name in CONSTRAINTS
    }
    sample = plays[len(plays) // 2]
    return Prediction(
        measured=found,
        costs=known,
        replay=replay,
        predicted=predicted,
        gap=gap,
        ideal=sum(float(pair[1].ideal) * weight for pair, weight in zip(plays, weights, strict=True)),
        buckets=tuple(bucket.bytes for bucket in sample[1].backward.buckets()),
        sample=sample,
        assumptions=tuple(assumptions(found, known, change, slow, len(chosen))),
    )


def _thinned(found: MeasuredBackward) -> list[int]:
    count = len(found.windows)
    window = found.windows[0]
    fit = MOST_EVENTS // max(len(window) ** 2 * len(window[0].reductions), 1)
    most = max(LEAST_WINDOWS, min(MOST_WINDOWS, fit))
    return [at * count // most for at in range(most)] if count > most else list(range(count))


def _factor(given: float | None, measured: float | None) -> Fraction:
    return Fraction(str(round(given if given is not None else measured or 1.0, 4)))


def _as_measured(
    found: MeasuredBackward, window: Sequence[RankWindow], known: Costs, slow: tuple[Fraction, Fraction]
) -> Backward:
    """Return one window as the model sees it: compute undisturbed, the ranks on one clock."""
    ends = [sum(one.end for one in ranked.reductions) // len(ranked.reductions) for ranked in window]
    return Backward(
        sizes=tuple(one.bytes for one in window[0].reductions),
        even=True,
        ranks=tuple(
            _rank(ranked, max(ends) - end, slow[0], late=found.late_launch)
            for ranked, end in zip(window, ends, strict=True)
        ),
        launch=round(known.launch),
        latency=round(known.latency or 0.0),
        byte_ns=Fraction(known.byte_ns),
        compute_slowdown=slow[0],
        transport_slowdown=slow[1],
        streams=found.streams,
        late_launch=found.late_launch,
    )


def _rank(ranked: RankWindow, start: int, slow: Fraction, *, late: bool) -> Rank:
    """Return a rank's compute. Ranks whose collectives end together have started this much apart."""
    work = _Undisturbed(ranked, slow)
    backward, begins = work.at(ranked.backward_end), work.at(ranked.begins)
    sizes = [one.bytes for one in ranked.reductions]
    if late:
        total = sum(sizes)
        so_far = [sum(sizes[: place + 1]) for place in range(len(sizes))]
        ready = tuple(begins + round((backward - begins) * Fraction(held, total)) for held in so_far)
    else:
        ready = tuple(work.at(one.ready) for one in ranked.reductions)
    return Rank(ranked.rank, start, ready, backward, begins, max(ranked.length - ranked.resumes, 0))


class _Undisturbed:
    """Turns a time since the window's start into how long it would have taken without collectives beside it."""

    def __init__(self, ranked: RankWindow, slow: Fraction) -> None:
        self.slow = slow
        self.end = ranked.backward_end
        self.busy: list[tuple[int, int]] = []
        for one in sorted(ranked.reductions, key=lambda each: each.start):
            low = max(one.start, self.busy[-1][1]) if self.busy else one.start
            if min(one.end, self.end) > low:
                self.busy.append((low, min(one.end, self.end)))

    def at(self, time: int) -> int:
        """Return the ns of undisturbed compute before a time."""
        if self.slow == 1:
            return time
        beside = sum(max(min(high, time) - low, 0) for low, high in self.busy)
        return time - round(beside * (1 - 1 / self.slow))


def _changed(base: Backward, change: Change, ranks: int) -> Backward:
    changed = base
    if change.bucket_mb is not None:
        changed = replace(changed, bucket=max(1, round(change.bucket_mb * MIB)))
    if change.late_launch is not None:
        changed = replace(changed, late_launch=change.late_launch)
    if change.streams is not None:
        changed = replace(changed, streams=change.streams)
    if change.launch_us is not None:
        changed = replace(changed, launch=ns(change.launch_us))
    if change.bandwidth is not None:
        factor = Fraction(2 * (ranks - 1), ranks)
        changed = replace(changed, byte_ns=factor / Fraction(str(change.bandwidth)))
    return changed


def _mean_parts(parts: Sequence[Parts], weights: Sequence[float]) -> Parts:
    def mean(name: str) -> Time:
        value = sum(float(getattr(part, name)) * weight for part, weight in zip(parts, weights, strict=True))
        return Fraction(value)

    return Parts(*(mean(name) for name in Parts.__dataclass_fields__))


def replay_error(prediction: Prediction) -> float:
    """Return the model's step of the run as it was minus the measured one, ns."""
    return float(prediction.replay.step) - prediction.measured.step
