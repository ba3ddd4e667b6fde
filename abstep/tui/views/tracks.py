"""The two windows of a timeline, read in the background, one strand a side and rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from abstep.errors import AbstepError
from abstep.tui.nav import Window
from abstep.tui.views.spans import Strand, anchor_of, start_of, strand

if TYPE_CHECKING:
    from collections.abc import Hashable

    from abstep.compare.comparison import Detail
    from abstep.tui.views.base import Stage

SIDES = ("base", "variant")
Pair: TypeAlias = dict[str, Window]


class Tracks:
    """Which windows are shown, and what is known of them.

    Attributes:
        pending: the key of what is still being read, when something is.

    """

    def __init__(self, stage: Stage, detail: Detail, slot: str | None, wanted: Window | None) -> None:
        self._stage = stage
        self._detail = detail
        self._slot = slot
        self._wanted = wanted
        self.pending: Hashable = ()

    def pair(self) -> Pair | None:
        """Return the windows, {} when there is no pair to show, None while that is being found out."""
        self.pending = ("matched", self._slot, self._wanted)
        return self._stage.fetch(self.pending, self._match)

    def of(self, pair: Pair, rank: int) -> dict[str, Strand]:
        """Return both sides' strands of a rank, as far as they are read."""
        found: dict[str, Strand] = {}
        for side in SIDES:
            key = ("strand", pair[side], pair["base"], rank, self._slot)
            one = self._stage.fetch(key, self._reader(pair, side, rank))
            if one is None:
                self.pending = key
            else:
                found[side] = one
        return found

    def _reader(self, pair: Pair, side: str, rank: int) -> _Read:
        return _Read(self._detail, pair, side, rank, self._slot)

    def _match(self) -> Pair:
        matched = self._detail.matched_windows(self._slot)
        if matched is None:
            return {}
        pair = {side: Window(side, *matched[at]) for at, side in enumerate(SIDES)}
        if self._wanted is not None:
            pair[self._wanted.side] = self._wanted
        return pair


class _Read:
    """Reads one strand when called; where the slot is gone, it looks for the other side's consumer."""

    def __init__(self, detail: Detail, pair: Pair, side: str, rank: int, slot: str | None) -> None:
        self._detail = detail
        self._pair = pair
        self._side = side
        self._rank = rank
        self._slot = slot

    def __call__(self) -> Strand:
        try:
            return self._aligned()
        except KeyError:
            window = self._pair[self._side]
            where = f"{window.side}, repeat {window.repeat}, step {window.step}, rank {self._rank}"
            raise AbstepError(f"{where} was dropped before it was measured") from None

    def _aligned(self) -> Strand:
        one = strand(self._detail, self._pair[self._side], self._rank, self._slot)
        if one.anchor is not None or self._slot is None:
            return one
        other = self._pair["variant" if self._side == "base" else "base"]
        anchor = anchor_of(self._detail, other, self._rank, self._slot)
        if anchor is None:
            return one
        return one._replace(anchor=start_of(self._detail, self._pair[self._side], self._rank, anchor))


def zero(one: Strand) -> float:
    """Return where 0 lies in a window: the matched consumer's start, else the window's."""
    return one.anchor if one.anchor is not None else 0.0


def limits(strands: dict[str, Strand]) -> tuple[float, float]:
    """Return the earliest and latest time of some strands, from their zero."""
    lows = [-zero(one) for one in strands.values()]
    highs = [one.length - zero(one) for one in strands.values()]
    return min(lows, default=0.0), max(highs, default=1.0)


def framed(strands: dict[str, Strand], slot: str | None) -> tuple[float, float]:
    """Return what to show first: a slot's longest stretch with as much again around it, or all."""
    low, high = limits(strands)
    own = [
        s.end - s.start
        for one in strands.values()
        for s in one.stretches
        if slot is not None and s.slot == slot
    ]
    return (max(low, -2.2 * max(own)), min(high, 1.2 * max(own))) if own else (low, high)
