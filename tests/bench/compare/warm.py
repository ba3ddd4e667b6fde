"""How long a compare takes from a warm store, and how it grows: 8 ranks x 50 windows x 5,000 spans a side.

    python tests/bench/compare/warm.py [--ranks 8] [--windows 50] [--spans 5000] [--stages]

The runs are made of columns, not of trace files: one data-parallel step repeated, with noise, written to a store
of its own; then `abstep compare` runs on it as a whole process. Prints CPU seconds and peak memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

PROJECT = Path(__file__).resolve().parents[3]
BUCKETS = 20
FILE_ROW = """
INSERT INTO files (file, content, path, size_bytes, format, rank, world_size, backend, device, device_name,
  device_index, host, software, profiler, groups, events, odd_events, truncated, trace_start, trace_end, host_only,
  notes)
SELECT ?, ?, ?, 1, 'kineto', ?, ?, 'nccl', 'cuda', 'GPU', 0, 'n', '{}', '{}', '[]', 1, 0, false, 0, 1, false, '[]'
"""


def columns(ranks: int, windows: int, spans: int, seed: int) -> dict[str, pl.DataFrame]:
    """One run's tables: `spans` compute kernels a window and 20 all_reduces beside its second half."""
    noise = np.random.default_rng(seed)
    frames: dict[str, list[pl.DataFrame]] = {"spans": [], "collectives": [], "marks": [], "waits": []}
    per_step = spans * 20_000 + 2_000_000
    names = np.arange(spans) % 40
    for rank in range(ranks):
        for step in range(windows):
            origin = 1_000_000_000_000 + step * per_step
            length = np.maximum(1_000, noise.normal(18_000, 500, spans)).astype(np.int64)
            start = origin + np.arange(spans) * 20_000
            launch = origin - 5_000_000 + np.arange(spans) * 900
            backward = np.arange(spans) >= spans // 3
            optimizer = np.arange(spans) >= spans - 20
            path = np.where(optimizer, 2, np.where(backward, 1, 0))
            start = np.where(optimizer, start + 1_500_000, start)
            compute = pl.DataFrame(
                {
                    "kind": np.zeros(spans, np.int8),
                    "name": names.astype(np.int32),
                    "stream": np.full(spans, 7),
                    "start_ns": start,
                    "end_ns": start + length,
                    "launch_start": launch,
                    "launch_end": launch + 500,
                    "thread": np.where(backward & ~optimizer, 1, 0).astype(np.int32),
                    "path": path.astype(np.int32),
                    "range_start": launch - launch % 5,
                    "range_path": path.astype(np.int32),
                },
            )
            first = spans // 3 + (np.arange(BUCKETS) + 1) * ((spans - 40 - spans // 3) // BUCKETS)
            begin = start[first] + noise.integers(0, 3_000, BUCKETS) + rank
            finish = (
                origin + (first + 60) * 20_000 + np.where(np.arange(BUCKETS) == BUCKETS - 1, 1_200_000, 0)
            )
            collective = pl.DataFrame(
                {
                    "kind": np.ones(BUCKETS, np.int8),
                    "name": np.full(BUCKETS, 50, np.int32),
                    "stream": np.full(BUCKETS, 20),
                    "start_ns": begin,
                    "end_ns": np.maximum(finish, begin + 10),
                    "launch_start": launch[first] + 100,
                    "launch_end": launch[first] + 400,
                    "thread": np.ones(BUCKETS, np.int32),
                    "path": np.full(BUCKETS, 3, np.int32),
                    "range_start": launch[first] - 1,
                    "range_path": np.ones(BUCKETS, np.int32),
                },
            )
            frames["spans"].append(
                pl.concat([compute, collective]).with_columns(rank=pl.lit(rank, pl.Int32), step=pl.lit(step)),
            )
            last = launch[spans - 20]
            frames["waits"].append(
                pl.DataFrame(
                    {
                        "rank": rank,
                        "stream": 7,
                        "on_stream": 20,
                        "wait_start": last - 50,
                        "record_start": last - 60,
                    },
                ),
            )
            frames["marks"].append(
                pl.DataFrame(
                    {
                        "rank": rank,
                        "step": step,
                        "start_ns": origin - 5_100_000,
                        "end_ns": origin - 5_100_001 + per_step,
                    },
                ),
            )
    return {name: pl.concat(parts) for name, parts in frames.items() if parts}


