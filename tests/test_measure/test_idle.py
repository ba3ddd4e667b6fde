"""Why a device stood idle, to the ns; the causes sum to the idle category (SEMANTICS 7)."""

from __future__ import annotations

import pytest
from handmade import copy, kernel, tables

from abstep.measure.run import measure
from abstep.windows import cut

CAUSES = ("end_of_step", "host_late", "stream_wait", "unknown")


def causes(*activities, steps=((0, 900), (900, 1_900))):
    """The causes of the first window's idle time, in us; the second window begins at 1,000."""
    run = measure(cut(tables(*activities, kernel(1_000, 1_010, launch=920), steps=list(steps))))
    row = run.idle.sort("step").to_dicts()[0]
    found = {name: row[name] / 1000 for name in CAUSES}
    assert sum(found.values()) == run.windows.sort("step")["idle"][0] / 1000
    return {name: us for name, us in found.items() if us}


def test_after_the_last_activity_of_the_step_it_is_the_end_of_the_step():
    assert causes(kernel(100, 400, launch=10)) == {"end_of_step": 600}


def test_up_to_the_launch_calls_end_the_host_is_late():
    """The next kernel's launch call ends at 301, it starts at 306: 5 us of latency are the host's too."""
    found = causes(kernel(100, 200, launch=10), kernel(306, 990, launch=300))
    assert found == {"host_late": 106, "end_of_step": 10}


@pytest.mark.parametrize(("start", "cause"), [(321, "host_late"), (321.001, "stream_wait")])
def test_what_is_left_is_a_stream_wait_above_20_us(start, cause):
    """Launched by 301: a device that starts later than 20 us after waits for something else."""
    found = causes(kernel(100, 200, launch=10), kernel(start, 1_000, launch=300))
    left = round(start - 301, 3)
    if cause == "host_late":
        assert found == {"host_late": pytest.approx(121)}
    else:
        assert found == {"host_late": pytest.approx(101), "stream_wait": pytest.approx(left)}


def test_launched_long_before_all_of_it_is_a_stream_wait():
    assert causes(kernel(100, 200, launch=10), kernel(500, 1_000, launch=20)) == {"stream_wait": 300}


def test_a_short_hole_between_enqueued_kernels_is_booked_to_the_host():
    assert causes(kernel(100, 200, launch=10), kernel(215, 1_000, launch=20)) == {"host_late": 15}


def test_the_next_activity_may_be_a_copy():
    found = causes(kernel(100, 200, launch=10), copy(306, 400, launch=300), kernel(400, 1_000, launch=310))
    assert found == {"host_late": 106}


def test_without_a_launch_record_the_cause_is_not_known():
    assert causes(
        kernel(100, 200, launch=10), kernel(300, 1_000, launch=None), kernel(1_000, 1_000, launch=15)
    ) == {"unknown": 100}


def test_the_end_of_the_step_is_after_all_that_it_launched_on_any_stream():
    found = causes(kernel(100, 200, launch=10), copy(600, 700, launch=20, stream=9))
    assert found == {"stream_wait": 400, "end_of_step": 300}
