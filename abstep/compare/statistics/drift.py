"""Whether a repeat drifts: its first half against its second (STATISTICS 2.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from abstep.compare.statistics.core import GUARD_WINDOWS, two_sample

if TYPE_CHECKING:
    from abstep.compare.statistics.types import Floats

DRIFT_WINDOWS = 20
DRIFT_P = 0.01


class Drift(NamedTuple):
    """The second half's mean over the first's, in percent, and the core test's p."""

    percent: float
    p: float


def find_drift(step: Floats) -> Drift | None:
    """Return the drift of the typical windows (n,) of one repeat, or None when there is none to tell.

    It warns and changes no verdict: drift slower than a third of the repeat looks like a difference between
    runs, and only interleaved repeats tell the two apart.
    """
    n = len(step)
    if n < DRIFT_WINDOWS:
        return None
    first, second = step[: n // 2], step[n // 2 :]
    # a drift makes neighbours alike: below 20 windows a half, what guards against that would hide it
    estimate = two_sample(first[None], second[None], guard=len(first) >= GUARD_WINDOWS)
    p = float(estimate.p()[0])
    if p > DRIFT_P or not first.mean() > 0:
        return None
    return Drift(100.0 * float(estimate.delta[0]) / float(first.mean()), p)
