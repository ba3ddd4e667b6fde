"""Spans of a trace without device activity: operators of the compute threads, and gloo's progress ranges.

SEMANTICS 2, host-only runs: compute is the outermost operators of the threads that run forward, backward and
optimizer, without communication launches, with holes under 0.3 ms bridged; communication is the progress range
on its own thread, joined to the k-th launch of its kind, which also says what it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace.columns import NONE, Columns, at
from abstep.trace.device import COMMUNICATION, SpanColumns
from abstep.trace.hostcollectives import join_progress, progress_table
from abstep.trace.nesting import Nesting
from abstep.trace.paths import HostRanges, PathTree, Places
from abstep.trace.slices import slices
from abstep.trace.work import bridged, without

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather
    from abstep.trace.slices import Slice

#: Operators that hand work to a collective, or wait for one.
_LAUNCH = re.compile(r"c10d::|_?c10d_functional::")
_WORK = re.compile(
    r"(?!autograd::|torch::autograd::|torch::dynamo::autograd|_?c10d|record_param_comms|symm_mem::|profiler::|FSDP::)"
    r"(?:[\w.]+::|cpp_fused|triton_|CompiledFunction|Torch-Compiled Region|torch_compile)"
)
WORK, LAUNCH, PROGRESS, STRAY = range(4)
_DTYPES = {
    "role": np.int8,
    "row": np.int64,
    "name": np.int32,
    "start": np.int64,
    "end": np.int64,
    "thread": np.int32,
    "dims": np.int32,
    "path": np.int32,
    "range_start": np.int64,
    "range_path": np.int32,
}


@dataclass(frozen=True)
class _Roles:
    """By name id and by thread, what an operator is.

    Attributes:
        work, launch, progress: by name.
        compute, progressing: by thread.

    """

    work: NDArray[np.bool_]
    launch: NDArray[np.bool_]
    progress: NDArray[np.bool_]
    compute: NDArray[np.bool_]
    progressing: NDArray[np.bool_]


def host_spans(gathered: Gather, group: dict[str, Any]) -> SpanColumns:
    """Return the spans of a host-only trace.

    Args:
        gathered: its columns.
        group: the sole process group, if its metadata lists just one.

    """
    tree = PathTree(gathered.names)
    found = _found(gathered, tree)
    rows = {name: found[name] for name in _DTYPES}
    found.close()
    by_role = [np.flatnonzero(rows["role"] == role) for role in (WORK, LAUNCH, PROGRESS, STRAY)]
    work, launch, progress, stray = (
        indices[np.lexsort((rows["end"][indices], rows["start"][indices]))] for indices in by_role
    )
    own = launch[_roles(gathered).compute[rows["thread"][launch]]] if len(launch) else launch
    piece, start, end = without(rows, work, own)
    whole = rows["end"][piece] == end
    end = bridged(rows["thread"][piece], start, end, rows["thread"][own], rows["start"][own])
    texts = gathered.names.texts
    asked = launch[[texts[name].startswith("c10d::") for name in rows["name"][launch].tolist()]]
    joined = join_progress(rows, texts, progress, asked)

    row = np.concatenate((piece, progress, stray))
    starts = np.concatenate((start, rows["start"][progress], rows["start"][stray]))
    ends = np.concatenate((end, rows["end"][progress], rows["end"][stray]))
    by = np.concatenate((piece, joined, np.full(len(stray), -1))).astype(np.int64)
    is_work = np.arange(len(row)) < len(piece)
    own_end = np.concatenate((np.where(whole, rows["end"][piece], end), ends[len(piece) :]))
    columns: dict[str, NDArray[Any]] = {
        "kind": np.where(is_work, np.int8(0), np.int8(COMMUNICATION)),
        "name": rows["name"][row],
        "stream": rows["thread"][row].astype(np.int64),
        "start_ns": starts,
        "end_ns": ends,
        "launch_start": np.where(is_work, starts, at(rows["start"], by)),
        "launch_end": np.where(is_work, own_end, at(rows["end"], by)),
        "thread": at(rows["thread"], by, none=-1),
        "path": at(rows["path"], by, none=-1),
        "range_start": at(rows["range_start"], by),
        "range_path": at(rows["range_path"], by, none=-1),
        "shape": np.where(at(rows["dims"], by, none=0) > 0, at(rows["dims"], by, none=0), -1),
        "graph": np.zeros(len(row), bool),
        "bytes": np.full(len(row), NONE, np.int64),
        "device": np.full(len(row), NONE, np.int64),
        "resource": np.full(len(row), NONE, np.int64),
    }
    order = np.lexsort((ends, starts))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    collectives = progress_table(
        gathered, rows=rows, progress=progress, joined=joined, numbers=number[len(piece) :], group=group
    )
    none = np.empty(0, np.int64)
    return SpanColumns(
        columns={name: values[order] for name, values in columns.items()},
        tree=tree,
        collectives=collectives,
        waits=dict.fromkeys(("stream", "on_stream", "wait_start", "record_start"), none),
    )


def _found(gathered: Gather, tree: PathTree) -> Columns:
    """Return the operators that matter, with their places, slice by slice."""
    found, roles = Columns(**_DTYPES), _roles(gathered)
    for part in slices(gathered.ops):
        chosen = _chosen(part, roles)
        rows = np.concatenate(chosen)
        role = np.repeat(np.arange(4, dtype=np.int8), [len(indices) for indices in chosen])
        places = Places(len(rows))
        placed = np.flatnonzero(role <= LAUNCH)
        HostRanges(part, gathered.names, tree).place_rows(places, placed, part.rows["row"][rows[placed]])
        found.add(
            role=role,
            path=places.path,
            range_start=places.range_start,
            range_path=places.range_path,
            **{name: part.rows[name][rows] for name in ("row", "name", "start", "end", "thread", "dims")},
        )
    return found


def _roles(gathered: Gather) -> _Roles:
    texts = gathered.names.texts
    count = len(gathered.threads)
    progressing, marked = np.zeros(count, bool), np.zeros(count, bool)
    progressing[list(gathered.thread_flags["progress"])] = True
    for (pid, tid), thread in gathered.threads.items():
        progressing[thread] |= "gloo" in gathered.labels.get((pid, tid), "")
    marked[list(gathered.thread_flags["step"] | gathered.thread_flags["backward"])] = True
    compute = marked & ~progressing
    if not compute.any() and gathered.ops.height:
        busy = (
            sum(np.bincount(part["thread"], minlength=count) for part in gathered.ops.parts()) * ~progressing
        )
        compute[int(np.argmax(busy))] = bool(np.max(busy))
    return _Roles(
        work=np.array([_WORK.match(text) is not None for text in texts], bool),
        launch=np.array([_LAUNCH.match(text) is not None for text in texts], bool),
        progress=gathered.names.flag("progress"),
        compute=compute,
        progressing=progressing & ~compute,
    )


def _chosen(part: Slice, roles: _Roles) -> tuple[NDArray[np.int64], ...]:
    """Return the slice's own rows of each role: work, launches, progress ranges, strays of their threads."""
    rows = part.rows
    name, thread = rows["name"], rows["thread"]
    compute = roles.compute[thread]
    progress = roles.progress[name]
    launch = roles.launch[name] & ~roles.progressing[thread]
    work = _outermost(part, np.flatnonzero(compute & roles.work[name] & ~launch & ~progress))
    stray = np.flatnonzero(roles.progressing[thread] & ~progress & ~rows["range"])
    inside = _nested(rows, np.flatnonzero(progress)).enclosing(thread[stray], rows["start"][stray]) >= 0
    return (
        work,
        _fresh(part, np.flatnonzero(launch)),
        _fresh(part, np.flatnonzero(progress)),
        _outermost(part, stray[~inside]),
    )


def _nested(rows: dict[str, NDArray[Any]], chosen: NDArray[np.int64]) -> Nesting:
    return Nesting(rows["thread"][chosen], rows["start"][chosen], rows["end"][chosen])


def _outermost(part: Slice, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those rows that lie in no other of them and start in the slice."""
    if not len(chosen):
        return chosen
    nesting = _nested(part.rows, chosen)
    return _fresh(part, chosen[nesting.order[nesting.levels[0]]])


def _fresh(part: Slice, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    return chosen[chosen >= part.carried]
