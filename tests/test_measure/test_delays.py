"""Start delays beside collectives, to the ns: blocked is not slowed (SEMANTICS 6)."""

from __future__ import annotations

import pytest
from handmade import collective, kernel, tables

from abstep.measure.run import measure
from abstep.windows import cut

ALONE = [kernel(at, at + 9, launch=at / 100) for at in (100, 110, 120, 130)]  # 1 us apart


def delays(*activities, alone=ALONE, **more):
    run = measure(
        cut(
            tables(
                *alone,
                *activities,
                kernel(1_000, 1_010, launch=920),
                steps=[(0, 900), (900, 1_900)],
                **more,
            )
        )
    )
    row = run.delays.sort("window").to_dicts()[0]
    return row["beside"], None if row["delay_ns"] is None else row["delay_ns"] / 1000


def test_a_queued_kernel_that_starts_late_beside_a_collective_is_delayed():
    """1 us is usual between kernels; 6 and 2 us beside the collective are 5 and 1 us more."""
    found = delays(
        kernel(200, 300, launch=3),
        kernel(306, 400, launch=4),
        kernel(402, 450, launch=5),
        collective(250, 500, launch=6),
    )
    assert found == (2, pytest.approx(6.0))


def test_a_gap_below_the_usual_counts_against_it():
    found = delays(kernel(200, 300, launch=3), kernel(300, 400, launch=4), collective(250, 500, launch=6))
    assert found == (1, pytest.approx(-1.0))


@pytest.mark.parametrize(
    "late",
    [
        pytest.param(kernel(306, 400, launch=302), id="launched after its stream was free"),
        pytest.param(kernel(501, 600, launch=4), id="waits for the collective's end"),
    ],
)
def test_what_has_another_reason_to_start_late_is_no_start_delay(late):
    assert delays(kernel(200, 300, launch=3), late, collective(250, 500, launch=6)) == (0, 0.0)


def test_what_waits_for_another_stream_is_no_start_delay():
    other, first, second = (
        kernel(200, 305, launch=33, stream=8),
        kernel(200, 300, launch=30),
        kernel(306, 400, launch=45),
    )
    beside = collective(250, 500, launch=50)
    assert delays(other, first, second, beside) == (1, pytest.approx(5.0))
    assert delays(other, first, second, beside, waits=[(7, 8, 40, 35)]) == (0, 0.0)


def test_a_gap_without_a_collective_is_none():
    assert delays(kernel(200, 300, launch=3), kernel(306, 400, launch=4)) == (0, 0.0)


def test_without_enough_spans_alone_it_is_unknown():
    found = delays(
        kernel(200, 300, launch=3), kernel(306, 400, launch=4), collective(250, 500, launch=6), alone=[]
    )
    assert found == (1, None)


def test_a_trace_with_nothing_to_judge_has_the_same_columns():
    """Ranks are put together: one without a queued kernel must not differ in type from the others."""
    quiet = measure(cut(tables(kernel(100, 200, launch=None), steps=[(0, 900), (900, 1_900)])))
    busy = measure(cut(tables(*ALONE, collective(250, 500, launch=6), steps=[(0, 900), (900, 1_900)])))
    assert quiet.delays.schema == busy.delays.schema
