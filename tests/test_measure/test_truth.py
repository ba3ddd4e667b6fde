"""Generated runs of every layout: windows, collectives and exposed slots agree with the truth."""

from __future__ import annotations

import pytest
from synth import Job, simulate

from .against import REPORTED, measured_run

STARVING = {"sync": "step", "host_op_ns": 66_000, "gemm_ns": 18_000, "act_ns": 6_000}
SMALL = {"steps": 4, "layers": 4, "world": 2}
JOBS = {
    "ddp": Job(**SMALL),
    "one bucket": Job(**SMALL | {"steps": 8}, buckets=1),
    "uneven buckets": Job(**SMALL, buckets=3, uneven=True),
    "gaps": Job(**SMALL, gap_ns=600, buckets=2),
    "no overlap": Job(**SMALL, overlap=False),
    "accumulated": Job(**SMALL, micro=2),
    "own bucket": Job(**SMALL, per_bucket_optimizer=True),
    "packing": Job(**SMALL, packing=True),
    "fsdp": Job(**SMALL, parallel="fsdp"),
    "prefetch": Job(**SMALL, parallel="fsdp", prefetch=1),
    "tp and dp": Job(**SMALL | {"world": 4}, parallel="tp_dp"),
    "experts": Job(**SMALL, parallel="moe"),
    "experts hidden": Job(**SMALL, parallel="moe", overlap=False),
    "pipeline": Job(**SMALL | {"world": 4, "steps": 8}, parallel="pipeline", micro=2),
    "eager pipeline": Job(**SMALL | {"world": 4, "steps": 8}, parallel="pipeline", micro=2, eager_send=True),
    "stream synchronised": Job(**SMALL, host_wait="cudaStreamSynchronize"),
    "memory freed": Job(**SMALL, host_wait="cudaFree"),
    "memory taken": Job(**SMALL, allocates=(4,)),
    "starving": Job(**SMALL, **STARVING),
    "contended": Job(**SMALL, compute_stretch=1.9, comm_stretch=2.3),
    "late rank": Job(**SMALL, slow_rank={1: 1.2}),
    "late host": Job(**SMALL, late_host_ns={1: 3_000_000}, sync="step"),
    "every step synchronised": Job(**SMALL, sync="step"),
    "host never waits": Job(**SMALL, sync="none"),
    "inserted kernels": Job(**SMALL, inserted=2),
}
DIVIDED_NS = 40
"""A stretch shared by several collectives is divided in whole ns; a window has a few dozen stretches."""


@pytest.fixture(scope="module", params=JOBS)
def one(request, tmp_path_factory):
    return measured_run(simulate(JOBS[request.param]), tmp_path_factory.mktemp("run"))


def test_windows(one):
    one.assert_windows()


def test_collectives_within_their_rank(one):
    for call, row in one.calls():
        where = call.step, call.rank, call.label
        said = row["collective"], row["group"], row["phase"]
        assert said == (REPORTED.get(call.collective, call.collective), call.group, call.phase), where
        assert row["direction"] == (call.collective if call.collective in REPORTED else None), where
        assert row["bytes"] == call.bytes, where
        assert row["first_valid_launch"] == one.shown(call.rank, call.first_valid_launch), where
        assert row["queue_ns"] == call.queue, where


def test_consumers_and_slack(one):
    for call, row in one.calls():
        where = call.step, call.rank, call.label
        if call.consumer_start is None:
            assert row["consumer_row"] is None, where
            continue
        assert row["consumer_start"] == one.shown(call.rank, call.consumer_start), where
        assert row["slack_ns"] == call.slack, where
        assert row["independent_ns"] == call.independent, where


def test_exposed_slots(one):
    one.assert_slots(DIVIDED_NS)


def test_split(one):
    """To the nanosecond: the clocks are right, and nothing but whole ns is compared."""
    for call, row in one.calls():
        where = call.step, call.rank, call.label
        assert row["peer_wait_ns"] == call.peer_wait, where
        assert row["transport_ns"] == call.transport, where
        if call.collective in REPORTED:
            assert row["late_rank"] is None, "a pipeline's schedule is never evidence of a late rank"
        else:
            assert row["late_rank"] == call.late_rank, where
