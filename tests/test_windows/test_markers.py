"""What marks a step, and what a trace without marks is told; host times on the device clock of their file."""

from __future__ import annotations

import pytest
from handmade import joined, kernel, ns, tables

from abstep.errors import TraceError
from abstep.windows import cut

from .seen import windows


# clocks inside a file ---------------------------------------------------------------------------------------
def test_host_times_are_moved_onto_the_device_clock():
    """An activity 80 us before its own launch: the host's clock is at least 85 us ahead."""
    run = cut(
        tables(
            kernel(50, 60, launch=130),
            kernel(220, 230, launch=210),
            kernel(320, 330, launch=310),
            steps=[(100, 190), (200, 290), (300, 390)],
            waits=[(7, 20, 140, 135)],
            calls=[("cudaFree", "alloc", 150, 160)],
        )
    )
    zero = ns(0)

    def us(values):
        return [(value - zero) / 1000 for value in values]

    assert run.shifts.shifts.rows() == [(0, -85_000)]
    assert us(run.tables.spans["launch_start"]) == [45, 125, 225]
    assert us(run.tables.spans["start_ns"]) == [50, 220, 320], "device times are never changed"
    assert us(run.marks["start_ns"]) == [15, 115, 215]
    assert us(run.tables.waits["wait_start"]) == [55]
    assert us(run.tables.host_calls["start_ns"]) == [65]
    assert windows(run)[0, 0] == (50, 220, None)


def test_the_move_does_not_change_which_step_launched_what():
    """Marks and launches move together."""
    run = cut(
        tables(
            kernel(50, 60, launch=189),
            kernel(220, 230, launch=200),
            kernel(320, 330, launch=310),
            steps=[(100, 190), (200, 290), (300, 390)],
        )
    )
    assert run.tables.spans["window"].to_list() == [0, 1, 2]


@pytest.mark.parametrize(("launch", "shift"), [(10, 0), (45, 0), (60, -15_000)])
def test_a_launch_that_takes_its_5_us_moves_nothing(launch, shift):
    run = cut(tables(kernel(50, 60, launch=launch), steps=[(0, 90)]))
    assert run.shifts.shifts["shift_ns"].to_list() == [shift]


def test_each_file_is_moved_by_its_own():
    run = cut(
        joined(
            tables(kernel(50, 60, launch=10), steps=[(0, 90)], rank=0),
            tables(kernel(50, 60, launch=80), steps=[(0, 90)], rank=1),
        )
    )
    assert run.shifts.shifts.rows() == [(0, 0), (1, -35_000)]


# markers ----------------------------------------------------------------------------------------------------
def unmarked(*marks):
    return tables(*(kernel(50 + 100 * n, 60 + 100 * n, launch=10 + 100 * n) for n in range(4)), marks=marks)


def test_a_marker_of_ones_own_numbers_its_matches_in_order_of_time():
    run = unmarked(
        ("train step", 300, 390),
        ("train step", 0, 90),
        ("load", 95, 99),
        ("train step", 100, 190),
        ("train step", 200, 290),
    )
    found = windows(cut(run, r"^train"))
    assert found == {
        (0, 0): (50, 150, None),
        (0, 1): (150, 250, None),
        (0, 2): (250, 350, None),
        (0, 3): (350, None, "last_in_cycle"),
    }


def test_without_steps_the_repeating_annotations_are_listed_most_regular_first():
    wobbly = [("evaluate", 0, 5), ("evaluate", 10, 15), ("evaluate", 300, 305)]
    steady = [("train step", 100 * n, 100 * n + 90) for n in range(4)]
    with pytest.raises(TraceError) as caught:
        cut(unmarked(*wobbly, *steady, ("once", 0, 400), ("twice", 0, 1), ("twice", 2, 3)))
    assert "/runs/handmade: no ProfilerStep#N annotations" in caught.value.message
    assert caught.value.remedy.endswith("candidates: 'train step' (4 times), 'evaluate' (3 times)")


def test_without_any_annotation_the_remedy_is_to_record_them():
    with pytest.raises(TraceError, match=r"prof\.step\(\)"):
        cut(unmarked())


@pytest.mark.parametrize(
    ("marker", "said"), [("(", "not a regular expression"), ("^nothing$", "no annotation")]
)
def test_markers_that_cannot_be_used(marker, said):
    with pytest.raises(TraceError, match=said):
        cut(unmarked(("train step", 0, 90)), marker)
