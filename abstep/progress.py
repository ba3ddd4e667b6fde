"""Progress on standard error, only when it is a terminal (RESULT, Commands)."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from abstep.units import bytes_text, name_text

if TYPE_CHECKING:
    from types import TracebackType

    from abstep.store import Progress

BAR = 20
LEAST_APART_S = 0.1
NAME = 28


class ProgressLine:
    """One line that is drawn over itself: share, throughput, time left, the file being read."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()
        self._started = time.monotonic()
        self._last = 0.0
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def show(self, progress: Progress) -> None:
        """Draw the line anew, at most ten times a second."""
        now = time.monotonic()
        if not self.shown or now - self._last < LEAST_APART_S:
            return
        self._last = now
        share = progress.bytes_done / progress.bytes_total if progress.bytes_total else 1.0
        spent = now - self._started
        left = spent * (1 - share) / share if share > 0 else 0.0
        filled = round(BAR * share)
        rate = progress.bytes_done / spent if spent > 0 else 0.0
        sys.stderr.write(
            f"\r\x1b[K[{'#' * filled}{'.' * (BAR - filled)}] {progress.files_done}/{progress.files_total} files "
            f"{bytes_text(rate)}/s {left:.0f} s left {name_text(progress.file, width=NAME)}",
        )
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        """Take the line off the screen."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
