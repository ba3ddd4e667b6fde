"""Spans of a trace without device activity: operators of the compute threads, and gloo's progress ranges.

SEMANTICS 2, host-only runs: compute is the outermost operators of the threads that run forward, backward and
optimizer, without communication launches, with holes under 0.3 ms bridged; communication is the progress range
on its own thread, joined to the k-th launch of its kind, which also says what it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace import kinds
from abstep.trace.device import COMMUNICATION, SpanColumns, shapes
from abstep.trace.gather import NONE
from abstep.trace.hostcollectives import Progress, progress_rows
from abstep.trace.naming import is_backward
from abstep.trace.nesting import Nesting
from abstep.trace.paths import HostRanges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather

#: A hole this short between operators of one thread is the framework's own time, not a wait, ns.
BRIDGED = 300_000
#: Operators that hand work to a collective, or wait for one.
LAUNCHES = re.compile(r"c10d::|_?c10d_functional::")
_COMPUTE = re.compile(
    r"(?!autograd::|torch::autograd::|torch::dynamo::autograd|_?c10d|record_param_comms|symm_mem::|gloo:|mpi:|ucc:|FSDP::)"
    r"(?:[\w.]+::|cpp_fused|triton_|CompiledFunction|Torch-Compiled Region|torch_compile)"
)


def host_spans(gathered: Gather, groups: list[Any]) -> SpanColumns:
    """Return the spans of a host-only trace.

    Args:
        gathered: its columns.
        groups: the process groups its metadata lists.

    """
    ops, names = gathered.ops, list(gathered.names)
    ranges = HostRanges(gathered)
    progress = _by_name(names, lambda text: kinds.load().kernels.search(text) is not None)
    is_progress = progress[ops["name"]] if ops.height else np.empty(0, bool)
    threads = _compute_threads(gathered, names, is_progress)
    work = _compute(gathered, names, threads)
    launches = np.flatnonzero(_named(ops, _by_name(names, lambda text: text.startswith("c10d::"))))
    launches = launches[np.argsort(ops["start"][launches], kind="stable")]
    comm = progress_rows(gathered, np.flatnonzero(is_progress), launches, groups)
    stray = _stray(gathered, is_progress, threads)

    row = np.concatenate((work.row, comm.row, stray))
    start = np.concatenate((work.start, ops["start"][comm.row], ops["start"][stray])).astype(np.int64)
    end = np.concatenate((work.end, ops["end"][comm.row], ops["end"][stray])).astype(np.int64)
    launch = np.concatenate((work.row, comm.launch, np.full(len(stray), -1))).astype(np.int64)
    kind = np.full(len(row), COMMUNICATION, np.int8)
    kind[: len(work.row)] = 0
    placed = ranges.place_rows(launch)
    order = np.lexsort((end, start))
    own = kind == 0
    at = np.maximum(launch, 0)
    launch_start = np.where(own, start, np.where(launch >= 0, _take(ops["start"], at), NONE))
    launch_end = np.where(own, end, np.where(launch >= 0, _take(ops["end"], at), NONE))
    columns = {
        "kind": kind,
        "name": _take(ops["name"], row),
        "stream": _take(ops["thread"], row).astype(np.int64),
        "start_ns": start,
        "end_ns": end,
        "launch_start": launch_start,
        "launch_end": launch_end,
        "thread": np.where(launch >= 0, _take(ops["thread"], at), -1),
        "path": placed.path,
        "range_start": placed.range_start,
        "range_path": placed.range_path,
        "shape": shapes(gathered, launch, np.full(len(row), -1, np.int64)),
        "graph": np.zeros(len(row), bool),
        "bytes": np.full(len(row), NONE, np.int64),
        "device": np.full(len(row), NONE, np.int64),
        "evidence": np.full(len(row), NONE, np.int64),
    }
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    first = len(work.row)
    return SpanColumns(
        columns={name: values[order] for name, values in columns.items()},
        ranges=ranges,
        device_row=np.full(len(row), -1, np.int64),
        inner_row=placed.row[order],
        collectives=comm.table(number[first : first + len(comm.row)], number[first + len(comm.row) :]),
    )


def _take(values: NDArray[Any], row: NDArray[np.int64]) -> NDArray[Any]:
    return values[row] if len(values) else np.zeros(len(row), values.dtype)


def _by_name(names: list[str], test: Any) -> NDArray[np.bool_]:
    return np.array([test(name) for name in names], bool)


def _named(ops: Any, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return wanted[ops["name"]] if ops.height else np.empty(0, bool)


def _compute_threads(gathered: Gather, names: list[str], is_progress: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return, by thread, whether it runs forward, backward or optimizer."""
    ops = gathered.ops
    count = len(gathered.threads)
    chosen, worker = np.zeros(count, bool), np.zeros(count, bool)
    if not ops.height:
        return chosen
    worker[np.unique(ops["thread"][is_progress])] = True
    for (pid, tid), thread in gathered.threads.items():
        worker[thread] |= "gloo" in gathered.labels.get((pid, tid), "")
    marked = _by_name(names, lambda text: text.startswith("ProfilerStep") or is_backward(text))
    chosen[np.unique(ops["thread"][marked[ops["name"]]])] = True
    chosen &= ~worker
    if not chosen.any():
        busy = np.bincount(ops["thread"], minlength=count) * ~worker
        chosen[int(busy.argmax())] = bool(busy.max())
    return chosen


