"""The overlap lab in text: timelines, what fills the step, why the ideal is not reached, and what a change did.

Sentences are the ones `abstep compare` uses, so that a prediction and a measurement read alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from abstep.units import pct_text, same_unit, share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.lab.backward import Time
    from abstep.lab.overlap import Parts, Play

SLOT = "all_reduce of backward before the optimizer"
CATEGORIES = {
    "compute_alone": "compute alone",
    "overlapped": "compute and communication at once",
    "exposed": "communication exposed",
    "idle": "idle",
}
"""The categories, in the words of the comparison."""
CONSTRAINT_WORDS = {
    "readiness": "late readiness: a bucket is not full yet, here or on the late rank, and nothing can be sent",
    "serialization": "serialization: full buckets queue behind one another on the stream",
    "contention": "contention: compute and communication slow each other while they overlap",
    "launch cost": "launch cost: what every collective costs before its first byte moves",
    "tail": "tail: what is launched when the backward has ended has nothing left to hide behind",
}
COMPUTE, HIDDEN, EXPOSED, WAITS, NOTHING = "c", "h", "e", "w", " "
"""What a cell of a timeline shows: compute; transport beside compute; transport exposed; waiting for a rank."""
UNICODE = {COMPUTE: "█", HIDDEN: "▒", EXPOSED: "▓", WAITS: "░", NOTHING: " "}
ASCII = {COMPUTE: "#", HIDDEN: "~", EXPOSED: "%", WAITS: ".", NOTHING: " "}
UNCHANGED_NS = 0.5
RANKS_DRAWN = 4
HEAD = 19
"""Columns left of a lane."""


class Lanes(NamedTuple):
    """One rank's timeline in cells: `COMPUTE`, `HIDDEN`, ….

    Attributes:
        rank: its number.
        compute: one cell a column.
        communication: the same, both streams together.

    """

    rank: int
    compute: str
    communication: str


def lanes(play: Play, columns: int, until: float | None = None, ranks: int = RANKS_DRAWN) -> list[Lanes]:
    """Return the timelines.

    Args:
        play: what to draw.
        columns: cells of a lane; together they are the longest window, or `until`'s where that is longer.
        until: ns on the common clock up to which it has been played; None: to the end.
        ranks: how many ranks at most: the first ones, and the last.

    """
    windows = [play.window(rank) for rank in range(len(play.backward.ranks))]
    low, high = min(start for start, _ in windows), max(end for _, end in windows)
    return [_rank_lanes(play, rank, (low, high), columns, until) for rank in drawn_ranks(play, ranks)]


def drawn_ranks(play: Play, most: int = RANKS_DRAWN) -> list[int]:
    """Return the positions of the ranks that are drawn: the first ones and the last."""
    count = len(play.backward.ranks)
    return list(range(count)) if count <= most else [*range(most - 1), count - 1]


def _rank_lanes(play: Play, rank: int, span: tuple[Time, Time], columns: int, until: float | None) -> Lanes:
    low = float(span[0])
    scale = columns / max(float(span[1]) - low, 1.0)
    weights: list[list[dict[str, float]]] = [[{} for _ in range(columns)] for _ in range(2)]
    for stretch in play.stretches(rank):
        start, end = float(stretch.start), float(stretch.end)
        if until is not None:
            end = min(end, until)
        if end <= start:
            continue
        what = NOTHING
        if stretch.running:
            moving = any(play.events.collectives[k].arrival <= stretch.start for k in stretch.running)
            what = (HIDDEN if stretch.computing else EXPOSED) if moving else WAITS
        for lane, code in ((0, COMPUTE if stretch.computing else NOTHING), (1, what)):
            if code != NOTHING:
                _spread(weights[lane], code, (start - low) * scale, (end - low) * scale)
    compute, communication = (
        "".join(max(cell, key=lambda code: cell[code]) if cell else NOTHING for cell in lane)
        for lane in weights
    )
    return Lanes(play.backward.ranks[rank].rank, compute, communication)


def _spread(cells: list[dict[str, float]], code: str, first: float, last: float) -> None:
    """Add [first, last) in columns to the cells it touches."""
    for column in range(int(first), min(int(last) + 1, len(cells))):
        share = min(last, column + 1.0) - max(first, float(column))
        if share > 0:
            cells[column][code] = cells[column].get(code, 0.0) + share


def timeline(play: Play, width: int = 78, *, ascii: bool = False) -> list[str]:  # noqa: A002
    """Return the timelines as lines, with a key and the step's length under them."""
    glyphs = ASCII if ascii else UNICODE
    columns = max(width, 40) - HEAD
    lines = []
    for drawn in lanes(play, columns):
        for name, cells in (("compute", drawn.compute), ("all_reduce", drawn.communication)):
            head = f"rank {drawn.rank}" if name == "compute" else ""
            body = "".join(glyphs[cell] for cell in cells)
            lines.append(f"{head:<8}{name:<{HEAD - 8}}{body}".rstrip())
    left = len(play.backward.ranks) - len(drawn_ranks(play))
    if left > 0:
        lines.append(f"{'':<{HEAD}}{left} more rank{'' if left == 1 else 's'} not drawn")
    return [*lines, f"{'':<{HEAD}}{key(ascii=ascii)}"]


