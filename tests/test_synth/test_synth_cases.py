"""The truth's own code, fed with the spans of the shared cases, says what their truth.json says."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict

import msgspec
import pytest
from synth import Job
from synth.model import COMM, COMPUTE, COPY, Call, Edge, Group, Instance, Mark, Range, RankTrace, SimRun, Span
from synth.truth import CATEGORIES

ORIGIN_NS = 1_712_195_495_000_000_000
CASES = ["ddp_tail", "contention", "host_bound", "fsdp_prefetch", "same_twice"]  # clocks are right in these
KINDS = {"kernel": COMPUTE, "gpu_memcpy": COPY, "gpu_memset": "memset"}
NAMES = {"allreduce": "all_reduce", "_allgather_base": "all_gather", "_reduce_scatter_base": "reduce_scatter"}


def anchors(count):
    """Places in the toy model, in launch order."""
    layers = (count - 3) // 5
    out = [f"m0/fwd{k}/{part}" for k in range(layers) for part in ("gemm", "gelu")] + ["m0/loss"]
    out += [f"m0/bwd{k}/{part}" for k in reversed(range(layers)) for part in ("gelu", "dx", "dw")]
    return [*out, "opt0", "opt1"]


class Reader:
    """Just enough of a reader for the cases' own layout."""

    def __init__(self, path, rank, instances):
        document = msgspec.json.decode(gzip.decompress(path.read_bytes()))
        self.zero = document["baseTimeNanoseconds"] - ORIGIN_NS
        events = [e for e in document["traceEvents"] if e["ph"] == "X"]
        self.rank, self.instances = rank, instances
        self.trace = RankTrace(rank)
        marks = [e for e in events if e["cat"] == "user_annotation" and e["name"].startswith("ProfilerStep#")]
        for mark in marks:
            number = int(mark["name"].partition("#")[2])
            self.trace.steps[number] = Range(mark["name"], "user_annotation", "main", *self.when(mark))
        self.main = marks[0]["tid"]
        self.calls = {}
        for event in events:
            if event["cat"] == "cuda_runtime":
                thread = "main" if event["tid"] == self.main else "autograd"
                number = event["args"]["correlation"]
                self.calls[number] = Call(event["name"], thread, *self.when(event), number)
        optimizer = [self.when(e) for e in events if e["name"].startswith("Optimizer.step") and e["pid"] > 99]
        kernels = [e for e in events if e["cat"] in KINDS]
        kernels.sort(key=lambda e: self.calls[e["args"]["correlation"]].start)
        self.edges(events, kernels, optimizer)
        self.trace.calls = list(self.calls.values())

    def when(self, event):
        start = self.zero + round(event["ts"] * 1000)  # relative times: a float still holds the nanosecond
        return start, start + round(event["dur"] * 1000)

    def edges(self, events, kernels, optimizer):
        waits = sorted(
            (e["args"] for e in events if e["cat"] == "cuda_sync"),
            key=lambda a: self.calls[a["correlation"]].start,
        )
        tails, pending = {}, defaultdict(list)
        for event in kernels:
            call = self.calls[event["args"]["correlation"]]
            while waits and self.calls[waits[0]["correlation"]].start < call.start:
                args = waits.pop(0)
                record = self.calls[args["wait_on_cuda_event_record_corr_id"]]
                before = tails.get(args["wait_on_stream"], [])
                span = next((s for s in reversed(before) if s.launch.start < record.start), None)
                mark = Mark(args["wait_on_stream"], span, record)
                pending[args["stream"]].append(mark)
                self.trace.edges.append(Edge(args["stream"], mark, self.calls[args["correlation"]]))
            span = self.span(event, call, optimizer)
            line = tails.setdefault(span.stream, [])
            span.place, span.previous = len(line), line[-1] if line else None
            span.after = tuple(pending.pop(span.stream, ()))
            line.append(span)
            held = [span.previous, *(m.span for m in span.after)]
            held = [s for s in held if s is not None and 0 <= span.start - s.end <= 600]
            span.cause = max(held, key=lambda s: s.end, default=None)
            self.trace.spans.append(span)
        by_step = defaultdict(list)
        for span in self.trace.spans:
            if span.kind == COMPUTE:
                by_step[span.step].append(span)
        for spans in by_step.values():
            for span, anchor in zip(spans, anchors(len(spans)), strict=True):
                span.anchor = anchor

    def span(self, event, call, optimizer):
        args = event["args"]
        step = next(n for n, mark in self.trace.steps.items() if mark.start <= call.start < mark.end)
        updates = any(a <= call.start < b for a, b in optimizer)
        phase = "optimizer" if updates else "forward" if call.thread == "main" else "backward"
        span = Span(
            self.rank, step, KINDS[event["cat"]], event["tid"], 0, event["name"], "", phase, "", (), call, 0
        )
        span.start, span.end = self.when(event)
        if "Collective name" in args:
            span.kind, span.collective = COMM, NAMES[args["Collective name"]]
            group = Group("0", "dp", (0, 1, 2, 3))
            made = Instance(group, args["Seq"], step, span.collective, "", 0, args["Seq"])
            span.instance = self.instances.setdefault(args["Seq"], made)
            span.instance.members[self.rank] = span
            span.instance.last_arrival = max(span.instance.last_arrival, span.start)
        return span


