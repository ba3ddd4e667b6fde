"""Where the host waits: a synchronisation, or a call that synchronises the device, held the next kernel up."""

from __future__ import annotations

import pytest
from handmade import collective, copy, kernel

from .one_step import SUM, UPDATE, consumer, measured, parts


# the host ---------------------------------------------------------------------------------------------------
def host_bound(call, *more, launch=None, **options):
    """The next kernel is launched after the call has returned."""
    name, kind, start, end = call
    launch = end + 2 if launch is None else launch
    return measured(
        collective(100, 200, 10),
        *more,
        kernel(launch + 8, launch + 100, launch, path=UPDATE),
        calls=[(name, kind, start, end)],
        **options,
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [("cudaStreamSynchronize", "sync"), ("cudaEventSynchronize", "sync"), ("cudaMemcpy", "copy")],
)
def test_a_thread_that_waits_in_a_synchronisation_blocks_up_to_the_end(name, kind):
    run = host_bound((name, kind, 50, 203))
    assert parts(run) == [("blocking", 120, 200, 80)]
    row = run.parts.to_dicts()[0]
    assert (row["host"], row["consumer"]) == (True, "optimizer Optimizer.step#Adam #1")
    assert consumer(run) == 213


def test_it_blocks_from_where_the_call_began():
    run = host_bound(("cudaStreamSynchronize", "sync", 160, 203))
    assert parts(run) == [("incidental", 120, 160, 40), ("blocking", 160, 200, 40)]


def test_the_gap_after_it_is_idle_for_the_host_is_late():
    run = host_bound(("cudaStreamSynchronize", "sync", 50, 203))
    assert run.idle["host_late"].to_list()[0] == 13_000, "from the end at 200 to the next kernel at 213"


@pytest.mark.parametrize(("returns", "blocks"), [(200, True), (250, True), (250.001, False)])
def test_a_synchronisation_must_return_within_50_us_of_the_end(returns, blocks):
    run = host_bound(("cudaStreamSynchronize", "sync", 50, returns))
    assert (parts(run)[0][0] == "blocking") is blocks


def test_another_activity_that_ends_in_between_may_be_what_it_waited_for():
    run = host_bound(("cudaStreamSynchronize", "sync", 50, 230), copy(150, 215, 12, stream=9))
    assert parts(run)[0][0] == "incidental"


@pytest.mark.parametrize("name", ["cudaFree", "cudaMalloc", "cudaHostAlloc", "hipFree"])
def test_a_call_that_synchronises_the_device_counts_whenever_it_returns(name):
    run = host_bound((name, "alloc", 50, 700), copy(150, 215, 12, stream=9))
    assert dict(run.parts.group_by("kind").agg(SUM).iter_rows()) == {"blocking": 80_000}


def test_a_call_that_begins_after_the_end_waited_for_nothing():
    run = host_bound(("cudaStreamSynchronize", "sync", 201, 203))
    assert parts(run)[0][0] == "incidental"


def test_a_call_of_another_thread_holds_up_nobody():
    run = measured(
        collective(100, 200, 10),
        kernel(213, 300, 205, path=UPDATE, thread=1),
        calls=[("cudaStreamSynchronize", "sync", 50, 203)],
        threads={0: (True, False), 1: (False, False)},
    )
    assert parts(run)[0][0] == "incidental"
