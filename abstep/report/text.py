"""The summary on standard output: what someone without the screens reads in an ssh session.

Every name comes from `name_text`, so no byte of a trace file reaches the terminal as a control character.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from abstep.report import rows, wording
from abstep.units import (
    ABSENT,
    bytes_text,
    cells,
    counted,
    delta_text,
    in_ascii,
    name_text,
    pair_text,
    pct_text,
    ratio_text,
    time_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from abstep.compare.comparison import AccountRow, Comparison, SlotRow
    from abstep.compare.statistics.types import Delta
    from abstep.store.store import RunRow

ACCOUNT_ROWS = 8
SLOTS_SHOWN = 12
CONTENTION_SHOWN = 5
BETTER = frozenset({"faster", "shrank", "disappeared"})
WORSE = frozenset({"slower", "grew", "appeared"})
_SKY_BLUE, _VERMILLION, _BOLD, _PLAIN = "\x1b[38;5;74m", "\x1b[38;5;166m", "\x1b[1m", "\x1b[0m"


@dataclass
class _Page:
    """Lines of at most `width` terminal columns."""

    width: int
    unicode: bool
    colour: bool
    lines: list[str] = field(default_factory=list)

    def title(self, text: str) -> None:
        """Add a heading, with an empty line above it."""
        if self.lines:
            self.lines.append("")
        self.fold(text, colour=_BOLD)

    def fold(self, text: str, *, first: str = "", indent: str = "", colour: str = "") -> None:
        """Add a text, broken at blanks; lines after the first get the indent."""
        line, start = first, first
        for word in (text if self.unicode else in_ascii(text)).split(" "):
            room = self.width - cells(indent)
            for piece in _pieces(word, max(room, 1)):
                joined = f"{line} {piece}" if line != start else line + piece
                if cells(joined) > self.width and line.strip():
                    self.add(line, colour)
                    line, start = indent + piece, indent
                else:
                    line = joined
        self.add(line, colour)

    def columns(self, label: str, value: str, *, colour: str = "") -> None:
        """Add a label to the left and a value to the right, the label shortened to fit."""
        room = self.width - cells(value) - 4
        label = self.name(label, room)
        self.add(f"  {label}{' ' * (room - cells(label))}  {value}", colour)

    def delta(self, delta: Delta, more: str) -> None:
        """Add a delta with another figure behind it."""
        text = f"{delta_text(delta, ascii=not self.unicode)}; {more}"
        self.fold(text, first="  ", indent="    ", colour=_colour(delta.verdict))

    def name(self, text: str, width: int) -> str:
        """Return a name that takes at most so many columns, at least 8."""
        return name_text(text, width=max(width, 8), ascii=not self.unicode)

    def add(self, line: str, colour: str = "") -> None:
        """Add one line as it is."""
        self.lines.append(f"{colour}{line}{_PLAIN}" if colour and self.colour else line)


def _pieces(word: str, room: int) -> list[str]:
    if cells(word) <= room:
        return [word]
    pieces = [""]
    for character in word:
        if cells(pieces[-1] + character) > room and pieces[-1]:
            pieces.append("")
        pieces[-1] += character
    return pieces


def summary(comparison: Comparison, *, width: int = 80, unicode: bool = True, colour: bool = False) -> str:
    """Return the comparison as text.

    Args:
        comparison: what to tell.
        width: terminal columns; at least 60 are used.
        unicode: whether glyphs beyond ASCII may be used.
        colour: whether verdicts are coloured (sky blue: less time, vermillion: more); never the only sign.

    """
    page = _Page(max(width, 60), unicode, colour)
    _head(page, comparison)
    _account(page, comparison)
    if comparison.no_communication:
        page.title("Exposed communication")
        page.fold(wording.NO_COMMUNICATION, first="  ", indent="  ")
    else:
        _slots(page, comparison)
        _contention(page, comparison)
    _trust(page, comparison)
    return "\n".join(page.lines) + "\n"


def _head(page: _Page, comparison: Comparison) -> None:
    for name, side in comparison.sides:
        ranks = counted(len(side.ranks), "rank")
        of = f" of {side.world_size}" if side.world_size not in (None, len(side.ranks)) else ""
        repeats = counted(side.repeats, "repeat")
        facts = f"({ranks}{of}, {repeats}, {name_text(side.device)})"
        page.fold(f"{name_text(side.label)} {facts}", first=f"{name:<8} ", indent=" " * 9)
    step = rows.shown(comparison, comparison.step_time)
    page.title(name_text(wording.verdict_sentence(comparison)))
    if step.delta is not None:
        page.fold(
            f"{delta_text(step)} ({pct_text(step.delta_pct)})",
            first="  step time ",
            indent="    ",
            colour=_colour(step.verdict),
        )
    for sentence in wording.power_sentences(comparison):
        page.fold(sentence, first="  ", indent="  ")
    if comparison.explanation.sentences:
        page.add("")
    for sentence in comparison.explanation.sentences:
        page.fold(name_text(sentence), first="- ", indent="  ")


def _part(row: AccountRow | None, label: str) -> str:
    """Return an account row's name: its label, after its part where the label does not say that."""
    part = row.part if row else ""
    return f"{wording.PARTS[part]}: {label}" if part in ("exposed", "added_work", "removed_work") else label


