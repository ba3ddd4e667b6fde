"""Sentences say what the figures say, and never more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from abstep.compare.comparison import Comparison, Explanation
from abstep.report import wording

from . import odd, sample

MS = sample.MS


def judged(verdict: Any, **more: Any) -> Comparison:
    c = sample.comparison(explanation=Explanation("", (), None, None))
    return replace(c, step_time=replace(c.step_time, verdict=verdict, **more))


@pytest.mark.parametrize(
    ("verdict", "begins"),
    [("faster", "Faster: a step takes 43.1 ms instead of 48.2 ms, 5.10 ms (10.6 %) less."),
     ("unchanged", "Unchanged: 48.2 and 43.1 ms a step, a difference of -5.10 ms."),
     ("inconclusive", "Inconclusive: "), ("too_few", "Too few windows for a verdict (n=38): ")],
)  # fmt: skip
def test_a_sentence_of_its_own_without_a_headline(verdict: str, begins: str) -> None:
    assert wording.verdict_sentence(judged(verdict)).startswith(begins)


def test_the_headline_is_the_verdict_where_there_is_one() -> None:
    assert wording.verdict_sentence(sample.comparison()) == sample.comparison().explanation.headline


def test_no_verdict_names_the_failed_checks() -> None:
    c = replace(odd.not_comparable(), explanation=Explanation("", (), None, None))
    said = wording.verdict_sentence(c)
    assert said.startswith("No verdict: the runs are not comparable (world_size).")
    assert wording.verdict_sentence(odd.unknown()) == "No verdict: no windows can be compared."


def test_inconclusive_is_never_told_as_unchanged_and_says_what_would_decide() -> None:
    c = judged("inconclusive", n_decides=120, n_unchanged=300)
    said = " ".join(wording.power_sentences(c))
    assert "a change of 1 % of the step or more is not ruled out" in said
    assert "About 120 windows a side would decide" in said
    assert "About 300 windows" in said
    assert "A change of 710 us (1.5 % of the step) would have been seen four times in five." in said


@pytest.mark.parametrize("verdict", [None, "too_few"])
def test_what_was_not_tested_has_no_power(verdict: str | None) -> None:
    assert wording.power_sentences(judged(verdict)) == []


def test_what_n_counts() -> None:
    assert wording.counted(sample.comparison(unit="repeat"), 1) == "1 repeat"
    assert "n counts repeats a side" in wording.statistics_sentences(sample.comparison(unit="repeat"))[0]
    assert "Intervals" not in wording.statistics_sentences(odd.not_comparable())[0]
    options = {"alpha": 0.1, "min_effect_pct": 1.0, "warmup": 3}
    assert wording.level(sample.comparison(options=options)) == "90 %"


def test_resident_repeats_are_said_once() -> None:
    c = replace(sample.comparison(), base=sample.side("base", resident=True))
    assert wording.RESIDENT in wording.statistics_sentences(c)
    once = replace(c, sentences=("launch-to-launch differences are not covered",))
    assert wording.RESIDENT not in wording.statistics_sentences(once)


def test_windows_name_reasons() -> None:
    assert wording.windows_sentence(sample.side("base"), "2-40") == (
        "38 of 42 windows used (steps 2-40). Dropped: 1 last in its profiler cycle (no end recorded); "
        "1 outlier (counted in the tail); 2 warm-up."
    )
    assert wording.windows_sentence(sample.side("base", dropped=())) == "38 of 42 windows used."


def test_next_steps_fit_the_case() -> None:
    assert "same work" in wording.next_steps(odd.not_comparable())[0]
    assert "at least 5 windows" in wording.next_steps(odd.too_few())[0]
    assert any("Trace every rank" in step for step in wording.next_steps(odd.unknown()))
    two = replace(
        sample.comparison(), base=sample.side("base", repeats=2), variant=sample.side("variant", repeats=2)
    )
    assert wording.next_steps(two) == []


def test_reservations_are_named() -> None:
    assert wording.reservation(sample.comparison()).endswith("Differs: software.")
    c = sample.comparison()
    fine = replace(c, comparability=replace(c.comparability, status="comparable"))
    assert wording.reservation(fine) == ""