def key(*, ascii: bool = False) -> str:  # noqa: A002
    """Return what the fills mean."""
    glyphs = ASCII if ascii else UNICODE
    words = ((COMPUTE, "compute"), (HIDDEN, "hidden"), (EXPOSED, "exposed"), (WAITS, "waits for a rank"))
    return "  ".join(f"{glyphs[code]} {word}" for code, word in words)


def filled(parts: Parts) -> list[tuple[str, str]]:
    """Return (name, text) of the step and what fills it, in one unit."""
    unit = same_unit((float(parts.step),))
    rows = [(words, unit.text(float(getattr(parts, name)))) for name, words in CATEGORIES.items()]
    return [*rows, ("step", unit.text(float(parts.step)))]


def told(play: Play) -> list[str]:
    """Return the step, its ideal, and why the ideal is not reached."""
    parts, ideal = play.parts, float(play.ideal)
    ranks = play.backward.ranks
    compute, after = (
        sum(float(each) for each in own) / len(ranks)
        for own in ([rank.backward for rank in ranks], [rank.after for rank in ranks])
    )
    communication = float(play.undisturbed.parts.communication)
    larger = f"max(compute {time_text(compute)}, communication {time_text(communication)})"
    said = [
        f"The step takes {time_text(float(parts.step))}; ideal {larger}"
        + (f" + what follows {time_text(after)}" if after else "")
        + f" = {time_text(ideal)}.",
    ]
    gap = float(parts.step) - ideal
    if play.binding is None:
        return [*said, "The ideal is reached: nothing binds."]
    shares = [
        f"{name} {time_text(float(value), sign=True)}"
        for name, value in sorted(play.gap.items(), key=lambda row: -abs(float(row[1])))
        if abs(float(value)) > UNCHANGED_NS
    ]
    said.append(f"{time_text(gap)} above the ideal: {', '.join(shares)}.")
    said.append(f"Binding: {CONSTRAINT_WORDS[play.binding]}.")
    return said


def changed(before: Play, after: Play) -> list[str]:
    """Return what a change did, contradictions first, in the comparison's words."""
    return list(_changed(before, after))


def _changed(before: Play, after: Play) -> Iterator[str]:
    old, new = before.parts, after.parts
    verdict = verdict_of(old.step, new.step, ("faster", "slower"))
    shares = [_overlap(parts) for parts in (old, new)]
    if shares[0] is not None and shares[1] is not None and shares[1] - shares[0] >= 0.01:  # noqa: SIM102
        if verdict != "faster":
            rose = f"Overlap rose from {share_text(shares[0])} to {share_text(shares[1])} of communication"
            yet = "is slower" if verdict == "slower" else "does not change"
            yield f"{rose}, yet the step {yet}: end-to-end time decides."
    yield headline(float(old.step), float(new.step), verdict)
    exposed = verdict_of(old.exposed, new.exposed, ("shrank", "grew"))
    if exposed != "unchanged":
        yield f"Exposed {SLOT} {_grew(old.exposed, new.exposed, exposed)}."
    contention = verdict_of(old.contention, new.contention, ("shrank", "grew"))
    if contention != "unchanged":
        yield f"Contention {_grew(old.contention, new.contention, contention)}."
    step, part = float(new.step - old.step), float(new.exposed - old.exposed)
    if abs(step) > UNCHANGED_NS:
        yield (
            f"Of the step's change of {time_text(step, sign=True)}, exposed communication accounts for "
            f"{time_text(part, sign=True)} and everything else for {time_text(step - part, sign=True)}."
        )


def headline(base: float, variant: float, verdict: str) -> str:
    """Return what happened to the step (ns) in one sentence: the comparison's own."""
    span = f"{time_text(base)} to {time_text(variant)}"
    percent = 100 * (variant - base) / base if base else None
    change = f"{time_text(variant - base, sign=True)} ({pct_text(percent, sign=True)})"
    return f"The step is {verdict}: {span}, {change}."


def verdict_of(before: Time, after: Time, words: tuple[str, str]) -> str:
    """Return a word for an exact change: `words` are (less, more)."""
    if abs(float(after - before)) <= UNCHANGED_NS:
        return "unchanged"
    if words == ("shrank", "grew"):
        if after <= UNCHANGED_NS:
            return "disappeared"
        if before <= UNCHANGED_NS:
            return "appeared"
    return words[0] if after < before else words[1]


def _grew(before: Time, after: Time, verdict: str) -> str:
    old, new = float(before), float(after)
    return f"{verdict}: {time_text(old)} to {time_text(new)} a step ({time_text(new - old, sign=True)})"


def _overlap(parts: Parts) -> float | None:
    communication = float(parts.overlapped + parts.exposed)
    return float(parts.overlapped) / communication if communication else None
