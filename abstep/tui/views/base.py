"""What every view is: lines made from one place, answers to keys, and state that stays while the app runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from abstep.tui.widgets.lines import BLANK, Line, plain, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from abstep.compare.comparison import Comparison
    from abstep.compare.statistics import Delta
    from abstep.tui.look import Look
    from abstep.tui.nav import Place
    from abstep.tui.widgets.table import Table

T = TypeVar("T")


class Stage(Protocol):
    """What a view may ask of the app it is shown in."""

    @property
    def comparison(self) -> Comparison:
        """Return what is shown."""

    @property
    def look(self) -> Look:
        """Return how it is drawn."""

    def fetch(self, key: Hashable, make: Callable[[], T]) -> T | None:
        """Return what `make` gives, or None while it is made in the background; the view is drawn again then."""

    def trouble(self, key: Hashable) -> str:
        """Return why a fetch failed, or ""."""

    def view(self, place: Place) -> View:
        """Return the view of another place, with its state."""


class View:
    """One view of one place. Kept while the app runs, so cursor, order and filter are there on return.

    Attributes:
        kind: the kind of place it shows.
        footer: the actions its footer names (see `keys.footer`).
        terms: the words its help explains.
        silent: the actions that do nothing in it, which its help leaves out.

    """

    kind: ClassVar[str] = ""
    footer: ClassVar[tuple[str, ...]] = ("enter", "back", "views", "help", "palette", "quit")
    terms: ClassVar[tuple[str, ...]] = ()
    silent: ClassVar[frozenset[str]] = frozenset({"zoom_in", "zoom_out", "pane"})

    def __init__(self, stage: Stage, place: Place) -> None:
        self.stage = stage
        self.place = place

    @property
    def comparison(self) -> Comparison:
        """Return what is shown."""
        return self.stage.comparison

    @property
    def look(self) -> Look:
        """Return how it is drawn."""
        return self.stage.look

    def title(self) -> str:
        """Return this place's piece of the breadcrumbs."""
        return self.kind

    def delta(self) -> Delta | None:
        """Return the figure the breadcrumbs end with."""
        return self.comparison.step_time

    def body(self, width: int, height: int) -> list[Line]:
        """Return the lines between breadcrumbs and footer, at most `height`."""
        raise NotImplementedError

    def act(self, action: str) -> bool:
        """Do what a key asks; return whether it was this view's to do."""
        table = self.table()
        return table.act(action) if table is not None else False

    def opens(self) -> Place | None:
        """Return what Enter goes to."""
        return None

    def sibling(self, by: int) -> Place | None:
        """Return the place before (-1) or after (1) at the same level."""
        del by
        return None

    def table(self) -> Table[object] | None:
        """Return the list that `/`, `s` and the cursor work on."""
        return None

    def text(self) -> list[str]:
        """Return the whole view as text, for copying."""
        return [plain(drawn).rstrip() for drawn in self.body(160, 200)]

    def waiting(self, key: Hashable, width: int) -> list[Line]:
        """Return what stands where something is still being read, or why it could not be."""
        trouble = self.stage.trouble(key)
        if trouble:
            return wrap(f"  could not be read: {trouble}", width, indent=2, role="warning")
        return [BLANK, ((f"  reading{self.look.glyphs.more}", "dim"),)]
