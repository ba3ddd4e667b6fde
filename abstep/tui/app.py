"""The app: one canvas on one screen, keys from the one table, reading in the background."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from abstep.errors import AbstepError
from abstep.tui import keys, nav, terminal
from abstep.tui.background import Background, Cancelled, Loaded, Made, Read
from abstep.tui.look import Look, choose
from abstep.tui.session import STOPPED, Session
from abstep.tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import TypeAlias

    from textual.message import Message

    from abstep.compare.comparison import Comparison
    from abstep.tui.background import Reporter
    from abstep.tui.session import Export

    Loader: TypeAlias = Callable[[Reporter], Comparison]


class Stage(Screen[None], inherit_bindings=False):
    """The only screen; it has no keys of its own."""


class Screens(App[int], inherit_bindings=False):
    """Shows a comparison, or reads one first."""

    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *keys.bindings(),
        Binding("ctrl+c", "stop", priority=True, show=False),
    ]

    def __init__(
        self, source: Comparison | Loader, *, look: Look, at: str | None = None, export: Export | None = None
    ) -> None:
        super().__init__(driver_class=terminal.Terminal, ansi_color=True)
        self.animation_level = "none"
        self.session = Session(self, look, at=at, export=export)
        self.failure: Exception | None = None
        self._source = source
        self._background = Background(self._post)
        self._canvas = Canvas(self.session, self.write)

    # What textual calls.

    def get_default_screen(self) -> Screen[None]:
        """Return the only screen."""
        return Stage()

    def compose(self) -> ComposeResult:
        """Put the canvas on it."""
        yield self._canvas

    def on_mount(self) -> None:
        """Show the comparison, or start to read it."""
        self._canvas.focus()
        self.app_resume_signal.subscribe(self, lambda _: self.renew())
        if callable(self._source):
            self._background.load(self._source)
        else:
            self._open(self._source)

    def action_do(self, action: str) -> None:
        """Do what a key of the table says."""
        self.session.do(action)
        self._canvas.draw()

    def action_stop(self) -> None:
        """Leave at once: ctrl-c."""
        self.exit(STOPPED)

    def _handle_exception(self, error: Exception) -> None:
        """End with the first error; it is raised again once the terminal is given back."""
        self.failure = self.failure or error
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    def _set_pointer_shape(self, shape: str) -> None:
        """Leave the pointer as it is: no code is written that the screens do not need."""

    # Messages: from the canvas, and from the background.

    def on_canvas_typed(self, message: Canvas.Typed) -> None:
        """Give a key to the text being typed."""
        self.session.typed(message.key, message.character)
        self._canvas.draw()

    def on_canvas_wheel(self, message: Canvas.Wheel) -> None:
        """Move by the mouse's wheel."""
        self.action_do(message.action)

    def on_read(self, message: Read) -> None:
        """Show how far reading is."""
        self.session.loading.read(message.progress)
        if self.session.gallery is None:
            self._canvas.draw()

    def on_loaded(self, message: Loaded) -> None:
        """Show what was read so far."""
        self._open(message.comparison)

    def on_made(self, message: Made) -> None:
        """Hand a background job's result to the session."""
        if message.key == "load":
            self._fail(message.error)
            return
        self.session.put(message.key, message.value, message.error)
        self._canvas.draw()

    # What the session asks.

    def leave(self, code: int) -> None:
        """End with an exit status."""
        self.exit(code)

    def make(self, key: Hashable, make: Callable[[], Any]) -> None:
        """Run a job in the background."""
        self._background.make(key, make)

    def write(self, codes: str) -> bool:
        """Write to the terminal, when there is one; return whether there was."""
        return terminal.Terminal.put(codes)

    def renew(self) -> None:
        """Draw everything anew."""
        self._canvas.draw(whole=True)

    def stop_reading(self) -> None:
        """Stop the background; it is left behind when it does not listen."""
        self._background.stop(wait=2.0)

    def _open(self, comparison: Comparison) -> None:
        try:
            self.session.open(comparison)
        except AbstepError as error:
            self._fail(error)
            return
        self._canvas.draw()
        if terminal.Terminal.current is not None:
            gc.freeze()  # what was read stays; going through it again and again would make a key wait

    def _fail(self, error: Exception | None) -> None:
        if isinstance(error, Cancelled):
            self.exit(STOPPED)
            return
        self.failure = self.failure or error
        self.exit(1)

    def _post(self, message: Message) -> None:
        """Take a message from the background thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self.post_message, message)


def run_screens(
    comparison: Comparison | Loader,
    *,
    at: str | None = None,
    export: Export | None = None,
    look: str | None = None,
    mouse: bool = False,
) -> int:
    """Show a comparison until the user leaves, and return the exit status.

    Args:
        comparison: what to show, or a function that reads it; it gets a progress to call, which raises when it
            should stop.
        at: where to open, e.g. intervals/3/rank/2.
        export: writes the markdown report to a path.
        look: full, 256, 16, mono or ascii; None: what the terminal can do.
        mouse: whether the mouse is used.

    Raises:
        AbstepError: what reading ended with, or a place that does not exist, once the terminal is given back.

    """
    chosen = choose(look, os.environ)
    if at is not None and not callable(comparison):
        nav.parse(at, comparison)
    app = Screens(comparison, look=chosen, at=at, export=export)
    with terminal.kept():
        code = app.run(mouse=mouse)
        app.stop_reading()
    if app.failure is not None:
        raise app.failure
    return code if code is not None else 0
