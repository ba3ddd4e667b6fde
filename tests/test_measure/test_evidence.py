"""What was recorded beside contention: launch configurations, copies to the ns, threads (SEMANTICS 6)."""

from __future__ import annotations

import numpy as np
import pytest
from handmade import collective, copy, joined, kernel, tables
from hypothesis import given
from hypothesis import strategies as st

from abstep.measure.busy import Busy
from abstep.measure.run import measure
from abstep.windows import cut

STEPS = [(1_000 * n, 1_000 * n + 900) for n in range(3)]
SMALL = {"blocks": 100, "threads": 128, "registers": 40, "shared_bytes": 0, "occupancy_pct": 50.0}
LARGE = {"blocks": 100, "threads": 256, "registers": 96, "shared_bytes": 1024, "occupancy_pct": 12.0}
RING = {"blocks": 24, "threads": 544, "registers": 96, "shared_bytes": 87_568}
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def measured(*traces):
    return measure(cut(joined(*traces)))


def trace(*more, first=SMALL, second=SMALL, ring=RING, name=NCCL, compute="gemm", later=0, **facts):
    """In every step two gemms, 100 to 200 and 200 to 300, the second one and half the first beside a collective."""
    steps = {n: (start + later, end + later) for n, (start, end) in enumerate(STEPS, start=later)}
    spans = [
        one
        for start, _ in steps.values()
        for one in (
            kernel(start + 100, start + 200, launch=start + 10, resource=first, name=compute),
            kernel(start + 200, start + 300, launch=start + 11, resource=second, name=compute),
            collective(start + 150, start + 400, launch=start + 12, resource=ring, name=name),
            kernel(start + 400, start + 500, launch=start + 13, name="update", resource=LARGE),
        )
    ]
    return tables(*spans, *more, steps=steps, **facts)


def told(run, compute="gemm"):
    """Ranges of the compute, and the sizes of the collectives."""
    (row,) = [row for row in run.resources.to_dicts() if row["base"] == compute]
    assert row["ns"] == 600_000, "two of 100 us in each of three steps"
    found = {
        name: (row[f"{name}_low"], row[f"{name}_high"])
        for name in ("registers", "shared_bytes", "occupancy_pct")
    }
    return found | {name: set(run.instances[name]) for name in ("blocks", "threads", "channels")}


def test_what_a_signatures_kernels_take_is_the_range_of_what_was_recorded():
    found = told(measured(trace(first=SMALL, second=LARGE)))
    assert found == {
        "registers": (40, 96),
        "shared_bytes": (0, 1024),
        "occupancy_pct": (12.0, 50.0),
        "blocks": {24},
        "threads": {544},
        "channels": {24},
    }


def test_occupancy_is_weighed_by_time():
    (row,) = [row for row in measured(trace(second=LARGE)).resources.to_dicts() if row["base"] == "gemm"]
    assert row["occupancy_ns"] == 300_000 * (50 + 12)
    (row,) = [row for row in measured(trace(second=None)).resources.to_dicts() if row["base"] == "gemm"]
    assert row["occupancy_ns"] is None


def test_one_kernel_without_a_record_leaves_its_signature_unknown():
    found = told(measured(trace(first=SMALL, second=None, ring=None)))
    assert [found[name] for name in ("registers", "shared_bytes", "occupancy_pct")] == [(None, None)] * 3
    assert found["blocks"] == found["threads"] == found["channels"] == {None}
    found = told(measured(trace(second=SMALL | {"occupancy_pct": None})))
    assert (found["registers"], found["occupancy_pct"]) == ((40, 40), (None, None))


@pytest.mark.parametrize(
    ("name", "channels"),
    [
        (NCCL, 24),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 24),
        ("ncclSymDevKernel_AllReduce_AGxLL_R(ncclSymDevArgs)", None),
        ("void vllm::cross_device_reduce_1stage<float, 8>", None),
    ],
)
def test_blocks_are_channels_only_where_the_kernel_is_nccls_own(name, channels):
    run = measured(trace(name=name))
    assert told(run)["blocks"] == {24}
    assert told(run)["channels"] == {channels}


