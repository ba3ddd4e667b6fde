"""Verdict words, their rules and their sentences (STATISTICS 2.8 and 2.9)."""

import dataclasses

import numpy as np
import pytest
from statistics_made import MS, US, a_run, many, noise

from abstep.compare.statistics import StatisticsOptions, compare_runs
from abstep.compare.statistics.verdicts import Evidence, decide, note

PLAIN = Evidence(
    kind="slot",
    base=1000.0,
    variant=1000.0,
    delta=0.0,
    called=False,
    half_width=50.0,
    margin=100.0,
    presence=((40, 40), (40, 40)),
)


def word(**changes):
    return decide(dataclasses.replace(PLAIN, **changes))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "unchanged"),
        ({"half_width": 100.0}, "inconclusive"),  # inside, not on the margin
        ({"half_width": 99.0}, "unchanged"),
        ({"delta": 49.0}, "unchanged"),
        ({"delta": 51.0}, "inconclusive"),
        ({"delta": -51.0}, "inconclusive"),
        ({"delta": 30.0, "called": True}, "unchanged"),  # detectable, below delta
        ({"delta": 80.0, "called": True}, "grew"),
        ({"delta": -80.0, "called": True}, "shrank"),
        ({"delta": 900.0, "called": False}, "inconclusive"),
        ({"delta": 80.0, "called": True, "kind": "category"}, "grew"),
        ({"delta": 80.0, "called": True, "kind": "step"}, "slower"),
        ({"delta": -80.0, "called": True, "kind": "step"}, "faster"),
        ({"in_blocks": True}, "inconclusive"),
    ],
)
def test_rules_in_order(changes, expected):
    assert word(**changes) == expected


GONE = {"variant": 20.0, "delta": -980.0, "called": True, "presence": ((10, 40), (2, 40))}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "disappeared"),
        ({"presence": ((9, 40), (2, 40))}, "shrank"),  # too rare before
        ({"presence": ((10, 40), (3, 40))}, "shrank"),  # not rare enough after
        ({"variant": 51.0}, "shrank"),  # too much left
        ({"called": False}, "inconclusive"),
        ({"kind": "category"}, "shrank"),
        ({"margin": 5000.0}, "disappeared"),  # comes before unchanged
        ({"in_blocks": True}, "inconclusive"),
    ],
)
def test_disappeared_and_its_mirror_image(changes, expected):
    evidence = {**GONE, **changes}
    assert word(**evidence) == expected
    mirrored = {
        **evidence,
        "base": evidence["variant"],
        "variant": PLAIN.base,
        "delta": -evidence["delta"],
        "presence": evidence["presence"][::-1],
    }
    turned = {"disappeared": "appeared", "shrank": "grew"}
    assert word(**mirrored) == turned.get(expected, expected)


def sentence(verdict, *, n_unchanged=None, n_decides=None, unit="windows", **changes):
    evidence = dataclasses.replace(PLAIN, **changes)
    return note(verdict, evidence, unit=unit, alpha=0.05, n_unchanged=n_unchanged, n_decides=n_decides)


def test_sentences():
    assert sentence("disappeared", presence=((40, 40), (0, 40))) == "0 of 40 windows (true rate <= 7 %)"
    assert sentence("appeared", presence=((1, 40), (40, 40))) == "1 of 40 windows (true rate <= 11 %)"
    assert sentence("disappeared", presence=((9, 9), (0, 2000))) == "0 of 2000 windows (true rate <= 0.1 %)"
    assert sentence("unchanged") == ""
    assert sentence("unchanged", called=True) == "detectable, below delta"
    assert sentence("grew") == ""
    assert sentence("inconclusive", in_blocks=True) == "comes and goes in blocks; needs repeats"
    assert sentence("inconclusive", half_width=12_345.0, n_unchanged=140, n_decides=140) == (
        "half-width of the 90 % interval 12.3 us; "
        "about 140 windows a side (or more repeats) needed to call it unchanged"
    )
    assert sentence("inconclusive", half_width=2 * MS, n_unchanged=5, n_decides=9, unit="repeats") == (
        "half-width of the 90 % interval 2.00 ms; about 5 repeats a side needed to call it unchanged; "
        "about 9 repeats a side would decide if it stays as seen"
    )


