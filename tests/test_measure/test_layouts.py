"""However a recorder writes it down, the same run gives the same figures."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from synth import Job, scenario, simulate
from synth.host import COMM_STREAM, COMPUTE_STREAM

from .against import measured_run

JOB = Job(steps=7, layers=4, world=2, buckets=3)
LAYOUTS = {
    "quoted us": {"time": "string"},
    "us without a base": {"time": "absolute"},
    "a list of events": {"root": "list", "time": "absolute", "file_name": "trace_rank{}.json"},
    "no rank in the file": {"distributed": "no_rank", "file_name": "worker{}.json"},
    "no distributedInfo": {"distributed": "none"},
    "old names": {"names": "old"},
    "old categories": {"categories": "old", "names": "old", "flows": False},
    "generic kernels": {"names": "generic"},
    "rccl on AMD": {"rocm": True, "names": "rccl"},
    "metadata of kernels only": {"metadata": "kernel"},
    "metadata of ranges only": {"metadata": "host"},
    "no metadata": {"metadata": "none"},
    "no sequence numbers": {"seq": "absent"},
    "a constant sequence number": {"seq": "constant"},
    "python stacks": {"stacks": True},
    "shapes": {"shapes": True},
    "plain and indented": {"gz": False, "indent": True},
    "events in any order": {"order": "shuffled"},
    "no arrows": {"flows": False},
    "other stream numbers": {"streams": {COMPUTE_STREAM: 0, COMM_STREAM: 21}},
    "step marks on the device": {"gpu_steps": True},
    "host clock 40 us behind": {"host_shift_ns": 40_000},
    "other kernel names": {"renamed": True},
}
DIVIDED_NS = 10


@pytest.fixture(scope="module")
def run():
    return simulate(JOB)


@pytest.fixture(scope="module", params=LAYOUTS)
def one(request, run, tmp_path_factory):
    return measured_run(run, tmp_path_factory.mktemp("run"), **LAYOUTS[request.param])


def test_windows(one):
    one.assert_windows()


def test_slots(one):
    one.assert_slots(DIVIDED_NS)


def test_queue_and_split(one):
    for call, row in one.calls():
        where = call.step, call.rank, call.label
        assert row["collective"] == "all_reduce", where
        assert row["peer_wait_ns"] == call.peer_wait, where
        assert row["late_rank"] == call.late_rank, where
        assert row["slack_ns"] == call.slack, where
        if one.measured.cut.shifts.shifts["shift_ns"].min() == 0:
            assert row["queue_ns"] == call.queue, where


@pytest.mark.parametrize(
    ("seq", "how"), [("present", "sequence"), ("absent", "order"), ("constant", "order")]
)
def test_how_collectives_were_matched(run, tmp_path, seq, how):
    one = measured_run(run, tmp_path, seq=seq)
    assert set(one.measured.instances["matched_by"]) == {how}
    assert one.measured.instances["instance"].n_unique() == one.measured.instances.height / 2


def test_whole_microseconds(tmp_path):
    """Integer files cut every time to whole us: a run of whole us is exact."""
    one = measured_run(simulate(replace(JOB, quantum_ns=1000)), tmp_path, time="int")
    one.assert_windows()
    one.assert_slots(DIVIDED_NS)


def test_waits_are_inferred_where_they_were_not_recorded(run, tmp_path):
    """Within 20 us, enqueued before: the same consumers, marked inferred, and the same exposed time."""
    one = measured_run(run, tmp_path, sync_events=False)
    one.assert_windows()
    one.assert_slots(DIVIDED_NS)
    blocking = one.measured.parts.filter(one.measured.parts["kind"] == "blocking")
    assert blocking["inferred"].all()
    assert one.measured.recorded_edges == 0


@pytest.mark.parametrize("name", ["fsdp_prefetch", "straggler", "contention"])
def test_inference_gives_the_recorded_consumers(name, tmp_path):
    """Every blocking slot that edges show is found without them, to the ns, in other layouts too."""
    base, _ = scenario(name, world=2, steps=3, layers=4)
    recorded = measured_run(base, tmp_path / "with")
    inferred = measured_run(base, tmp_path / "without", sync_events=False)

    def blocking(one):
        rows = one.measured.parts.filter(one.measured.parts["kind"] == "blocking")
        return dict(rows.group_by("consumer").agg(pl.col("exposed_ns").sum()).iter_rows())

    assert blocking(inferred) == blocking(recorded)
