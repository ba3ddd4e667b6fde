"""What is written has the shape of recorded traces, and says exactly what was simulated."""

from __future__ import annotations

import gzip
import json
import time
from decimal import Decimal

import pytest
from synth import Job, scenario, simulate, write_pair, write_run
from synth.kineto import BASE_NS, ORIGIN_NS


def load(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        return json.load(file, parse_float=Decimal)


def rank_files(folder):
    return sorted(p for p in folder.iterdir() if p.name != "run.json")


def shapes(document):
    """Per category of event: the keys its events and their args have."""
    keys: dict[str, set[str]] = {}
    for event in document["traceEvents"]:
        mine = keys.setdefault(f"{event['ph']} {event.get('cat')}", set())
        mine |= {k for k in event if k != "bp"} | {f"args.{k}" for k in event.get("args", {})}
    return keys


@pytest.mark.parametrize("case", ["ddp_tail", "fsdp_prefetch"])
def test_same_kinds_of_event_and_the_same_keys_as_the_shared_cases(shared, tmp_path, case):
    like = {
        "ddp_tail": Job(steps=4, copies=False),
        "fsdp_prefetch": Job(steps=4, parallel="fsdp", copies=False),
    }
    mine = shapes(load(rank_files(write_run(simulate(like[case]), tmp_path))[1]))
    theirs = shapes(load(rank_files(shared / "cases" / case / "base")[1]))
    assert set(mine) == set(theirs)
    rare = {"args.shared memory", "args.warps per SM"}
    for kind, keys in theirs.items():
        assert keys - mine[kind] <= rare, kind


@pytest.mark.parametrize("form", ["float", "string", "absolute"])
def test_every_span_is_written_to_the_nanosecond(tmp_path, form):
    base, _ = scenario("straggler", steps=3)
    folder = write_run(base, tmp_path, time=form)
    for rank, path in enumerate(rank_files(folder)):
        document = load(path)
        zero = document.get("baseTimeNanoseconds", 0)
        assert zero == (BASE_NS if form == "float" else 0)
        kernels = [
            e for e in document["traceEvents"] if e.get("cat") in {"kernel", "gpu_memcpy", "gpu_memset"}
        ]
        clock = base.clock(rank)
        assert len(kernels) == len(base.ranks[rank].spans)
        for span, event in zip(base.ranks[rank].spans, kernels, strict=True):
            start = int(Decimal(event["ts"]) * 1000) + zero
            end = start + int(Decimal(event["dur"]) * 1000)
            assert (start, end) == (ORIGIN_NS + clock.show(span.start), ORIGIN_NS + clock.show(span.end))


def test_whole_microseconds_are_exact_when_the_run_is(tmp_path):
    run = simulate(Job(steps=3, quantum_ns=1000, compute_stretch=1.7))
    events = load(rank_files(write_run(run, tmp_path, time="int"))[0])["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    spans = [s for s in run.ranks[0].spans if s.kernel != "" and s.kind == "compute"]
    assert sum(e["dur"] for e in kernels if not e["name"].startswith("nccl")) * 1000 == sum(
        s.end - s.start for s in spans
    )


def test_launches_find_their_activities_and_steps(tmp_path):
    run = simulate(Job(steps=3))
    events = load(rank_files(write_run(run, tmp_path))[0])["traceEvents"]
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
    steps = [e for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
    assert [s["name"] for s in steps] == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]
    for event in events:
        if event.get("cat") == "kernel":
            call = calls[event["args"]["correlation"]]
            assert call["name"].startswith("cudaLaunchKernel")
            assert sum(s["ts"] <= call["ts"] < s["ts"] + s["dur"] for s in steps) == 1
            assert call["ts"] + 5 <= event["ts"]


def test_a_pair_of_four_ranks_and_twelve_steps_is_cheap(tmp_path):
    before = time.process_time()
    write_pair(tmp_path, *scenario("same"))
    assert time.process_time() - before < 2.0
