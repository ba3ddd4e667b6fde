"""Exact time: the text of a number of microseconds to int64 nanoseconds, never through a float.

`round(float(ts) * 1000)` is wrong for nearly every span at 1.7e15 us (INGEST, Exact time). Here the digits are
read as integers and scaled; what has more digits than int64 holds goes through `decimal`.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Raw
    from numpy.typing import NDArray

INT64_MAX = 2**63 - 1
#: What stands for a time that is missing, not a number, or beyond int64.
ODD = -(2**63)
_POWERS = 10 ** np.arange(19, dtype=np.int64)
_COMMA, _DOT, _MINUS, _ZERO, _NINE = b",.-09"


def nanoseconds(texts: Sequence[Raw | bytes], base: int = 0) -> NDArray[np.int64]:
    """Return the numbers as ns.

    Args:
        texts: the JSON text of each number of microseconds: integer, decimal, or either as a string.
        base: ns added to each (baseTimeNanoseconds).

    Returns:
        int64 ns, rounded half to even below a ns; `ODD` where the text is no such number.

    """
    if not texts:
        return np.empty(0, np.int64)
    joined = b",".join(texts)
    if b'"' in joined:
        joined = joined.replace(b'"', b"")
    fast = _fast(joined, base) if joined else None
    if fast is None or len(fast) != len(texts):  # a text of the list may hold commas of its own
        return np.array([_one(bytes(text), base) for text in texts], np.int64)
    return fast


def _fast(joined: bytes, base: int) -> NDArray[np.int64] | None:
    """Return ns, or nothing where a text is anything but up to 18 digits with at most one point."""
    chars = np.frombuffer(joined, np.uint8)
    is_digit = (chars >= _ZERO) & (chars <= _NINE)
    other = np.flatnonzero(~is_digit)
    kinds = chars[other]
    commas = other[kinds == _COMMA]
    dots = other[kinds == _DOT]
    starts = np.concatenate(([0], commas + 1))
    stops = np.concatenate((commas, [len(chars)]))
    minus = other[kinds == _MINUS]
    if len(commas) + len(dots) + len(minus) != len(other):
        return None
    if len(minus) and not np.isin(minus, starts, assume_unique=True).all():
        return None
    lengths = stops - starts
    if lengths.min() < 1 or lengths.max() > 18:
        return None
    if not is_digit[stops - 1].all():  # "", "-", "5."
        return None
    decimals = np.zeros(len(starts), np.int64)
    if len(dots):
        row = np.searchsorted(starts, dots, side="right") - 1
        if len(row) > 1 and not (np.diff(row) > 0).all():
            return None
        decimals[row] = stops[row] - dots - 1
        joined = joined.replace(b".", b"")
    values = np.fromstring(joined, dtype=np.int64, sep=",")
    if len(values) != len(starts):
        return None
    return _scaled(values, decimals, base)


def _scaled(values: NDArray[np.int64], decimals: NDArray[np.int64], base: int) -> NDArray[np.int64] | None:
    """Scale numbers of 10**-decimals us to ns and add the base; nothing where that leaves int64."""
    most = int(decimals.max())
    if most <= 3:
        factor = _POWERS[3 - decimals] if most != int(decimals.min()) else _POWERS[3 - most]
        limit = (INT64_MAX - abs(base)) // 1000
        if int(np.abs(values).max()) > limit:
            return None
        return np.asarray(values * factor + base, np.int64)
    down = _POWERS[np.maximum(decimals - 3, 0)]
    up = _POWERS[np.maximum(3 - decimals, 0)]
    if int(np.abs(values).max()) > (INT64_MAX - abs(base)) // 1000:
        return None
    whole, rest = np.divmod(values, down)
    twice = 2 * rest
    whole += (twice > down) | ((twice == down) & (whole % 2 == 1) & (down > 1))
    return np.asarray(whole * up + base, np.int64)


def _one(text: bytes, base: int) -> int:
    try:
        value = Decimal(text.decode("ascii").strip('"')).scaleb(3)
        if not value.is_finite() or value.adjusted() > 19:
            return ODD
        exact = int(value.quantize(Decimal(1), rounding=ROUND_HALF_EVEN)) + base
    except (InvalidOperation, UnicodeDecodeError, ValueError):
        return ODD
    return exact if -INT64_MAX <= exact <= INT64_MAX else ODD
