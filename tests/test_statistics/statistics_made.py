"""Runs made for these tests: what a test does not name is plain."""

import numpy as np

from abstep.compare.statistics import RunMetrics

US = 1_000
MS = 1_000_000


def a_run(step, *, ranks=1, intervals=None, categories=None, contention=None, numbers=None):
    """Return the columns of one repeat from lists of ns; without categories all of the step is compute_alone."""
    step = np.asarray(step, dtype=np.int64)

    def columns(group):
        return {name: np.asarray(column, dtype=np.int64) for name, column in (group or {}).items()}

    return RunMetrics(
        step_numbers=np.arange(len(step)) if numbers is None else np.asarray(numbers, dtype=np.int64),
        ranks=ranks,
        step=step,
        categories={"compute_alone": step} if categories is None else columns(categories),
        intervals=columns(intervals),
        contention=columns(contention),
    )


def noise(seed, n, mean=100 * MS, sd=1 * MS):
    """Return n step times in ns."""
    return np.rint(np.random.default_rng(seed).normal(mean, sd, n)).astype(np.int64)


def many(seed, n, k=12, *, repeats=1, factor=1.0, mean=1 * MS, sd=0.2 * MS, step_shift=0, ranks=1):
    """Return repeats with k intervals s00.. of which s00 is multiplied by factor."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(repeats):
        slots = {
            f"s{j:02}": np.maximum(0, np.rint(rng.normal(mean, sd, n))).astype(np.int64) for j in range(k)
        }
        slots["s00"] = np.rint(slots["s00"] * factor).astype(np.int64)
        exposed = sum(slots.values())
        rest = np.rint(rng.normal(90 * MS + step_shift, MS, n)).astype(np.int64)
        out.append(
            a_run(
                (exposed + rest) * ranks,
                ranks=ranks,
                intervals={name: x * ranks for name, x in slots.items()},
                categories={"exposed": exposed * ranks, "compute_alone": rest * ranks},
            )
        )
    return out