def test_launch_configurations_are_their_own_files():
    """Both files number their configurations from 0."""
    run = measured(trace(first=SMALL, second=SMALL), trace(first=LARGE, second=LARGE, rank=1))
    by_rank = {row["rank"]: row["registers_low"] for row in run.resources.to_dicts() if row["base"] == "gemm"}
    assert by_rank == {0: 40, 1: 96}


def test_so_are_those_of_two_captures_of_one_rank():
    second = trace(first=LARGE, second=LARGE, compute="gemv", later=10_000, file=1)
    run = measured(trace(first=SMALL, second=SMALL), second)
    assert told(run)["registers"] == (40, 40)
    assert told(run, "gemv")["registers"] == (96, 96)


def copied(run):
    return {
        (row["step"], row["direction"]): row["copies_ns"]
        for row in run.copies.sort("step", "direction").to_dicts()
    }


def test_only_the_part_of_a_copy_while_both_ran_counts():
    """Compute beside the collective is 150 to 300: of 120 to 170, 20 us lie in it, and of 280 to 450 also 20."""
    run = measured(
        trace(
            copy(120, 170, launch=5, stream=9, name="Memcpy HtoD (Pinned -> Device)"),
            copy(280, 450, launch=6, stream=9, name="Memcpy HtoD (Pinned -> Device)"),
            copy(290, 300, launch=7, stream=10, name="Memcpy DtoH (Device -> Pageable)"),
            copy(600, 700, launch=8, stream=9, name="Memcpy DtoD (Device -> Device)"),
        )
    )
    assert copied(run) == {(0, "HtoD"): 40_000, (0, "DtoH"): 10_000}
    (whole,) = set(run.beside.filter(run.beside["step"] == 0)["overlap_ns"])
    assert whole == 150_000


def test_copies_of_one_direction_that_run_together_count_once():
    two = [copy(150 + 10 * n, 250, launch=5 + n, stream=9 + n) for n in range(2)]
    assert copied(measured(trace(*two))) == {(0, "HtoD"): 100_000}


def test_a_copy_whose_direction_is_not_named_is_of_another():
    found = measured(trace(copy(150, 160, launch=5, stream=9, name="Memcpy Unknown")))
    assert copied(found) == {(0, "other"): 10_000}


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=12)


@given(SPANS, SPANS)
def test_busy_time_is_that_of_the_union(busy, asked):
    busy, asked = sorted(busy), sorted(asked)
    start, length = (np.array(column) for column in zip(*busy, strict=True))
    low, wide = (np.array(column) for column in zip(*asked, strict=True))
    covered = {t for at, n in busy for t in range(at, at + n)}
    expected = [len(covered & set(range(at, at + n))) for at, n in asked]
    assert Busy(start, start + length).between(low, low + wide).tolist() == expected


def test_copies_a_device_trace_holds_are_counted_and_threads_are_the_hosts_alone():
    (row,) = measured(trace(copy(600, 700, launch=8, stream=9))).recorded.to_dicts()
    assert (row["copies"], row["compute_threads"], row["collective_threads"]) == (1, None, None)


def test_a_host_only_rank_has_the_threads_its_work_ran_on():
    spans = [
        one
        for start, _ in STEPS
        for one in (
            kernel(start + 100, start + 300, launch=start + 100, stream=1, name="aten::mm"),
            collective(start + 150, start + 250, launch=start + 20, stream=3, name="gloo:all_reduce"),
            collective(start + 260, start + 290, launch=start + 30, stream=4, name="gloo:all_reduce"),
        )
    ]
    run = measured(tables(*spans, steps=STEPS, host_only=True, device="cpu"))
    (row,) = run.recorded.to_dicts()
    assert (row["compute_threads"], row["collective_threads"], row["copies"]) == (1, 2, None)
    assert run.resources["registers_low"].to_list() == [None]
