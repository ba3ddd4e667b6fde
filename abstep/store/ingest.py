"""A run from disk into the store: only what is not there yet is parsed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abstep.errors import StoreError, TraceError
from abstep.model import Problem
from abstep.store.connection import connect, transaction
from abstep.store.dictionary import Dictionary
from abstep.store.identity import Found, identify
from abstep.store.keep import file_number, keep_file
from abstep.store.layout import find_run
from abstep.store.parallel import parse_all
from abstep.store.register import Register, is_registered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import duckdb

    from abstep.trace.tables import FileTables

#: Parsed files wait in memory for each other up to so many spans or seconds: opening the store takes 30 ms.
_BATCH_SPANS = 500_000
_BATCH_SECONDS = 2.0


@dataclass(frozen=True)
class Progress:
    """How far an ingest is.

    Attributes:
        file: the file being read.
        bytes_done: bytes read of all files to parse, on disk.
        bytes_total: their size.
        files_done: files of the run that need no more reading.
        files_total: files of the run.

    """

    file: str
    bytes_done: int
    bytes_total: int
    files_done: int
    files_total: int


class Ingest:
    """Reads one run into a store."""

    def __init__(self, store: Path, progress: Callable[[Progress], None] | None, *, read_only: bool) -> None:
        """Prepare to read.

        Args:
            store: the DuckDB file.
            progress: told how far it is.
            read_only: refuse what is not in the store as it is on disk.

        """
        self._store = store
        self._progress = progress
        self._read_only = read_only
        self._dictionary = Dictionary()
        self._problems: list[Problem] = []
        self._faults: list[TraceError] = []
        self._waiting: list[tuple[Found, FileTables]] = []
        self._numbers: dict[str, int] = {}
        self._written = time.monotonic()

    def run(self, run_path: Path) -> str:
        """Read the run a path holds and return its name.

        Raises:
            TraceError: no such run, none of its files can be read, or two of them claim one rank.
            StoreError: the store cannot be written.

        """
        layout = find_run(run_path)
        self._problems += layout.problems
        found = []
        for file in identify(layout):
            if isinstance(file, Found):
                found.append(file)
            else:
                self._fault(*file)
        with connect(self._store, read_only=True) as connection:
            if is_registered(connection, layout, found, self._problems):
                return layout.name
            self._look_up(connection, found)
        if self._read_only:
            raise StoreError(
                f"{run_path}: is not in the store {self._store} as it is now, and the store is only read",
                "give another file with --store",
            )
        self._parse(found)
        if not self._numbers and not self._waiting:
            raise self._faults[0]
        with connect(self._store, read_only=False) as connection:
            self._write_waiting(connection)
            with transaction(connection):
                self._look_up(connection, found)
                kept = [
                    (file, self._numbers[file.content]) for file in found if file.content in self._numbers
                ]
                Register(connection, layout, kept).write(self._problems)
        return layout.name

    def _look_up(self, connection: duckdb.DuckDBPyConnection, found: list[Found]) -> None:
        """Learn which contents are in the store now."""
        self._numbers = {
            file.content: number
            for file in found
            if (number := file_number(connection, file.content)) is not None
        }

    def _fault(self, path: Path, error: TraceError) -> None:
        self._faults.append(error)
        self._problems.append(Problem("bad_file", str(path), str(error)))

    def _parse(self, found: list[Found]) -> None:
        """Parse what is missing; what cannot be read is noted."""
        missing = list({file.content: file for file in found if file.content not in self._numbers}.values())
        teller = _Teller(self._progress, found, missing)
        for index, result in parse_all([(file.path, file.size) for file in missing], teller.bytes_read):
            teller.done(index)
            if isinstance(result, TraceError):
                self._fault(missing[index].path, result)
                continue
            self._waiting.append((missing[index], result))
            spans = sum(tables.spans.height for _, tables in self._waiting)
            if spans > _BATCH_SPANS or time.monotonic() - self._written > _BATCH_SECONDS:
                with connect(self._store, read_only=False) as connection:
                    self._write_waiting(connection)

    def _write_waiting(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Write the files parsed so far, each in a transaction: an ingest that is cut off goes on from there."""
        waiting, self._waiting = self._waiting, []
        for file, tables in waiting:
            with transaction(connection):
                number = keep_file(connection, self._dictionary, tables, file)
            self._numbers[file.content] = number
        self._written = time.monotonic()


class _Teller:
    """Turns what the parsers say into Progress."""

    def __init__(
        self, progress: Callable[[Progress], None] | None, found: list[Found], missing: list[Found]
    ) -> None:
        self._progress = progress
        self._missing = missing
        self._read = [0] * len(missing)
        self._total = sum(file.size for file in missing)
        self._files = len(found)
        self._files_done = len(found) - len(missing)

    def bytes_read(self, index: int, count: int) -> None:
        """Note how many bytes of a file have been read."""
        self._read[index] = min(count, self._missing[index].size)
        if self._progress is not None:
            path = str(self._missing[index].path)
            self._progress(Progress(path, sum(self._read), self._total, self._files_done, self._files))

    def done(self, index: int) -> None:
        """Note that a file is done."""
        self._files_done += 1
        self.bytes_read(index, self._missing[index].size)
