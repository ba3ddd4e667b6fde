"""CPU time and peak memory of reading a trace, beside the floor: inflating it and a scan that keeps nothing.

    python tests/bench/ingest/measure.py TRACE... [--rounds 3]

Each figure is the least of some rounds, each in a process of its own; times are CPU seconds of user and system
after imports.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WAYS = ("floor", "read", "store")


def floor(path: Path) -> int:
    import msgspec

    from abstep.trace import text
    from abstep.trace.inflate import blocks

    class Nothing(msgspec.Struct, gc=False):
        pass

    text.decode_events = msgspec.json.Decoder(list[Nothing]).decode
    text.StackFilter.without_stacks = lambda _, __: None
    return sum(len(events) for events in text.TraceText(str(path), blocks(path)).events())


def read(path: Path) -> int:
    from abstep.trace.detect import read_trace

    return read_trace(path).spans.height


def store(path: Path) -> int:
    from abstep.store import open_store

    with tempfile.TemporaryDirectory() as place, open_store(Path(place) / "store.duckdb") as kept:
        kept.ingest(path)
        return (Path(place) / "store.duckdb").stat().st_size


def one(way: str, path: Path) -> dict[str, Any]:
    import abstep.store
    import abstep.trace.detect  # noqa: F401

    before = time.process_time()
    start = time.perf_counter()
    result = {"floor": floor, "read": read, "store": store}[way](path)
    return {
        "cpu": time.process_time() - before,
        "wall": time.perf_counter() - start,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "result": result,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=WAYS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.traces[0])))
        return
    for path in given.traces:
        best: dict[str, dict[str, Any]] = {}
        for _ in range(given.rounds):
            for way in WAYS:
                command = [sys.executable, __file__, str(path), "--one", way]
                found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                if way not in best or found["cpu"] < best[way]["cpu"]:
                    best[way] = found
        print(f"{path.name}")
        for way in WAYS:
            row = best[way]
            ratio = row["cpu"] / best["floor"]["cpu"]
            print(
                f"  {way:6s} {row['cpu']:7.2f} s cpu {row['wall']:7.2f} s wall {ratio:5.1f} x floor"
                f" {row['peak_mb']:7.0f} MB peak  ({row['result']})"
            )


if __name__ == "__main__":
    main()
