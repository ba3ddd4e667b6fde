"""What the user has open in the labs: which lab, help, and a value being typed. Knows nothing of textual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from abstep.lab.overlap_text import CONSTRAINT_WORDS
from abstep.tui import terminal
from abstep.tui.frame import frame
from abstep.tui.views import lab_keys
from abstep.tui.views.lab_overlap import OverlapView
from abstep.tui.views.lab_roofline import RooflineView
from abstep.tui.widgets.document import DocLine, Document
from abstep.tui.widgets.lines import BLANK, Line, line, wrap

if TYPE_CHECKING:
    from abstep.lab.controls import Controls
    from abstep.lab.roofline import Roofline
    from abstep.tui.look import Look
    from abstep.tui.views.lab_base import LabView, Setting
    from abstep.tui.widgets.painter import Frame

_KEY = 12


class Entry:
    """A value being typed, on the last line of the screen."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.text = ""

    def key(self, key: str, character: str | None) -> str:
        """Take one key; return typing, kept or dropped."""
        if key == "enter":
            return "kept"
        if key == "escape" or (key == "backspace" and not self.text):
            return "dropped"
        if key == "backspace":
            self.text = self.text[:-1]
        elif character is not None:
            self.text += character
        return "typing"

    def drawn(self, look: Look) -> Line:
        """Return the entry as a line."""
        unit = f" {self.setting.unit}" if self.setting.unit else ""
        block = "_" if look.ascii else "▏"
        return line(
            f" {self.setting.label}: ",
            (self.text, "strong"),
            block,
            (f"{unit}   Enter takes, Esc drops", "dim"),
        )


@dataclass
class Copied:
    """A screen's text on its way to the clipboard."""

    session: LabSession
    text: str
    path: str

    def told(self, *, clipboard: bool) -> None:
        """Say where it went."""
        self.session.message = f"copied to {'the clipboard and ' if clipboard else ''}{self.path}"


class _Help:
    """Help for a lab, framed as a view is."""

    footer: tuple[str, ...] = ()

    def __init__(self, view: LabView) -> None:
        self.view = view
        self.page = Document()

    def delta(self) -> None:
        """Help has no figure."""
        return

    def body(self, width: int, height: int) -> list[Line]:
        """Return keys, rows, words and what is left out."""
        lines: list[Line] = [((" ", ""), *text) for text in wrap(self.view.about, width - 2)]
        lines += [BLANK, line((" keys", "head"))]
        for key in lab_keys.LAB_KEYS:
            lines += _entry(key.shown, key.meaning, width)
        lines += [BLANK, line((" controls", "head"))]
        for setting in self.view.settings:
            lines += _entry(setting.label, setting.meaning, width, room=28)
        if self.view.kind == "overlap":
            lines += [BLANK, line((" what can bind", "head"))]
            for name, words in CONSTRAINT_WORDS.items():
                lines += _entry(name, words.partition(": ")[2], width, room=16)
        lines += [BLANK, line((" what it leaves out", "head"))]
        for sentence in self.view.leaves_out:
            lines += [(("  ", ""), *text) for text in wrap(sentence, width - 3)]
        self.page.fill([DocLine(entry) for entry in lines])
        return self.page.draw(width, height, self.view.look)


def _entry(name: str, text: str, width: int, *, room: int = _KEY) -> list[Line]:
    body = wrap(text, max(width - room - 3, 8))
    first: Line = (*line((f"  {name:<{room}}", "strong")), *body[0])
    return [first, *((((" " * (room + 2), ""), *part)) for part in body[1:])]


class LabSession:
    """The labs, and what each key does."""

    def __init__(
        self,
        look: Look,
        lab: str = "roofline",
        roofline: Roofline | None = None,
        overlap: Controls | None = None,
    ) -> None:
        self.look = look
        self.labs: dict[str, LabView] = {
            "roofline": RooflineView(look, roofline),
            "overlap": OverlapView(look, overlap),
        }
        self.lab = lab
        self.prompt: Entry | None = None
        self.message = ""
        self._help: _Help | None = None

    @property
    def view(self) -> LabView:
        """Return the lab that is shown."""
        return self.labs[self.lab]

    @property
    def playing(self) -> bool:
        """Return whether the lab that is shown plays."""
        return self.view.playing

    def tick(self) -> None:
        """Go on with the play."""
        self.view.tick()

    def frame(self, width: int, height: int) -> Frame:
        """Return what the screen shows."""
        below = [lab_keys.footer(width)]
        if self.message:
            below = [((" ", ""), *text) for text in wrap(self.message, width - 2, role="title")]
        if self.prompt is not None:
            below = [self.prompt.drawn(self.look)]
        titles = ["labs", self.lab, *(["help"] if self._help is not None else [])]
        return frame(self._help or self.view, titles, width, height, self.look, below=below)

    def do(self, action: str) -> Copied | None:
        """Do one action of the labs' table of keys; return what is to be copied, if it is that."""
        self.message = ""
        if action == "help":
            self._help = None if self._help is not None else _Help(self.view)
        elif self._help is not None:
            if action == "back":
                self._help = None
            elif not self._help.page.act(action):
                self.message = "Esc goes back to the lab"
        elif action in ("lab_1", "lab_2", "pane"):
            other = "overlap" if self.lab == "roofline" else "roofline"
            self.lab = {"lab_1": "roofline", "lab_2": "overlap", "pane": other}[action]
        elif action == "enter":
            self.prompt = Entry(self.view.setting)
        elif action == "copy":
            return self._copied()
        else:
            self.message = self.view.act(action)
        return None

    def typed(self, key: str, character: str | None) -> None:
        """Take a key while a value is being typed."""
        if self.prompt is None:
            return
        outcome = self.prompt.key(key, character)
        if outcome == "typing":
            return
        text, self.prompt = self.prompt.text, None
        self.message = self.view.take(text) if outcome == "kept" else ""

    def _copied(self) -> Copied | None:
        text = "\n".join([f"abstep lab {self.lab}", *self.view.text(), ""])
        try:
            return Copied(self, text, str(terminal.save_copy(text)))
        except OSError as error:
            self.message = f"not copied: {error}"
            return None
