"""Trace events written by hand, for tests of the reader: times in microseconds as text."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

Event = dict[str, Any]
MAIN = {"pid": 10, "tid": 10}
BACKWARD = {"pid": 10, "tid": 11}
GLOO = {"pid": 10, "tid": 20}


class Number(float):
    """A number that is written as its text says."""

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        return self.text


def event(cat: str, name: str, ts: Any, dur: Any, place: Event = MAIN, **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, **place, "ts": _time(ts), "dur": _time(dur), "args": args}


def _time(value: Any) -> Any:
    return Number(value) if isinstance(value, str) else value


def op(name: str, ts: Any, dur: Any, place: Event = MAIN, **args: Any) -> Event:
    return event("cpu_op", name, ts, dur, place, **args)


def note(name: str, ts: Any, dur: Any, place: Event = MAIN, **args: Any) -> Event:
    return event("user_annotation", name, ts, dur, place, **args)


def call(
    correlation: int, ts: Any, dur: Any = 5, name: str = "cudaLaunchKernel", place: Event = MAIN
) -> Event:
    return event("cuda_runtime", name, ts, dur, place, correlation=correlation)


def kernel(correlation: int, ts: Any, dur: Any, name: str = "gemm", stream: int = 7, **args: Any) -> Event:
    place = {"pid": 0, "tid": stream}
    return event("kernel", name, ts, dur, place, correlation=correlation, stream=stream, device=0, **args)


def trace(*events: Event, **head: Any) -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "distributedInfo": {"rank": 0, "world_size": 1},
        **head,
        "traceEvents": list(events),
    }


def write(path: Path, whole: Any) -> Path:
    data = json.dumps(whole).encode()
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path
