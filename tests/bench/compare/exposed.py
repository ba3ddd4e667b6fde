"""Time the exposed stretches of 1 M spans of one rank trace: sweep, categories, attribution. CPU time, best of 3.

python tests/bench/compare/exposed.py
"""

from __future__ import annotations

import time

import numpy as np
import polars as pl

from abstep.measure.categories import categories
from abstep.measure.dependencies import dependencies
from abstep.measure.exposed import exposed_parts
from abstep.measure.timeline import Timeline
from abstep.model import Kind
from abstep.trace.tables import HOST_CALLS, WAITS

SPANS, COLLECTIVE_EVERY, STEPS = 1_000_000, 10, 200


def trace() -> Timeline:
    """Return a compute stream of 10 us kernels and a collective stream: one in ten spans, 60 us of every 90."""
    rng = np.random.default_rng(0)
    collectives = SPANS // COLLECTIVE_EVERY
    computes = SPANS - collectives
    start = np.concatenate([np.arange(computes) * 10_000, np.arange(collectives) * 90_000 + 5_000])
    length = np.concatenate(
        [rng.integers(5_000, 10_000, computes), rng.integers(40_000, 60_000, collectives)]
    )
    kind = np.repeat([int(Kind.COMPUTE), int(Kind.COMMUNICATION)], [computes, collectives])
    order = np.argsort(start, kind="stable")
    start, length, kind = start[order], length[order], kind[order]
    edges = np.linspace(0, int(start[-1]) + 100_000, STEPS + 1).astype(np.int64)
    zeros = np.zeros(SPANS, dtype=np.int64)
    return Timeline(
        0,
        0,
        0,
        host_only=False,
        row=np.arange(SPANS),
        start=start,
        end=start + length,
        kind=kind,
        stream=np.where(kind == Kind.COMMUNICATION, 20, 7),
        name=zeros,
        launch=start - 50_000,
        launch_end=start - 49_000,
        thread=zeros,
        window=np.searchsorted(edges, start, side="right") - 1,
        graph=zeros.astype(bool),
        packing=zeros.astype(bool),
        windows=np.arange(STEPS),
        window_start=edges[:-1],
        window_end=edges[1:],
    )


def main() -> None:
    best = {"categories": np.inf, "dependencies": np.inf, "exposed": np.inf}
    for _ in range(3):
        line = trace()
        begun = time.process_time()
        categories(line)
        after = time.process_time()
        needs = dependencies(line, pl.DataFrame(schema=WAITS), pl.DataFrame(schema=HOST_CALLS))
        later = time.process_time()
        exposed_parts(line, needs)
        took = (after - begun, later - after, time.process_time() - later)
        best = {name: min(best[name], seconds) for name, seconds in zip(best, took, strict=True)}
    print(f"{SPANS:,} spans: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items()))


if __name__ == "__main__":
    main()
