"""Gathered columns to the tables of one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from abstep.trace.clean import clean
from abstep.trace.collectives import collective_rows
from abstep.trace.device import COMMUNICATION, SpanColumns, device_spans
from abstep.trace.facts import run_facts
from abstep.trace.gather import COMM_RANGE, NONE, Ids
from abstep.trace.hostonly import host_spans
from abstep.trace.naming import is_backward
from abstep.trace.tables import (
    HOST_CALLS,
    MARKS,
    NAMES,
    PATHS,
    SPANS,
    THREADS,
    WAITS,
    FileFacts,
    FileTables,
    frame,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather

_STEP = re.compile(r"ProfilerStep\s*#?\s*(\d+)")
_HOST_CALLS = (
    ("sync", re.compile(r"(cuda|hip)(Device|Stream|Event)Synchronize|cu(Ctx|Stream|Event)Synchronize")),
    ("copy", re.compile(r"(cuda|hip)Memcpy(?!.*Async)|cuMemcpy(?!.*Async)")),
    (
        "alloc",
        re.compile(r"(cuda|hip)(Free|Malloc|HostAlloc|HostMalloc|MallocHost|FreeHost|HostFree)(?!.*Async)"),
    ),
)
#: Times of spans kept as microseconds; bases are added here, once.
_TIMES = ("start_ns", "end_ns", "launch_start", "launch_end", "range_start")


def assemble(gathered: Gather, header: dict[str, Any], base: int, *, truncated: bool) -> FileTables:
    """Return the file's tables.

    Args:
        gathered: its columns.
        header: its metadata.
        base: instant its times count from, ns.
        truncated: its metadata broke off.

    """
    facts = run_facts(header, gathered)
    host_only = gathered.device.height == 0
    spans = host_spans(gathered, facts["groups"]) if host_only else device_spans(gathered)
    ids = _Names(gathered)
    table = _span_table(spans, base, ids)
    numbers = np.flatnonzero(spans.columns["kind"] == COMMUNICATION)
    collectives = spans.collectives
    if collectives is None:
        collectives = collective_rows(
            gathered,
            spans.ranges,
            numbers,
            spans.device_row[numbers],
            spans.inner_row[numbers],
            spans.columns["name"][numbers],
        )
    marks = _marks(gathered, base, ids)
    host_calls = _host_calls(gathered, base, ids)
    paths = frame(
        {
            "path": np.arange(len(spans.ranges.parent), dtype=np.int32),
            "parent": spans.ranges.parent,
            "name": ids.of(spans.ranges.name),
        },
        PATHS,
    )
    first, last = _extent(table, gathered, base)
    return FileTables(
        facts=FileFacts(
            format="kineto",
            events=gathered.events,
            odd_events=gathered.odd,
            odd_example=clean(gathered.odd_example) if gathered.odd_example else None,
            truncated=truncated,
            trace_start=first,
            trace_end=last,
            host_only=host_only,
            **facts,
        ),
        names=ids.table(),
        paths=paths,
        spans=table,
        collectives=collectives,
        waits=_waits(gathered, base),
        host_calls=host_calls,
        marks=marks,
        threads=_threads(gathered),
    )


class _Names:
    """Ids of the texts that are kept, cleaned; only texts in use get one."""

    def __init__(self, gathered: Gather) -> None:
        self._names = list(gathered.names)
        self._texts = list(gathered.texts)
        self._kept = Ids()
        self._ids = np.full(len(self._names), -1, np.int32)

    def of(self, name: NDArray[Any]) -> NDArray[np.int32]:
        """Return the kept ids of recorded names."""
        for name_id in np.unique(name).tolist():
            if self._ids[name_id] < 0:
                self._ids[name_id] = self._kept[clean(self._names[name_id])]
        return np.asarray(self._ids[name], np.int32)

    def of_shapes(self, text: NDArray[Any]) -> NDArray[np.int64]:
        """Return the kept ids of recorded shapes; NONE where there are none."""
        used, inverse = np.unique(text, return_inverse=True)
        kept = [
            NONE if number < 0 else self._kept[_shape_text(self._texts[number])] for number in used.tolist()
        ]
        return np.array(kept, np.int64)[inverse.ravel()] if len(used) else np.empty(0, np.int64)

    def table(self) -> pl.DataFrame:
        return frame({"name": np.arange(len(self._kept), dtype=np.int32), "text": list(self._kept)}, NAMES)


def _shape_text(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    if "\0" in text:
        grid, _, block = text.partition("\0")
        text = f"grid {grid} block {block}"
    return clean(re.sub(r"\s+", " ", text)).replace("[ ", "[").replace(" ]", "]")


def _optional(values: NDArray[Any], dtype: Any, *, none: int = NONE) -> pl.Series:
    series = pl.Series(values.astype(np.int64))
    return series.set(pl.Series(values == none), None).cast(dtype, strict=False)


def _span_table(spans: SpanColumns, base: int, ids: _Names) -> pl.DataFrame:
    columns: dict[str, Any] = dict(spans.columns)
    columns["span"] = np.arange(len(columns["name"]), dtype=np.int32)
    columns["name"] = ids.of(columns["name"])
    columns["shape"] = ids.of_shapes(columns["shape"])
    for time in _TIMES:
        columns[time] = np.where(columns[time] == NONE, NONE, columns[time] + base)
    for name in ("launch_start", "launch_end", "range_start", "shape", "bytes", "device", "evidence"):
        columns[name] = _optional(columns[name], SPANS[name])
    for name in ("thread", "path", "range_path"):
        columns[name] = _optional(columns[name], SPANS[name], none=-1)
    columns["stream"] = np.where(columns["stream"] == NONE, -1, columns["stream"])
    return frame(columns, SPANS)


def _marks(gathered: Gather, base: int, ids: _Names) -> pl.DataFrame:
    ops = gathered.ops
    names = list(gathered.names)
    name = ops["name"]
    step = np.full(len(names), NONE, np.int64)
    kept = np.zeros(len(names), bool)
    for name_id in np.unique(name).tolist():
        found = _STEP.match(names[name_id])
        step[name_id] = min(int(found.group(1)), 2**62) if found else NONE
        kept[name_id] = COMM_RANGE.match(names[name_id]) is None
    rows = (
        np.flatnonzero((ops["range"].astype(bool) & kept[name]) | (step[name] != NONE)) if len(name) else []
    )
    rows = np.asarray(rows, np.int64)
    rows = rows[np.argsort(ops["start"][rows], kind="stable")]
    return frame(
        {
            "thread": ops["thread"][rows],
            "name": ids.of(name[rows]),
            "step": _optional(step[name[rows]], pl.Int64),
            "start_ns": ops["start"][rows] + base,
            "end_ns": ops["end"][rows] + base,
        },
        MARKS,
    )


def _host_calls(gathered: Gather, base: int, ids: _Names) -> pl.DataFrame:
    calls, names = gathered.calls, list(gathered.names)
    kinds: dict[int, str] = {}
    for name_id in np.unique(calls["name"]).tolist():
        for kind, pattern in _HOST_CALLS:
            if pattern.match(names[name_id]):
                kinds[name_id] = kind
                break
    rows = np.flatnonzero(np.isin(calls["name"], list(kinds))) if kinds else np.empty(0, np.int64)
    rows = rows[np.argsort(calls["start"][rows], kind="stable")]
    return frame(
        {
            "thread": calls["thread"][rows],
            "name": ids.of(calls["name"][rows]),
            "kind": [kinds[name_id] for name_id in calls["name"][rows].tolist()],
            "start_ns": calls["start"][rows] + base,
            "end_ns": calls["end"][rows] + base,
        },
        HOST_CALLS,
    )


def _waits(gathered: Gather, base: int) -> pl.DataFrame:
    syncs, calls = gathered.syncs, gathered.calls
    if not syncs.height or not calls.height:
        return frame({}, WAITS)
    order = np.argsort(calls["correlation"], kind="stable")
    known = calls["correlation"][order]

    def start_of(correlation: NDArray[np.int64]) -> NDArray[np.int64]:
        at = np.minimum(np.searchsorted(known, correlation), len(known) - 1)
        return np.where(known[at] == correlation, calls["start"][order[at]], NONE)

    wait, record = start_of(syncs["correlation"]), start_of(syncs["record"])
    wait = np.where(wait == NONE, syncs["start"], wait)
    kept = record != NONE
    rows = np.flatnonzero(kept)[np.argsort(wait[kept], kind="stable")]
    return frame(
        {
            "stream": syncs["stream"][rows],
            "on_stream": syncs["on_stream"][rows],
            "wait_start": wait[rows] + base,
            "record_start": record[rows] + base,
        },
        WAITS,
    )


def _threads(gathered: Gather) -> pl.DataFrame:
    ops, names = gathered.ops, list(gathered.names)
    count = len(gathered.threads)
    flags = {}
    for flag, test in (
        ("has_step", lambda text: _STEP.match(text) is not None),
        ("has_backward", is_backward),
    ):
        wanted = np.array([test(name) for name in names], bool)
        flags[flag] = np.zeros(count, bool)
        if ops.height:
            flags[flag][np.unique(ops["thread"][wanted[ops["name"]]])] = True
    pids, tids = zip(*gathered.threads, strict=True) if count else ((), ())
    return frame(
        {
            "thread": np.arange(count, dtype=np.int32),
            "pid": pl.Series([v if isinstance(v, int) else None for v in pids], dtype=pl.Int64),
            "tid": pl.Series([v if isinstance(v, int) else None for v in tids], dtype=pl.Int64),
            "label": pl.Series([_label(gathered, pair) for pair in gathered.threads], dtype=pl.String),
            **flags,
        },
        THREADS,
    )


def _label(gathered: Gather, pair: tuple[Any, Any]) -> str | None:
    text = gathered.labels.get(pair)
    return clean(text) if text is not None else None


def _extent(spans: pl.DataFrame, gathered: Gather, base: int) -> tuple[int, int]:
    if spans.height:
        return int(spans["start_ns"].min()), int(spans["end_ns"].max())  # type: ignore[arg-type]
    if gathered.ops.height:
        return int(gathered.ops["start"].min()) + base, int(gathered.ops["end"].max()) + base
    return base, base
