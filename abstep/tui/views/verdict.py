"""The first screen: the verdict, the sentences, where the step's time went, and what to be careful about."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from abstep import units
from abstep.tui.nav import Place
from abstep.tui.views import figures
from abstep.tui.views.base import Stage, View
from abstep.tui.views.behind import behind
from abstep.tui.widgets.document import DocLine, Document
from abstep.tui.widgets.lines import BLANK, Line, clip, line, plain, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable


class Group(NamedTuple):
    """Parts of the account that are shown as one row."""

    label: str
    parts: tuple[str, ...]
    opens: Place | None


GROUPS = (
    Group("exposed communication", ("exposed",), Place("intervals")),
    Group("contention", ("contention",), Place("contention")),
    Group("other compute", ("speed", "added_work", "removed_work"), Place("timelines")),
    Group("copies", ("copy",), Place("timelines")),
    Group("idle", ("idle_end_of_step", "idle_host_late", "idle_stream_wait"), Place("timelines")),
    Group("unassigned", ("unassigned",), None),
)
"""The account in five rows, and a sixth where something could not be assigned; SEMANTICS 7."""

NUMBERS = 11
SENTENCES = 3
SHORT = 2  # lines a sentence may take, so that the account is in sight,
ROOMY = 30  # on a screen with fewer lines than these


class VerdictView(View):
    """Level 1."""

    kind: ClassVar[str] = "verdict"
    silent: ClassVar[frozenset[str]] = View.silent | {
        "left", "right", "filter", "next_match", "previous_match", "sort", "reverse", "back", "previous",
    }  # fmt: skip
    footer: ClassVar[tuple[str, ...]] = ("enter", "down=move", "views", "export", "help", "quit")
    terms: ClassVar[tuple[str, ...]] = (
        "step window", "typical window", "exposed", "overlapped", "contention", "account", "unassigned",
        "comparable", "inconclusive", "too few",
    )  # fmt: skip

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        self._page = Document(first=Place("intervals"))

    def title(self) -> str:
        """Return the program's name: the breadcrumbs start here."""
        return "abstep"

    def body(self, width: int, height: int) -> list[Line]:
        """Return the page."""
        most = SHORT if height < ROOMY else 99
        sections = (
            self._top(width, most),
            self._account(width),
            self._cautions(width),
            self._in_full(width, most),
        )
        self._page.fill([*(entry for section in sections for entry in section), *self._behind(width)])
        return self._page.draw(width, height, self.look)

    def act(self, action: str) -> bool:
        """Move over the rows that open something."""
        return self._page.act(action)

    def opens(self) -> Place | None:
        """Return where the row under the cursor leads."""
        return self._page.opens

    def text(self) -> list[str]:
        """Return the page as text."""
        self.body(100, 100)
        return self._page.text()

    def _top(self, width: int, most: int) -> Iterable[DocLine]:
        said = self.comparison.explanation
        for side in figures.both_sides(self.comparison, width):
            yield DocLine(side)
        yield DocLine(self._comparable(width), Place("checks"))
        yield DocLine(BLANK)
        for text in wrap(said.headline, width - 1, role="title"):
            yield DocLine(text)
        for sentence in said.sentences[:SENTENCES]:
            lines = wrap(f"{self._bullet} {sentence}", width - 1, indent=2)
            for text in lines[: most - 1]:
                yield DocLine(text)
            if len(lines) >= most:
                last = plain(lines[most - 1])
                more = len(lines) > most
                yield DocLine(line(clip(last, width - 5) + f" {self.look.glyphs.more}" if more else last))
        if self.comparison.no_communication:
            yield DocLine(line("No communication was found in these traces."))
        yield DocLine(BLANK)

    @property
    def _bullet(self) -> str:
        return "-" if self.look.ascii else "·"

    def _comparable(self, width: int) -> Line:
        found = self.comparison.comparability
        doubts = [check.id for check in found.checks if check.status in ("warn", "fail")]
        settings = len(found.settings_changed)
        changed = "; ".join(
            f"{s.key} {s.base} {self.look.glyphs.arrow} {s.variant}" for s in found.settings_changed
        )
        about = f": {', '.join(doubts)}" if doubts else ""
        role = "" if found.status == "comparable" else "warning"
        said = figures.COMPARABLE.get(found.status, found.status) + about
        what = f"{settings} changed: {changed}" if settings else ""
        room = max(width - units.cells(said) - 6, 0)
        return (
            ("  ", ""),
            (said, role),
            ("  " + units.name_text(what, width=room, ascii=self.look.ascii), "dim"),
        )

    def _account(self, width: int) -> Iterable[DocLine]:
        step = self.comparison.step_time
        rows = [
            (group, [row for row in self.comparison.account if row.part in group.parts]) for group in GROUPS
        ]
        shown = [(group, sum(row.delta for row in found)) for group, found in rows if found or group.opens]
        total = step.delta
        if total is None:
            yield DocLine(line(("  no step time on both sides", "warning")))
            return
        unit = units.same_unit([total, *(delta for _, delta in shown)])
        kept = [(group, delta) for group, delta in shown if group.opens or abs(delta) >= unit.step / 2]
        try:
            steps = units.rounded_to_sum([delta for _, delta in kept], total, unit.step)
        except ValueError:
            steps = [round(delta / unit.step) for _, delta in kept]
        yield DocLine(line((f"  {'where the step time went':<30}{'change':>{NUMBERS}}", "head")))
        most = max((abs(delta) for _, delta in kept), default=0.0)
        bar = max(width - 30 - NUMBERS - 8, 0)
        for (group, delta), count in zip(kept, steps, strict=True):
            number = f"{unit.steps(count, sign=True)} {unit.name}"
            drawn = self._bar(delta, most, bar)
            role = "" if count == 0 else "worse" if delta > 0 else "better"
            yield DocLine(
                line(f"  {group.label:<30}", (f"{number:>{NUMBERS}}", role), ("  " + drawn, role)),
                group.opens,
            )
        yield DocLine(
            line((f"  {'step':<30}{unit.text(total, sign=True):>{NUMBERS}}  ", "strong"), *self._step())
        )

    def _step(self) -> Line:
        step = self.comparison.step_time
        pair = units.pair_text(step.base, step.variant, ascii=self.look.ascii)
        return (f"{pair}, {units.pct_text(step.delta_pct)}", ""), ("", "")

    def _bar(self, delta: float, most: float, columns: int) -> str:
        """Return a bar as long as the change is large; its direction is the sign's."""
        length = round(abs(delta) / most * min(columns, 30)) if most else 0
        return ("#" if self.look.ascii else "■") * length

    def _cautions(self, width: int) -> Iterable[DocLine]:
        notes = dict.fromkeys(
            [*(note.message for note in self.comparison.warnings), *self.comparison.sentences]
        )
        if notes:
            yield DocLine(BLANK)
        for note in notes:
            for at, text in enumerate(wrap(f"! {note}", width - 1, indent=2)):
                yield DocLine(text if at else (("!", "warning"), (text[0][0][1:], "")))

    def _in_full(self, width: int, most: int) -> Iterable[DocLine]:
        """Say again what was cut short above, and what came after it."""
        told = self.comparison.explanation.sentences
        cut = [s for s in told[:SENTENCES] if len(wrap(f"{self._bullet} {s}", width - 1, indent=2)) > most]
        rest = [*cut, *told[SENTENCES:]]
        if rest:
            yield DocLine(BLANK)
            yield DocLine(line(("  in full", "head")))
        for sentence in rest:
            for text in wrap(f"{self._bullet} {sentence}", width - 1, indent=2):
                yield DocLine(text)

    def _behind(self, width: int) -> Iterable[DocLine]:
        return (DocLine(text) for text in behind(self.comparison, width, self.look))
