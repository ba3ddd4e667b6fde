"""What the user has open: places, prompt, message, and what each key does. Knows nothing of textual.

The app gives it keys and shows its frames; a test can do the same.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from abstep.tui import keys, nav, terminal
from abstep.tui.frame import frame
from abstep.tui.gallery import Gallery
from abstep.tui.look import Look, choose
from abstep.tui.nav import Place, Trail
from abstep.tui.prompt import Prompt
from abstep.tui.views.loading import LoadingView
from abstep.tui.views.palette import Command, PaletteView
from abstep.tui.widgets.lines import wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any, TypeAlias

    from abstep.compare.comparison import Comparison
    from abstep.tui.views.base import View
    from abstep.tui.widgets.painter import Frame

    Export: TypeAlias = Callable[[Path], None]

STOPPED = 130
"""Exit status of ctrl-c, and of leaving while traces are still read."""


class House(Protocol):
    """What a session asks of the app around it."""

    def leave(self, code: int) -> None:
        """End with an exit status."""

    def make(self, key: Hashable, make: Callable[[], Any]) -> None:
        """Run a job in the background; `put` gets what it returns."""

    def write(self, codes: str) -> bool:
        """Write codes to the terminal; return whether there is one."""

    def renew(self) -> None:
        """Draw everything anew."""


class Session:
    """Places, prompt, message and keys."""

    def __init__(
        self, house: House, look: Look, *, at: str | None = None, export: Export | None = None
    ) -> None:
        self.look = look
        self.loading = LoadingView(look)
        self.gallery: Gallery | None = None
        self.trail = Trail()
        self.prompt: Prompt | None = None
        self._house = house
        self._at = at
        self._export = export
        self._message = ""

    def open(self, comparison: Comparison) -> None:
        """Show a comparison; a later one takes an earlier one's place."""
        if self.gallery is None and self._at is not None:
            self.trail = Trail(nav.parse(self._at, comparison))
        self.gallery = Gallery(comparison, self.look, self._house.make)

    def put(self, key: Hashable, value: object, error: Exception | None) -> None:
        """Take what a background job returned."""
        if isinstance(key, Path):
            self.say(f"not written: {error}" if error else f"report written to {key}")
        elif self.gallery is not None:
            self.gallery.put(key, value, error)

    def frame(self, width: int, height: int) -> Frame:
        """Return what the screen shows."""
        below = (
            [((" ", ""), *text) for text in wrap(self._message, width - 2, role="title")]
            if self._message
            else None
        )
        if self.prompt is not None:
            below = [self.prompt.drawn(self.look)]
        if self.gallery is None:
            return frame(self.loading, ["abstep"], width, height, self.look, below=below)
        titles = [self.gallery.view(place).title() for place in self.trail.places]
        return frame(self.view, titles, width, height, self.look, below=below)

    def say(self, text: str) -> None:
        """Show a sentence in the footer's place until the next key."""
        self._message = text

    @property
    def view(self) -> View:
        """Return the view that is shown."""
        assert self.gallery is not None
        return self.gallery.view(self.trail.here)

    def typed(self, key: str, character: str | None) -> None:
        """Take a key while a text is being typed."""
        if self.prompt is None:
            return
        outcome = self.prompt.key(key, character)
        if outcome == "typing":
            return
        self.prompt = None
        if self.trail.here.kind == "palette":
            self._leave_palette(chosen=outcome == "kept")

    def do(self, action: str) -> None:
        """Do one action of the table of keys."""
        self._message = ""
        if action == "quit" or (self.gallery is None and action == "back"):
            self._house.leave(STOPPED if self.gallery is None else 0)
        elif self.gallery is None:
            return
        elif action.startswith("view_"):
            self.trail.jump(Place(nav.TOP[int(action.removeprefix("view_")) - 1]))
        elif action in ("next", "previous"):
            self._beside(1 if action == "next" else -1)
        elif action in ("help", "palette"):
            self._overlay(action)
        else:
            own = {
                "enter": self._enter,
                "back": self._back,
                "filter": self._filter,
                "export": self._write_report,
                "copy": self._copy,
            }
            done = own.get(action)
            if done is not None:
                done()
            elif not self.view.act(action):
                self.say(f"{keys.BY_ACTION[action].shown.split()[0]} does nothing here")

    def _back(self) -> None:
        if not self.trail.back():
            self.say("this is the first screen: q leaves")

    def _enter(self) -> None:
        place = self.view.opens()
        if place is None:
            self.say("there is nothing to open here")
        else:
            self.trail.enter(place)

    def _beside(self, by: int) -> None:
        here = self.trail.here
        if here.kind in nav.TOP and here.row is None:
            at = nav.TOP.index(here.kind) + by
            if 0 <= at < len(nav.TOP):
                self.trail.jump(Place(nav.TOP[at]))
            return
        place = self.view.sibling(by)
        if place is None:
            self.say("there is no other one there")
        else:
            self.trail.beside(place)

    def _overlay(self, kind: str) -> None:
        """Open help or the palette over the current place; the same key closes it."""
        if self.trail.here.kind == kind:
            self.trail.back()
            return
        if self.trail.here.kind in ("help", "palette"):
            self.trail.back()
        self.trail.enter(Place(kind, of=self.trail.here.kind))
        table = self.view.table()
        if kind == "palette" and table is not None:
            table.filter("")
            self.prompt = Prompt(table, ":")

    def _filter(self) -> None:
        table = self.view.table()
        if table is None:
            self.say("there is no list to filter here")
        else:
            self.prompt = Prompt(table, "/")

    def _leave_palette(self, *, chosen: bool) -> None:
        view = self.view
        assert isinstance(view, PaletteView)
        command = view.command
        self.trail.back()
        if chosen and command is not None:
            self._run(command)

    def _run(self, command: Command) -> None:
        if command.look:
            self.look = self.loading.look = choose(command.look, os.environ)
            if self.gallery is not None:
                self.gallery.look = self.look
            self._house.renew()
        elif command.place is not None and self.gallery is not None:
            self.trail = Trail(nav.parse(command.place, self.gallery.comparison))
        else:
            self.do(command.action)

    def _write_report(self) -> None:
        if self._export is None:
            self.say("no report can be written from here")
            return
        path, export = _new_file(Path.cwd(), "abstep-report", ".md"), self._export
        self.say(f"writing {path}")
        self._house.make(path, lambda: export(path))

    def _copy(self) -> None:
        text = "\n".join([f"abstep --at {self.trail.here.address}", *self.view.text(), ""])
        try:
            path = terminal.save_copy(text)
        except OSError as error:
            self.say(f"not copied: {error}")
            return
        codes = terminal.clipboard(text)
        sent = codes is not None and self._house.write(codes)
        self.say(f"copied to {'the clipboard and ' if sent else ''}{path}")


def _new_file(folder: Path, name: str, ending: str) -> Path:
    path, number = folder / f"{name}{ending}", 2
    while path.exists():
        path, number = folder / f"{name}-{number}{ending}", number + 1
    return path