@pytest.fixture(params=[(c, s) for c in CASES for s in ("base", "variant")], scope="module", ids="-".join)
def case(request, shared):
    name, side = request.param
    folder = shared / "cases" / name
    instances: dict[int, Instance] = {}
    ranks = {r: Reader(folder / side / f"rank{r}.json.gz", r, instances).trace for r in range(4)}
    steps = ranks[0].steps
    job = Job(first_step=min(steps), steps=len(steps))
    run = SimRun(job, ranks, list(instances.values()), (Group("0", "dp", (0, 1, 2, 3)),))
    return run.truth, json.loads((folder / "truth.json").read_text())[side]


def test_windows(case):
    mine, theirs = case
    windows = {(w.step, w.rank): w for w in mine.completed()}
    rows = {(w["step"], w["rank"]): w for w in theirs["windows"]}
    for key, window in windows.items():
        assert window.start == round(rows[key]["start_us"] * 1000)
        for name in CATEGORIES:
            assert getattr(window, name) == round(rows[key][f"{name}_us"] * 1000)


def test_instances(case):
    mine, theirs = case
    calls = {(c.rank, c.collective, c.start): c for c in mine.calls}
    for row in theirs["instances"]:
        call = calls[row["rank"], row["collective"], round(row["start_us"] * 1000)]
        assert call.end == round(row["end_us"] * 1000)
        assert call.late_rank == row["late_rank"]
        assert call.consumer == row["consumer"]
        for name in ("queue", "peer_wait", "transport", "exposed", "hidden", "slack"):
            assert float(getattr(call, name)) / 1000 == pytest.approx(row[f"{name}_us"], abs=0.0011), name


def test_intervals(case):
    mine, theirs = case
    count = len(mine.completed())
    want, have = defaultdict(float), defaultdict(float)
    for row in theirs["intervals"]:
        key = (
            row["kind"],
            row["phase"],
            row["collective"],
            row["consumer"] if row["kind"] == "blocking" else None,
        )
        want[key] += row["peer_wait_us"] + row["transport_us"]
    for row in mine.exposed:
        if row.step in {w.step for w in mine.completed()}:
            kind, phase, _, collective, consumer = row.slot
            have[kind, phase, collective, consumer] += float(row.ns) / 1000 / count
    # the cases let the capture's very first gather block before its consumer has been launched
    loose = 5 if ("blocking", "forward", "all_gather", "m0/fwd0/gemm") in want else 0.05
    for key in want.keys() | have.keys():
        assert have[key] == pytest.approx(want[key], abs=loose), key


def test_path(case):
    mine, theirs = case
    for kind in ("compute", "transport", "host", "idle", "length"):
        mean = sum(getattr(path, kind) for path in mine.paths.values()) / len(mine.paths) / 1000
        assert mean == pytest.approx(theirs["path"][f"{kind}_us"], abs=0.002), kind
