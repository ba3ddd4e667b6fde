"""Help for one view: its keys, and the words it uses, from the same definitions as the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from abstep.tui import keys
from abstep.tui.terms import term, view_text
from abstep.tui.views import view_class
from abstep.tui.views.base import Stage, View
from abstep.tui.widgets.document import DocLine, Document
from abstep.tui.widgets.lines import BLANK, Line, line, wrap

if TYPE_CHECKING:
    from abstep.tui.nav import Place

_KEY = 12


class HelpView(View):
    """What `?` shows."""

    kind: ClassVar[str] = "help"
    silent: ClassVar[frozenset[str]] = View.silent | {
        "left", "right", "filter", "next_match", "previous_match", "sort", "reverse", "enter", "previous", "next",
    }  # fmt: skip
    footer: ClassVar[tuple[str, ...]] = ("down=scroll", "page_down", "back", "quit")

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        self._page = Document()

    def title(self) -> str:
        """Return which view it is about."""
        return f"help: {self.place.of}"

    def act(self, action: str) -> bool:
        """Scroll."""
        return self._page.act(action)

    def body(self, width: int, height: int) -> list[Line]:
        """Return the page."""
        shown = view_class(self.place.of)
        lines: list[Line] = [(("  ", ""), *text) for text in wrap(view_text(self.place.of), width - 2)]
        lines += [BLANK, line((" keys", "head"))]
        own = {entry.partition("=")[0]: entry.partition("=")[2] for entry in shown.footer}
        for key in keys.KEYS:
            if key in keys.VIEW_KEYS:
                if key is keys.VIEW_KEYS[0]:
                    names = ", ".join(other.short for other in keys.VIEW_KEYS)
                    lines += self._entry("1-6", names, width)
            elif key.action not in shown.silent:
                word = own.get(key.action, "")
                said = f"{word}: " if word and word not in key.meaning else ""
                lines += self._entry(key.shown, said + key.meaning, width)
        lines += [BLANK, line((" words", "head"))]
        for name in shown.terms:
            lines += self._entry(name, term(name).text, width, title=True)
        self._page.fill([DocLine(entry) for entry in lines])
        return self._page.draw(width, height, self.look)

    def text(self) -> list[str]:
        """Return the page as text."""
        self.body(100, 100)
        return self._page.text()

    def _entry(self, name: str, text: str, width: int, *, title: bool = False) -> list[Line]:
        if title:
            body = wrap(text, width - 5)
            return [line((f"  {name}", "strong")), *(((("    ", ""), *part)) for part in body)]
        body = wrap(text, width - _KEY - 3)
        first = line((f"  {name:<{_KEY}}", "strong"))
        return [(*first, *body[0]), *((((" " * (_KEY + 2), ""), *part)) for part in body[1:])]
