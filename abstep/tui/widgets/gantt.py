"""One collective across ranks, a line a rank: ready, queued, waiting for the last one, moving, and its consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from abstep import units
from abstep.tui.widgets.lines import Line, Span, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.tui.look import Look

LABEL = 8


class Part(NamedTuple):
    """One rank's part of a collective; ns on the common clock, None where unknown."""

    rank: int
    ready: float | None
    start: float
    end: float
    wait: float | None
    consumer: float | None


def gantt(parts: Sequence[Part], width: int, look: Look, *, chosen: int | None = None) -> list[Line]:
    """Return the ranks' parts on one axis, the axis first, times from the first start."""
    columns = max(width - LABEL - 2, 10)
    known = [
        value
        for part in parts
        for value in (part.ready, part.start, part.end, part.consumer)
        if value is not None
    ]
    if not known:
        return []
    low, high = min(known), max(known)
    room = (high - low) * 0.02 or 1000.0
    low, high = low - room, high + room
    zero = min(part.start for part in parts)
    scale = columns / (high - low)
    lines = [axis(low - zero, high - zero, columns, look)]
    for part in parts:
        cells: list[Span] = [(" ", "")] * columns

        def put(at: float, mark: str, role: str, cells: list[Span] = cells) -> None:
            cells[min(max(int((at - low) * scale), 0), columns - 1)] = (mark, role)

        def fill(first: float, last: float, mark: str, role: str, cells: list[Span] = cells) -> None:
            start, end = int((first - low) * scale), int((last - low) * scale)
            for x in range(max(start, 0), min(max(end, start + 1), columns)):
                cells[x] = (mark, role)

        if part.ready is not None and part.start > part.ready:
            fill(part.ready, part.start, "q", "dim")
        arrived = min(part.start + (part.wait or 0.0), part.end)
        if arrived > part.start:
            fill(part.start, arrived, look.glyphs.waits, "communication")
        fill(arrived, part.end, look.glyphs.hatch[-1], "communication")
        if part.ready is not None:
            put(part.ready, look.glyphs.ready, "strong")
        if part.consumer is not None:
            put(part.consumer, look.glyphs.consumer, "strong")
        mark = look.glyphs.cursor if part.rank == chosen else " "
        lines.append((*line(f"{mark}{part.rank:>5}  "), *joined(cells)))
    return lines


def legend(look: Look) -> Line:
    """Return what the marks mean."""
    glyphs = look.glyphs
    return line(
        ((f"  {glyphs.ready} ready   q queued   {glyphs.waits} waits for the last   "
         f"{glyphs.hatch[-1]} transport   {glyphs.consumer} consumer starts"), "dim")
    )  # fmt: skip


def joined(cells: Sequence[Span]) -> list[Span]:
    """Return cells with neighbours of one role put together."""
    spans: list[Span] = []
    for text, role in cells:
        if spans and spans[-1][1] == role:
            spans[-1] = (spans[-1][0] + text, role)
        else:
            spans.append((text, role))
    return spans


def axis(low: float, high: float, columns: int, look: Look, *, label: int = LABEL) -> Line:
    """Return a ruler of times (ns), with round numbers."""
    step = _round_step((high - low) / max(columns / 13, 1))
    unit = units.same_unit([max(abs(low), abs(high))])
    text = [" "] * columns
    tick = int(low // step) * step
    while tick <= high:
        x = round((tick - low) / (high - low) * columns)
        written = f"{look.glyphs.pipe}{_number(tick, step, unit.ns)} {unit.name}"
        if (
            x >= 0
            and x + len(written) <= columns
            and all(c == " " for c in text[max(x - 1, 0) : x + len(written)])
        ):
            text[x : x + len(written)] = written
        tick += step
    return line(" " * label, ("".join(text).rstrip(), "dim"))


def _round_step(rough: float) -> float:
    power = 1.0
    while power * 10 <= rough:
        power *= 10
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def _number(value: float, step: float, unit: float) -> str:
    """Return a tick in a unit with the decimals its step needs."""
    decimals = 0
    while decimals < 6 and abs(round(step / unit, decimals) - step / unit) > 1e-9:
        decimals += 1
    text = f"{value / unit:+.{decimals}f}"
    return "0" if not text.strip("+-0.") else text
