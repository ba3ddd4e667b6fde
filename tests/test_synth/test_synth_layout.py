"""What is written has the shape of recorded traces, and says exactly what was simulated."""

from __future__ import annotations

import gzip
import json
import time
from decimal import Decimal

import pytest
from synth import Job, scenario, simulate, write_pair, write_repeats, write_run
from synth.faults import corrupt, cut_front, find, opaque_graph, unlaunched
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


def events_of(tmp_path, run=None, **options):
    document = load(rank_files(write_run(run or simulate(Job(steps=3)), tmp_path, **options))[0])
    return document, document if isinstance(document, list) else document["traceEvents"]


def kernels_of(events):
    return [e for e in events if e.get("cat") in {"kernel", "Kernel"}]


@pytest.mark.parametrize(
    ("names", "start"),
    [
        ("new", "ncclDevKernel_AllReduce_Sum_f32"),
        ("old", "ncclKernel_AllReduce"),
        ("generic", "ncclDevKernel_Generic("),
        ("rccl", "ncclDevKernel_Generic_4"),
    ],
)
def test_names_by_generation(tmp_path, names, start):
    _, events = events_of(tmp_path, names=names)
    assert sum(e["name"].startswith(start) for e in kernels_of(events)) == 12


@pytest.mark.parametrize(
    ("metadata", "device", "host"), [("both", 12, 12), ("kernel", 12, 0), ("host", 0, 12), ("none", 0, 0)]
)
def test_metadata_where_it_was_recorded(tmp_path, metadata, device, host):
    _, events = events_of(tmp_path, metadata=metadata)
    told = [e for e in events if "Collective name" in e.get("args", {})]
    assert sum(e["cat"] == "kernel" for e in told) == device
    assert sum(e["name"] == "record_param_comms" for e in told) == host


@pytest.mark.parametrize(
    ("seq", "values"), [("present", set(range(1, 13))), ("constant", {0}), ("absent", {None})]
)
def test_sequence_numbers(tmp_path, seq, values):
    _, events = events_of(tmp_path, seq=seq)
    told = [e["args"] for e in kernels_of(events) if "Collective name" in e["args"]]
    assert {a.get("Seq") for a in told} == values


def test_old_categories(tmp_path):
    _, events = events_of(tmp_path, categories="old")
    assert {"Kernel", "Runtime", "Operator", "Memcpy", "Memset"} <= {e.get("cat") for e in events}
    assert not {"kernel", "cuda_runtime", "cpu_op"} & {e.get("cat") for e in events}


def test_the_host_clock_may_be_shifted_against_the_device(tmp_path):
    _, straight = events_of(tmp_path / "a")
    _, shifted = events_of(tmp_path / "b", host_shift_ns=70_000)
    moved = {"kernel": 0, "cuda_runtime": 70, "cpu_op": 70, "gpu_memcpy": 0}
    for a, b in zip(straight, shifted, strict=True):
        if a.get("cat") in moved:
            assert b["ts"] - a["ts"] == moved[a["cat"]]


def test_other_streams_other_names(tmp_path):
    _, events = events_of(tmp_path, streams={7: 13, 20: 7}, renamed=True)
    rows = {(e["tid"], e["args"]["stream"]) for e in kernels_of(events)}
    assert rows == {(13, 13), (7, 7)}
    assert not any("ampere" in e["name"] for e in kernels_of(events))


def test_switches_that_leave_something_out(tmp_path):
    document, events = events_of(
        tmp_path / "a", flows=False, sync_events=False, distributed="none", marker=""
    )
    assert not {"ac2g", "cuda_sync"} & {e.get("cat") for e in events}
    assert not any(e["name"].startswith("ProfilerStep") for e in events)
    assert "distributedInfo" not in document
    document, _ = events_of(tmp_path / "b", distributed="no_rank")
    assert document["distributedInfo"]["world_size"] == 4
    assert "rank" not in document["distributedInfo"]
    document, _ = events_of(tmp_path / "c", root="list", gz=False)
    assert isinstance(document, list)


def test_switches_that_add_something(tmp_path):
    _, events = events_of(tmp_path, shapes=True, stacks=True, gpu_steps=True, indent=True, host_name="n0")
    assert any(e.get("args", {}).get("Input Dims") for e in events)
    share = sum(e.get("cat") == "python_function" for e in events) / len(events)
    assert share > 0.35
    gpu_steps = [e for e in events if e.get("cat") == "gpu_user_annotation" and "ProfilerStep" in e["name"]]
    assert gpu_steps
    assert all(e["dur"] == 3 for e in gpu_steps)


def test_shuffled_order_has_the_same_events(tmp_path):
    _, straight = events_of(tmp_path / "a")
    _, shuffled = events_of(tmp_path / "b", order="shuffled")
    assert straight != shuffled
    assert sorted(map(str, straight)) == sorted(map(str, shuffled))


def test_rows_without_a_launch_and_corrupt_ends(tmp_path):
    run = corrupt(unlaunched(simulate(Job(steps=3)), 0, 4, "m0/fwd2/gelu"), 0, 4, "m0/fwd3/gelu")
    _, events = events_of(tmp_path, run)
    launched = {e["args"]["correlation"] for e in events if e.get("cat") == "cuda_runtime"}
    assert sum(e["args"]["correlation"] not in launched for e in kernels_of(events)) == 1
    assert max(e["dur"] for e in kernels_of(events)) > 3_000_000
    gone = find(run, 0, 4, "m0/fwd3/gelu")
    window = next(w for w in run.truth.windows if (w.step, w.rank) == (4, 0))
    whole = next(w for w in simulate(Job(steps=3)).truth.windows if (w.step, w.rank) == (4, 0))
    assert whole.compute_alone - window.compute_alone == gone.end - gone.start


def test_several_files_a_rank_and_several_repeats(tmp_path):
    base, variant = scenario("cycles", steps=6, layers=2)
    assert len(rank_files(write_run(base, tmp_path / "run"))) == 12
    write_repeats([base, variant], tmp_path / "repeats")
    assert sorted(p.name for p in (tmp_path / "repeats").iterdir()) == ["repeat1", "repeat2"]


def test_an_opaque_graph_and_a_late_capture(tmp_path):
    run = cut_front(opaque_graph(simulate(Job(steps=3)), 4), 1, 2)
    assert not [s for s in run.ranks[0].spans if s.step == 4]
    graphs = [c for c in run.ranks[0].calls if c.name == "cudaGraphLaunch"]
    assert len(graphs) == 1
    assert len([s for s in run.ranks[1].spans if s.collective and s.step == 3]) == 2
    write_run(run, tmp_path)
