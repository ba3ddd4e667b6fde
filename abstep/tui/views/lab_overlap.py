"""The overlap lab's screen: controls to the left, timelines and what fills the step to the right, reasons below."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from abstep import units
from abstep.lab.controls import Controls
from abstep.lab.overlap import Play, play
from abstep.lab.overlap_text import (
    ASCII,
    CATEGORIES,
    COMPUTE,
    EXPOSED,
    HIDDEN,
    NOTHING,
    UNICODE,
    WAITS,
    changed,
    lanes,
    told,
)
from abstep.lab.roofline import judged
from abstep.lab.table import CONTROLS, OVERLAP_LEAVES_OUT
from abstep.tui.views.lab_base import FRAMES, GUESS, LabView, Setting, beside
from abstep.tui.widgets.gantt import joined
from abstep.tui.widgets.lines import BLANK, Line, line

if TYPE_CHECKING:
    from abstep.tui.look import Look
    from abstep.tui.widgets.lines import Span

WIDE = 76
"""Columns from which controls and timelines stand side by side."""
_LEFT = 40
_LABEL = 7
_PARTS = 56  # columns of the table at most
ROLES = {COMPUTE: "compute", HIDDEN: "communication", EXPOSED: "strong", WAITS: "dim", NOTHING: ""}
LAUNCH = Setting(
    "late_launch", "launch", "", ("early", "late"), "as buckets fill, or when the backward has ended"
)
OWN_GROUPS = ("groups", "gradients_mb", "backward_us")


class Played(NamedTuple):
    """A play, and the controls it was played with."""

    controls: Controls
    play: Play


class OverlapView(LabView):
    """One data-parallel backward, exactly."""

    kind: ClassVar[str] = "overlap"
    settings: ClassVar[tuple[Setting, ...]] = (
        *(Setting(c.name, c.label, c.unit, c.steps, c.meaning) for c in CONTROLS[:2]),
        LAUNCH,
        *(Setting(c.name, c.label, c.unit, c.steps, c.meaning) for c in CONTROLS[2:]),
        Setting(GUESS, "your prediction", "us", (), "of the step, before it is played"),
    )
    guess_unit: ClassVar[str] = "us"
    leaves_out: ClassVar[tuple[str, ...]] = OVERLAP_LEAVES_OUT
    about: ClassVar[str] = (
        "One data-parallel backward: gradients fill buckets, buckets are reduced while compute goes on, and the "
        "optimizer waits for the last. The ideal is max(compute, communication)."
    )

    def __init__(self, look: Look, controls: Controls | None = None) -> None:
        super().__init__(look, controls or Controls())
        self.now: Played | None = None
        self.before: Played | None = None

    def play(self) -> None:
        """Play the controls; what was played before stays for comparison."""
        if self.now is not None and self.now.controls != self.controls:
            self.before = self.now
        self.now = Played(self.controls, play(self.controls.backward()))
        self.moment = 0

    def forget(self) -> None:
        """Drop both plays."""
        self.now = self.before = None

    def value(self, setting: Setting) -> Any:
        """Return a row's value; the launch in words."""
        if setting is LAUNCH:
            return "late" if self.controls.late_launch else "early"
        return super().value(setting)

    def changed(self, setting: Setting, value: Any) -> Controls:
        """Return the controls with one value changed; groups of one's own give way to the even ones."""
        if setting is LAUNCH:
            return replace(self._own, late_launch=value == "late")
        found: Controls = super().changed(setting, value)
        if setting.name in OWN_GROUPS and (found.ready_us or found.sizes_mb):
            return replace(found, ready_us=(), sizes_mb=())
        return found

    @property
    def _own(self) -> Controls:
        """The controls, as what they are here."""
        assert isinstance(self.controls, Controls)
        return self.controls

    def said(self) -> list[str]:
        """Return the prediction's judgement, what the change did, and what binds."""
        if self.now is None:
            return ["Type your prediction of the step on the last row (Enter); then p plays."]
        if self.playing:
            return ["playing"]
        if self.now.controls != self.controls:
            return [
                f"Not played yet: {self._differs(self.now.controls, self.controls)}. p plays.",
                *self._told(),
            ]
        return self._told()

    def _told(self) -> list[str]:
        assert self.now is not None
        found = []
        if self.guess is not None and self.now.controls == self.controls:
            found.append(judged(self.guess, float(self.now.play.parts.step) / 1000, "us"))
        if self.before is not None:
            found.append(f"Changed: {self._differs(self.before.controls, self.now.controls)}.")
            found += changed(self.before.play, self.now.play)
        return [*found, *told(self.now.play)[1:]]

    def more(self) -> list[str]:
        """Return the ideal, and what the lab is about."""
        return [self.about] if self.now is None or self.playing else told(self.now.play)[:1]

    def _differs(self, before: Controls, after: Controls) -> str:
        """Return which controls differ, in words."""
        arrow = self.look.glyphs.arrow
        found = []
        for setting in self.settings:
            if setting.name == GUESS:
                continue
            old, new = getattr(before, setting.name), getattr(after, setting.name)
            if old != new and setting is LAUNCH:
                found.append(f"launch {'late' if old else 'early'} {arrow} {'late' if new else 'early'}")
            elif old != new:
                found.append(f"{setting.label} {old:g} {arrow} {new:g} {setting.unit}".rstrip())
        if len(found) > 1:
            return f"{', '.join(found)} (more than one: no effect is attributed to one of them)"
        return found[0] if found else "nothing"

    def body(self, width: int, height: int) -> list[Line]:
        """Return controls, timelines, parts and text."""
        if width >= WIDE:
            tall = min(len(self.settings), max(height - 3, 1))
            left = self.rows(_LEFT - 1, tall)
            lines = beside(left, self._right(width - _LEFT, tall), _LEFT)
        else:
            rows = self.rows(width, max(min(len(self.settings), height - 10), 3))
            lines = [*rows, *self._right(width, 5)]
        lines = lines[:height]
        left_over = height - len(lines)
        return lines + (self.below(width, left_over) if left_over > 0 else [])

    def _right(self, width: int, height: int) -> list[Line]:
        """Return timelines and parts, the timelines first."""
        if self.now is None:
            return [line(("not played yet: p plays", "dim"))]
        played = self.now.play
        step = float(played.parts.step)
        start = min(float(rank.start) for rank in played.backward.ranks)
        longest = max(float(played.window(at)[1]) for at in range(len(played.backward.ranks))) - start
        until = None if not self.playing else start + longest * (self.moment or 0) / FRAMES
        stale = "" if self.now.controls == self.controls else " (before the change)"
        bound = f", bound by {played.binding}" if played.binding else ", the ideal"
        head = f"step {units.time_text(step)}{stale or bound}" if until is None else "step ..."
        lines = [line((head, "title"))]
        for drawn in lanes(played, max(width - _LABEL - 1, 10), until, ranks=2):
            for label, cells in ((f"rank {drawn.rank}", drawn.compute), ("", drawn.communication)):
                lines.append((*line((f"{label:<{_LABEL}}", "dim")), *self._cells(cells)))
        if height < len(lines) + 2:
            return lines[:height]
        lines.append(self._key())
        if until is None and height >= len(lines) + 8:
            lines += [BLANK, *self._parts(min(width, _PARTS))]
        return lines[:height]

    def _cells(self, cells: str) -> list[Span]:
        glyphs = ASCII if self.look.ascii else UNICODE
        return joined([(glyphs[cell], ROLES[cell]) for cell in cells])

    def _key(self) -> Line:
        glyphs = ASCII if self.look.ascii else UNICODE
        words = ((COMPUTE, "compute"), (HIDDEN, "hidden"), (EXPOSED, "exposed"), (WAITS, "waits"))
        spans: list[Span] = []
        for code, word in words:
            spans += [(glyphs[code], ROLES[code]), (f" {word}  ", "dim")]
        return tuple(spans)

    def _parts(self, width: int) -> list[Line]:
        """Return what fills the step, before and now."""
        assert self.now is not None
        plays = [each.play if each is not None else None for each in (self.before, self.now)]
        steps = [float(each.parts.step) for each in plays if each is not None]
        unit = units.same_unit(steps, digits=4)
        room = max(width - 21, 10)
        rows = [line((f"{unit.name + ' a step':<{room}}{'before':>9}{'now':>9}", "dim"))]
        names = {**CATEGORIES, "overlapped": "both at once", "exposed": "exposed", "step": "step"}
        for name, label in names.items():
            figures = [None if each is None else float(getattr(each.parts, name)) for each in plays]
            rows.append(_figures(label, figures, unit, room, "strong" if name == "step" else ""))
        ideals = [None if each is None else float(each.ideal) for each in plays]
        return [*rows, _figures("ideal", ideals, unit, room, "")]


def _figures(label: str, values: list[float | None], unit: units.Unit, room: int, role: str) -> Line:
    cells = [units.ABSENT if value is None else unit.number(value) for value in values]
    return line((f"{label:<{room}}" + "".join(f"{cell:>9}" for cell in cells), role))
