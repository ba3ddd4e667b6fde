"""A run against itself."""

import re

import calibration_data as data
import numpy as np
import pytest
from statistics_made import MS, a_run, many, noise

from abstep.compare.statistics import check_run, compare_runs


def made(key, n, repeats, rho=0.3):
    rng = data.rng_of("check", key)
    of = data.family(rng, 60, rho)
    return [data.run(data.steps(rng, n, rho), data.intervals(rng, of, n)) for _ in range(repeats)]


def test_it_finds_something_in_at_most_seven_percent_of_runs():
    kinds = ((20, 1), (50, 1), (10, 2), (30, 2), (12, 3))
    found = [bool(check_run(made((i, kinds[i % 5]), *kinds[i % 5])).findings) for i in range(200)]
    assert np.mean(found) <= 0.07


def test_alternating_steps_are_named():
    runs = made("alternating", 40, 1)
    step = runs[0].step.copy()
    step[1::2] += 5 * MS
    result = check_run([data.run(step, np.array(list(runs[0].intervals.values())))])
    first = result.findings[0]
    assert (first.how, first.kind, first.name) == ("odd_even", "step_time", "")
    assert first.high - first.low == pytest.approx(5 * MS, rel=0.3)
    assert first.message.startswith("step time: odd steps take +")
    assert {f.kind for f in result.findings} == {"step_time", "category"}
    assert result.pairs == 20


def test_odd_is_odd_in_every_repeat():
    rng = np.random.default_rng(1)
    repeats = []
    for first in (10, 11, 13):
        numbers = np.arange(first, first + 12)
        step = rng.normal(100 * MS, MS, 12) + 6 * MS * (numbers % 2)
        repeats.append(a_run(np.rint(step), numbers=numbers))
    (found, _) = check_run(repeats).findings
    assert found.how == "odd_even"
    assert "+6" in found.message or "+5" in found.message


def test_an_interval_that_comes_every_second_step_is_found():
    runs = many(1, 40)
    runs[0].intervals["s04"][::2] = 0
    result = check_run(runs)
    assert [(f.how, f.kind, f.name) for f in result.findings] == [("odd_even", "interval", "s04")]
    assert "s04: odd steps take +" in result.findings[0].message


def test_repeats_that_differ_are_named():
    repeats = [a_run(noise(s, 30, mean=mean)) for s, mean in ((1, 100 * MS), (2, 100 * MS), (3, 104 * MS))]
    result = check_run(repeats)
    assert [(f.how, f.kind) for f in result.findings] == [("repeats", "step_time"), ("repeats", "category")]
    assert re.fullmatch(
        r"step time: repeats go from [\d.]+ ms to 104 ms \(4.\d\d %\)", result.findings[0].message
    )
    assert result.repeats == 3
    assert result.findings[0].low < result.findings[0].mean < result.findings[0].high


def test_it_says_what_these_windows_could_show():
    runs = many(1, 30)
    result = check_run(runs)
    itself = result.against_itself
    assert itself.step_time.delta == 0.0
    assert not itself.paired
    other = compare_runs(runs, many(2, 30)).step_time
    assert itself.step_time.smallest_detectable == pytest.approx(other.smallest_detectable, rel=0.3)
    assert all(delta.smallest_detectable > 0 for delta in itself.intervals.values())


def test_too_few_windows_find_nothing_and_say_so():
    result = check_run([a_run(noise(1, 4))])
    assert result.findings == ()
    assert [w.id for w in result.against_itself.warnings] == ["too_few_windows"]
    nothing = check_run([])
    assert nothing.findings == ()
    assert nothing.pairs == nothing.repeats == 0


def test_warnings_are_told_once():
    step = noise(1, 60) + np.linspace(0, 6 * MS, 60).astype(np.int64)
    result = check_run([a_run(step)])
    assert [(w.id, w.side) for w in result.against_itself.warnings] == [("drift", 0)]


def test_the_order_of_mappings_changes_nothing():
    runs = many(1, 20, repeats=2)
    turned = [
        type(run)(
            run.step_numbers,
            run.ranks,
            run.step,
            dict(reversed(run.categories.items())),
            dict(reversed(run.intervals.items())),
            {},
        )
        for run in runs
    ]
    assert repr(check_run(runs)) == repr(check_run(turned))
