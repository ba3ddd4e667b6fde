"""Events to columns: one set of columns a role (device activity, runtime call, operator, …), ids for texts."""

from __future__ import annotations

import re
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace.times import ODD, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from abstep.trace.event import Event

#: Category as recorded, in lower case, to role. Everything else is not read (flows, instants, overhead, …).
ROLES = {
    "kernel": "kernel",
    "concurrent_kernel": "kernel",
    "mtia_ccp_events": "kernel",
    "hpu_op": "kernel",
    "async_npu": "kernel",
    "gpu_memcpy": "copy",
    "memcpy": "copy",
    "gpu_memset": "memset",
    "memset": "memset",
    "cuda_runtime": "call",
    "cuda_driver": "call",
    "runtime": "call",
    "hip_runtime": "call",
    "hip_driver": "call",
    "xpu_runtime": "call",
    "xpu_driver": "call",
    "mtia_runtime": "call",
    "privateuse1_runtime": "call",
    "privateuse1_driver": "call",
    "cpu_op": "op",
    "operator": "op",
    "user_annotation": "range",
    "nvtx": "range",
    "cuda_sync": "sync",
    "python_function": "stack",
}
DEVICE_KINDS = {"kernel": 0, "copy": 2, "memset": 3}
#: Host ranges inside which communication is launched (SEMANTICS 2).
COMM_RANGE = re.compile(
    r"record_param_comms|nccl:|gloo:|c10d::|_?c10d_functional::|symm_mem::|rccl:|xccl:|hccl:|mpi:|ucc:"
)
_STEP = "ProfilerStep"
#: Times beyond this leave no room for the base, ns.
_FAR = 2**62


class Ids(dict[Any, int]):
    """Gives each distinct key the next id: `ids[key]`."""

    def __missing__(self, key: object) -> int:
        """Take the next id."""
        self[key] = value = len(self)
        return value


