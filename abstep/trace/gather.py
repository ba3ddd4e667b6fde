"""Events to columns: one set of columns a role (device activity, runtime call, operator, …), ids for texts."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace.columns import NONE, Columns, Ids, ints
from abstep.trace.event import Cat, Event, Metadata
from abstep.trace.nametable import NameTable
from abstep.trace.resources import NOTHING
from abstep.trace.timed import timed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: Kind of a device activity before names and launches are looked at (model.Kind).
DEVICE_KINDS = {Cat.KERNEL: 0, Cat.COPY: 2, Cat.MEMSET: 3}
_STEP = "ProfilerStep"
_get_name, _get_pid, _get_tid = attrgetter("name"), attrgetter("pid"), attrgetter("tid")
_get_args = attrgetter("args")
#: Communication metadata that repeats from instance to instance.
META_FIELDS = (
    "collective",
    "group_name",
    "group_desc",
    "group_size",
    "group_ranks",
    "in_nelems",
    "out_nelems",
    "dtype",
    "peer",
    "dims",
    "types",
)
_RAW = ("group_ranks", "peer", "dims", "types")
ON_DEVICE, ON_HOST = 0, 1


class Gather:
    """Takes lists of events and keeps what the tables are made of. Times are ns after the file's base.

    Attributes:
        names: of events.
        texts: shapes as raw JSON -> id; grids as grid, NUL, block.
        resources: launch configurations as recorded -> id; 0 for none.
        threads: (pid, tid) -> id.
        device: activities; `resource` is a launch configuration.
        calls: runtime calls.
        ops: operators and annotations; `row` counts them, `dims` is a text.
        host_calls: runtime calls that can hold their thread up.
        syncs: recorded stream waits.
        marks: annotations and steps.
        meta: communication metadata of a device (ON_DEVICE) or ops (ON_HOST) row; `facts` counts `meta_facts`.
        meta_facts: values in META_FIELDS' order -> id.
        labels: thread names as recorded.
        thread_flags: by flag, threads that carry a name with it.
        ops_extent: first start and last end of operators.

    """

    def __init__(self) -> None:
        self.names = NameTable()
        self.texts = Ids({b"": 0})
        self.resources = Ids({NOTHING: 0})
        self.threads = Ids()
        self.device = Columns(
            kind=np.int8,
            name=np.int32,
            start=np.int64,
            end=np.int64,
            stream=np.int64,
            device=np.int64,
            correlation=np.int64,
            bytes=np.int64,
            resource=np.int32,
        )
        self.calls = Columns(
            name=np.int32, start=np.int64, end=np.int64, thread=np.int32, correlation=np.int64
        )
        self.ops = Columns(
            row=np.int64,
            name=np.int32,
            start=np.int64,
            end=np.int64,
            thread=np.int32,
            dims=np.int32,
            range=bool,
        )
        self.host_calls = Columns(name=np.int32, start=np.int64, end=np.int64, thread=np.int32)
        self.syncs = Columns(
            stream=np.int64, on_stream=np.int64, correlation=np.int64, record=np.int64, start=np.int64
        )
        self.marks = Columns(name=np.int32, start=np.int64, end=np.int64, thread=np.int32)
        self.meta = Columns(on=np.int8, row=np.int64, facts=np.int32, seq=np.int64)
        self.meta_facts = Ids()
        self.labels: dict[tuple[Any, Any], str] = {}
        self.thread_flags: dict[str, set[int]] = {"step": set(), "backward": set(), "progress": set()}
        self.ops_extent: tuple[int, int] | None = None
        self.events = 0
        self.odd = 0
        self.odd_example: str | None = None

    def close(self) -> None:
        """Give disk space back."""
        for columns in (
            self.device,
            self.calls,
            self.ops,
            self.host_calls,
            self.syncs,
            self.marks,
            self.meta,
        ):
            columns.close()

    def take(self, events: list[Any]) -> int:
        """Sort a list of events into columns and return how many were python stacks, which are dropped."""
        by_cat: dict[Cat, list[Event]] = {cat: [] for cat in Cat}
        self.events += len(events)
        for event in events:
            if type(event) is Event:
                by_cat[event.cat].append(event)
            elif type(event) is Metadata:
                self._label(event)
        stacks = by_cat.pop(Cat.STACK)
        self.events -= len(stacks)
        by_cat[Cat.RANGE] += [
            event for event in stacks if event.name is not None and event.name.startswith(_STEP)
        ]
        del by_cat[Cat.OTHER]
        for cat, rows in by_cat.items():
            if rows:
                self._take_rows(cat, rows)
        return len(stacks)

    def _take_rows(self, cat: Cat, rows: list[Event]) -> None:
        rows, start, end, odd, example = timed(rows)
        self.odd += odd
        self.odd_example = self.odd_example or example
        if not rows:
            return
        if cat in DEVICE_KINDS:
            self._take_device(cat, rows, start, end)
        elif cat is Cat.CALL:
            self._take_calls(rows, start, end)
        elif cat is Cat.SYNC:
            self._take_syncs(rows, start)
        else:
            self._take_ops(rows, start, end, is_range=cat is Cat.RANGE)

    def _take_device(self, cat: Cat, rows: list[Event], start: NDArray[Any], end: NDArray[Any]) -> None:
        args = list(map(_get_args, rows))
        if cat is Cat.KERNEL:
            known = self.resources
            resource = [
                0
                if a is None
                else known[
                    bytes(a.grid), bytes(a.block), bytes(a.registers), bytes(a.shared), bytes(a.occupancy)
                ]
                for a in args
            ]
            moved = np.full(len(rows), NONE, np.int64)
            self._take_meta(
                ON_DEVICE, self.device.height, [(row, a) for row, a in enumerate(args) if a and a.collective]
            )
        else:
            resource = [0] * len(rows)
            moved = ints([a.bytes if a is not None and isinstance(a.bytes, int) else None for a in args])
        stream = [a.stream if a is not None else None for a in args]
        if None in stream:
            stream = [_int(e.tid) if s is None else s for s, e in zip(stream, rows, strict=True)]
        device = [a.device if a is not None else None for a in args]
        if None in device:
            device = [_int(e.pid) if d is None else d for d, e in zip(device, rows, strict=True)]
        self.device.add(
            kind=np.full(len(rows), DEVICE_KINDS[cat], np.int8),
            name=self._name_ids(rows),
            start=start,
            end=end,
            stream=ints(stream),
            device=ints(device),
            correlation=ints([a.correlation if a is not None else None for a in args]),
            bytes=moved,
            resource=np.array(resource, np.int32),
        )

    def _take_calls(self, rows: list[Event], start: NDArray[Any], end: NDArray[Any]) -> None:
        name, thread = self._name_ids(rows), self._thread_ids(rows)
        args = map(_get_args, rows)
        self.calls.add(
            name=name,
            start=start,
            end=end,
            thread=thread,
            correlation=ints([a.correlation if a is not None else None for a in args]),
        )
        held = np.flatnonzero(self.names.flag("host_call")[name] >= 0)
        if len(held):
            self.host_calls.add(name=name[held], start=start[held], end=end[held], thread=thread[held])

    def _take_syncs(self, rows: list[Event], start: NDArray[Any]) -> None:
        edges = [
            (a.stream, a.wait_on_stream, a.correlation, a.wait_on_record, row)
            for row, event in enumerate(rows)
            if (a := event.args) is not None
            and None not in (a.stream, a.wait_on_stream, a.correlation, a.wait_on_record)
            and a.wait_on_record >= 0  # type: ignore[operator] # none of them is null
            and a.stream >= 0  # type: ignore[operator]
            and a.wait_on_stream >= 0  # type: ignore[operator]
        ]
        if edges:
            stream, on_stream, correlation, record, row = np.array(edges, np.int64).T
            self.syncs.add(
                stream=stream, on_stream=on_stream, correlation=correlation, record=record, start=start[row]
            )

    def _take_ops(self, rows: list[Event], start: NDArray[Any], end: NDArray[Any], *, is_range: bool) -> None:
        name, thread = self._name_ids(rows), self._thread_ids(rows)
        comm, step = self.names.flag("comm")[name], self.names.flag("step")[name] != NONE
        keep = np.flatnonzero((end > start) | comm | step)  # what takes no time launches nothing
        if not len(keep):
            return
        if len(keep) < len(rows):
            rows = [rows[row] for row in keep]
            name, thread, start, end = name[keep], thread[keep], start[keep], end[keep]
            comm, step = comm[keep], step[keep]
        if comm.any():
            pairs = [
                (row, args) for row in np.flatnonzero(comm).tolist() if (args := rows[row].args) is not None
            ]
            self._take_meta(ON_HOST, self.ops.height, pairs)
        texts = self.texts
        dims = [0 if (args := event.args) is None else texts[bytes(args.dims)] for event in rows]
        self.ops.add(
            row=np.arange(self.ops.height, self.ops.height + len(rows)),
            name=name,
            start=start,
            end=end,
            thread=thread,
            dims=np.array(dims, np.int32),
            range=np.full(len(rows), is_range, bool),
        )
        marked = np.flatnonzero((~comm | step) if is_range else step)
        if len(marked):
            self.marks.add(name=name[marked], start=start[marked], end=end[marked], thread=thread[marked])
        for flag, wanted in (
            ("step", step),
            ("backward", self.names.flag("backward")[name]),
            ("progress", self.names.flag("progress")[name]),
        ):
            if wanted.any():
                self.thread_flags[flag].update(np.unique(thread[wanted]).tolist())
        first, last = int(start.min()), int(end.max())
        if self.ops_extent is not None:
            first, last = min(first, self.ops_extent[0]), max(last, self.ops_extent[1])
        self.ops_extent = (first, last)

    def _take_meta(self, on: int, offset: int, pairs: Sequence[tuple[int, Any]]) -> None:
        if not pairs:
            return
        facts = self.meta_facts
        values = attrgetter(*META_FIELDS)
        self.meta.add(
            on=np.full(len(pairs), on, np.int8),
            row=np.array([offset + row for row, _ in pairs], np.int64),
            facts=np.array([facts[_kept(values(args))] for _, args in pairs], np.int32),
            seq=ints([args.seq for _, args in pairs]),
        )

    def _name_ids(self, rows: list[Event]) -> NDArray[np.int32]:
        return np.fromiter(map(self.names.ids.__getitem__, map(_get_name, rows)), np.int32, len(rows))

    def _thread_ids(self, rows: list[Event]) -> NDArray[np.int32]:
        pairs = zip(map(_get_pid, rows), map(_get_tid, rows), strict=True)
        return np.fromiter(map(self.threads.__getitem__, pairs), np.int32, len(rows))

    def _label(self, event: Metadata) -> None:
        if event.name == "thread_name" and event.args is not None:
            text = bytes(event.args.name).decode("utf-8", "replace").strip('"')
            self.labels[(event.pid, event.tid)] = text


def _int(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _kept(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return metadata with its raw parts as bytes of their own, so that it does not hold on to the text."""
    return tuple(bytes(v) if field in _RAW else v for field, v in zip(META_FIELDS, values, strict=True))
