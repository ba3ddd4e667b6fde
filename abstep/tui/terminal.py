"""The terminal: how it is written to, and how it is given back whatever happens."""

from __future__ import annotations

import base64
import contextlib
import os
import select
import signal
import sys
import tempfile
import termios
from codecs import getincrementaldecoder
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, cast

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from textual.app import App

LEAVE = (
    "\x1b[?2026l\x1b[r\x1b[m"  # no pending update, whole screen scrolls, plain text
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # no mouse
    "\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[<u\x1b[?7h"  # no focus, paste or size reports; lines wrap
    "\x1b[?1049l\x1b[?25h"  # the main screen, with its cursor
)
"""What gives any terminal back."""

IDLE_S = 0.1
AFTER_KEY_S = 0.03
"""How long to wait for more bytes: when nothing was typed, and just after something was."""

LONGEST_COPY = 74_000
"""Bytes of text that terminals take through OSC 52."""


class _Gate:
    """The file the driver writes to, which can be shut so that nothing follows the last words."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.shut = False

    def write(self, text: str) -> None:
        if not self.shut:
            self._file.write(text)

    def flush(self) -> None:
        if not self.shut:
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class Terminal(LinuxDriver):
    """Textual's driver, writing to what is a terminal, and to nothing else."""

    current: ClassVar[Terminal | None] = None

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.gate = _Gate(_output())
        self._file = cast("Any", self.gate)
        self.given_back = False
        Terminal.current = self

    @classmethod
    def put(cls, codes: str) -> bool:
        """Write codes to the terminal that is in use; return False where there is none."""
        if cls.current is None or not cls.current.in_use:
            return False
        cls.current.write(codes)
        return True

    def start_application_mode(self) -> None:
        """Take the terminal: at the start, and again after a stop."""
        super().start_application_mode()  # type: ignore[no-untyped-call]  # of textual
        self.given_back = False

    def stop_application_mode(self) -> None:
        """Give the terminal back, as textual does when it ends by itself."""
        super().stop_application_mode()
        self.given_back = True

    def run_input_thread(self) -> None:
        """Read keys until told to stop.

        Textual's own loop tells a lone escape after 100 ms, and spins when the terminal is gone. This one waits
        for `ESCDELAY`, and ends the process as a hang-up would.
        """
        parser = XTermParser(debug=False)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        wait = IDLE_S
        while not self.exit_event.is_set():
            ready, _, _ = select.select([self.fileno], [], [], wait)
            if ready:
                data = self._read()
                if not data:
                    if not self.exit_event.is_set():
                        os.kill(os.getpid(), signal.SIGHUP)
                    return
                for event in parser.feed(decode(data)):
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)
            wait = AFTER_KEY_S if ready else IDLE_S

    def _read(self) -> bytes:
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            return b""

    @property
    def in_use(self) -> bool:
        """Return whether lines can be written now."""
        return self._writer_thread is not None


def _output() -> IO[str]:
    """Return the stream of this process that is a terminal: standard output, else standard error."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None and stream.isatty():
            return stream
    return cast("IO[str]", sys.__stdout__)


def fit_for_screens() -> bool:
    """Return whether keys can be read and lines drawn here; else the text summary is the answer."""
    if os.environ.get("TERM", "") in ("", "dumb"):
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stdout__))


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Give the terminal back as it was on every way out: return, error, SIGTERM, SIGHUP, SIGINT."""
    source = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
    try:
        modes = termios.tcgetattr(source)
    except (termios.error, ValueError):
        modes = None

    def restore() -> None:
        if Terminal.current is not None and not Terminal.current.given_back:
            Terminal.current.gate.shut = True
            with contextlib.suppress(OSError, ValueError):
                os.write(Terminal.current.gate.fileno(), LEAVE.encode())
        if modes is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(source, termios.TCSANOW, modes)

    def leave(number: int, _frame: FrameType | None) -> None:
        restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    before = {name: signal.signal(name, leave) for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        restore()
        Terminal.current = None
        for name, handler in before.items():
            signal.signal(name, handler)


def clipboard(text: str) -> str | None:
    """Return the codes (OSC 52) that put a text on the user's clipboard, also over ssh; None when it is too long."""
    data = text.encode()
    if len(data) > LONGEST_COPY:
        return None
    return f"\x1b]52;c;{base64.b64encode(data).decode()}\x07"


def save_copy(text: str) -> Path:
    """Write a copied text to a new file of the user's own, and return its path."""
    handle, name = tempfile.mkstemp(prefix="abstep-copy-", suffix=".txt")
    with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123  (mkstemp gives a descriptor)
        file.write(text)
    return Path(name)