def _account(page: _Page, comparison: Comparison) -> None:
    account = rows.account(comparison, ACCOUNT_ROWS)
    if account is not None:
        unit = account.deltas.unit
        page.title(f"Where the difference comes from ({unit.name} a step)")
        for (row, label), steps in zip(account.rows, account.deltas.rows, strict=True):
            page.columns(_part(row, label), unit.steps(steps, sign=True))
        page.columns("step time", unit.steps(account.deltas.total, sign=True), colour=_BOLD)
    table = rows.categories(comparison)
    if table is not None:
        unit = table.base.unit
        page.title(f"What fills a step ({unit.name}: base, variant, difference)")
        names = [wording.CATEGORIES.get(row.category, row.category) for row in rows.decomposition(comparison)]
        lines = [*zip(names, table.base.rows, table.variant.rows, table.delta.rows, strict=True)]
        lines.append(("step", table.base.total, table.variant.total, table.delta.total))
        for name, base, variant, delta in lines:
            numbers = f"{unit.steps(base):>9} {unit.steps(variant):>9} {unit.steps(delta, sign=True):>9}"
            page.columns(name, numbers, colour=_BOLD if name == "step" else "")
    if not comparison.no_communication:
        page.fold(wording.overlap_sentence(comparison), first="  ", indent="  ")
    tail = comparison.tail
    if tail.delta and (tail.windows_base or tail.windows_variant):
        windows = f"{tail.windows_base} base and {tail.windows_variant} variant windows"
        page.fold(
            f"Outliers ({windows}) are outside these figures; they add {time_text(tail.delta, sign=True)}.",
            first="  ",
            indent="  ",
        )


