"""Writes a simulated run as Kineto files, in any of the layouts that recorders have produced."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from synth.host import AUTOGRAD, MAIN
from synth.model import COMM, COMPUTE, COPY, ITEM_BYTES, Range, SimRun, Span
from synth.names import RECORDED, annotation, communication_kernel, renamed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from synth.model import Call, RankTrace

BASE_NS = 1_711_964_646_000_000_000  # baseTimeNanoseconds, shared by unrelated runs
ORIGIN_NS = 1_712_195_495_000_000_000  # where true time 0 lies
OLD = {"kernel": "Kernel", "cuda_runtime": "Runtime", "cpu_op": "Operator", "gpu_memcpy": "Memcpy"}
OLD |= {"gpu_memset": "Memset", "ac2g": "async_cpu_to_gpu", "user_annotation": "user_annotation"}
Event = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """How a run is written. None of these changes what is true, only what is recorded of it."""

    time: str = "float"  # float: us after the base; int: whole us; string: quoted us; absolute: us, no base
    shapes: bool = False
    metadata: str = "both"  # both, kernel, host (record_param_comms only), none
    seq: str = "present"  # present, absent, constant
    names: str = "new"  # new, old, generic, rccl
    categories: str = "new"  # new, old
    registers: int = 96  # what compute kernels take, where a recorder says (not rocm)
    occupancy: int = 25
    rocm: bool = False  # hip calls, AMD's kernel arguments
    stacks: bool = False  # python_function events
    flows: bool = True  # ac2g arrows
    sync_events: bool = True  # cuda_sync rows
    distributed: str = "full"  # full, no_rank, none
    root: str = "object"  # object, list
    gz: bool = True
    indent: bool = False
    order: str = "threads"  # threads: as recorders write; shuffled
    host_shift_ns: int = 0  # host clock minus device clock
    streams: Mapping[int, int] = field(default_factory=dict)  # other numbers for the streams
    renamed: bool = False  # other names for the same compute kernels
    marker: str = "ProfilerStep#{}"  # name of the step marks; "" writes none
    gpu_steps: bool = False  # microsecond-long step marks on the device rows
    file_name: str = "rank{}.json"
    device: str = "NVIDIA A100-SXM4-80GB"
    host_name: str = ""


class Writer:
    """One rank's events."""

    def __init__(self, run: SimRun, trace: RankTrace, layout: Layout) -> None:
        self.run, self.trace, self.layout = run, trace, layout
        self.rank = trace.rank
        self.clock = run.clock(trace.rank)
        self.pid = 2_910_052 + trace.rank
        self.device = trace.rank % 8
        self.tids = {MAIN: self.pid, AUTOGRAD: self.pid + 9_503}
        self.ids = {one: 1 + n for n, one in enumerate(trace.ranges)}
        self.items = ITEM_BYTES[run.job.dtype]

    # numbers -----------------------------------------------------------------------------------------------
    def _number(self, ns: int) -> Any:
        if self.layout.time == "int":
            return ns // 1_000
        text = f"{ns // 1_000}.{ns % 1_000:03d}"
        return text if self.layout.time == "string" else msgspec.Raw(text.encode())

    def _interval(self, start: int, end: int, shift: int = 0) -> Event:
        """ts and dur, as this rank's clock shows them."""
        zero = ORIGIN_NS - (BASE_NS if self.layout.time in {"float", "int"} else 0) + shift
        a, b = zero + self.clock.show(start), zero + self.clock.show(end)
        if self.layout.time == "int":
            a, b = a // 1_000 * 1_000, b // 1_000 * 1_000
        return {"ts": self._number(a), "dur": self._number(b - a)}

    def _x(self, cat: str, name: str, row: tuple[Any, Any], when: Event, args: Event) -> Event:
        cat = OLD.get(cat, cat) if self.layout.categories == "old" else cat
        return {"ph": "X", "cat": cat, "name": name, "pid": row[0], "tid": row[1], **when, "args": args}

    def _thread(self, name: str) -> tuple[int, int]:
        return self.pid, self.tids[name]

    def stream(self, number: int) -> int:
        return self.layout.streams.get(number, number)

    # host --------------------------------------------------------------------------------------------------
    def ranges(self) -> Iterator[Event]:
        for n, one in enumerate(sorted(self.trace.ranges, key=lambda r: r.thread)):
            args: Event = {"External id": self.ids[one], "Record function id": n}
            name = one.name
            if name.startswith("ProfilerStep#"):
                if not self.layout.marker:
                    continue
                name = self.layout.marker.format(name.partition("#")[2])
            if one.name.startswith("nccl:") and one.span is not None:
                name = annotation(one.span)
            if one.name == "record_param_comms" and one.span is not None:
                if self.layout.metadata in {"both", "host"}:
                    args |= self._metadata(one.span)
            elif self.layout.shapes and one.dims:
                args |= {"Input Dims": one.dims, "Input type": ["c10::BFloat16"] * len(one.dims)}
            args["Ev Idx"] = n
            yield self._x(one.cat, name, self._thread(one.thread), self._host(one.start, one.end), args)
            if self.layout.stacks:
                yield from self._stack(one, n)

    def _host(self, start: int, end: int) -> Event:
        return self._interval(start, end, self.layout.host_shift_ns)

    def _stack(self, one: Range, n: int) -> Iterator[Event]:
        wrapped = "torch/nn/modules/module.py(1553): _wrapped_call_impl"
        for depth, name in enumerate(("train.py(88): train_step", wrapped, f"nn.Module: M_{n}")):
            at = 10 * n + depth
            args = {"Python parent id": at, "Python id": at + 1, "Ev Idx": at}
            when = self._host(one.start, one.end)
            yield self._x("python_function", name, self._thread(one.thread), when, args)

    def _metadata(self, span: Span) -> Event:
        assert span.instance is not None
        group = span.instance.group
        elements = span.bytes // self.items
        n = len(group.ranks)
        args: Event = {
            "Collective name": RECORDED[span.collective],
            "In msg nelems": elements // n if span.collective == "all_gather" else elements,
            "Out msg nelems": elements // n if span.collective == "reduce_scatter" else elements,
            "Group size": n,
            "dtype": self.run.job.dtype,
            "In split size": "[]",
            "Out split size": "[]",
            "Process Group Name": group.name,
            "Process Group Description": group.role,
            "Process Group Ranks": str(list(group.ranks)),
        }
        # one field for three things: this rank, or the root, or the other side; counted within the group
        other = {"send": span.peer[1], "recv": span.peer[0]}.get(span.collective, self.rank)
        args["Rank"] = group.ranks.index(other)
        if span.peer != (-1, -1):
            args |= {"Src Rank": span.peer[0], "Dst Rank": span.peer[1]}
        if self.layout.seq != "absent":
            args["Seq"] = span.instance.seq if self.layout.seq == "present" else 0
        return args

    def calls(self) -> Iterator[Event]:
        launched = {s.launch: s for s in self.trace.spans}
        for call in self.trace.calls:
            span = launched.get(call)
            if span is not None and span.launchless:
                continue
            yield self._call(call, self.ids[span.path[-1]] if span is not None and span.path else 0)

    def _call(self, call: Call, external: int) -> Event:
        args: Event = {"External id": external, "cbid": 211, "correlation": call.correlation}
        name = call.name.replace("cuda", "hip", 1) if self.layout.rocm else call.name
        when = self._host(call.start, call.end)
        return self._x("cuda_runtime", name, self._thread(call.thread), when, args)

    # device ------------------------------------------------------------------------------------------------
    def spans(self) -> Iterator[Event]:
        for span in self.trace.spans:
            yield self._activity(span)
            if self.layout.flows and not span.launchless:
                yield from self._flow(span)

    def _activity(self, span: Span) -> Event:
        when = self._interval(span.start, span.end if span.shown_end is None else span.shown_end)
        args: Event = {"External id": self.ids[span.path[-1]] if span.path else 0}
        stream = self.stream(span.stream)
        args |= {"device": self.device, "context": 1, "stream": stream}
        args["correlation"] = span.launch.correlation
        cat, name = "kernel", span.kernel
        if span.kind in (COMPUTE, COMM):
            args |= {"grid": list(span.grid), "block": [256, 1, 1]}
            if self.layout.rocm:
                args["kind"] = "Dispatch Kernel"
            else:
                args |= {"queued": 0, "registers per thread": self.layout.registers, "shared memory": 12_544}
                args |= {
                    "blocks per SM": round(span.grid[0] / 108, 6),
                    "est. achieved occupancy %": self.layout.occupancy,
                }
            if span.in_graph:
                args |= {"graph id": 1, "graph node id": span.place}
            if span.kind == COMM:
                name = communication_kernel(span, self.run.job.dtype, self.layout.names)
                if self.layout.metadata in {"both", "kernel"}:
                    args |= self._metadata(span)
            elif self.layout.renamed:
                name = renamed(name)
        else:
            cat = "gpu_memcpy" if span.kind == COPY else "gpu_memset"
            args |= {"bytes": span.bytes, "memory bandwidth (GB/s)": 0.5}
        return self._x(cat, name, (self.device, stream), when, args)

    def _flow(self, span: Span) -> Iterator[Event]:
        cat = "async_cpu_to_gpu" if self.layout.categories == "old" else "ac2g"
        ids: Event = {"id": span.launch.correlation, "cat": cat, "name": cat}
        sent = self._host(span.launch.start, span.launch.end)["ts"]
        yield {"ph": "s", "pid": self.pid, "tid": self.tids[span.launch.thread], "ts": sent, **ids}
        arrived = self._interval(span.start, span.end)["ts"]
        yield {
            "ph": "f",
            "pid": self.device,
            "tid": self.stream(span.stream),
            "ts": arrived,
            **ids,
            "bp": "e",
        }

    def syncs(self) -> Iterator[Event]:
        for n, edge in enumerate(self.trace.edges):
            stream = self.stream(edge.stream)
            args = {
                "External id": edge.call.correlation,
                "cuda_sync_kind": "Stream Wait Event",
                "wait_on_stream": self.stream(edge.mark.stream),
                "wait_on_cuda_event_record_corr_id": edge.mark.call.correlation,
                "wait_on_cuda_event_id": 1 + n,
                "stream": stream,
                "correlation": edge.call.correlation,
                "device": self.device,
                "context": 1,
            }
            when = self._interval(edge.call.end, edge.call.end + 1_000)
            yield self._x("cuda_sync", "Stream Wait Event", (self.device, stream), when, args)

    def device_ranges(self) -> Iterator[Event]:
        """What a user annotation launched, from its first activity on a stream to its last."""
        reach: dict[tuple[Range, int], tuple[int, int]] = {}
        for span in self.trace.spans:
            for one in span.path:
                if one.cat == "user_annotation":
                    start, end = reach.get((one, span.stream), (span.start, span.end))
                    reach[one, span.stream] = min(start, span.start), max(end, span.end)
        for (one, stream), (start, last) in reach.items():
            name, end = one.name, last
            if name.startswith("ProfilerStep#"):
                if not self.layout.gpu_steps:
                    continue
                end = start + 3_000
            elif name.startswith("nccl:") and one.span is not None:
                name = annotation(one.span)
            row = self.device, self.stream(stream)
            args = {"External id": self.ids[one]}
            yield self._x("gpu_user_annotation", name, row, self._interval(start, end), args)

    # the file ----------------------------------------------------------------------------------------------
    def notes(self) -> Iterator[Event]:
        """Metadata events, the profiler's own span and the closing instant."""
        zero = self._host(0, 0)["ts"]
        rows = ((self.pid, "python3.10", "CPU"), (self.device, "python3.10", f"GPU {self.device}"))
        for pid, name, label in rows:
            for kind, args in (
                ("process_name", {"name": name}),
                ("process_labels", {"labels": label}),
                ("process_sort_index", {"sort_index": pid}),
            ):
                yield {"name": kind, "ph": "M", "ts": zero, "pid": pid, "tid": 0, "args": args}
        streams = sorted({s.stream for s in self.trace.spans})
        threads = [(self.device, self.stream(s), f"stream {self.stream(s)} ") for s in streams]
        named = {MAIN: "pt_main_thread", AUTOGRAD: "pt_autograd_0"}
        threads += [(self.pid, tid, f"thread {tid} ({named[t]})") for t, tid in self.tids.items()]
        for pid, tid, name in threads:
            yield {
                "name": "thread_name",
                "ph": "M",
                "ts": zero,
                "pid": pid,
                "tid": tid,
                "args": {"name": name},
            }
        end = max(s.end for s in self.trace.spans)
        row = "Spans", "PyTorch Profiler"
        yield self._x("Trace", "PyTorch Profiler (0)", row, self._host(0, end), {"Op count": 0})
        last = self._host(end, end)["ts"]
        yield {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": last}

    def events(self) -> list[Event]:
        out = [*self.ranges(), *self.calls(), *self.spans()]
        if self.layout.sync_events:
            out += self.syncs()
        out += [*self.device_ranges(), *self.notes()]
        if self.layout.order == "shuffled":
            random.Random(self.rank).shuffle(out)
        return out
