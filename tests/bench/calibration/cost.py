"""Measure what a comparison costs: 200 intervals x 200 windows x 5 repeats a side, in at most 200 ms."""

from __future__ import annotations

import subprocess
import sys
import time

import calibration_data as data
import numpy as np

from abstep.compare.statistics import check_run, compare_runs

BUDGET_MS = 200.0


def sides(repeats: int, windows: int = 200, intervals: int = 200):
    rng = data.rng_of("cost", repeats)
    of = data.family(rng, intervals)
    return [
        [data.run(data.steps(rng, windows, 0.3), data.intervals(rng, of, windows)) for _ in range(repeats)]
        for _ in range(2)
    ]


def main() -> int:
    program = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    for module in ("numpy", "abstep.compare.statistics"):
        seconds = [
            float(
                subprocess.run(
                    [sys.executable, "-c", program.format(module)], check=True, capture_output=True
                ).stdout
            )
            for _ in range(5)
        ]
        print(f"import {module}: {1e3 * min(seconds):.0f} ms")
    slowest = 0.0
    for name, call, repeats in (
        ("first call, scipy.special loaded", compare_runs, 1),
        ("200 x 200 x 1", compare_runs, 1),
        ("200 x 200 x 5", compare_runs, 5),
        ("a run against itself, 200 x 200 x 5", lambda base, _: check_run(base), 5),
    ):
        pair = sides(repeats)
        spent = []
        for _ in range(1 if name.startswith("first") else 9):
            start = time.perf_counter()
            call(*pair)
            spent.append(1e3 * (time.perf_counter() - start))
        print(f"{name}: {np.median(spent):.0f} ms")
        slowest = max(slowest, float(np.median(spent)))
    return int(slowest > BUDGET_MS)


if __name__ == "__main__":
    sys.exit(main())
