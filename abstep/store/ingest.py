"""A run from disk into the store: only what is not there yet is parsed."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abstep.errors import TraceError
from abstep.model import Problem
from abstep.store.connection import connect, one, transaction
from abstep.store.dictionary import Dictionary
from abstep.store.keep import file_number, keep_file
from abstep.store.layout import find_run
from abstep.store.ranks import RankFile, ranks_of
from abstep.store.tidy import drop_unused
from abstep.trace import kinds
from abstep.trace.detect import READER_VERSION, read_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import duckdb

    from abstep.store.layout import Repeat, RunLayout
    from abstep.trace.tables import FileTables


@dataclass(frozen=True)
class Progress:
    """How far an ingest is.

    Attributes:
        file: the file being read.
        bytes_done: bytes read of all files to parse, on disk.
        bytes_total: their size.
        files_done: files of the run that are in the store.
        files_total: files of the run.

    """

    file: str
    bytes_done: int
    bytes_total: int
    files_done: int
    files_total: int


@dataclass(frozen=True)
class _Found:
    """One trace file of the run."""

    repeat: int
    path: Path
    size: int
    content: str


class Ingest:
    """Reads one run; `run()` does it and returns the run's name."""

    def __init__(
        self, store: Path, run_path: Path, progress: Callable[[Progress], None] | None, dictionary: Dictionary
    ) -> None:
        self._store = store
        self._run_path = run_path
        self._progress = progress
        self._dictionary = dictionary
        self._problems: list[Problem] = []
        self._faults: list[TraceError] = []

    def run(self) -> str:
        """Read the run.

        Raises:
            TraceError: no such run, none of its files can be read, or two of them claim one rank.
            StoreError: the store cannot be written.

        """
        layout = find_run(self._run_path)
        self._problems += layout.problems
        found = self._identify(layout)
        numbers = self._parse_missing(found)
        kept = [(file, numbers[file.content]) for file in found if file.content in numbers]
        if not kept:
            raise self._faults[0]
        with connect(self._store, read_only=False) as connection, transaction(connection):
            self._register(connection, layout, kept)
        return layout.name

    def _identify(self, layout: RunLayout) -> list[_Found]:
        found = []
        for number, repeat in enumerate(layout.repeats):
            for path in repeat.files:
                try:
                    found.append(_Found(number, path, path.stat().st_size, content_of(path)))
                except OSError as error:
                    self._fault(
                        path,
                        TraceError(f"{path}: cannot be read ({error.strerror})", "check its permissions"),
                    )
        if not found:
            raise self._faults[0]
        return found

    def _fault(self, path: Path, error: TraceError) -> None:
        self._faults.append(error)
        self._problems.append(Problem("bad_file", str(path), str(error)))

    def _parse_missing(self, found: list[_Found]) -> dict[str, int]:
        """Return the file numbers by content; what cannot be read is left out and noted."""
        with connect(self._store, read_only=False) as connection:
            numbers = {
                file.content: number
                for file in found
                if (number := file_number(connection, file.content)) is not None
            }
        missing = list({file.content: file for file in found if file.content not in numbers}.values())
        total = sum(file.size for file in missing)
        done = 0
        for index, file in enumerate(missing):

            def on_bytes(count: int, done: int = done, index: int = index, file: _Found = file) -> None:
                if self._progress is not None:
                    here = min(count, file.size)
                    files_done = len(found) - len(missing) + index
                    self._progress(Progress(str(file.path), done + here, total, files_done, len(found)))

            try:
                tables = read_trace(file.path, on_bytes)
            except TraceError as error:
                self._fault(file.path, error)
            else:
                numbers[file.content] = self._keep(file, tables)
            done += file.size
        if self._progress is not None and missing:
            self._progress(Progress(str(missing[-1].path), total, total, len(found), len(found)))
        return numbers

    def _keep(self, file: _Found, tables: FileTables) -> int:
        with connect(self._store, read_only=False) as connection:
            try:
                with transaction(connection):
                    return keep_file(connection, self._dictionary, tables, file.content, file.path, file.size)
            except BaseException:
                self._dictionary.forget()
                raise

    def _register(
        self, connection: duckdb.DuckDBPyConnection, layout: RunLayout, kept: list[tuple[_Found, int]]
    ) -> None:
        """Write the run's rows, in place of an earlier reading's."""
        row = one(connection, "SELECT run FROM runs WHERE name = ?", [layout.name])
        if row is None:
            row = one(connection, "SELECT coalesce(max(run), -1) + 1 FROM runs")
        run = int(row[0]) if row else 0
        for table in ("windows", "run_problems", "run_repeats", "run_files", "runs"):
            connection.execute(f"DELETE FROM {table} WHERE run = ?", [run])
        connection.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?)", [run, layout.name, layout.label, int(time.time())]
        )
        repeats = sorted({file.repeat for file, _ in kept})
        for number, index in enumerate(repeats):
            repeat = layout.repeats[index]
            connection.execute(
                "INSERT INTO run_repeats VALUES (?, ?, ?, ?, ?, ?)",
                [
                    run,
                    number,
                    repeat.path,
                    json.dumps(repeat.settings),
                    json.dumps(repeat.recorded),
                    repeat.label,
                ],
            )
            self._register_files(
                connection, layout, repeat, run, number, [f for f in kept if f[0].repeat == index]
            )
        for problem in self._problems:
            connection.execute(
                "INSERT INTO run_problems VALUES (?, ?, ?, ?)",
                [run, problem.id, problem.path, problem.message],
            )
        drop_unused(connection, only_of_run=layout.name, root=layout.root)

    def _register_files(
        self,
        connection: duckdb.DuckDBPyConnection,
        layout: RunLayout,
        repeat: Repeat,
        run: int,
        number: int,
        files: list[tuple[_Found, int]],
    ) -> None:
        rank_files = []
        for file, kept in files:
            row = one(connection, "SELECT rank, trace_start, trace_end FROM files WHERE file = ?", [kept])
            rank, start, end = row if row is not None else (None, 0, 0)
            rank_files.append(RankFile(str(file.path), file.path.name, rank, start, end))
        ranks, guessed = ranks_of(rank_files)
        if guessed:
            where = layout.root if repeat.path == "." else layout.root / repeat.path
            self._problems.append(
                Problem(
                    "rank_guessed",
                    str(where),
                    f"{where}: the traces do not say their rank; files are taken in order and not compared across ranks",
                )
            )
        for (file, kept), rank in zip(files, ranks, strict=True):
            path = file.path.name if layout.root.is_file() else str(file.path.relative_to(layout.root))
            connection.execute(
                "INSERT INTO run_files VALUES (?, ?, ?, ?, ?, ?)", [run, kept, number, rank, guessed, path]
            )


def content_of(path: Path) -> str:
    """Return what identifies a file's content and how it is read: equal means it need not be parsed again."""
    digest = hashlib.blake2b(digest_size=20)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return f"{digest.hexdigest()}-{READER_VERSION}-{kinds.load().identity}"
