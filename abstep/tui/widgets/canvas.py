"""The one widget: it shows a frame, and on a real terminal writes only what changed, at once.

Textual draws a whole frame when the terminal is new or resized; everything after that goes straight to the driver
as the difference between two frames. Both draw from the same frame, so neither can leave the other's screen wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from rich.segment import Segment
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from abstep.tui.widgets.painter import Frame, paint

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.geometry import Region

    from abstep.tui.look import Look
    from abstep.tui.prompt import Prompt

_SYNC_FROM = 1000  # bytes from which a change is shown in one piece, where the terminal can


class Source(Protocol):
    """Where frames come from."""

    look: Look
    prompt: Prompt | None

    def frame(self, width: int, height: int) -> Frame:
        """Return what the screen shows."""


class Canvas(Widget, can_focus=True):
    """Shows its source's frames."""

    DEFAULT_CSS = "Canvas { width: 100%; height: 100%; background: ansi_default; }"
    ALLOW_SELECT: ClassVar[bool] = False

    class Typed(Message):
        """A key pressed while a text is being typed."""

        def __init__(self, key: str, character: str | None) -> None:
            super().__init__()
            self.key = key
            self.character = character

    class Wheel(Message):
        """The mouse's wheel was turned."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, source: Source, write: Callable[[str], bool]) -> None:
        super().__init__()
        self._source = source
        self._write = write
        self._frame: Frame = ()  # what should be seen, and the size it was made for
        self._frame_size = Size(0, 0)
        self._shown: Frame = ()  # what the terminal shows, as far as is known

    def draw(self, *, whole: bool = False) -> None:
        """Show the current frame: the difference at once, or all of it with textual's next refresh."""
        if not self.size:
            return
        whole = whole or self._frame_size != self.size
        self._make()
        if not whole and self._shown:
            change = paint(self._shown, self._frame, self._source.look)
            if len(change) > _SYNC_FROM:
                change = f"\x1b[?2026h{change}\x1b[?2026l"
            if self._write(change):
                self._shown = self._frame
                return
        self._shown = ()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the frame's lines for textual's own refresh."""
        if self._frame_size != self.size:
            self._make()
        width, look = self.size.width, self._source.look
        strips = [
            Strip([Segment(text, look.style(role)) for text, role in line], width)
            for line in self._frame[crop.y : crop.bottom]
        ]
        if crop.x or crop.width != width:
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        self._shown = self._frame if crop.size == self.size else ()
        return strips

    def on_resize(self) -> None:
        """Draw anew at another size."""
        self.draw(whole=True)

    def on_mouse_scroll_down(self) -> None:
        """Move down; there are no such events unless the mouse was asked for."""
        self.post_message(self.Wheel("down"))

    def on_mouse_scroll_up(self) -> None:
        """Move up."""
        self.post_message(self.Wheel("up"))

    def on_key(self, event: events.Key) -> None:
        """Hand keys to the text being typed, if one is; else the bindings get them."""
        if self._source.prompt is not None and event.key != "ctrl+c":
            event.stop()
            event.prevent_default()
            self.post_message(self.Typed(event.key, event.character if event.is_printable else None))

    def _make(self) -> None:
        self._frame, self._frame_size = self._source.frame(*self.size), self.size
