"""The labs' app: the two screens on one canvas, and the only animation there is, while something is played."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType

from abstep.tui import terminal
from abstep.tui.app import Stage
from abstep.tui.look import choose
from abstep.tui.session import STOPPED
from abstep.tui.views import lab_keys
from abstep.tui.views.lab_session import LabSession
from abstep.tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.timer import Timer

    from abstep.lab.controls import Controls
    from abstep.lab.roofline import Roofline
    from abstep.tui.look import Look
    from abstep.tui.widgets.canvas import Source

MOMENT_S = 0.05
"""Between two moments of a play."""


class Labs(App[int], inherit_bindings=False):
    """Shows the labs."""

    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *lab_keys.bindings(),
        Binding("ctrl+c", "stop", priority=True, show=False),
    ]

    def __init__(
        self,
        *,
        look: Look,
        lab: str = "roofline",
        roofline: Roofline | None = None,
        overlap: Controls | None = None,
    ) -> None:
        super().__init__(driver_class=terminal.Terminal, ansi_color=True)
        self.animation_level = "none"
        self.session = LabSession(look, lab, roofline, overlap)
        self.failure: Exception | None = None
        self._canvas = Canvas(cast("Source", self.session), terminal.Terminal.put)
        self._clock: Timer | None = None

    def get_default_screen(self) -> Screen[None]:
        """Return the only screen."""
        return Stage()

    def compose(self) -> ComposeResult:
        """Put the canvas on it."""
        yield self._canvas

    def on_mount(self) -> None:
        """Show the lab."""
        self._canvas.focus()
        self._canvas.draw()

    def action_do(self, action: str) -> None:
        """Do what a key of the table says."""
        if action == "quit":
            self.exit(0)
            return
        copied = self.session.do(action)
        if copied is not None:
            sent = terminal.clipboard(copied.text)
            copied.told(clipboard=sent is not None and terminal.Terminal.put(sent))
        self._keep_time()
        self._canvas.draw()

    def action_stop(self) -> None:
        """Leave at once: ctrl-c."""
        self.exit(STOPPED)

    def on_canvas_typed(self, message: Canvas.Typed) -> None:
        """Give a key to the value being typed."""
        self.session.typed(message.key, message.character)
        self._canvas.draw()

    def on_canvas_wheel(self, message: Canvas.Wheel) -> None:
        """Move by the mouse's wheel."""
        self.action_do(message.action)

    def _keep_time(self) -> None:
        """Run the clock while something is played, and only then."""
        if self.session.playing and self._clock is None:
            self._clock = self.set_interval(MOMENT_S, self._tick)
        elif not self.session.playing and self._clock is not None:
            self._clock.stop()
            self._clock = None

    def _tick(self) -> None:
        self.session.tick()
        self._keep_time()
        self._canvas.draw()

    def _handle_exception(self, error: Exception) -> None:
        """End with the first error; it is raised again once the terminal is given back."""
        self.failure = self.failure or error
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()


def run_labs(
    lab: str = "roofline",
    *,
    roofline: Roofline | None = None,
    overlap: Controls | None = None,
    look: str | None = None,
) -> int:
    """Show the labs until the user leaves, and return the exit status.

    Args:
        lab: roofline or overlap, the one to open.
        roofline: where the roofline lab starts; None: where Reset goes.
        overlap: the same for the overlap lab.
        look: full, 256, 16, mono or ascii; None: what the terminal can do.

    """
    app = Labs(look=choose(look, os.environ), lab=lab, roofline=roofline, overlap=overlap)
    with terminal.kept():
        code = app.run(mouse=False)
    if app.failure is not None:
        raise app.failure
    return code if code is not None else 0