class Columns:
    """Columns of one role, grown list by list."""

    def __init__(self) -> None:
        self._parts: dict[str, list[NDArray[Any]]] = {}
        self.height = 0

    def add(self, columns: dict[str, NDArray[Any]]) -> None:
        """Append equally long columns."""
        for name, values in columns.items():
            self._parts.setdefault(name, []).append(values)
        self.height += len(next(iter(columns.values())))

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one column whole."""
        parts = self._parts.get(name)
        if not parts:
            return np.empty(0, np.int64)
        if len(parts) > 1:
            parts[:] = [np.concatenate(parts)]
        return parts[0]


_get_name, _get_pid, _get_tid = attrgetter("name"), attrgetter("pid"), attrgetter("tid")
_get_ts, _get_dur, _get_args = attrgetter("ts"), attrgetter("dur"), attrgetter("args")
META_FIELDS = (
    "collective",
    "group_name",
    "group_desc",
    "group_size",
    "group_ranks",
    "seq",
    "in_nelems",
    "out_nelems",
    "dtype",
    "dims",
    "types",
)


class Gather:
    """Takes lists of events and keeps what the tables are made of.

    Attributes:
        names, texts: text -> id (texts: shapes, as raw JSON).
        threads: (pid, tid) -> id.
        device, calls, ops, syncs: columns. Times are ns after the base. `ops` are operators and ranges.
        meta: communication metadata by (`on`: 0 device row, 1 op row; `row`), lists in META_FIELDS' order.
        labels: thread names as recorded.
        is_comm: by name id, whether it is a communication range.

    """

    def __init__(self) -> None:
        self.names = Ids()
        self.texts = Ids()
        self.threads = Ids()
        self.device = Columns()
        self.calls = Columns()
        self.ops = Columns()
        self.syncs = Columns()
        self.meta: dict[str, list[Any]] = {name: [] for name in ("on", "row", *META_FIELDS)}
        self.labels: dict[tuple[Any, Any], str] = {}
        self.events = 0
        self.odd = 0
        self.odd_example: str | None = None
        self._comm_ids: set[int] = set()
        self._names_seen = 0
        self._roles: dict[str | None, str | None] = {None: None}

    def take(self, events: list[Event]) -> None:
        """Sort a list of events into columns."""
        by_cat: dict[str | None, list[Event]] = {}
        for event in events:
            if event.ph == "X":
                rows = by_cat.get(event.cat)
                if rows is None:
                    by_cat[event.cat] = [event]
                else:
                    rows.append(event)
            elif event.ph == "M":
                self._label(event)
        self.events += len(events)
        for cat, rows in by_cat.items():
            role = ROLES.get(cat.lower()) if cat else None
            if role is None:
                continue
            if role == "stack":
                self.events -= len(rows)
                rows = [event for event in rows if event.name is not None and event.name.startswith(_STEP)]  # noqa: PLW2901
                role = "range"
            self._take_role(role, rows)

    def _take_role(self, role: str, rows: list[Event]) -> None:
        rows, start, end = self._timed(rows)
        if not rows:
            return
        if role in DEVICE_KINDS:
            self._take_device(role, rows, start, end)
        elif role == "call":
            self._take_calls(rows, start, end)
        elif role == "sync":
            self._take_syncs(rows, start)
        else:
            self._take_ops(rows, start, end, is_range=role == "range")

    def _timed(self, rows: list[Event]) -> tuple[list[Event], NDArray[np.int64], NDArray[np.int64]]:
        """Return the events with a name, a start and a duration, and count the others."""
        start = nanoseconds(list(map(_get_ts, rows)))
        length = nanoseconds(list(map(_get_dur, rows)))
        named = None not in set(map(_get_name, rows))
        with np.errstate(over="ignore"):
            end = start + length
        if (
            named
            and rows
            and start.min() > -_FAR
            and length.min() >= 0
            and (end >= start).all()
            and end.max() < _FAR
        ):
            return rows, start, end
        good = (start > -_FAR) & (length >= 0) & (end >= start) & (end < _FAR)
        if not named:
            good &= np.fromiter((event.name is not None for event in rows), bool, len(rows))
        for row in np.flatnonzero(~good)[:1]:
            self._odd(rows[row], int(start[row]), int(length[row]))
        self.odd += int((~good).sum())
        return [rows[row] for row in np.flatnonzero(good)], start[good], end[good]

    def _odd(self, event: Event, start: int, length: int) -> None:
        if self.odd_example is not None:
            return
        name = repr(event.name) if event.name is not None else "an event without a name"
        if event.name is None:
            fault = "has no name"
        elif start == ODD:
            fault = "has no usable ts"
        elif length == ODD:
            fault = "has no usable dur"
        elif length < 0:
            fault = "has a negative duration"
        else:
            fault = "ends beyond int64 nanoseconds"
        self.odd_example = f"{name[:200]} {fault}"

    def _take_device(self, role: str, rows: list[Event], start: NDArray[Any], end: NDArray[Any]) -> None:
        args = [event.args for event in rows]
        texts = self.texts
        none = texts[b""]
        if role == "kernel":
            shape = [
                none
                if a is None or not memoryview(a.grid)
                else texts[bytes(a.grid) + b"\0" + bytes(a.block)]
                for a in args
            ]
            self._take_meta(
                0, self.device.height, [(row, a) for row, a in enumerate(args) if a and a.collective]
            )
            moved = _filled(len(rows))
        else:
            shape = [none] * len(rows)
            moved = _ints([a.bytes if a is not None and isinstance(a.bytes, int) else None for a in args])
        self.device.add(
            {
                "kind": np.full(len(rows), DEVICE_KINDS[role], np.int8),
                "name": self._name_ids(rows),
                "start": start,
                "end": end,
                "stream": _ints([a.stream if a is not None else None for a in args]),
                "device": _ints([a.device if a is not None else None for a in args]),
                "correlation": _ints([a.correlation if a is not None else None for a in args]),
                "bytes": moved,
                "grid": np.array(shape, np.int32),
                "pid": _ints([event.pid if isinstance(event.pid, int) else None for event in rows]),
                "tid": _ints([event.tid if isinstance(event.tid, int) else None for event in rows]),
            }
        )

    def _take_calls(self, rows: list[Event], start: NDArray[Any], end: NDArray[Any]) -> None:
        args = map(_get_args, rows)
        self.calls.add(
            {
                "name": self._name_ids(rows),
                "start": start,
                "end": end,
                "thread": self._thread_ids(rows),
                "correlation": _ints([a.correlation if a is not None else None for a in args]),
            }
        )

    def _take_syncs(self, rows: list[Event], start: NDArray[Any]) -> None:
        edges = [
            (a.stream, a.wait_on_stream, a.correlation, a.wait_on_record, row)
            for row, event in enumerate(rows)
            if (a := event.args) is not None
            and a.stream is not None
            and a.wait_on_stream is not None
            and a.correlation is not None
            and a.wait_on_record is not None
            and a.wait_on_record >= 0
            and a.stream >= 0
            and a.wait_on_stream >= 0
        ]
        if edges:
            stream, on_stream, correlation, record, row = (
                np.array(col, np.int64) for col in zip(*edges, strict=True)
            )
            self.syncs.add(
                {
                    "stream": stream,
                    "on_stream": on_stream,
                    "correlation": correlation,
                    "record": record,
                    "start": start[row],
                }
            )

    def _take_ops(self, rows: list[Event], start: NDArray[Any], end: NDArray[Any], *, is_range: bool) -> None:
        names = self._name_ids(rows)
        self._see_names()
        comm = self._comm_ids.intersection(set(names.tolist()))
        if comm:
            found = np.flatnonzero(np.isin(names, list(comm)))
            pairs = [(int(row), args) for row in found if (args := rows[row].args) is not None]
            self._take_meta(1, self.ops.height, pairs)
        texts = self.texts
        none = texts[b""]
        self.ops.add(
            {
                "name": names,
                "start": start,
                "end": end,
                "thread": self._thread_ids(rows),
                "dims": np.array(
                    [none if (a := event.args) is None else texts[bytes(a.dims)] for event in rows], np.int32
                ),
                "range": np.full(len(rows), is_range, bool),
            }
        )

    def _take_meta(self, on: int, offset: int, pairs: Sequence[tuple[int, Any]]) -> None:
        if not pairs:
            return
        meta = self.meta
        meta["on"] += repeat(on, len(pairs))
        meta["row"] += [offset + row for row, _ in pairs]
        for field in META_FIELDS:
            values = [getattr(args, field) for _, args in pairs]
            if field in ("group_ranks", "dims", "types"):
                values = [bytes(value) for value in values]
            meta[field] += values

    def _name_ids(self, rows: list[Event]) -> NDArray[np.int32]:
        return np.fromiter(map(self.names.__getitem__, map(_get_name, rows)), np.int32, len(rows))

    def _see_names(self) -> None:
        if len(self.names) > self._names_seen:
            fresh = list(self.names)[self._names_seen :]
            self._comm_ids.update(self.names[name] for name in fresh if COMM_RANGE.match(name))
            self._names_seen = len(self.names)

    def _thread_ids(self, rows: list[Event]) -> NDArray[np.int32]:
        pairs = zip(map(_get_pid, rows), map(_get_tid, rows), strict=True)
        return np.fromiter(map(self.threads.__getitem__, pairs), np.int32, len(rows))

    def _label(self, event: Event) -> None:
        if event.name == "thread_name" and event.args is not None:
            text = bytes(event.args.name).decode("utf-8", "replace").strip('"')
            self.labels[(event.pid, event.tid)] = text


#: No value in an integer column.
NONE = -(2**63)


def _ints(values: list[int | None]) -> NDArray[np.int64]:
    """Return the integers, NONE where there is no value."""
    if None in values:
        values = [NONE if value is None else value for value in values]
    return np.array(values, np.int64)


def _filled(count: int) -> NDArray[np.int64]:
    return np.full(count, NONE, np.int64)
