"""What a timeline is drawn from: the lanes and exposed stretches of one window on one rank, and where 0 lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import polars as pl

from abstep.model import Kind
from abstep.tui.widgets.lanes import Lane

if TYPE_CHECKING:
    from collections.abc import Iterable

    from abstep.compare.comparison import Detail
    from abstep.tui.nav import Window


class Stretch(NamedTuple):
    """One exposed stretch; ns from the window's start."""

    slot: str
    kind: str
    start: float
    end: float
    exposed: float
    consumer: str | None
    wait: float | None
    transport: float | None

    @property
    def waited(self) -> float:
        """Return the share that was waiting for a late rank, as far as that is known."""
        whole = (self.wait or 0.0) + (self.transport or 0.0)
        return (self.wait or 0.0) / whole if whole else 0.0


class Strand(NamedTuple):
    """One rank's window.

    Attributes:
        compute, communication, copy: its lanes.
        stretches: its exposed stretches, in order.
        length: its length, ns.
        anchor: where the matched consumer starts, ns; None where it was not found.
        spans: how many spans lie behind it.

    """

    compute: Lane
    communication: Lane
    copy: Lane
    stretches: tuple[Stretch, ...]
    length: float
    anchor: float | None
    spans: int


class Anchor(NamedTuple):
    """The matched consumer: a compute span by its name and its occurrence in the window."""

    name: str
    occurrence: int


def strand(detail: Detail, window: Window, rank: int, slot: str | None) -> Strand:
    """Read one rank's window."""
    frame = detail.lanes(window.side, window.repeat, window.step, rank)
    exposed = detail.exposed(window.side, window.repeat, window.step, rank).sort("start_ns", "end_ns")
    lanes = [
        _lane(frame, kinds) for kinds in ((Kind.COMPUTE,), (Kind.COMMUNICATION,), (Kind.COPY, Kind.MEMSET))
    ]
    stretches = _merged(_stretch(row) for row in exposed.iter_rows(named=True))
    longest = max([one for one in stretches if one.slot == slot], key=lambda one: one.exposed, default=None)
    at = _next_compute(frame, longest.end) if longest is not None else None
    ends = frame["end_ns"].max()
    length = float(cast("int", ends)) if ends is not None else 1.0
    return Strand(lanes[0], lanes[1], lanes[2], stretches, max(length, 1.0), at, frame.height)


def anchor_of(detail: Detail, window: Window, rank: int, slot: str) -> Anchor | None:
    """Return the compute span that waits for a slot's longest stretch in this window."""
    exposed = detail.exposed(window.side, window.repeat, window.step, rank).filter(pl.col("slot") == slot)
    if exposed.is_empty():
        return None
    frame = detail.lanes(window.side, window.repeat, window.step, rank)
    at = _next_compute(frame, float(exposed.sort("exposed_ns", descending=True)["end_ns"][0]))
    if at is None:
        return None
    compute = frame.filter(pl.col("kind") == int(Kind.COMPUTE)).sort("start_ns")
    name = str(compute.filter(pl.col("start_ns") == at)["name"][0])
    same = compute.filter((pl.col("name") == name) & (pl.col("start_ns") <= at))
    return Anchor(name, same.height)


def _merged(pieces: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """Join neighbouring pieces of one slot, as a stretch comes in one piece a collective."""
    found: list[Stretch] = []
    last: dict[tuple[str, str | None], int] = {}
    for piece in pieces:
        key = (piece.slot, piece.consumer)
        at = last.get(key)
        if at is not None and found[at].end == piece.start:
            one = found[at]
            found[at] = one._replace(
                end=piece.end,
                exposed=one.exposed + piece.exposed,
                wait=None if one.wait is None or piece.wait is None else one.wait + piece.wait,
                transport=None
                if one.transport is None or piece.transport is None
                else one.transport + piece.transport,
            )
        else:
            last[key] = len(found)
            found.append(piece)
    return tuple(found)


def _lane(frame: pl.DataFrame, kinds: tuple[Kind, ...]) -> Lane:
    spans = frame.filter(pl.col("kind").is_in([int(kind) for kind in kinds]))
    return Lane.union(
        spans["start_ns"].cast(pl.Int64).to_numpy().astype(np.int64),
        spans["end_ns"].cast(pl.Int64).to_numpy().astype(np.int64),
    )


def _stretch(row: dict[str, object]) -> Stretch:
    def number(name: str) -> float | None:
        value = row.get(name)
        return None if value is None else float(cast("float", value))

    return Stretch(
        str(row["slot"]), str(row["kind"]), number("start_ns") or 0.0, number("end_ns") or 0.0,
        number("exposed_ns") or 0.0, cast("str | None", row["consumer"]), number("peer_wait_ns"),
        number("transport_ns"),
    )  # fmt: skip


def _next_compute(frame: pl.DataFrame, after: float) -> float | None:
    starts = frame.filter((pl.col("kind") == int(Kind.COMPUTE)) & (pl.col("start_ns") >= after - 1000))[
        "start_ns"
    ]
    first = starts.min()
    return None if first is None else float(cast("int", first))


def start_of(detail: Detail, window: Window, rank: int, anchor: Anchor) -> float | None:
    """Return where a compute span of a name and occurrence starts, for the side where the slot is gone."""
    frame = detail.lanes(window.side, window.repeat, window.step, rank)
    same = frame.filter((pl.col("kind") == int(Kind.COMPUTE)) & (pl.col("name") == anchor.name)).sort(
        "start_ns"
    )
    return float(same["start_ns"][anchor.occurrence - 1]) if same.height >= anchor.occurrence else None
