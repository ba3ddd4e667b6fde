"""A process under a pseudo-terminal: keys go in, bytes come out and are drawn by a terminal in small."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

from .vt import Terminal

PROJECT = Path(__file__).resolve().parents[2]
KEYS = {
    "down": "\x1b[B",
    "up": "\x1b[A",
    "enter": "\r",
    "escape": "\x1b",
    "pagedown": "\x1b[6~",
    "ctrl+c": "\x03",
}


class Screen:
    """One run of the screens."""

    def __init__(
        self, what: str, at: str = "", *, width: int = 120, height: int = 40, **environ: str
    ) -> None:
        self.terminal = Terminal(width, height)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self._become(what, at, environ)
        self.size(width, height)
        self.modes_before = termios.tcgetattr(self.fd)
        self.status: int | None = None

    @staticmethod
    def _become(what: str, at: str, environ: dict[str, str]) -> None:
        base = {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8",
                "TERM": "xterm-256color", "COLORTERM": "truecolor", "POLARS_MAX_THREADS": "2"}  # fmt: skip
        os.chdir(PROJECT)
        arguments = [sys.executable, "-W", "error", "-m", "tests.tui.child", what, *([at] if at else [])]
        time.sleep(0.05)  # until the parent has set the size
        os.execve(sys.executable, arguments, {**base, **environ})

    def size(self, width: int, height: int) -> None:
        """Set the terminal's size, as dragging a window's corner does."""
        self.terminal.resize(width, height)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self, *, quiet: float = 0.15, most: float = 10.0) -> bytes:
        """Return what is written until nothing comes for a while, drawing it."""
        found, end = b"", time.monotonic() + most
        while time.monotonic() < end:
            ready, _, _ = select.select([self.fd], [], [], quiet)
            if not ready:
                break
            try:
                chunk = os.read(self.fd, 65536)
            except OSError:
                break
            if not chunk:
                break
            found += chunk
            self.terminal.feed(chunk.decode("utf-8", "replace"))
        return found

    def until(self, text: str, *, most: float = 20.0) -> bytes:
        """Read until a text is on the screen and nothing more comes."""
        found, end = b"", time.monotonic() + most
        while time.monotonic() < end:
            found += self.read(quiet=0.15, most=0.3)
            if any(text in line for line in self.terminal.lines()):
                return found
        raise AssertionError(f"{text!r} is not on the screen:\n" + "\n".join(self.terminal.lines()))

    def press(self, *keys: str, quiet: float = 0.15) -> bytes:
        """Press keys, and return what is written."""
        os.write(self.fd, "".join(KEYS.get(key, key) for key in keys).encode())
        return self.read(quiet=quiet)

    def timed(self, key: str, *, quiet: float = 0.12) -> tuple[bytes, float]:
        """Press a key; return what is written, and the seconds until the last of it."""
        start = last = time.perf_counter()
        os.write(self.fd, KEYS.get(key, key).encode())
        found = b""
        while select.select([self.fd], [], [], quiet)[0]:
            chunk = os.read(self.fd, 65536)
            last = time.perf_counter()
            found += chunk
            self.terminal.feed(chunk.decode("utf-8", "replace"))
        return found, last - start

    def kill(self, number: int) -> None:
        os.kill(self.pid, number)

    def ended(self, most: float = 10.0) -> int:
        """Wait for the end; return the exit status, or minus the signal's number."""
        end = time.monotonic() + most
        while time.monotonic() < end:
            self.read(quiet=0.02, most=0.2)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
            time.sleep(0.01)
        raise AssertionError("it did not end:\n" + "\n".join(self.terminal.lines()))

    def close(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
