"""Parses trace files: here, or in processes of their own where that pays."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from abstep.errors import TraceError
from abstep.trace.detect import read_trace
from abstep.trace.worker import receive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from abstep.trace.tables import FileTables

#: Bytes of JSON from which starting processes (0.2 s each) pays.
_WORTH = 150 << 20
#: JSON is about this many times its gzipped size.
_GZIP_RATIO = 12


def parse_all(
    files: Sequence[tuple[Path, int]], on_bytes: Callable[[int, int], None]
) -> Iterator[tuple[int, FileTables | TraceError]]:
    """Yield (index, tables or what is wrong) of each file, in the order they are done.

    Args:
        files: path and size on disk of each.
        on_bytes: told (index, bytes read of it) now and then.

    """
    expected = sum(size * (_GZIP_RATIO if path.name.endswith(".gz") else 1) for path, size in files)
    workers = min(cores(), len(files))
    if workers < 2 or expected < _WORTH:
        for index, (path, _) in enumerate(files):
            yield index, _parse_here(path, lambda count, index=index: on_bytes(index, count))  # type: ignore[misc]
        return
    with _Pool(files, workers) as pool:
        for index, message in pool.messages():
            if isinstance(message, int):
                on_bytes(index, message)
            else:
                yield index, message


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _parse_here(path: Path, on_bytes: Callable[[int], None]) -> FileTables | TraceError:
    try:
        return read_trace(path, on_bytes)
    except TraceError as error:
        return error


class _Pool:
    """Reading processes, each with a thread here that feeds it and takes what it sends."""

    def __init__(self, files: Sequence[tuple[Path, int]], workers: int) -> None:
        self._files = files
        # largest first, so that none is left alone at the end
        self._todo = sorted(range(len(files)), key=lambda index: -files[index][1])
        self._lock = threading.Lock()
        self._found: queue.Queue[tuple[int, Any]] = queue.Queue(maxsize=2 * workers)
        self._stopped = threading.Event()
        self._processes = [_start() for _ in range(workers)]
        self._threads = [
            threading.Thread(target=self._feed, args=(process,), daemon=True) for process in self._processes
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for process in self._processes:
            process.kill()
        while any(thread.is_alive() for thread in self._threads):
            with suppress(queue.Empty):  # a feeder may wait for room
                self._found.get(timeout=0.05)
        for process in self._processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def messages(self) -> Iterator[tuple[int, int | FileTables | TraceError]]:
        """Yield what comes until every file is done."""
        left = len(self._files)
        while left:
            index, message = self._found.get()
            if not isinstance(message, int):
                left -= 1
            yield index, message

    def _take(self) -> int | None:
        with self._lock:
            return self._todo.pop(0) if self._todo else None

    def _feed(self, process: subprocess.Popen[bytes]) -> None:
        """Have one process read files until none is left."""
        while not self._stopped.is_set() and (index := self._take()) is not None:
            path = self._files[index][0]
            try:
                self._read(process, index, path)
            except (EOFError, OSError):
                if self._stopped.is_set():
                    return
                error = TraceError(f"{path}: the process that read it ended (out of memory?)", "try it alone")
                self._found.put((index, error))
                process = self._replace(process)
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()

    def _read(self, process: subprocess.Popen[bytes], index: int, path: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(str(path)).encode() + b"\n")
        process.stdin.flush()
        while True:
            kind, *values = receive(process.stdout)
            if kind == "bytes":
                self._found.put((index, values[0]))
                continue
            self._found.put((index, values[0] if kind == "tables" else TraceError(*values)))
            return

    def _replace(self, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        with self._lock:
            fresh = _start()
            self._processes.append(fresh)
        process.wait()
        return fresh


def _start() -> subprocess.Popen[bytes]:
    place = str(Path(__file__).resolve().parents[2])
    paths = [place, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "abstep.trace.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
