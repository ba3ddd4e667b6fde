"""Numbers and names to text: units by magnitude, signs, sums that hold as printed, names that are safe."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstep.compare.statistics.types import Delta, Verdict
from abstep.units import (
    bytes_text,
    cells,
    count_text,
    delta_text,
    glyph,
    in_ascii,
    n_text,
    name_text,
    pair_text,
    pct_text,
    rate_text,
    ratio_text,
    rounded_to_sum,
    same_unit,
    share_text,
    time_text,
    value_text,
)

NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
TIMES = st.floats(min_value=-1e13, max_value=1e13, allow_nan=False)


def parsed(text: str) -> float:
    number, unit = text.split(" ")
    return float(number) * NS[unit]


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"), (math.nan, "-"), (math.inf, "-"), (0, "0 us"), (-0.0, "0 us"), (1e-9, "0 us"), (1, "1.00 ns"),
        (12.34, "12.3 ns"), (999.6, "1.00 us"), (-999_600, "-1.00 ms"), (1_843_210, "1.84 ms"),
        (12_345_678, "12.3 ms"), (999_499_999, "999 ms"), (1.2345e9, "1.23 s"), (5e13, "50000 s"),
    ],
)  # fmt: skip
def test_time_picks_its_unit(ns: float | None, text: str) -> None:
    assert time_text(ns) == text


@given(TIMES)
def test_time_keeps_three_digits(ns: float) -> None:
    text = time_text(ns)
    assert parsed(text) == pytest.approx(ns, rel=0.00501, abs=0.0051)
    if abs(ns) >= 1:
        assert len(re.sub(r"[^0-9]", "", text)) >= 3


@given(TIMES)
def test_a_sign_is_shown_where_asked_and_only_there(ns: float) -> None:
    assert time_text(-ns, sign=True)[0] != time_text(ns, sign=True)[0] or parsed(time_text(ns)) == 0
    assert "+" not in time_text(ns)
    assert time_text(ns, sign=True).lstrip("+") == time_text(ns)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (share_text(None), "-"), (share_text(math.nan), "-"), (share_text(0), "0 %"), (share_text(1), "100 %"),
        (share_text(0.423), "42.3 %"), (share_text(0.0001), "<0.1 %"), (share_text(0.9999), ">99.9 %"),
        (pct_text(None), "-"), (pct_text(-10.58), "-10.6 %"), (pct_text(1.5), "+1.50 %"), (pct_text(0), "0.00 %"),
        (pct_text(-0.001), "0.00 %"), (pct_text(10.5, sign=False), "10.5 %"), (pct_text(99.96), "+100 %"),
        (bytes_text(None), "-"), (bytes_text(0), "0 B"), (bytes_text(999), "999 B"), (bytes_text(25e6), "25.0 MB"),
        (bytes_text(999_950), "1.00 MB"), (bytes_text(1.5e12), "1.50 TB"),
        (rate_text(None), "-"), (rate_text(8.194), "8.19 GB/s"), (rate_text(0.03), "0.030 GB/s"),
        (rate_text(1e-5), "<0.001 GB/s"), (rate_text(412.3), "412 GB/s"),
        (count_text(None), "-"), (count_text(25.0), "25"), (count_text(2.5), "2.50"),
        (count_text(1 - 1e-12), "1"), (ratio_text(None), "-"), (ratio_text(1.314), "1.31x"),
        (pair_text(12.34e6, 999_999), "12.34 → 1.00 ms"), (pair_text(7e6, 0), "7.00 → 0 ms"),
        (pair_text(1e6, 163.6e6), "1.0 → 163.6 ms"), (pair_text(4e5, None), "400 us → -"), (pair_text(None, None), "-"),
        (pair_text(1, 2, ascii=True), "1.00 -> 2.00 ns"),
    ],
)  # fmt: skip
def test_other_figures(text: str, expected: str) -> None:
    assert text == expected


@given(st.lists(st.one_of(st.none(), TIMES), min_size=1))
def test_one_unit_fits_the_largest(values: list[float | None]) -> None:
    unit = same_unit(values)
    known = [abs(value) for value in values if value is not None and abs(value) >= 1]
    if known:
        digits = len(re.sub(r"[^0-9]", "", unit.number(max(known))))
        assert digits == 3 or max(known) >= 1e12
    for value in values:
        if value is not None:
            assert abs(float(unit.number(value)) * unit.ns - value) <= unit.step * 0.51 + abs(value) * 1e-9


def test_delta_is_glyph_sign_value_unit_interval_n_word() -> None:
    grew = Delta(1e6, 2.84e6, 1.84e6, 1.31e6, 2.4e6, n_base=40, n_variant=40, verdict="grew")
    assert delta_text(grew) == "▲ +1.84 ms [+1.31, +2.40] n=40 grew"
    assert delta_text(grew, ascii=True) == "^ +1.84 ms [+1.31, +2.40] n=40 grew"
    open_ = Delta(1e6, 1.1e6, 4e3, -1.31e6, 1.32e6, n_base=40, n_variant=38, verdict="inconclusive")
    assert delta_text(open_) == "~ 0.00 ms [-1.31, +1.32] n=40/38 inconclusive"


def test_delta_keeps_its_digits_beside_a_wide_interval() -> None:
    wide = Delta(316.3e6, 221.8e6, -94.47e6, -100.97e6, -87.98e6, n_base=3, n_variant=3, verdict="faster")
    assert value_text(wide) == "-94.5 ms [-101.0, -88.0]"
    assert value_text(replace(wide, delta=-94.47e3)) == "-0.1 ms [-101.0, -88.0]"


def test_delta_without_verdict_interval_or_value() -> None:
    assert delta_text(Delta(1e6, 2e6, 1e6, n_base=3, n_variant=4)) == "· +1.00 ms n=3/4"
    assert (
        delta_text(Delta(1e6, 2e6, 1e6, n_base=3, n_variant=3, verdict="too_few")) == "· +1.00 ms n=3 too few"
    )
    assert delta_text(Delta(None, None, None, n_base=3, n_variant=3)) == "-"
    assert value_text(Delta(1.0, 2.0, 1.0, ci_low=0.5)) == "+1.00 ns"
    assert n_text(Delta(1.0, 2.0, 1.0)) == ""


def test_glyphs_go_by_direction_and_say_when_nothing_is_decided() -> None:
    up: tuple[Verdict, ...] = ("grew", "appeared", "slower")
    down: tuple[Verdict, ...] = ("shrank", "disappeared", "faster")
    assert {glyph(word) for word in up} == {"▲"}
    assert {glyph(word) for word in down} == {"▼"}
    assert glyph("inconclusive") == "~" != glyph("unchanged")
    assert all(glyph(word, ascii=True).isascii() for word in (*up, *down, None, "unchanged", "too_few"))


@given(st.lists(st.integers(-(10**9), 10**9), max_size=40), st.sampled_from([1.0, 10.0, 1e4, 1e7]))
def test_rounded_parts_add_up_as_printed(parts: list[int], step: float) -> None:
    counts = rounded_to_sum(parts, sum(parts), step)
    assert sum(counts) == round(sum(parts) / step)
    assert all(abs(count * step - part) < step for count, part in zip(counts, parts, strict=True))


def test_largest_remainders_are_rounded_up() -> None:
    assert rounded_to_sum([1.4, 1.4, 1.4, -0.2], 4.0) == [2, 1, 1, 0]
    assert rounded_to_sum([1 / 3] * 3, 1.0, 0.1) == [4, 3, 3]
    assert rounded_to_sum([], 0.0) == []


def test_parts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="add up"):
        rounded_to_sum([1.0, 2.0], 7.0)
    with pytest.raises(ValueError, match="add up"):
        rounded_to_sum([1.0, 2.0], 1.0)


@given(st.text(), st.integers(3, 60), st.booleans())
def test_names_are_safe_and_fit(text: str, width: int, ascii_only: bool) -> None:
    name = name_text(text, width=width, ascii=ascii_only)
    assert not {unicodedata.category(c) for c in name} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert cells(name) <= width
    assert not ascii_only or name.isascii()
    assert name == name.strip()


def test_escapes_lose_what_makes_them_escapes() -> None:
    assert name_text("a\x1b[31mred\x07\n\u202eb") == "a [31mred b"
    assert name_text("\x9b31m\u2028x\ud800") == "31m x"
    assert name_text("all_reduce before layer_1.weight", width=15) == "all_red….weight"
    assert name_text("日本語日本語", width=7) == "日本…語"
    assert in_ascii("▲ 1 → 2 é…") == "^ 1 -> 2 ?..."
