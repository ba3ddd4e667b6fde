"""Numbers and names to text: every figure a screen, a summary or a report prints goes through here.

What is absent prints "-", never 0. A minus is the ASCII "-". Three significant digits unless said. Units are
ASCII ("us"), decimal (1 MB = 10^6 B), with one blank before them (TERMINAL, Deltas; STATISTICS 2.3).
"""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ABSENT = "-"
"""What an unknown figure prints."""

_TIMES = (("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9))
_BYTES = ("B", "kB", "MB", "GB", "TB", "PB")
_WORDS = {"too_few": "too few", "below_floor": "below floor"}
_GLYPHS = {
    "grew": "▲", "appeared": "▲", "slower": "▲",
    "shrank": "▼", "disappeared": "▼", "faster": "▼",
    "unchanged": "=", "inconclusive": "~",
}  # fmt: skip
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ASCII = {"▲": "^", "▼": "v", "·": ".", "→": "->", "…": "..."}


class Difference(Protocol):
    """What `delta_text` reads of a delta; times in ns, n in windows or repeats."""

    @property
    def delta(self) -> float | None:
        """Return variant - base."""

    @property
    def ci_low(self) -> float | None:
        """Return the lower end of delta's interval."""

    @property
    def ci_high(self) -> float | None:
        """Return its upper end."""

    @property
    def n_base(self) -> int:
        """Return how many units of the base were tested."""

    @property
    def n_variant(self) -> int:
        """Return how many units of the variant were tested."""

    @property
    def verdict(self) -> str | None:
        """Return the word, None when the runs are not comparable."""


class Unit(NamedTuple):
    """A time unit with its decimals, so that several figures can be printed alike."""

    name: str
    ns: float
    decimals: int

    @property
    def step(self) -> float:
        """Return the size of the last printed digit, ns."""
        return self.ns / 10.0**self.decimals

    def number(self, ns: float | None, *, sign: bool = False) -> str:
        """Return a time (ns) in this unit, without its name; nothing at all is `0`, without decimals."""
        if not _known(ns):
            return ABSENT
        return _fixed(ns / self.ns, self.decimals if ns else 0, sign=sign)

    def text(self, ns: float | None, *, sign: bool = False) -> str:
        """Return a time (ns) in this unit, with its name."""
        return f"{self.number(ns, sign=sign)} {self.name}" if _known(ns) else ABSENT

    def steps(self, count: int, *, sign: bool = False) -> str:
        """Return a whole number of printed steps (see `rounded_to_sum`), without the unit's name."""
        return _fixed(count / 10.0**self.decimals, self.decimals, sign=sign)


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _fixed(value: float, decimals: int, *, sign: bool = False) -> str:
    text = f"{value:+.{decimals}f}" if sign else f"{value:.{decimals}f}"
    return text.lstrip("+-") if not text.strip("+-0.") else text


def _exponent(magnitude: float, digits: int) -> int:
    """Return the decimal exponent of a magnitude after rounding it to that many digits."""
    return int(f"{magnitude:.{digits - 1}e}".partition("e")[2]) if magnitude else 0


def _decimals(value: float, digits: int, most: int) -> int:
    """Return the decimals that give a value that many significant digits, at most `most`."""
    return min(most, max(0, digits - 1 - _exponent(abs(value), digits)))


def same_unit(values: Iterable[float | None], *, digits: int = 3) -> Unit:
    """Return the unit in which the largest of some times (ns) has `digits` significant digits."""
    largest = max((abs(v) for v in values if _known(v)), default=0.0)
    if largest * 10 ** (digits - 1) < 0.5:
        return Unit("us", 1e3, 0)
    exponent = _exponent(largest, digits)
    index = min(max(exponent // 3, 0), len(_TIMES) - 1)
    name, ns = _TIMES[index]
    return Unit(name, ns, min(digits - 1, max(0, digits - 1 - (exponent - 3 * index))))


def _beside(figure: float | None, others: Sequence[float | None]) -> Unit:
    """Return the unit of all, with one decimal more where the figure itself would lose its third digit."""
    unit = same_unit((figure, *others))
    if not figure or same_unit((figure,)) == unit:
        return unit
    return unit._replace(decimals=min(unit.decimals + 1, 2))


def time_text(ns: float | None, *, sign: bool = False) -> str:
    """Return a time (ns) in ns, us, ms or s, whichever fits; `sign` puts a + before what is above 0."""
    return same_unit((ns,)).text(ns, sign=sign)


def share_text(share: float | None) -> str:
    """Return a share (0..1) as percent with one decimal; what is neither none nor all never prints so."""
    if not _known(share):
        return ABSENT
    if 0 < share < 0.0005:
        return "<0.1 %"
    if 0.9995 <= share < 1:
        return ">99.9 %"
    return f"{_fixed(100 * share, 0 if share in (0, 1) else 1)} %"


def pct_text(percent: float | None, *, sign: bool = True) -> str:
    """Return a percentage (already times 100), signed unless told otherwise."""
    if not _known(percent):
        return ABSENT
    return f"{_fixed(percent, _decimals(percent, 3, 2), sign=sign)} %"


def bytes_text(count: float | None) -> str:
    """Return bytes in B, kB, MB, GB, TB or PB, decimal."""
    if not _known(count):
        return ABSENT
    index = min(max(_exponent(abs(count), 3) // 3, 0), len(_BYTES) - 1)
    scaled = count / 1000.0**index
    return f"{_fixed(scaled, _decimals(scaled, 3, 2) if index else 0)} {_BYTES[index]}"


def rate_text(gb_s: float | None) -> str:
    """Return a bandwidth (GB/s, decimal) in GB/s."""
    if not _known(gb_s):
        return ABSENT
    if 0 < gb_s < 0.0005:
        return "<0.001 GB/s"
    return f"{_fixed(gb_s, _decimals(gb_s, 3, 3))} GB/s"


def count_text(count: float | None) -> str:
    """Return a mean count: whole where it is whole, else three significant digits."""
    if not _known(count):
        return ABSENT
    return _fixed(count, 0 if abs(count - round(count)) < 1e-6 else _decimals(count, 3, 2))


def ratio_text(ratio: float | None) -> str:
    """Return a ratio such as a stretch: `1.24x`."""
    return f"{_fixed(ratio, 2)}x" if _known(ratio) else ABSENT


def word(verdict: str | None) -> str:
    """Return a verdict as printed; "" for None: runs that are not comparable get no word."""
    return "" if verdict is None else _WORDS.get(verdict, verdict)


def glyph(verdict: str | None, *, ascii: bool = False) -> str:  # noqa: A002
    """Return a verdict's sign: ▲ up, ▼ down, = unchanged, ~ undecided, · only described."""
    return in_ascii(_GLYPHS.get(verdict or "", "·")) if ascii else _GLYPHS.get(verdict or "", "·")


def in_ascii(text: str) -> str:
    """Return text with this program's own glyphs in ASCII, and ? for every other character outside it."""
    return "".join(_ASCII.get(c, c if c.isascii() else "?") for c in text)


def n_text(delta: Difference) -> str:
    """Return how many units were tested: `n=40`, `n=40/38` where the sides differ, "" where none were."""
    if not delta.n_base and not delta.n_variant:
        return ""
    return f"n={delta.n_base}" + ("" if delta.n_base == delta.n_variant else f"/{delta.n_variant}")


def value_text(delta: Difference) -> str:
    """Return delta and its interval in one unit: `+1.84 ms [+1.31, +2.40]`."""
    if not _known(delta.delta):
        return ABSENT
    ends = tuple(end for end in (delta.ci_low, delta.ci_high) if _known(end))
    unit = _beside(delta.delta, ends)
    interval = f" [{', '.join(unit.number(end, sign=True) for end in ends)}]" if len(ends) == 2 else ""
    return unit.text(delta.delta, sign=True) + interval


def delta_text(delta: Difference, *, ascii: bool = False) -> str:  # noqa: A002
    """Return glyph, sign, value, unit, interval, n and word: `▲ +1.84 ms [+1.31, +2.40] n=40 grew`."""
    if not _known(delta.delta):
        return ABSENT
    parts = (glyph(delta.verdict, ascii=ascii), value_text(delta), n_text(delta), word(delta.verdict))
    return " ".join(part for part in parts if part)


def pair_text(base: float | None, variant: float | None, *, ascii: bool = False) -> str:  # noqa: A002
    """Return two times (ns) in one unit: `12.3 → 14.1 ms`; `-` when neither is known."""
    arrow = "->" if ascii else "→"
    unit = _beside(min(filter(_known, (base, variant)), key=abs, default=None), (base, variant))
    if _known(base) and _known(variant):
        return f"{unit.number(base)} {arrow} {unit.text(variant)}"
    return f"{unit.text(base)} {arrow} {unit.text(variant)}" if _known(base) or _known(variant) else ABSENT


def rounded_to_sum(parts: Sequence[float], total: float, step: float = 1.0) -> list[int]:
    """Round parts to whole steps so that they add up to the rounded total: largest remainder, STATISTICS 2.3.

    Args:
        parts: what adds up to total, in any unit.
        total: in the same unit.
        step: the size of one printed step, in the same unit.

    Returns:
        steps per part; each is less than one step from its part, and their sum is `round(total / step)`.

    Raises:
        ValueError: the parts do not add up to the total.

    """
    scaled = [part / step for part in parts]
    floors = [math.floor(value) for value in scaled]
    missing = round(total / step) - sum(floors)
    if not 0 <= missing <= len(floors):
        raise ValueError(f"parts add up to {math.fsum(parts)}, not to {total}")
    order = sorted(range(len(scaled)), key=lambda i: floors[i] - scaled[i])
    for i in order[:missing]:
        floors[i] += 1
    return floors


def cells(text: str) -> int:
    """Return how many terminal columns a text takes: wide characters two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else unicodedata.category(c) != "Mn" for c in text
    )


def name_text(text: str, *, width: int | None = None, ascii: bool = False) -> str:  # noqa: A002
    """Return a name from a file, safe to print: no control, format or line-breaking characters.

    Each run of them becomes one blank, so no terminal escape, bidirectional override or newline gets through.
    With `width` (terminal columns), what is longer loses its middle.
    """
    kept = " ".join("".join(" " if unicodedata.category(c) in _UNSAFE else c for c in text).split())
    kept = in_ascii(kept) if ascii else kept
    if width is None or cells(kept) <= width:
        return kept
    mark = "..." if ascii else "…"
    head, tail = kept[: len(kept) // 2], kept[len(kept) // 2 :]
    while (head or tail) and cells(head + mark + tail) > width:
        head, tail = (head[:-1], tail) if cells(head) > cells(tail) else (head, tail[1:])
    return (head + mark + tail)[: max(width, 0)]


def counted(count: int, name: str) -> str:
    """Return `1 rank`, `2 ranks`."""
    return f"{count} {name}{'' if count == 1 else 's'}"
