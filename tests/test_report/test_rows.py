"""What is shown, in which order, and that it adds up as printed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from abstep.compare.comparison import AccountRow, Dropped
from abstep.report import rows

from . import odd, sample

MS = sample.MS


def test_called_slots_come_first_largest_first() -> None:
    c = sample.comparison()
    shuffled = replace(c, intervals=c.intervals[::-1])
    found = rows.slots(shuffled)
    assert [word for word, _ in found.called] == ["disappeared", "shrank", "grew", "appeared"]
    assert found == rows.slots(c)
    assert [row.delta.verdict for row in found.rest] == ["inconclusive", "below_floor", "unchanged"]
    assert found.rest_delta is not None
    assert abs(found.rest_delta) < 1e-6


def test_nothing_is_called_when_not_comparable() -> None:
    judged = sample.comparison()
    c = replace(judged, comparability=replace(judged.comparability, status="not_comparable"))
    assert rows.slots(c).called == ()
    bare = rows.shown(c, judged.step_time)
    assert (bare.verdict, bare.ci_low, bare.p_value, bare.smallest_detectable) == (None, None, None, None)
    assert bare.delta == judged.step_time.delta


@given(st.lists(st.integers(-(10**8), 10**8), min_size=1, max_size=60), st.integers(1, 12))
def test_account_adds_up_as_printed_however_many_rows_are_folded(deltas: list[int], most: int) -> None:
    c = sample.comparison()
    total = float(sum(deltas))
    c = replace(
        c,
        step_time=replace(c.step_time, delta=total),
        account=tuple(AccountRow("exposed", str(i), float(d)) for i, d in enumerate(deltas)),
    )
    found = rows.account(c, most)
    assert found is not None
    assert sum(found.deltas.rows) == found.deltas.total == round(total / found.deltas.unit.step)
    assert len(found.rows) <= most + 1
    kept = [row.delta for row, _ in found.rows if row is not None]
    left = [d for d in deltas if d not in kept]
    assert not kept or not left or min(map(abs, kept)) >= max(map(abs, left)) or len(kept) < most


def test_account_keeps_its_order_and_unassigned() -> None:
    found = rows.account(sample.comparison(), 3)
    assert found is not None
    labels = [label for _, label in found.rows]
    assert labels[0] == sample.REDUCE
    assert labels[-2:] == ["unassigned", "12 smaller parts together"]
    assert [found.deltas.unit.steps(n, sign=True) for n in found.deltas.rows[:2]] == ["-7.00", "-1.80"]


def test_account_has_a_digit_to_spare_where_the_total_is_small() -> None:
    c = sample.comparison()
    parts = (AccountRow("exposed", "a", -12.34 * MS), AccountRow("contention", "b", 11.0 * MS))
    c = replace(c, account=parts, step_time=replace(c.step_time, delta=-1.34 * MS))
    found = rows.account(c, 9)
    assert found is not None
    assert found.deltas.unit.steps(found.deltas.total, sign=True) == "-1.34"


def test_categories_add_up_in_every_column() -> None:
    c = sample.comparison()
    third = 48.2 * MS / 3
    split = [replace(r, delta=replace(r.delta, base=b, variant=b, delta=0.0))
             for r, b in zip(c.decomposition, (third, third, third, 0.0, 0.0), strict=True)]  # fmt: skip
    c = replace(c, decomposition=tuple(split), step_time=replace(c.step_time, variant=48.2 * MS, delta=0.0))
    found = rows.categories(c)
    assert found is not None
    for column in (found.base, found.variant, found.delta):
        assert sum(column.rows) == column.total
    assert found.base.unit.steps(found.base.total) == "48.20"
    assert rows.categories(odd.unknown()) is None


def test_categories_come_in_the_definitions_order() -> None:
    c = sample.comparison()
    c = replace(c, decomposition=tuple(sorted(c.decomposition, key=lambda row: row.category)))
    names = ["compute_alone", "overlapped", "exposed", "copy_only", "idle"]
    assert [row.category for row in rows.decomposition(c)] == names


def test_pairs_that_changed_are_told_before_larger_ones_that_did_not() -> None:
    c = sample.comparison()
    below = replace(c.contention[0], delta=sample.delta(0.0, 9.0, "below_floor"))
    found = rows.pairs(replace(c, contention=(below, c.contention[1], c.contention[0])), 15)
    assert [row.delta.verdict for row in found.told] == ["grew", "inconclusive"]
    assert found.rest == (below,)
    assert rows.pairs(replace(c, contention=(below,) * 3), 2).told == (below,) * 2
    assert len(rows.pairs(c, 1).told) == 1


def test_dropped_windows_are_grouped() -> None:
    side = sample.side("base", dropped=(
        Dropped(0, None, 1, "warm-up"), Dropped(0, None, 0, "warm-up"), Dropped(1, None, 0, "warm-up"),
        Dropped(0, 3, 9, "incomplete"), Dropped(0, 1, 9, "incomplete"), Dropped(0, 1, 10, "incomplete"),
    ))  # fmt: skip
    assert [(g.reason, g.repeat, g.ranks, g.steps) for g in rows.dropped(side)] == [
        ("incomplete", 0, (1, 3), (9,)), ("incomplete", 0, (1,), (10,)),
        ("warm-up", 0, (), (0, 1)), ("warm-up", 1, (), (0,)),
    ]  # fmt: skip
    assert rows.dropped_counts(side) == {"incomplete": 2, "warm-up": 3}


def test_ranges() -> None:
    assert rows.ranges([7, 2, 0, 1, 8, 5, 1]) == "0-2, 5, 7-8"
    assert rows.ranges([]) == ""
