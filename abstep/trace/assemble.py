"""Gathered columns to the tables of one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from abstep.trace.clean import clean
from abstep.trace.collectives import sole_group
from abstep.trace.columns import NONE, Ids
from abstep.trace.device import device_spans
from abstep.trace.facts import device_properties, run_facts
from abstep.trace.hostonly import host_spans
from abstep.trace.nametable import HOST_CALL_KINDS
from abstep.trace.resources import resource_table
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

    from abstep.trace.device import SpanColumns
    from abstep.trace.gather import Gather

_WAIT_TIMES = ("wait_start", "record_start")
_TIMES = ("start_ns", "end_ns", "launch_start", "launch_end", "range_start")


def assemble(
    gathered: Gather, header: dict[str, Any], base: int, *, notes: list[str], truncated: bool
) -> FileTables:
    """Return the file's tables.

    Args:
        gathered: its columns.
        header: its metadata.
        base: instant its times count from, ns.
        notes: what was odd about it, in words.
        truncated: its metadata broke off.

    """
    facts = run_facts(header, gathered)
    host_only = gathered.device.height == 0
    group = sole_group(facts["groups"])
    spans = host_spans(gathered, group) if host_only else device_spans(gathered, group)
    ids = _Names(gathered)
    table = _span_table(spans, base, ids)
    paths = frame(
        {
            "path": np.arange(len(spans.tree.parent), dtype=np.int32),
            "parent": np.array(spans.tree.parent, np.int32),
            "name": ids.of(np.array(spans.tree.name, np.int32)),
        },
        PATHS,
    )
    first, last = _extent(table, gathered, base)
    marks, host_calls = _marks(gathered, base, ids), _host_calls(gathered, base, ids)
    waits = {name: values + base if name in _WAIT_TIMES else values for name, values in spans.waits.items()}
    return FileTables(
        facts=FileFacts(
            format="kineto",
            events=gathered.events,
            odd_events=gathered.odd,
            odd_example=clean(gathered.odd_example) if gathered.odd_example else None,
            notes=notes,
            truncated=truncated,
            trace_start=first,
            trace_end=last,
            host_only=host_only,
            **facts,
        ),
        names=ids.table(),
        paths=paths,
        spans=table,
        collectives=spans.collectives,
        waits=frame(waits, WAITS),
        host_calls=host_calls,
        marks=marks,
        threads=_threads(gathered),
        resources=resource_table(gathered.resources, device_properties(header, facts["device_index"])),
    )


class _Names:
    """Ids of the texts that are kept, cleaned; only texts in use get one."""

    def __init__(self, gathered: Gather) -> None:
        self._names = gathered.names.texts
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
    for name in ("launch_start", "launch_end", "range_start", "shape", "bytes", "device", "resource"):
        columns[name] = _optional(columns[name], SPANS[name])
    for name in ("thread", "path", "range_path"):
        columns[name] = _optional(columns[name], SPANS[name], none=-1)
    columns["stream"] = np.where(columns["stream"] == NONE, -1, columns["stream"])
    return frame(columns, SPANS)


def _marks(gathered: Gather, base: int, ids: _Names) -> pl.DataFrame:
    marks = gathered.marks
    order = np.argsort(marks["start"], kind="stable")
    name = marks["name"][order]
    return frame(
        {
            "thread": marks["thread"][order],
            "name": ids.of(name),
            "step": _optional(gathered.names.flag("step")[name], pl.Int64),
            "start_ns": marks["start"][order] + base,
            "end_ns": marks["end"][order] + base,
        },
        MARKS,
    )


def _host_calls(gathered: Gather, base: int, ids: _Names) -> pl.DataFrame:
    calls = gathered.host_calls
    order = np.argsort(calls["start"], kind="stable")
    name = calls["name"][order]
    kind = np.array(HOST_CALL_KINDS, object)[gathered.names.flag("host_call")[name]]
    return frame(
        {
            "thread": calls["thread"][order],
            "name": ids.of(name),
            "kind": pl.Series(kind.tolist(), dtype=pl.String),
            "start_ns": calls["start"][order] + base,
            "end_ns": calls["end"][order] + base,
        },
        HOST_CALLS,
    )


def _threads(gathered: Gather) -> pl.DataFrame:
    count = len(gathered.threads)
    pids, tids = zip(*gathered.threads, strict=True) if count else ((), ())
    flags = {}
    for flag in ("step", "backward"):
        flags[f"has_{flag}"] = np.zeros(count, bool)
        flags[f"has_{flag}"][list(gathered.thread_flags[flag])] = True
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
    first, last = gathered.ops_extent or (0, 0)
    return first + base, last + base
