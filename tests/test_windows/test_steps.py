"""Windows: cut at the device's own progress, attributed by launch, every dropped one with its reason."""

from __future__ import annotations

import pytest
from handmade import collective, copy, joined, kernel, memset, ns, tables

from abstep.errors import TraceError
from abstep.windows import cut

from .seen import THREE, windows


def test_a_window_begins_with_the_first_work_its_step_launched_and_ends_with_the_next():
    """The device lags the host by a step and more; lengths are its own progress."""
    run = cut(
        tables(
            kernel(150, 180, launch=10),
            kernel(400, 450, launch=110),
            collective(620, 700, launch=210),
            steps=THREE,
        )
    )
    assert windows(run) == {
        (0, 0): (150, 400, None),
        (0, 1): (400, 620, None),
        (0, 2): (620, None, "last_in_cycle"),
    }
    assert run.completed["step"].to_list() == [0, 1]


def test_copies_and_memsets_open_no_window():
    """A prefetched input copy belongs to the step before."""
    run = cut(
        tables(
            kernel(50, 60, launch=10),
            copy(80, 95, launch=105),
            memset(96, 98, launch=106),
            kernel(120, 130, launch=110),
            kernel(220, 230, launch=210),
            steps=THREE,
        )
    )
    assert windows(run)[0, 0] == (50, 120, None)


def test_an_activity_belongs_to_the_step_that_launched_it_not_to_the_time_it_ran():
    run = cut(
        tables(
            kernel(50, 60, launch=10),
            kernel(70, 250, launch=20),
            kernel(250, 260, launch=110),
            kernel(300, 310, launch=210),
            steps=THREE,
        )
    )
    assert windows(run)[0, 0] == (50, 250, None)
    own = run.tables.spans.join(run.windows.select("window", "step"), on="window")
    assert own["step"].to_list() == [0, 0, 1, 2]


def test_launched_between_steps_or_not_at_all_is_unattributed():
    run = cut(
        tables(
            kernel(5, 9, launch=-30),
            kernel(50, 60, launch=10),
            kernel(61, 62, launch=None),
            kernel(95, 99, launch=90),
            kernel(120, 130, launch=110),
            kernel(220, 230, launch=210),
            steps=THREE,
        )
    )
    spans = run.tables.spans
    zero = ns(0)
    assert [(s - zero) / 1000 for s in spans.filter(spans["window"].is_null())["start_ns"]] == [5, 61, 95]
    assert windows(run)[0, 0] == (50, 120, None), "what belongs to no step opens no window"


def test_the_only_step_of_a_cycle_is_closed_by_its_own_work():
    late = cut(tables(kernel(50, 400, launch=10), steps=[(0, 90)]))
    early = cut(tables(kernel(50, 60, launch=10), steps=[(0, 90)]))
    assert windows(late) == {(0, 0): (50, 400, None)}
    assert windows(early) == {(0, 0): (50, 90, None)}
    assert late.windows["own_work"].to_list() == [True]


def test_a_gap_in_the_step_numbers_starts_a_cycle():
    """wait=…, active=2, repeat=2: the last step of each cycle has no end."""
    begins = {0: 0, 1: 100, 2: 200, 10: 1000, 11: 1100}
    run = cut(
        tables(
            *(kernel(at + 50, at + 60, launch=at + 10) for at in begins.values()),
            steps={number: (at, at + 90) for number, at in begins.items()},
        )
    )
    assert [(step, reason) for (_, step), (_, _, reason) in windows(run).items()] == [
        (0, None),
        (1, None),
        (2, "last_in_cycle"),
        (10, None),
        (11, "last_in_cycle"),
    ]
    assert run.windows["cycle"].to_list() == [0, 0, 0, 1, 1]
    assert windows(run)[0, 1] == (150, 250, None)


def test_each_file_of_a_rank_is_a_cycle_of_its_own():
    """Numbers that go on do not join two captures: between them the device was not seen."""
    first = tables(kernel(50, 60, launch=10), kernel(150, 160, launch=110), steps=THREE[:2], file=0)
    second = tables(
        kernel(250, 260, launch=210),
        kernel(350, 360, launch=310),
        steps=[(200, 290), (300, 390)],
        first_step=2,
        file=1,
    )
    run = cut(joined(first, second))
    assert [reason for _, _, reason in windows(run).values()] == [
        None,
        "last_in_cycle",
        None,
        "last_in_cycle",
    ]


