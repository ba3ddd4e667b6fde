"""Work beside the screens: one thread that reads, and only ever posts messages.

It is not one of textual's thread workers, because leaving waits for those: a user who quits while a large trace is
read would look at a dead terminal. This thread is left behind, and a read that is asked stops at its next progress.
"""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from textual.message import Message

from abstep.errors import AbstepError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from abstep.compare.comparison import Comparison

APART_S = 0.1


class Cancelled(AbstepError):  # noqa: N818  (not a fault: the user asked for it)
    """Reading was stopped by the user."""

    def __init__(self) -> None:
        super().__init__("stopped while reading", exit_code=130)


class Progress(Protocol):
    """How far reading is; the store's `Progress` is one."""

    @property
    def file(self) -> str:
        """Return the file being read."""

    @property
    def bytes_done(self) -> int:
        """Return how much of all files is read."""

    @property
    def bytes_total(self) -> int:
        """Return the size of all files."""

    @property
    def files_done(self) -> int:
        """Return how many files are read."""

    @property
    def files_total(self) -> int:
        """Return how many files there are."""


class Reporter(Protocol):
    """What a loader calls while it reads. Both raise `Cancelled` when it should stop."""

    def __call__(self, progress: Progress) -> None:
        """Say how far reading is."""

    def show(self, comparison: Comparison) -> None:
        """Show what is known so far, before all is read."""


class Read(Message):
    """How far reading is."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self.progress = progress


class Loaded(Message):
    """A comparison to show; more may follow while `final` is false."""

    def __init__(self, comparison: Comparison, *, final: bool) -> None:
        super().__init__()
        self.comparison = comparison
        self.final = final


class Made(Message):
    """What a background job returned, or the error it ended with."""

    def __init__(self, key: Hashable, value: Any, error: Exception | None) -> None:
        super().__init__()
        self.key = key
        self.value = value
        self.error = error


class Background:
    """Runs jobs one after the other on a thread of its own."""

    def __init__(self, post: Callable[[Message], None]) -> None:
        self._post = post
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._file = ""
        self._said = 0.0

    def load(self, loader: Callable[[Reporter], Comparison]) -> None:
        """Read a comparison, saying how far it is."""
        self._start(lambda: self._load(loader))

    def make(self, key: Hashable, make: Callable[[], Any]) -> None:
        """Run one job, and post what it returns."""
        self._start(lambda: self._make(key, make))

    def stop(self, wait: float) -> None:
        """Ask the job that runs to stop, and wait so many seconds at most."""
        self._stopped.set()
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(wait)

    # What a loader calls.

    def __call__(self, progress: Progress) -> None:
        """Post how far reading is, ten times a second at most for one file."""
        if self._stopped.is_set():
            raise Cancelled
        now = time.monotonic()
        whole = progress.bytes_done >= progress.bytes_total
        if whole or progress.file != self._file or now - self._said >= APART_S:
            self._file, self._said = progress.file, now
            self._post(Read(progress))

    def show(self, comparison: Comparison) -> None:
        """Post a comparison that is not finished yet."""
        if self._stopped.is_set():
            raise Cancelled
        self._post(Loaded(comparison, final=False))

    def _start(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="abstep-background", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            job = self._jobs.get()
            if job is None:
                return
            job()

    def _load(self, loader: Callable[[Reporter], Comparison]) -> None:
        try:
            found = loader(self)
        except Exception as error:  # noqa: BLE001  (the app ends with it, on its own thread)
            self._post(Made("load", None, error))
        else:
            self._post(Loaded(found, final=True))

    def _make(self, key: Hashable, make: Callable[[], Any]) -> None:
        try:
            value, error = make(), None
        except Exception as caught:  # noqa: BLE001  (shown where the value would stand)
            value, error = None, caught
        self._post(Made(key, value, error))
