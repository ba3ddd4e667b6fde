"""What a reader hands on: one file as tables of columns, with its own small dictionaries.

The columns are those of store/schema.sql without `file`; `name` and `path` count within this file. No other
room knows a trace format.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SPANS: dict[str, pl.DataType | type[pl.DataType]] = {
    "span": pl.Int32,
    "kind": pl.Int8,
    "name": pl.Int32,
    "stream": pl.Int64,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "launch_start": pl.Int64,
    "launch_end": pl.Int64,
    "thread": pl.Int32,
    "path": pl.Int32,
    "range_start": pl.Int64,
    "range_path": pl.Int32,
    "shape": pl.Int32,
    "graph": pl.Boolean,
    "bytes": pl.Int64,
    "device": pl.Int32,
    "resource": pl.Int32,
}
RESOURCES: dict[str, pl.DataType | type[pl.DataType]] = {
    "resource": pl.Int32,
    "blocks": pl.Int32,
    "threads": pl.Int32,
    "registers": pl.Int32,
    "shared_bytes": pl.Int32,
    "occupancy_pct": pl.Float64,
}
COLLECTIVES: dict[str, pl.DataType | type[pl.DataType]] = {
    "span": pl.Int32,
    "collective": pl.String,
    "source": pl.String,
    "group_name": pl.String,
    "group_desc": pl.String,
    "group_size": pl.Int32,
    "group_ranks": pl.String,
    "seq": pl.Int64,
    "bytes": pl.Int64,
    "dtype": pl.String,
    "reduction": pl.String,
    "peer": pl.Int32,
}
WAITS: dict[str, pl.DataType | type[pl.DataType]] = {
    "stream": pl.Int64,
    "on_stream": pl.Int64,
    "wait_start": pl.Int64,
    "record_start": pl.Int64,
}
HOST_CALLS: dict[str, pl.DataType | type[pl.DataType]] = {
    "thread": pl.Int32,
    "name": pl.Int32,
    "kind": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
}
MARKS: dict[str, pl.DataType | type[pl.DataType]] = {
    "thread": pl.Int32,
    "name": pl.Int32,
    "step": pl.Int64,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
}
THREADS: dict[str, pl.DataType | type[pl.DataType]] = {
    "thread": pl.Int32,
    "pid": pl.Int64,
    "tid": pl.Int64,
    "label": pl.String,
    "has_step": pl.Boolean,
    "has_backward": pl.Boolean,
}
NAMES: dict[str, pl.DataType | type[pl.DataType]] = {"name": pl.Int32, "text": pl.String}
PATHS: dict[str, pl.DataType | type[pl.DataType]] = {"path": pl.Int32, "parent": pl.Int32, "name": pl.Int32}


@dataclass(frozen=True)
class FileFacts:
    """What a file says about itself; schema.sql, table `files`.

    Attributes:
        format: 'kineto'.
        rank: distributedInfo.rank, null when the file does not say.
        world_size: distributedInfo.world_size.
        backend: as recorded.
        device: 'cuda', 'rocm', 'xpu', 'cpu', ….
        device_name: as recorded.
        device_index: the device most of its activities sit on.
        host: host name as recorded.
        software: library -> version.
        profiler: record_shapes, with_stack, … as recorded.
        groups: distributedInfo.pg_config.
        events: events read.
        odd_events: events counted and skipped.
        odd_example: the first of them, in words.
        notes: what else was odd and how it was taken, in words.
        truncated: the file ended before its JSON did, after the last event.
        trace_start: earliest start of any span, ns.
        trace_end: latest end of any span, ns.
        host_only: no device activity.

    """

    format: str
    rank: int | None
    world_size: int | None
    backend: str | None
    device: str
    device_name: str | None
    device_index: int | None
    host: str | None
    software: Mapping[str, Any]
    profiler: Mapping[str, Any]
    groups: Sequence[Any]
    events: int
    odd_events: int
    odd_example: str | None
    notes: Sequence[str]
    truncated: bool
    trace_start: int
    trace_end: int
    host_only: bool


@dataclass(frozen=True)
class FileTables:
    """One trace file as columns; see the module."""

    facts: FileFacts
    names: pl.DataFrame
    paths: pl.DataFrame
    spans: pl.DataFrame
    collectives: pl.DataFrame
    waits: pl.DataFrame
    host_calls: pl.DataFrame
    marks: pl.DataFrame
    threads: pl.DataFrame
    resources: pl.DataFrame


def frame(columns: Mapping[str, Any], schema: Mapping[str, Any]) -> pl.DataFrame:
    """Return the columns as a frame of exactly that schema; a missing column is all null."""
    height = max((len(values) for values in columns.values()), default=0)
    series = []
    for name, dtype in schema.items():
        values = columns.get(name)
        if values is None:
            series.append(pl.Series(name, [None] * height, dtype=dtype))
        else:
            series.append(pl.Series(name, values).cast(dtype))
    return pl.DataFrame(series)