class _Work:
    """Compute spans: the row of the operator each is (part of), its start and end."""

    def __init__(self, row: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> None:
        self.row, self.start, self.end = row, start, end


def _compute(gathered: Gather, names: list[str], threads: NDArray[np.bool_]) -> _Work:
    ops = gathered.ops
    if not ops.height:
        none = np.empty(0, np.int64)
        return _Work(none, none, none)
    on_thread = threads[ops["thread"]]
    is_launch = _named(ops, _by_name(names, lambda text: LAUNCHES.match(text) is not None)) & on_thread
    is_work = _named(ops, _by_name(names, lambda text: _COMPUTE.match(text) is not None)) & on_thread
    outer = _outermost(ops, np.flatnonzero(is_work & ~is_launch))
    cuts = _outermost(ops, np.flatnonzero(is_launch))
    row, start, end = _without(ops, outer, cuts)
    thread = ops["thread"][row]
    order = np.lexsort((start, thread))
    row, start, end, thread = row[order], start[order], end[order], thread[order]
    cut_thread, cut_start = ops["thread"][cuts], ops["start"][cuts]
    hole = start[1:] - end[:-1]
    bridged = (thread[1:] == thread[:-1]) & (hole > 0) & (hole < BRIDGED)
    at = np.flatnonzero(bridged)
    if len(at):
        length = int(max(end.max(), cut_start.max(initial=0))) - int(start.min()) + 1
        line = np.sort(cut_thread.astype(np.int64) * length + (cut_start - start.min()))
        here = thread[at].astype(np.int64) * length - start.min()
        crossed = np.searchsorted(line, here + end[at]) != np.searchsorted(line, here + start[at + 1])
        at = at[~crossed]
        end = end.copy()
        end[at] = start[at + 1]
    return _Work(row, start, end)


def _outermost(ops: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of the rows that lie in no other of them."""
    if not len(rows):
        return rows
    nesting = Nesting(ops["thread"][rows], ops["start"][rows], ops["end"][rows])
    return np.asarray(np.sort(rows[nesting.order[nesting.levels[0]]]))


def _without(
    ops: Any, rows: NDArray[np.int64], cuts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows in pieces, with the cuts that lie inside them taken out."""
    start, end = ops["start"][rows], ops["end"][rows]
    if not len(cuts) or not len(rows):
        return rows, start, end
    inside = Nesting(ops["thread"][rows], start, end).enclosing(ops["thread"][cuts], ops["start"][cuts])
    order = Nesting(ops["thread"][rows], start, end).order
    hit = inside >= 0
    within = order[inside[hit]]
    piece_row = np.concatenate((np.arange(len(rows)), within))
    piece_start = np.concatenate((start, np.minimum(ops["end"][cuts][hit], end[within])))
    piece_end = np.concatenate((end, end[within]))
    sort = np.lexsort((piece_start, piece_row))
    piece_row, piece_start, piece_end = piece_row[sort], piece_start[sort], piece_end[sort]
    cut_start = np.sort(ops["start"][cuts][hit])
    same = piece_row[1:] == piece_row[:-1]
    following = np.searchsorted(cut_start, piece_start[:-1][same])
    piece_end[:-1][same] = cut_start[np.minimum(following, len(cut_start) - 1)]
    kept = piece_end > piece_start
    return rows[piece_row[kept]], piece_start[kept], piece_end[kept]


def _stray(gathered: Gather, is_progress: NDArray[np.bool_], threads: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return operators on the collectives' own threads that lie in no progress range: communication too."""
    ops = gathered.ops
    if not ops.height or not is_progress.any():
        return np.empty(0, np.int64)
    own = np.zeros(len(threads), bool)
    own[np.unique(ops["thread"][is_progress])] = True
    own &= ~threads
    rows = np.flatnonzero(own[ops["thread"]] & ~is_progress & ~ops["range"].astype(bool))
    rows = _outermost(ops, rows)
    ranges = np.flatnonzero(is_progress)
    nesting = Nesting(ops["thread"][ranges], ops["start"][ranges], ops["end"][ranges])
    return rows[nesting.enclosing(ops["thread"][rows], ops["start"][rows]) < 0]


__all__ = ["BRIDGED", "Progress", "host_spans"]
