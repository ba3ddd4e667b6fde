"""How a difference becomes a verdict: windows used, tests, families and words (STATISTICS).

Importing this package loads numpy only; scipy.special is loaded by the first test.
"""

from abstep.compare.statistics.additive import window_weights
from abstep.compare.statistics.check import CheckResult, Finding, check_run
from abstep.compare.statistics.compare import compare_runs
from abstep.compare.statistics.types import (
    CHANGED,
    ONE_RUN_SENTENCE,
    Delta,
    Dropped,
    RunMetrics,
    Sides,
    StatisticsOptions,
    StatisticsResult,
    StatisticsWarning,
    Tail,
    Verdict,
)

__all__ = [
    "CHANGED",
    "ONE_RUN_SENTENCE",
    "CheckResult",
    "Delta",
    "Dropped",
    "Finding",
    "RunMetrics",
    "Sides",
    "StatisticsOptions",
    "StatisticsResult",
    "StatisticsWarning",
    "Tail",
    "Verdict",
    "check_run",
    "compare_runs",
    "window_weights",
]
