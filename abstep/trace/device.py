"""Spans of a device trace: kernels, copies and memsets with their kind, their launch and its place on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace import kinds
from abstep.trace.collectives import collective_rows
from abstep.trace.columns import NONE, at
from abstep.trace.launches import Calls, find_calls
from abstep.trace.paths import HostRanges, PathTree, Places
from abstep.trace.slices import slices

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather

COMMUNICATION, COPY = 1, 2


@dataclass(frozen=True)
class SpanColumns:
    """Spans in order of start.

    Attributes:
        columns: tables.SPANS by name; NONE (times and sizes) and -1 (ids) where a value is missing.
        tree: the paths.
        collectives: the collectives table.
        waits: columns of tables.WAITS.

    """

    columns: dict[str, NDArray[Any]]
    tree: PathTree
    collectives: pl.DataFrame
    waits: dict[str, NDArray[np.int64]]


def device_spans(gathered: Gather, group: dict[str, Any]) -> SpanColumns:
    """Return the spans of a trace with device activities.

    Args:
        gathered: its columns.
        group: the sole process group, if its metadata lists just one.

    """
    device, names = gathered.device, gathered.names
    start = device["start"]
    order = np.lexsort((device["end"], start))
    start, name = start[order], device["name"][order]
    correlation = device["correlation"][order]
    syncs = gathered.syncs
    calls = find_calls(
        gathered.calls,
        np.concatenate((correlation, syncs["correlation"], syncs["record"])),
        np.concatenate((start, syncs["start"], syncs["start"])),
    )
    launch = calls.row(correlation)
    columns: dict[str, NDArray[Any]] = {
        "name": name,
        "start_ns": start,
        "end_ns": device["end"][order],
        "stream": device["stream"][order],
        "launch_start": at(calls.start, launch),
        "launch_end": at(calls.end, launch),
        "thread": at(calls.thread, launch, none=-1),
        "graph": at(names.flag("graph")[calls.name], launch, none=0),
        "device": device["device"][order],
    }
    tree = PathTree(names)
    places = _place(gathered, tree, columns["thread"], columns["launch_start"])
    recorded = device["kind"][order]
    columns["kind"] = kind = _kinds(recorded, name, names.texts, tree.launching()[places.path])
    columns["bytes"] = np.where(recorded == COPY, device["bytes"][order], NONE)
    resource = device["resource"][order].astype(np.int64)
    columns["resource"] = np.where(resource > 0, resource, NONE)
    columns["shape"] = np.where(places.dims > 0, places.dims, _grids(gathered)[resource])
    columns |= {"path": places.path, "range_start": places.range_start, "range_path": places.range_path}
    numbers = np.flatnonzero(kind == COMMUNICATION)
    return SpanColumns(
        columns=columns,
        tree=tree,
        collectives=collective_rows(
            gathered,
            span=numbers,
            device_row=order[numbers],
            places=places.only(numbers),
            name=name[numbers],
            group=group,
        ),
        waits=_waits(gathered, calls),
    )


def _place(gathered: Gather, tree: PathTree, thread: NDArray[np.int32], time: NDArray[np.int64]) -> Places:
    places = Places(len(thread))
    launched = np.flatnonzero(thread >= 0)
    for part in slices(gathered.ops):
        rows = launched[part.holds(time[launched])]
        HostRanges(part, gathered.names, tree).place(places, rows, thread[rows], time[rows])
    return places


def _kinds(
    recorded: NDArray[np.int8], name: NDArray[np.int32], texts: list[str], launching: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """Return each activity's kind (SEMANTICS 2): by the name table, and by what launched it."""
    table = kinds.load()
    known, fused = np.zeros(len(texts), bool), np.zeros(len(texts), bool)
    for name_id in np.unique(name).tolist():
        text = texts[name_id]
        if text.startswith(("Memcpy", "Memset", "CopyDeviceToDevice")):
            known[name_id] = "PtoP" in text or "P2P" in text
        else:
            known[name_id], fused[name_id] = table.is_communication(text), table.is_fused(text)
    communication = (known[name] | launching) & ~fused[name]
    return np.where(communication, np.int8(COMMUNICATION), recorded)


def _grids(gathered: Gather) -> NDArray[np.int64]:
    """Return, by launch configuration, the text id of its grid and block; -1 where no grid was recorded."""
    texts = gathered.texts
    return np.array(
        [texts[grid + b"\0" + block] if grid else -1 for grid, block, *_ in gathered.resources], np.int64
    )


def _waits(gathered: Gather, calls: Calls) -> dict[str, NDArray[np.int64]]:
    """Return the recorded stream waits; those whose record call is not in the file are left out."""
    syncs = gathered.syncs
    wait = at(calls.start, calls.row(syncs["correlation"]))
    wait = np.where(wait == NONE, syncs["start"], wait)
    record = at(calls.start, calls.row(syncs["record"]))
    rows = np.flatnonzero(record != NONE)
    rows = rows[np.argsort(wait[rows], kind="stable")]
    return {
        "stream": syncs["stream"][rows],
        "on_stream": syncs["on_stream"][rows],
        "wait_start": wait[rows],
        "record_start": record[rows],
    }
