"""Spans of a device trace: kernels, copies and memsets with their kind, their launch and its place on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace import kinds
from abstep.trace.gather import NONE
from abstep.trace.launches import launch_rows
from abstep.trace.paths import HostRanges

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather

COMMUNICATION, COPY = 1, 2


@dataclass(frozen=True)
class SpanColumns:
    """Spans in order of start, and what the collectives table is made from.

    Attributes:
        columns: tables.SPANS by name, int64 with NONE where a value is missing.
        ranges: the host ranges.
        device_row: row in the gathered device columns of each span; -1 for none.
        inner_row: row of the innermost host range at its launch; -1 for none.
        collectives: already made rows, where the reader of host-only traces made them.

    """

    columns: dict[str, NDArray[Any]]
    ranges: HostRanges
    device_row: NDArray[np.int64]
    inner_row: NDArray[np.int64]
    collectives: pl.DataFrame | None = None


def device_spans(gathered: Gather) -> SpanColumns:
    """Return the spans of a trace with device activities."""
    device, calls, table = gathered.device, gathered.calls, kinds.load()
    names = list(gathered.names)
    order = np.lexsort((device["end"], device["start"]))
    start, name = device["start"][order], device["name"][order]
    launch = launch_rows(calls, device["correlation"][order], start)
    launched = launch >= 0
    thread = np.where(launched, calls["thread"][launch] if len(calls["thread"]) else -1, -1)
    launch_start = _at(calls["start"], launch)
    ranges = HostRanges(gathered)
    placed = ranges.place(thread, launch_start)

    kind = device["kind"][order].copy()
    used = np.unique(name)
    known = np.zeros(len(names), bool)
    for name_id in used.tolist():
        text = names[name_id]
        known[name_id] = (table.is_communication(text) and not text.startswith("Mem")) or (
            text.startswith("Memcpy") and ("PtoP" in text or "P2P" in text)
        )
    fused = np.zeros(len(names), bool)
    for name_id in used.tolist():
        fused[name_id] = table.is_fused(names[name_id])
    launching = launching_paths(ranges, names, table)
    inside = np.zeros(len(name), bool)
    inside[placed.path >= 0] = launching[placed.path[placed.path >= 0]]
    kind[(known[name] | inside) & ~fused[name]] = COMMUNICATION

    texts, grid_size = _grids(gathered)
    stream = device["stream"][order]
    return SpanColumns(
        columns={
            "kind": kind,
            "name": name,
            "stream": np.where(stream == NONE, device["tid"][order], stream),
            "start_ns": start,
            "end_ns": device["end"][order],
            "launch_start": launch_start,
            "launch_end": _at(calls["end"], launch),
            "thread": thread,
            "path": placed.path,
            "range_start": placed.range_start,
            "range_path": placed.range_path,
            "shape": shapes(gathered, placed.row, texts[device["grid"][order]]),
            "graph": _is_graph(calls["name"], launch, names),
            "bytes": np.where(device["kind"][order] == COPY, device["bytes"][order], NONE),
            "device": np.where(
                device["device"][order] == NONE, device["pid"][order], device["device"][order]
            ),
            "evidence": np.where(kind == COMMUNICATION, grid_size[device["grid"][order]], NONE),
        },
        ranges=ranges,
        device_row=order,
        inner_row=placed.row,
    )


def launching_paths(ranges: HostRanges, names: list[str], table: kinds.Kinds) -> NDArray[np.bool_]:
    """Return, by path, whether it lies inside a collective's host range."""
    inside = np.zeros(len(ranges.parent), bool)
    for path, (parent, name) in enumerate(zip(ranges.parent.tolist(), ranges.name.tolist(), strict=True)):
        inside[path] = (parent >= 0 and inside[parent]) or table.launching.search(names[name]) is not None
    return inside


def shapes(gathered: Gather, row: NDArray[np.int64], otherwise: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the text id of each launch's shapes: the innermost operator's, else what is given."""
    dims = gathered.ops["dims"]
    if not len(dims):
        return otherwise
    none = gathered.texts[b""]
    own = np.where(row >= 0, dims[np.maximum(row, 0)], none)
    return np.asarray(np.where(own == none, otherwise, own), np.int64)


def _at(values: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.int64]:
    if not len(values):
        return np.full(len(row), NONE, np.int64)
    return np.where(row >= 0, values[np.maximum(row, 0)], NONE)


def _is_graph(call_name: NDArray[np.int32], launch: NDArray[np.int64], names: list[str]) -> NDArray[np.bool_]:
    if not len(call_name):
        return np.zeros(len(launch), bool)
    graph = np.array(["GraphLaunch" in name for name in names], bool)
    return np.asarray((launch >= 0) & graph[call_name[np.maximum(launch, 0)]])


def _grids(gathered: Gather) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, by text id, the text id itself (-1: no text) and the blocks of that grid (NONE: not a grid)."""
    ids = np.arange(len(gathered.texts), dtype=np.int64)
    size = np.full(len(ids), NONE, np.int64)
    for text, number in gathered.texts.items():
        if not text:
            ids[number] = -1
        elif b"\0" in text:
            size[number] = _blocks(text.partition(b"\0")[0])
    return ids, size


def _blocks(grid: bytes) -> int:
    parts = [part.strip() for part in grid.strip(b"[] \n\t").split(b",")]
    if not all(part.isdigit() for part in parts):
        return NONE
    product = 1
    for part in parts:
        product *= int(part)
    return product if product < 2**31 else NONE