def test_under_five_windows_there_is_only_description():
    for n, tested in ((4, False), (5, True)):
        result = compare_runs(many(1, n), many(2, n), StatisticsOptions(skip=0))
        everything = [result.step_time, *result.categories.values(), *result.intervals.values()]
        for delta in everything:
            assert (delta.verdict != "too_few") is tested
            assert (delta.p_value is not None) is tested
            assert (delta.ci_low is not None) is tested
            assert delta.delta is not None
        assert ("too_few_windows" in [w.id for w in result.warnings]) is not tested
        if not tested:
            assert result.step_time.note == "4 and 4 windows: described only, 5 a side are needed"


@pytest.mark.parametrize(("step", "floor"), [(10 * MS, 10 * US), (200 * MS, 40 * US)])
def test_the_floor(step, floor):
    def run(seed):
        return a_run(
            noise(seed, 20, mean=step, sd=step // 1000),
            intervals={"below": [floor - 50] * 20, "at": [floor] * 20, "above": [floor * 2] * 20},
        )

    # step means differ from `step` by chance: stay clear of the edge of 0.02 %
    result = compare_runs(
        [run(1)], [run(2)], StatisticsOptions(floor=0.99 * floor if step == 10 * MS else 10_000)
    )
    words = {name: delta.verdict for name, delta in result.intervals.items()}
    assert words["above"] == "unchanged"
    if step == 10 * MS:
        assert words == {"above": "unchanged", "at": "unchanged", "below": "unchanged"}
    low = compare_runs([run(1)], [run(2)], StatisticsOptions(floor=1.5 * floor))
    assert [low.intervals[name].verdict for name in ("below", "at", "above")] == [
        "below_floor",
        "below_floor",
        "unchanged",
    ]
    assert low.intervals["at"].p_value is None
    assert low.intervals["at"].q_value is None
    assert low.intervals_below_floor.base == pytest.approx(2 * floor - 50)
    assert low.intervals_below_floor.verdict == "below_floor"
    assert low.intervals_below_floor.ci_low < 0 < low.intervals_below_floor.ci_high


def test_the_floor_looks_at_the_larger_side():
    a, b = many(1, 12, k=3), many(2, 12, k=3)
    a[0].intervals["small"] = np.full(12, 1 * US)
    b[0].intervals["small"] = np.full(12, 500 * US)
    found = compare_runs(a, b).intervals["small"]
    assert found.verdict == "appeared"
    assert (found.presence_base, found.presence_variant) == (0.0, 1.0)


def test_presence_is_ten_microseconds_a_rank():
    def run(seed):
        slot = [40 * US - 1, 40 * US] * 10
        return a_run(4 * noise(seed, 20), ranks=4, intervals={"half": slot})

    found = compare_runs([run(1)], [run(2)], StatisticsOptions(floor=0)).intervals["half"]
    assert found.presence_base == found.presence_variant == 0.5


def test_a_slot_on_one_side_only():
    a, b = many(1, 12), many(2, 12)
    del b[0].intervals["s03"]
    b[0].intervals["new"] = b[0].intervals["s04"].copy()
    result = compare_runs(a, b)
    assert result.intervals["s03"].verdict == "disappeared"
    assert result.intervals["s03"].variant == 0.0
    assert result.intervals["new"].verdict == "appeared"
    assert result.intervals["new"].base == 0.0
    assert result.intervals["new"].delta_pct is None
    assert list(result.intervals) == sorted(result.intervals)


def test_families_are_adjusted_on_their_own():
    base, variant = many(1, 30), many(2, 30, factor=0.6)
    result = compare_runs(base, variant)
    assert result.step_time.q_value is None
    p = sorted(delta.p_value for delta in result.categories.values())
    assert sorted(delta.q_value for delta in result.categories.values()) == pytest.approx(
        [2 * p[0], max(2 * p[0], p[1])]
    )
    p = np.array([delta.p_value for delta in result.intervals.values()])
    q = np.array([delta.q_value for delta in result.intervals.values()])
    assert q.min() == pytest.approx(12 * p.min())
    assert result.intervals["s00"].verdict == "shrank"
    # the interval of what was picked from 12 is wider than 95 %
    picked = result.intervals["s00"]
    assert picked.fcr_low < picked.ci_low < picked.ci_high < picked.fcr_high
    assert result.intervals["s01"].fcr_low is None


def test_margins():
    base = many(1, 30, k=12, mean=3 * MS)
    result = compare_runs(base, many(2, 30, k=12, mean=3 * MS))
    step = result.step_time.base
    assert result.step_time.margin == pytest.approx(0.01 * step)
    assert all(delta.margin == pytest.approx(0.01 * step) for delta in result.categories.values())
    for delta in result.intervals.values():
        assert delta.margin == pytest.approx(max(0.001 * step, 0.1 * delta.base))
    wide = compare_runs(
        base, many(2, 30, k=12, mean=3 * MS), StatisticsOptions(delta_step=0.05, delta_interval=0.5)
    )
    assert wide.step_time.margin == pytest.approx(0.05 * step)
    assert wide.intervals["s00"].margin == pytest.approx(0.5 * wide.intervals["s00"].base)


def test_blocks_are_inconclusive_whatever_they_show():
    a, b = many(1, 30), many(2, 30)
    on = np.r_[np.zeros(3, int), np.full(24, 1), np.zeros(3, int)]
    a[0].intervals["s05"] = 3 * MS * on
    b[0].intervals["s05"] = 3 * MS * (1 - on)
    found = compare_runs(a, b).intervals["s05"]
    assert found.verdict == "inconclusive"
    assert found.note == "comes and goes in blocks; needs repeats"
    assert found.p_value == found.q_value == 1.0
    assert found.n_unchanged is None


def test_what_no_word_singles_out_is_summed():
    base, variant = many(1, 30, k=15), many(2, 30, k=15, factor=0.0)
    result = compare_runs(base, variant)
    quiet = [n for n, delta in result.intervals.items() if delta.verdict in ("unchanged", "inconclusive")]
    total = result.intervals_not_called
    assert 0 < len(quiet) < 15
    assert total.delta == pytest.approx(sum(result.intervals[n].delta for n in quiet))
    assert total.ci_low < total.delta < total.ci_high
    assert total.verdict is None
    assert total.p_value is None
    assert result.contention_not_called is None


def test_detectable_below_delta():
    a, b = noise(1, 60, sd=0.05 * MS), noise(2, 60, mean=100.3 * MS, sd=0.05 * MS)
    found = compare_runs([a_run(a)], [a_run(b)]).step_time
    assert found.verdict == "unchanged"
    assert found.note == "detectable, below delta"
    assert found.p_value < 0.001


def test_contention_is_a_family_of_its_own():
    a, b = many(1, 20), many(2, 20)
    a[0].contention["pair"] = noise(3, 20, mean=0, sd=2 * US)
    b[0].contention["pair"] = noise(4, 20, mean=2 * MS, sd=50 * US)
    result = compare_runs(a, b)
    assert result.contention["pair"].verdict == "appeared"
    assert result.contention["pair"].q_value == result.contention["pair"].p_value
    assert list(result.contention) == ["pair"]


@pytest.mark.parametrize(
    "options",
    [{"alpha": 0.0}, {"alpha": 0.5}, {"delta_step": -1.0}, {"floor": -1.0}, {"pair": "often"}, {"skip": -1}],
)
def test_options_are_checked(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        StatisticsOptions(**options)


@pytest.mark.parametrize(
    "broken",
    [
        {"ranks": 0},
        {"step_numbers": np.arange(3)},
        {"intervals": {"odd": np.zeros(3, dtype=np.int64)}},
        {"contention": {"odd": np.zeros(20)}},
        {"categories": {"odd": np.zeros((20, 2), dtype=np.int64)}},
    ],
)
def test_columns_are_checked(broken):
    good = many(1, 20)[0]
    with pytest.raises(ValueError, match="variant repeat 1"):
        compare_runs([good], [good, dataclasses.replace(good, **broken)])