def test_two_files_of_one_rank_with_the_same_step_are_refused_by_name():
    one = tables(kernel(50, 60, launch=10), steps=[(0, 90)], file=0, run_path="rank0.json")
    two = tables(kernel(150, 160, launch=110), steps=[(100, 190)], file=1, run_path="again.json")
    with pytest.raises(TraceError) as caught:
        cut(joined(one, two))
    assert "/runs/handmade/rank0.json" in str(caught.value)
    assert "/runs/handmade/again.json" in str(caught.value)
    assert "step 0 of rank 0" in str(caught.value)


def test_a_step_whose_launches_show_nothing_on_one_rank_is_incomplete_on_all():
    """Not short: neither is the step before it, whose end is not in the trace."""
    whole = [kernel(50 + 100 * n, 60 + 100 * n, launch=10 + 100 * n) for n in range(5)]
    marks = [(100 * n, 100 * n + 90) for n in range(5)]
    run = cut(
        joined(
            tables(*whole, steps=marks, rank=0),
            tables(*(one for n, one in enumerate(whole) if n != 2), steps=marks, rank=1),
        )
    )
    found = windows(run)
    assert [found[rank, 2][2] for rank in (0, 1)] == ["incomplete", "incomplete"]
    assert [found[rank, 1][2] for rank in (0, 1)] == ["incomplete", "incomplete"]
    assert found[1, 2][0] is None
    assert run.completed.select("rank", "step").rows() == [(0, 0), (0, 3), (1, 0), (1, 3)]


def test_a_step_that_one_rank_did_not_capture_is_incomplete_on_the_others():
    whole = [kernel(50 + 100 * n, 60 + 100 * n, launch=10 + 100 * n) for n in range(4)]
    marks = [(100 * n, 100 * n + 90) for n in range(4)]
    run = cut(
        joined(
            tables(*whole, steps=marks, rank=0),
            tables(*whole[1:], steps=marks[1:], first_step=1, rank=1),
        )
    )
    assert windows(run)[0, 0][2] == "incomplete"
    assert run.completed.select("rank", "step").rows() == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_repeats_are_completed_by_themselves():
    whole = [kernel(50 + 100 * n, 60 + 100 * n, launch=10 + 100 * n) for n in range(3)]
    run = cut(
        joined(
            tables(*whole, steps=THREE, repeat=0, file=0),
            tables(*whole[:2], steps=THREE[:2], repeat=1, file=1),
            repeats=2,
        )
    )
    assert run.completed.select("repeat", "step").rows() == [(0, 0), (0, 1), (1, 0)]


def test_host_only_windows_are_their_annotations_the_last_one_too():
    run = cut(
        tables(
            kernel(10, 80, launch=10),
            collective(20, 95, launch=15),
            kernel(110, 180, launch=110),
            steps=[(0, 90), (100, 190)],
            host_only=True,
            device="cpu",
        )
    )
    assert windows(run) == {(0, 0): (0, 90, None), (0, 1): (100, 190, None)}


def test_an_opaque_graph_is_dropped_and_not_called_idle():
    whole = [kernel(50 + 100 * n, 60 + 100 * n, launch=10 + 100 * n) for n in (0, 2, 3)]
    run = cut(
        tables(
            *whole,
            steps=[(100 * n, 100 * n + 90) for n in range(4)],
            calls=[("cudaGraphLaunch", "graph", 110, 120)],
        )
    )
    assert windows(run)[0, 1][2] == "opaque_graph"
    assert windows(run)[0, 2][2] is None


# quarantine -------------------------------------------------------------------------------------------------
def test_a_duration_that_overruns_its_streams_next_activity_is_left_out_and_counted():
    spans = [
        kernel(50, 3_000_000, launch=10),
        kernel(60, 70, launch=11),
        kernel(65, 90, launch=12, stream=8),
        kernel(150, 160, launch=110),
        kernel(250, 260, launch=210),
    ]
    run = cut(tables(*spans, steps=THREE))
    assert run.quarantined.select("rank", "count", "time_ns").rows() == [(0, 1, 2_999_950_000)]
    assert run.tables.spans.height == 4
    assert windows(run)[0, 0] == (60, 150, None)


@pytest.mark.parametrize(("over", "kept"), [(0, True), (1, True), (1.001, False)])
def test_ties_of_a_microsecond_are_normal(over, kept):
    run = cut(
        tables(
            kernel(50, 60 + over, launch=10),
            kernel(60, 70, launch=11),
            kernel(150, 160, launch=110),
            steps=THREE[:2],
        )
    )
    assert run.quarantined.is_empty() is kept


def test_overrun_is_judged_on_its_own_stream_only():
    run = cut(
        tables(
            kernel(50, 500, launch=10),
            collective(60, 70, launch=11),
            kernel(600, 610, launch=110),
            steps=THREE[:2],
        )
    )
    assert run.quarantined.is_empty()