def store_run(connection: object, run: int, name: str, ranks: int, made: dict[str, pl.DataFrame]) -> None:
    """Write a run's rows straight into the store's tables."""
    base = run * ranks
    spans = made["spans"].with_columns((pl.col("rank") + base).alias("file")).sort("file", "start_ns")
    spans = spans.with_columns(
        pl.int_range(pl.len()).over("file").cast(pl.Int32).alias("span"),
        pl.lit(None, pl.Int32).alias("shape"),
        pl.lit(value=False).alias("graph"),
        pl.lit(None, pl.Int64).alias("bytes"),
        pl.lit(0, pl.Int32).alias("device"),
        pl.lit(None, pl.Int32).alias("resource"),
    )
    collectives = spans.filter(pl.col("kind") == 1).select(
        "file",
        "span",
        pl.lit("all_reduce").alias("collective"),
        pl.lit("metadata").alias("source"),
        pl.lit("0").alias("group_name"),
        pl.lit("default_pg").alias("group_desc"),
        pl.lit(ranks, pl.Int32).alias("group_size"),
        pl.lit(",".join(map(str, range(ranks)))).alias("group_ranks"),
        pl.int_range(pl.len()).over("file").alias("seq"),
        pl.lit(1 << 22, pl.Int64).alias("bytes"),
        pl.lit("Float").alias("dtype"),
        pl.lit("sum").alias("reduction"),
    )
    for table, frame in (
        ("spans", spans.drop("rank", "step")),
        ("collectives", collectives),
        ("waits", made["waits"].with_columns((pl.col("rank") + base).alias("file")).drop("rank")),
        (
            "marks",
            made["marks"]
            .with_columns(
                (pl.col("rank") + base).alias("file"),
                pl.lit(0, pl.Int32).alias("thread"),
                pl.lit(51, pl.Int32).alias("name"),
            )
            .drop("rank"),
        ),
    ):
        connection.register("rows", frame.to_arrow())
        connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM rows")
        connection.unregister("rows")
    for rank in range(ranks):
        connection.execute(
            FILE_ROW,
            [base + rank, f"made-{run}-{rank}", f"rank{rank}", rank, ranks],
        )
        connection.execute(
            "INSERT INTO run_files VALUES (?, ?, 0, ?, false, ?)", [run, base + rank, rank, f"rank{rank}"]
        )
        for thread, step, back in ((0, True, False), (1, False, True)):
            connection.execute(
                "INSERT INTO threads VALUES (?, ?, 1, ?, 't', ?, ?)",
                [base + rank, thread, thread, step, back],
            )
    connection.execute("INSERT INTO runs VALUES (?, ?, ?, 0)", [run, name, name])
    connection.execute("INSERT INTO run_repeats VALUES (?, 0, '.', '{}', '{}', '{}', NULL)", [run])


def make_store(place: Path, ranks: int, windows: int, spans: int) -> None:
    """Make a store that holds a base and a variant."""
    import duckdb

    from abstep.store import open_store

    open_store(place)
    with duckdb.connect(str(place)) as connection:
        texts = [f"kernel_{i}" for i in range(40)] + [""] * 10
        texts[40:44] = [
            "aten::addmm",
            "autograd::engine::evaluate_function: AddmmBackward0",
            "Optimizer.step#AdamW.step",
            "c10d::allreduce_",
        ]
        texts[44:50] = [f"unused_{i}" for i in range(6)]
        texts += ["ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ProfilerStep#0"]
        connection.executemany("INSERT INTO names VALUES (?, ?)", list(enumerate(texts)))
        connection.executemany(
            "INSERT INTO paths VALUES (?, ?, ?)",
            [(0, -1, 40), (1, -1, 41), (2, -1, 42), (3, 1, 43)],
        )
        for run, name in enumerate(("base", "variant")):
            store_run(connection, run, name, ranks, columns(ranks, windows, spans, run))


def main() -> None:
    """Make the store, then compare from it as a whole process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--windows", type=int, default=50)
    parser.add_argument("--spans", type=int, default=5000)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.keep or Path(folder) / "made.duckdb"
        if not place.exists():
            make_store(place, options.ranks, options.windows, options.spans)
        command = [
            sys.executable,
            "-m",
            "abstep",
            "compare",
            "base",
            "variant",
            "--no-tui",
            "--store",
            str(place),
        ]
        began = time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, check=False, cwd=PROJECT, env={**os.environ, "NO_COLOR": "1"}, capture_output=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"{options.ranks} ranks x {options.windows} windows x {options.spans} spans a side: "
            f"exit {done.returncode}, "
            f"CPU {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.2f} s, "
            f"wall {time.perf_counter() - began:.2f} s, peak {after.ru_maxrss / 1024:.0f} MB, "
            f"store {place.stat().st_size / 1e6:.0f} MB",
        )
        if done.returncode:
            print(done.stderr.decode())


if __name__ == "__main__":
    main()