def _slots(page: _Page, comparison: Comparison) -> None:
    found = rows.slots(comparison)
    counts = [f"{len(of_word)} {word}" for word, of_word in found.called]
    page.title("Exposed communication" + (f": {', '.join(counts)}" if counts else ""))
    called = [row for _, of_word in found.called for row in of_word]
    told = called[:SLOTS_SHOWN] if called else list(found.rest[: SLOTS_SHOWN // 2])
    for row in told:
        _slot(page, comparison, row)
    left = len(called) + len(found.rest) - len(told)
    if not comparison.intervals:
        page.add("  None in either run.")
    elif left:
        shown = {id(row) for row in told}
        rest = rows.together(row for row in comparison.intervals if id(row) not in shown)
        others = f"{counted(left, 'other')}, together {time_text(rest, sign=True)}."
        page.fold(others, first="  ", indent="  ")


def _slot(page: _Page, comparison: Comparison, row: SlotRow) -> None:
    delta = rows.shown(comparison, row.delta)
    pair = pair_text(delta.base, delta.variant, ascii=not page.unicode)
    page.delta(delta, pair)
    kind = "" if f"({row.kind})" in row.label else row.kind
    marks = ", ".join(mark for mark in (kind, "inferred" if row.inferred else "") if mark)
    marks = f" ({marks})" if marks else ""
    page.add(f"    {page.name(row.label, page.width - cells(marks) - 4)}{marks}")
    if delta.note:
        page.fold(name_text(delta.note), first="    ", indent="    ")


def _contention(page: _Page, comparison: Comparison) -> None:
    page.title("Contention: compute slowed while collectives ran")
    if not comparison.contention:
        page.add("  None was measured.")
    arrow = "→" if page.unicode else "->"
    found = rows.pairs(comparison, CONTENTION_SHOWN)
    for row in found.told:
        stretch = f"stretch {ratio_text(row.base_stretch)} {arrow} {ratio_text(row.variant_stretch)}"
        page.delta(rows.shown(comparison, row.delta), stretch)
        whole = f"{row.compute} beside {row.beside}"
        told = (whole,) if cells(whole) <= page.width - 4 else (row.compute, f"beside {row.beside}")
        for part in told:
            page.add(f"    {page.name(part, page.width - 4)}")
    if found.rest:
        pairs = counted(len(found.rest), "other pair")
        total = time_text(rows.together(found.rest), sign=True)
        page.fold(f"{pairs}, together {total}.", first="  ", indent="  ")


def _trust(page: _Page, comparison: Comparison) -> None:
    page.title(f"Can they be compared? {wording.STATUS[comparison.comparability.status]}")
    for check in comparison.comparability.checks:
        if check.status != "pass":
            text = f"{check.id}: {check.base} | {check.variant}"
            text += f" ({check.message})" if check.message else ""
            page.fold(name_text(text), first=f"  {check.status:<7} ", indent=" " * 10)
    for row in comparison.validity:
        if row.status == "fail":
            where = f"rank {row.rank}, step {row.step}, {row.collective}"
            page.fold(
                name_text(f"{row.id}, {row.side}: {where}. {row.message}"),
                first="  fault   ",
                indent=" " * 10,
            )
    page.title("Windows and statistics")
    for name, side in comparison.sides:
        page.fold(wording.windows_sentence(side), first=f"  {name:<8} ", indent=" " * 11)
    for sentence in wording.statistics_sentences(comparison):
        page.fold(sentence, first="  ", indent="  ")
    if comparison.warnings:
        page.title("Warnings")
        for note in comparison.warnings:
            page.fold(name_text(f"{note.id}: {note.message}"), first="! ", indent="  ")
    page.title("Next")
    for step in [
        *wording.next_steps(comparison),
        "The whole report: --report FILE.md; every figure: --json FILE.",
    ]:
        page.fold(step, first="- ", indent="  ")


def _colour(verdict: str | None) -> str:
    return _SKY_BLUE if verdict in BETTER else _VERMILLION if verdict in WORSE else ""


def runs_table(runs: Sequence[RunRow], store: Path) -> str:
    """Return what a store holds, as `abstep runs` prints it: names whole, since `abstep forget` takes them."""
    size = bytes_text(store.stat().st_size) if store.exists() else ABSENT
    lines = [f"{counted(len(runs), 'run')} in {name_text(str(store))} ({size})"]
    for run in runs:
        held = f"{counted(run.repeats, 'repeat')}, {counted(run.ranks, 'rank')}, {counted(run.files, 'file')}"
        read = datetime.fromtimestamp(run.read_unix, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
        lines += ["", name_text(run.name)]
        lines.append(f"  {name_text(run.label)}: {held} of {bytes_text(run.size_bytes)}, read {read}")
    return "\n".join(lines) + "\n"
