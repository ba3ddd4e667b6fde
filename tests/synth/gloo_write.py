"""Files of a host-only run, in the layout that recorded gloo traces have."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

    from synth.gloo import GlooRank, GlooRun

BASE_NS = 1_790_857_026_000_000_000
ORIGIN_NS = BASE_NS + 5_128_074_851_000_000


def write_gloo(run: GlooRun, folder: Path, names: str = "rank{}.pt.trace.json") -> Path:
    """One gzipped file a rank, and run.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in run.ranks:
        text = msgspec.json.encode(_document(run, rank, names.format(rank.rank)))
        (folder / f"{names.format(rank.rank)}.gz").write_bytes(gzip.compress(text, 1, mtime=0))
    note = {"label": run.label, "settings": run.settings}
    (folder / "run.json").write_bytes(msgspec.json.encode(note))
    return folder


def _us(ns: int) -> msgspec.Raw:
    return msgspec.Raw(f"{ns // 1_000}.{ns % 1_000:03d}".encode())


def _document(run: GlooRun, rank: GlooRank, name: str) -> dict[str, Any]:
    pid = 10_581 + 20 * rank.rank
    tids = [pid, pid + 6, pid + 7]
    zero = ORIGIN_NS - BASE_NS
    events: list[dict[str, Any]] = []
    for n, row in enumerate(rank.rows):
        args: dict[str, Any] = {"External id": 1 + n, "Record function id": 0}
        if row.dims:
            args |= {"Concrete Inputs": [""], "Input type": ["float"], "Input Dims": row.dims}
        when = {"ts": _us(zero + row.start), "dur": _us(row.end - row.start)}
        where = {"pid": pid, "tid": tids[row.thread]}
        head = {"ph": "X", "cat": row.cat, "name": row.name}
        events.append({**head, **where, **when, "args": args | {"Ev Idx": n}})
    for tid, label in zip(tids, ("python", "pt_gloo_runloop", "pt_gloo_runloop"), strict=True):
        args = {"name": f"thread {tid} ({label})"}
        events.append(
            {"ph": "M", "name": "thread_name", "ts": _us(zero), "pid": pid, "tid": tid, "args": args}
        )
    everyone = list(range(run.job.world))
    group = {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cpu:gloo,cuda:gloo"}
    info = {
        "backend": "gloo",
        "rank": rank.rank,
        "world_size": run.job.world,
        "pg_count": 1,
        "pg_config": [{**group, "pg_size": run.job.world, "ranks": everyone}],
    }
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        "record_shapes": 1,
        "distributedInfo": info,
        "host_name": "host-a",
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": BASE_NS,
        "traceEvents": events,
        "traceName": name,
    }
