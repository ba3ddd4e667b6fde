"""A session without an app around it: jobs run at once, so any place can be drawn as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from abstep.tui.look import Look
from abstep.tui.session import Session
from abstep.tui.widgets.lines import plain

from .pair import comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from abstep.compare.comparison import Comparison

FULL = Look("full", "full")
ASCII = Look("ascii", "16", ascii=True)


class Desk:
    """Plays the app for one session."""

    def __init__(
        self, at: str = "verdict", *, look: Look = FULL, shown: Comparison | None = None, **more: Any
    ) -> None:
        self.left: int | None = None
        self.written: list[str] = []
        self.session = Session(self, look, at=at, **more)
        self.session.open(shown if shown is not None else comparison())

    def leave(self, code: int) -> None:
        self.left = code

    def make(self, key: Hashable, make: Callable[[], Any]) -> None:
        try:
            value, error = make(), None
        except Exception as caught:  # noqa: BLE001
            value, error = None, caught
        self.session.put(key, value, error)

    def write(self, codes: str) -> bool:
        self.written.append(codes)
        return True

    def renew(self) -> None:
        pass

    def press(self, *actions: str, size: tuple[int, int] = (80, 24)) -> Desk:
        """Do actions of the key table, drawing after each as the app does."""
        self.session.frame(*size)
        for action in actions:
            self.session.do(action)
            self.session.frame(*size)
        return self

    def type(self, text: str) -> Desk:
        """Type into the prompt; a key's name in angle brackets is that key."""
        for part in text.replace(">", "<").split("<"):
            if part in ("enter", "escape", "backspace", "up", "down"):
                self.session.typed(part, None)
                continue
            for character in part:
                self.session.typed(character, character)
        return self

    def lines(self, width: int = 80, height: int = 24) -> list[str]:
        """Return the screen as text."""
        return [plain(line).rstrip() for line in self.session.frame(width, height)]

    def screen(self, width: int = 80, height: int = 24) -> str:
        return "\n".join(self.lines(width, height))
