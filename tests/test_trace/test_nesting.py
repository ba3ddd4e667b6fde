"""Which range encloses an instant: against a plain stack, thread by thread."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from abstep.trace.nesting import Nesting

if TYPE_CHECKING:
    from collections.abc import Iterator

Range = tuple[int, int, int]  # thread, start, end


@st.composite
def nested(draw: st.DrawFn) -> list[Range]:
    """Properly nested ranges on a few threads; siblings may touch, children may fill their parent."""
    found: list[Range] = []

    def fill(thread: int, low: int, high: int, deep: int) -> None:
        at = low
        for _ in range(draw(st.integers(0, 3 if deep else 0))):
            start = draw(st.integers(at, high))
            end = draw(st.integers(start, high))
            if end <= start:
                continue
            found.append((thread, start, end))
            fill(thread, start, end, deep - 1)
            at = end

    for thread in range(draw(st.integers(1, 3))):
        fill(thread, 0, 400, 4)
    return found


def made(ranges: list[Range]) -> Nesting:
    thread, start, end = (np.array(column, np.int64) for column in zip(*ranges, strict=True))
    return Nesting(thread, start, end)


def innermost(ranges: list[Range], thread: int, time: int) -> Range | None:
    open_ = [r for r in ranges if r[0] == thread and r[1] <= time < r[2]]
    return max(open_, key=lambda r: (r[1], -r[2])) if open_ else None


def instants(ranges: list[Range]) -> Iterator[tuple[int, int]]:
    for thread, start, end in ranges:
        for time in (start - 1, start, (start + end) // 2, end - 1, end, end + 1):
            yield thread, time


@given(nested())
def test_enclosing_is_what_a_stack_says(ranges: list[Range]) -> None:
    if not ranges:
        return
    nesting = made(ranges)
    asked = list(instants(ranges))
    thread, time = (np.array(column, np.int64) for column in zip(*asked, strict=True))
    found = nesting.enclosing(thread, time)
    for (one, instant), position in zip(asked, found.tolist(), strict=True):
        expected = innermost(ranges, one, instant)
        assert (None if position < 0 else ranges[nesting.order[position]]) == expected


@given(nested())
def test_levels_and_parents_agree(ranges: list[Range]) -> None:
    if not ranges:
        return
    nesting = made(ranges)
    assert sorted(np.concatenate(nesting.levels).tolist()) == list(range(len(ranges)))
    for depth, level in enumerate(nesting.levels):
        for position in level.tolist():
            chain = [position]
            while nesting.parent[chain[-1]] >= 0:
                chain.append(int(nesting.parent[chain[-1]]))
            assert len(chain) == depth + 1
            for inner, outer in pairwise(chain):
                one, other = ranges[nesting.order[inner]], ranges[nesting.order[outer]]
                assert other[0] == one[0]
                assert other[1] <= one[1]
                assert one[2] <= other[2]


def test_an_end_over_the_parents_is_drawn_in() -> None:
    nesting = made([(0, 10, 15), (0, 11, 16), (0, 15, 20), (0, 16, 18)])
    assert [int(p) for p in nesting.parent] == [-1, 0, -1, 2]


def test_whole_microseconds_hide_which_is_outer() -> None:
    """The inner range starts in the same microsecond and seems to end one later: its name tells."""
    thread = np.zeros(3, np.int64)
    start, end = np.array([5000, 5000, 6000]), np.array([9000, 10000, 7000])
    nesting = Nesting(thread, start, end, np.array([2, 5, 5]))
    assert nesting.order.tolist() == [0, 1, 2]
    assert nesting.parent.tolist() == [-1, 0, 1]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-(2**62), 2**62), st.integers(0, 2**61)), min_size=1)
)
def test_wild_times_break_nothing(ranges: list[Range]) -> None:
    ranges = [(thread, start, min(start + length, 2**62)) for thread, start, length in ranges]
    nesting = made(ranges)
    thread, start, _ = (np.array(column, np.int64) for column in zip(*ranges, strict=True))
    found = nesting.enclosing(thread, start)
    for (one, time, end), position in zip(ranges, found.tolist(), strict=True):
        if end > time:
            assert position >= 0
            other = ranges[nesting.order[position]]
            assert other[0] == one
            assert other[1] <= time


def test_no_thread_has_no_ranges() -> None:
    nesting = made([(0, 0, 10)])
    assert nesting.enclosing(np.array([-1, 1, 0]), np.array([5, 5, 5])).tolist() == [-1, -1, 0]
