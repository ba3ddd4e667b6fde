"""A rank's host: what a layout calls to open ranges, launch work, order streams and wait."""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.model import (
    COMM,
    COMPUTE,
    COPY,
    ITEM_BYTES,
    MEMSET,
    Call,
    Edge,
    Group,
    Job,
    Mark,
    Range,
    RankTrace,
    Span,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from synth.simulate import Engine

Dims = tuple[tuple[int, ...], ...]
MAIN, AUTOGRAD = "main", "autograd"
COMPUTE_STREAM, COMM_STREAM, SECOND_COMM_STREAM, COPY_STREAM = 7, 20, 28, 25
RETURN_NS = 2_000  # a synchronisation returns this long after what it waited for
CALL_NS = 1_000
C10D = {
    "all_reduce": "allreduce_",
    "all_gather": "_allgather_base_",
    "reduce_scatter": "_reduce_scatter_base_",
    "all_to_all": "alltoall_base_",
    "broadcast": "broadcast_",
    "send": "send",
    "recv": "recv_",
}


@dataclass(frozen=True)
class Wait:
    """What a host program yields: it cannot go on before these spans have ended."""

    call: str
    spans: tuple[Span, ...]


class Host:
    """One rank's host time, its threads and the spans it launches."""

    def __init__(self, engine: Engine, rank: int, groups: dict[str, Group]) -> None:
        self.engine = engine
        self.job: Job = engine.job
        self.rank = rank
        self.groups = groups
        self.trace = RankTrace(rank)
        self.now = 50_000 + 5_000 * rank
        self.thread = MAIN
        self.phase = "other"
        self.step_number = -1
        self.finished = False
        self._open: dict[str, list[Range]] = {MAIN: [], AUTOGRAD: []}
        self._waits: dict[int, list[Mark]] = {}
        self._graph: Call | None = None
        self._correlation = 1_000 + rank
        self._own_stream = 0
        self._rng = random.Random(f"{self.job.seed}/{rank}")
        self._program: Generator[Wait, None, None] | None = None

    # the program -------------------------------------------------------------------------------------------
    def start(self, program: Generator[Wait, None, None]) -> None:
        self._program = program
        self._resume()

    def _resume(self) -> None:
        assert self._program is not None
        wait = next(self._program, None)
        if wait is None:
            self.finished = True
            return
        call = self.call(wait.call, 0)
        call.waited = wait.spans

        def back() -> None:
            self.now = max([self.now + CALL_NS, *(s.end + RETURN_NS for s in wait.spans)])
            call.end = self.now
            self._resume()

        self.engine.when_done(wait.spans, back)

    # time and ranges ---------------------------------------------------------------------------------------
    def pause(self, ns: int) -> None:
        self.now += ns

    def call(self, name: str, ns: int = CALL_NS) -> Call:
        self._correlation += 1
        call = Call(name, self.thread, self.now, self.now + ns, self._correlation)
        self.trace.calls.append(call)
        self.now += ns
        return call

    @contextmanager
    def range(self, name: str, cat: str = "cpu_op", dims: Dims = ()) -> Iterator[Range]:
        one = Range(name, cat, self.thread, self.now, dims=dims)
        self.trace.ranges.append(one)
        self._open[self.thread].append(one)
        yield one
        self._open[one.thread].remove(one)
        one.end = self.now

    @contextmanager
    def step(self, number: int) -> Iterator[None]:
        self.step_number = number
        with self.range(f"ProfilerStep#{number}", "user_annotation") as mark:
            self.trace.steps[number] = mark
            yield
        self.pause(2_000)

    @contextmanager
    def on(self, thread: str, phase: str) -> Iterator[None]:
        before = self.thread, self.phase
        self.pause(10_000 if thread != self.thread else 0)
        self.thread, self.phase = thread, phase
        yield
        self.pause(10_000 if thread != before[0] else 0)
        self.thread, self.phase = before

    # work --------------------------------------------------------------------------------------------------
    def launch(
        self,
        kind: str,
        kernel: str,
        op: str,
        anchor: str,
        nominal_ns: int,
        *,
        stream: int = COMPUTE_STREAM,
        call: str = "cudaLaunchKernel",
        **more: object,
    ) -> Span:
        """Enqueue one activity; its work is the nominal time, this rank's slowness and noise."""
        work = nominal_ns
        if kind == COMPUTE:
            slow = self.job.slowdown * self.job.slow_rank.get(self.rank, 1.0)
            slow *= self.job.step_factor.get(self.step_number, 1.0)
            work = max(1, round(nominal_ns * slow * self.engine.noise(self._rng)))
        q = self.job.quantum_ns
        path = tuple(self._open[self.thread])
        span = Span(
            rank=self.rank,
            step=self.step_number,
            kind=kind,
            stream=stream,
            place=0,
            kernel=kernel,
            op=op,
            phase=self.phase,
            anchor=anchor,
            path=path,
            launch=self._graph or self.call(call, 5_000),
            in_graph=self._graph is not None,
            work=-(-work // q) * q,
            after=tuple(self._waits.pop(stream, ())),
            **more,  # type: ignore[arg-type]
        )
        for one in path:
            one.span = one.span or span
        self.trace.spans.append(span)
        self.engine.enqueue(span)
        return span

    def kernel(
        self,
        op: str,
        kernel: str,
        anchor: str,
        nominal_ns: int,
        *,
        dims: Dims = (),
        stream: int = COMPUTE_STREAM,
        packs: bool = False,
    ) -> Span:
        """One operator that launches one compute kernel; inside a graph, a node without a host side."""
        spare = self.job.host_op_ns - 9_000
        grid = (max(1, nominal_ns // 2_400), 1, 1)
        if self._graph is not None:
            return self.launch(COMPUTE, kernel, op, anchor, nominal_ns, stream=stream, grid=grid)
        with self.range(op, dims=dims):
            self.pause(4_000)
            more = {"stream": stream, "grid": grid, "packs": packs}
            span = self.launch(COMPUTE, kernel, op, anchor, nominal_ns, **more)
            self.pause(max(0, spare))
        return span

    @contextmanager
    def graph(self) -> Iterator[None]:
        """Everything launched inside is one graph launch."""
        self._graph = self.call("cudaGraphLaunch", 20_000)
        yield
        self._graph = None

    def copy(self, anchor: str, nbytes: int, ns: int, stream: int = COMPUTE_STREAM) -> Span:
        with self.range("aten::copy_"):
            name = "Memcpy HtoD (Pinned -> Device)"
            how = {"stream": stream, "call": "cudaMemcpyAsync", "bytes": nbytes}
            return self.launch(COPY, name, "aten::copy_", anchor, ns, **how)

    def memset(self, anchor: str, nbytes: int, ns: int, stream: int = COMPUTE_STREAM) -> Span:
        with self.range("aten::zero_"):
            how = {"stream": stream, "call": "cudaMemsetAsync", "bytes": nbytes}
            return self.launch(MEMSET, "Memset (Device)", "aten::zero_", anchor, ns, **how)

    # order between streams ---------------------------------------------------------------------------------
    def record(self, stream: int) -> Mark:
        call = self.call("cudaEventRecord")
        return Mark(stream, self.engine.tails.get((self.rank, stream)), call)

    def wait(self, stream: int, mark: Mark) -> None:
        call = self.call("cudaStreamWaitEvent")
        self._waits.setdefault(stream, []).append(mark)
        self.trace.edges.append(Edge(stream, mark, call))

    def sync(self, call: str, *marks: Mark) -> Wait:
        """To be yielded: the host stands still until these marks are reached."""
        return Wait(call, tuple(m.span for m in marks if m.span is not None))

    def sync_device(self, call: str = "cudaDeviceSynchronize") -> Wait:
        return Wait(call, tuple(s for (rank, _), s in self.engine.tails.items() if rank == self.rank))

    # communication -----------------------------------------------------------------------------------------
    def collective(
        self,
        group: Group,
        kind: str,
        nbytes: int,
        label: str,
        *,
        stream: int = COMM_STREAM,
        after: Mark | None = None,
        peer: tuple[int, int] = (-1, -1),
    ) -> Mark:
        """Launch one, after what the compute stream (or the mark) holds; returns the mark of its end.

        `nbytes` is S of the bus-bandwidth formulas: buffer, output of a gather, input of a scatter.
        """
        if self.job.own_streams:
            self._own_stream += 1
            stream = 1_000 + self._own_stream
        with self.range(f"c10d::{C10D[kind]}"), self.range("record_param_comms") as record:
            self.pause(20_000)
            self.wait(stream, after or self.record(COMPUTE_STREAM))
            with self.range(f"nccl:{kind}", "user_annotation"):
                work = self._transport(kind, nbytes, len(group.ranks))
                instance = self.engine.join(group, self, kind, label, work)
                span = self.launch(
                    COMM,
                    "",
                    f"c10d::{C10D[kind]}",
                    label,
                    0,
                    stream=stream,
                    call="cudaLaunchKernelExC",
                    bytes=nbytes,
                    collective=kind,
                    peer=peer,
                    instance=instance,
                    grid=(8, 1, 1),
                )
            record.span = span
            return self.record(stream)

    def _transport(self, kind: str, nbytes: int, n: int) -> int:
        share = (n - 1) / n if kind not in {"send", "recv", "broadcast"} else 1.0
        moved = nbytes * share * (2 if kind == "all_reduce" else 1)
        return self.job.link_latency_ns + round(moved * 1_000 / self.job.link_bytes_per_us)

    def elements(self, nbytes: int) -> int:
        return nbytes // ITEM_BYTES[self.job.dtype]
