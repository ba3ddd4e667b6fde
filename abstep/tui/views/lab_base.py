"""What both labs' screens are: rows of controls, a prediction to type, Play and Reset, and text below to read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from abstep import units
from abstep.errors import AbstepError
from abstep.lab.table import WHOLE
from abstep.tui.widgets.lines import BLANK, Line, fit, line, painted, plain, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.tui.look import Look

GUESS = "guess"
"""The row of the prediction."""
FRAMES = 40
"""Moments of a play; the app shows one every 50 ms."""


class Setting(NamedTuple):
    """One row.

    Attributes:
        name: the control's field, or `GUESS`.
        label: as shown.
        unit: of its value.
        steps: values that keys go through, ascending; texts where it is a choice of words.
        meaning: for help.

    """

    name: str
    label: str
    unit: str
    steps: tuple[float, ...] | tuple[str, ...]
    meaning: str


class LabView:
    """One lab's screen. Knows nothing of textual; the app gives it actions and asks for lines."""

    kind: ClassVar[str] = ""
    footer: ClassVar[tuple[str, ...]] = ()
    settings: ClassVar[tuple[Setting, ...]] = ()
    guess_unit: ClassVar[str] = ""
    leaves_out: ClassVar[tuple[str, ...]] = ()
    about: ClassVar[str] = ""

    def __init__(self, look: Look, controls: Any) -> None:
        self.look = look
        self.controls = controls
        self.guess: float | None = None
        self.cursor = 0
        self.moment: int | None = None
        self._reset = type(controls)()
        self._top = 0
        self._page = 4

    # What a lab of its own says.

    def play(self) -> None:
        """Take the controls as they are and play them; `moment` goes from 0 to `FRAMES`."""
        raise NotImplementedError

    def forget(self) -> None:
        """Drop what was played."""
        raise NotImplementedError

    def said(self) -> list[str]:
        """Return the sentences to read below, before what the lab leaves out."""
        raise NotImplementedError

    def more(self) -> list[str]:
        """Return the sentences that come after it."""
        return []

    def body(self, width: int, height: int) -> list[Line]:
        """Return the lines between breadcrumbs and footer."""
        raise NotImplementedError

    # What the frame asks of every view.

    def delta(self) -> None:
        """A lab has no tested figure."""
        return

    @property
    def playing(self) -> bool:
        """Return whether a play is under way."""
        return self.moment is not None and self.moment < FRAMES

    @property
    def setting(self) -> Setting:
        """Return the row under the cursor."""
        return self.settings[self.cursor]

    def tick(self) -> bool:
        """Go on with the play by one moment; return whether it goes on after that."""
        if self.playing:
            assert self.moment is not None
            self.moment += 1
        return self.playing

    def act(self, action: str) -> str:
        """Do one action of the labs' table of keys; return what there is to say about it."""
        last = len(self.settings) - 1
        moves = {"down": self.cursor + 1, "up": self.cursor - 1, "first": 0, "last": last}
        if action in moves:
            self.cursor = min(max(moves[action], 0), last)
        elif action in ("left", "right"):
            return self._step(1 if action == "right" else -1)
        elif action == "play":
            if self.playing:
                self.moment = FRAMES
            else:
                self._top = 0
                self.play()
        elif action == "reset":
            self.controls, self.guess, self.moment, self._top = self._reset, None, None, 0
            self.forget()
        elif action in ("page_down", "page_up"):
            self._top = max(self._top + (self._page if action == "page_down" else -self._page), 0)
        elif action == "back":
            if not self.playing:
                return "q leaves"
            self.moment = FRAMES
        return ""

    def take(self, text: str) -> str:
        """Take a typed value for the row under the cursor; return what is wrong with it, or ""."""
        setting = self.setting
        if setting.name == GUESS and not text.strip():
            self.guess = None
            return ""
        try:
            value = float(text)
        except ValueError:
            if text in setting.steps:
                return self._set(setting, text)
            return f"{text!r} is not a number"
        if setting.name == GUESS:
            if not 0 <= value < float("inf"):
                return f"{text!r} cannot be: give {self.guess_unit} from 0"
            self.guess = value
            return ""
        return self._set(setting, value)

    def value(self, setting: Setting) -> Any:
        """Return a row's value."""
        return self.guess if setting.name == GUESS else getattr(self.controls, setting.name)

    def changed(self, setting: Setting, value: Any) -> Any:
        """Return the controls with one value changed."""
        whole = setting.name in WHOLE
        if whole and not float(value).is_integer():
            raise AbstepError(f"{setting.label}: {value:g} is not a whole number", "type 1, 2, ...")
        return replace(self.controls, **{setting.name: int(value) if whole else float(value)})

    def _set(self, setting: Setting, value: Any) -> str:
        try:
            self.controls = self.changed(setting, value)
        except AbstepError as error:
            what, found, rest = str(error).partition(": ")
            return f"{setting.label}: {rest if found and what.startswith(('--', setting.label)) else error}"
        if self.playing:
            self.moment = FRAMES
        return ""

    def _step(self, by: int) -> str:
        setting = self.setting
        if setting.name == GUESS:
            return "Enter types your prediction"
        here, steps = self.value(setting), setting.steps
        ahead = [step for step in steps if (step > here if by > 0 else step < here)]
        if isinstance(here, str):
            ahead = list(steps[steps.index(here) + 1 :] if by > 0 else steps[: steps.index(here)])
        if not ahead:
            return f"{setting.label}: that is the {'last' if by > 0 else 'first'} step; Enter types any value"
        return self._set(setting, ahead[0] if by > 0 else ahead[-1])

    # Lines.

    def shown(self, setting: Setting) -> str:
        """Return a row's value as text."""
        value = self.value(setting)
        if value is None:
            return units.ABSENT
        return value if isinstance(value, str) else f"{value:g}"

    def rows(self, width: int, height: int) -> list[Line]:
        """Return the controls, as many as fit around the cursor."""
        top = min(max(self.cursor - height // 2, 0), max(len(self.settings) - height, 0))
        found = []
        for at, setting in enumerate(self.settings[top : top + height], start=top):
            mark = self.look.glyphs.cursor if at == self.cursor else " "
            label = f"{mark}{setting.label}"
            value = f"{self.shown(setting):>8} {setting.unit:<9}"
            row = line(f"{label:<{max(width - len(value), 0)}}", value)
            drawn = fit(row, width, ascii_only=self.look.ascii)
            found.append(painted(drawn, "cursor") if at == self.cursor else drawn)
        return found

    def below(self, width: int, height: int) -> list[Line]:
        """Return the sentences, paged, and a mark where there is more."""
        lines: list[Line] = []
        paragraphs = [(sentence, "") for sentence in self.said()]
        paragraphs += [(" ".join(self.leaves_out), "dim"), *((sentence, "") for sentence in self.more())]
        for sentence, role in paragraphs:
            lines += [((" ", ""), *text) for text in wrap(sentence, width - 2, indent=2, role=role)]
        self._page = max(height - 1, 1)
        self._top = min(self._top, max(len(lines) - height, 0))
        page = lines[self._top : self._top + height]
        left = len(lines) - self._top - height
        if left > 0 and page:
            page[-1] = line((f" {self.look.glyphs.more} {left + 1} more lines: PgDn", "dim"))
        return page + [BLANK] * (height - len(page))

    def text(self) -> list[str]:
        """Return the whole screen as text, for copying."""
        return [plain(drawn).rstrip() for drawn in self.body(100, 48)]


def beside(left: Sequence[Line], right: Sequence[Line], columns: int) -> list[Line]:
    """Return two columns of lines; the left one takes so many columns."""
    height = max(len(left), len(right))
    padded = [*left, *[BLANK] * (height - len(left))]
    others = [*right, *[BLANK] * (height - len(right))]
    return [(*fit(one, columns), *other) for one, other in zip(padded, others, strict=True)]
