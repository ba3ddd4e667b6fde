"""Places: what a screen shows, how a place is written (`--at intervals/3/rank/2`), and the way back from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from abstep import units
from abstep.errors import AbstepError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.compare.comparison import Comparison

TOP = ("verdict", "intervals", "contention", "timelines", "checks", "windows")
"""The views of keys 1 to 6, in order; the labs come after them."""

FORMS = (
    "verdict, intervals, intervals/3, intervals/3/rank/2, intervals/3/rank/2/timelines, contention, "
    "contention/1, timelines, checks or windows"
)


class Window(NamedTuple):
    """One step window of one side."""

    side: str
    repeat: int
    step: int


@dataclass(frozen=True)
class Place:
    """What a screen shows.

    Attributes:
        kind: verdict, intervals, slot, collective, timelines, contention, pair, checks, windows, help, palette.
        row: position of the slot or pair in the comparison's list, from 0.
        rank: the rank it is about.
        window: the window it is about.
        of: for help and palette: the kind of place they were called from.

    """

    kind: str
    row: int | None = None
    rank: int | None = None
    window: Window | None = None
    of: str = ""

    @property
    def address(self) -> str:
        """Return how the place is written after `--at`."""
        if self.kind == "slot":
            return f"intervals/{self._number}"
        if self.kind == "pair":
            return f"contention/{self._number}"
        if self.kind == "collective":
            return f"intervals/{self._number}/rank/{self.rank or 0}"
        if self.kind == "timelines" and self.row is not None:
            return f"intervals/{self._number}/rank/{self.rank or 0}/timelines"
        return self.kind

    @property
    def _number(self) -> int:
        return (self.row or 0) + 1

    def beside(self, row: int) -> Place:
        """Return the same kind of place for another row of the list."""
        return replace(self, row=row, window=None)


def parse(address: str, comparison: Comparison) -> list[Place]:
    """Return the way from the verdict to an address; rows are counted from 1, as the lists show them."""
    parts = [part for part in address.strip().strip("/").split("/") if part]
    way = [Place("verdict")]
    match parts:
        case ["verdict"] | []:
            return way
        case [("intervals" | "contention" | "timelines" | "checks" | "windows") as kind]:
            return [*way, Place(kind)]
        case ["contention", row]:
            return [*way, Place("contention"), Place("pair", _row(row, len(comparison.contention), address))]
        case ["intervals", row, *rest]:
            slot = _row(row, len(comparison.intervals), address)
            way += [Place("intervals"), Place("slot", slot)]
            match rest:
                case []:
                    return way
                case ["rank", rank]:
                    return [*way, Place("collective", slot, _rank(rank, comparison, address))]
                case ["rank", rank, "timelines"]:
                    at = _rank(rank, comparison, address)
                    return [*way, Place("collective", slot, at), Place("timelines", slot, at)]
    raise AbstepError(f"--at {address}: there is no such place", f"use {FORMS}")


def _row(text: str, count: int, address: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= count:
        known = f"there are {count}, counted from 1" if count else "there are none"
        raise AbstepError(f"--at {address}: there is no row {units.name_text(text)}", known)
    return int(text) - 1


def _rank(text: str, comparison: Comparison, address: str) -> int:
    ranks = sorted({*comparison.base.ranks, *comparison.variant.ranks})
    if not text.isdecimal() or int(text) not in ranks:
        listed = ", ".join(str(rank) for rank in ranks[:16]) + (", ..." if len(ranks) > 16 else "")
        raise AbstepError(
            f"--at {address}: there is no rank {units.name_text(text)}", f"the ranks are {listed}"
        )
    return int(text)


class Trail:
    """The way from the verdict to where the user is; going back shortens it."""

    def __init__(self, places: Sequence[Place] = ()) -> None:
        self.places: list[Place] = list(places) or [Place("verdict")]

    @property
    def here(self) -> Place:
        """Return the current place."""
        return self.places[-1]

    def enter(self, place: Place) -> None:
        """Go one level deeper."""
        if place != self.here:
            self.places.append(place)

    def beside(self, place: Place) -> None:
        """Go to a sibling; what lies above follows where it is about the same row."""
        old = self.here.row
        for index, above in enumerate(self.places[:-1]):
            if above.row is not None and above.row == old and place.row is not None:
                self.places[index] = above.beside(place.row)
        self.places[-1] = place

    def jump(self, place: Place) -> None:
        """Go to a view by its key: back to it where it lies on the way, else straight from the verdict."""
        if place in self.places:
            del self.places[self.places.index(place) + 1 :]
        else:
            self.places = [Place("verdict"), place]

    def back(self) -> bool:
        """Go up one level; return False at the verdict."""
        if len(self.places) < 2:
            return False
        self.places.pop()
        return True


def crumbs(titles: Sequence[str], width: int, *, separator: str, more: str) -> str:
    """Return the way as one text of at most so many columns; middle pieces give way first, then the names' ends."""
    between = f" {separator} "
    kept = list(titles)
    text = between.join(kept)
    while units.cells(text) > width and len(kept) > 2:
        kept = [kept[0], *kept[2:]]
        text = between.join([kept[0], more, *kept[1:]])
    if units.cells(text) <= width:
        return text
    above = f"{more}{between}" if len(titles) > 1 else ""
    here = units.name_text(kept[-1], width=max(width - units.cells(above), 1), ascii=more == "...")
    return above + here
