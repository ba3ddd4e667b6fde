"""Exact time: every text of a number of microseconds becomes the nanoseconds a decimal gives."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from abstep.trace.times import INT64_MAX, ODD, nanoseconds


def exact(text: str, base: int = 0) -> int:
    value = Decimal(text).scaleb(3)
    if value.adjusted() > 19:
        return ODD
    ns = int(value.quantize(Decimal(1), rounding=ROUND_HALF_EVEN)) + base
    return ns if abs(ns) <= INT64_MAX else ODD


WHOLE = st.integers(-(10**16), 10**16).map(str)
PLAIN = st.builds("{}.{}".format, st.integers(0, 10**15), st.text("0123456789", min_size=1, max_size=9))
LONG = st.builds(
    "{}.{}".format, st.integers(-(10**25), 10**25), st.text("0123456789", min_size=1, max_size=30)
)
SCIENTIFIC = st.builds("{}e{}".format, st.integers(-999, 999), st.integers(-30, 30))
NUMBERS = st.one_of(WHOLE, PLAIN, LONG, SCIENTIFIC)


@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_any_number(texts: list[str]) -> None:
    found = nanoseconds([text.encode() for text in texts])
    assert found.tolist() == [exact(text) for text in texts]


@given(st.lists(PLAIN, min_size=1), st.integers(0, 2 * 10**18))
def test_a_base_is_added(texts: list[str], base: int) -> None:
    found = nanoseconds([text.encode() for text in texts], base)
    assert found.tolist() == [exact(text, base) for text in texts]


def test_real_times_are_not_rounded_through_a_float() -> None:
    text = "1712195495123456.789"
    assert nanoseconds([text.encode()]).tolist() == [1712195495123456789]
    assert round(float(text) * 1000) != 1712195495123456789


def test_texts_in_quotes() -> None:
    assert nanoseconds([b'"1661203462598738.250"', b'"7"']).tolist() == [1661203462598738250, 7000]


def test_mixed_layouts_in_one_list() -> None:
    assert nanoseconds([b"1", b"1.5", b"-1.25", b"0.0005", b"0.0015", b"2.000000"]).tolist() == [
        1000, 1500, -1250, 0, 2, 2000,
    ]  # fmt: skip


def test_what_is_no_number_is_odd() -> None:
    wrong = [
        b"",
        b"null",
        b"true",
        b'"soon"',
        b"[1]",
        b"{}",
        b"1e999",
        b"-",
        b"[1,2]",
        b'"1,5"',
        b"NaN",
        b"9" * 40,
        b"1.2.3",
        b"1-2",
    ]
    assert nanoseconds(wrong).tolist() == [ODD] * len(wrong)
    assert nanoseconds([b"1.5", b"", b"2"]).tolist() == [1500, ODD, 2000]


def test_nothing() -> None:
    assert nanoseconds([]).dtype == np.int64
    assert len(nanoseconds([])) == 0
