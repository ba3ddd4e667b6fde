"""The store: one DuckDB file that keeps every run read, so that a trace is parsed once and compared often."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import platformdirs
import polars as pl

from abstep.errors import StoreError
from abstep.model import Problem, RunTables
from abstep.store.connection import connect, create, one, transaction
from abstep.store.dictionary import insert
from abstep.store.ingest import Ingest, Progress
from abstep.store.load import load_run
from abstep.store.tidy import delete_run, drop_unused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType


@dataclass(frozen=True)
class RunRow:
    """One run as `abstep runs` lists it.

    Attributes:
        name: absolute path it was read from, or the name given.
        label: run.json's label, else the directory's name.
        repeats: how many.
        ranks: distinct ranks.
        files: trace files.
        size_bytes: of the files, on disk.
        read_unix: when it was last read, seconds since 1970.

    """

    name: str
    label: str
    repeats: int
    ranks: int
    files: int
    size_bytes: int
    read_unix: int


class Store:
    """Runs kept in one DuckDB file. Use as a context manager; the file is locked only while it is worked on.

    Attributes:
        path: the DuckDB file.
        problems: what went wrong on opening, such as a default store that cannot be written.

    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        temporary: Path | None = None,
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.path = path
        self.problems = problems
        self._read_only = read_only
        self._temporary = temporary

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the file if it was a temporary one."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def ingest(self, run_path: Path, *, progress: Callable[[Progress], None] | None = None) -> str:
        """Read a directory of traces, or one trace, and return the run's name (its absolute path).

        Args:
            run_path: the directory (its sub-directories with traces are repeats) or file.
            progress: told how far it is.

        Raises:
            TraceError: no such run, none of its files can be read, or two of them claim one rank.
            StoreError: the store cannot be written.

        """
        return Ingest(self.path, progress, read_only=self._read_only).run(Path(run_path))

    def load(self, name_or_path: str, *, repeat: int | None = None, rank: int | None = None) -> RunTables:
        """Return a run's tables.

        Args:
            name_or_path: its name as `runs` lists it, or a path that resolves to it.
            repeat: only this one, so that a large run can be worked on in pieces; null for all.
            rank: only this one; null for all.

        Raises:
            StoreError: the store has no such run.

        """
        with connect(self.path, read_only=True) as connection:
            name = self._name(connection, name_or_path)
            return load_run(connection, name, repeat=repeat, rank=rank)

    def header(self, name_or_path: str) -> RunTables:
        """Return a run's facts: its files, settings and problems, without spans.

        Raises:
            StoreError: the store has no such run.

        """
        with connect(self.path, read_only=True) as connection:
            return load_run(connection, self._name(connection, name_or_path), spans=False)

    def load_measures(self, run_name: str, key: str) -> dict[str, bytes] | None:
        """Return what was kept of a run's measures under `key`; null where nothing, or another key, was."""
        with connect(self.path, read_only=True) as connection:
            rows = connection.execute(
                "SELECT m.part, m.data FROM measures m JOIN runs r USING (run) WHERE r.name = ? AND m.key = ?",
                [run_name, key],
            ).fetchall()
        return dict(rows) or None

    def save_measures(self, run_name: str, key: str, parts: Mapping[str, bytes]) -> None:
        """Keep a run's measures in place of earlier ones.

        Args:
            run_name: the run's name.
            key: what they are the measures of.
            parts: by name, as bytes.

        """
        if self._read_only:
            return
        with connect(self.path, read_only=False) as connection, transaction(connection):
            row = one(connection, "SELECT run FROM runs WHERE name = ?", [run_name])
            if row is None:
                raise StoreError(f"{run_name}: the store holds no such run", "read it first")
            connection.execute("DELETE FROM measures WHERE run = ?", [row[0]])
            connection.executemany(
                "INSERT INTO measures VALUES (?, ?, ?, ?)",
                [(row[0], key, part, data) for part, data in parts.items()],
            )

    @property
    def temporary(self) -> bool:
        """Whether the file goes when the store is closed."""
        return self._temporary is not None

    @property
    def read_only(self) -> bool:
        """Whether nothing may be written."""
        return self._read_only

    def runs(self) -> list[RunRow]:
        """Return the runs kept, by name."""
        with connect(self.path, read_only=True) as connection:
            rows = connection.execute(
                "SELECT r.name, coalesce(r.label, r.name), count(DISTINCT f.repeat), count(DISTINCT f.rank), count(*), "
                "sum(t.size_bytes)::BIGINT, r.read_unix "
                "FROM runs r JOIN run_files f USING (run) JOIN files t USING (file) GROUP BY ALL ORDER BY r.name"
            ).fetchall()
        return [RunRow(*row) for row in rows]

    def forget(self, name: str) -> None:
        """Remove a run, and the files no other run holds.

        Raises:
            StoreError: the store has no such run, or cannot be written.

        """
        with connect(self.path, read_only=False) as connection, transaction(connection):
            known = self._name(connection, name)
            row = one(connection, "SELECT run FROM runs WHERE name = ?", [known])
            if row is None:
                raise StoreError(
                    f"{name}: the store holds no such run", "see `abstep runs` for what it holds"
                )
            delete_run(connection, row[0])
            drop_unused(connection)

    def save_windows(self, run_name: str, frame: pl.DataFrame) -> None:
        """Keep a run's step windows in place of earlier ones.

        A store that is only read keeps none.

        Args:
            run_name: the run's name.
            frame: schema.sql's columns of `windows` without `run`.

        """
        if self._read_only:
            return
        with connect(self.path, read_only=False) as connection, transaction(connection):
            row = one(connection, "SELECT run FROM runs WHERE name = ?", [run_name])
            if row is None:
                raise StoreError(f"{run_name}: the store holds no such run", "read it first")
            connection.execute("DELETE FROM windows WHERE run = ?", [row[0]])
            if frame.height:
                insert(connection, "windows", frame.with_columns(run=pl.lit(row[0], pl.Int32)))

    @staticmethod
    def _name(connection: object, name_or_path: str) -> str:
        import duckdb  # noqa: PLC0415 - for the type only

        assert isinstance(connection, duckdb.DuckDBPyConnection)
        if one(connection, "SELECT 1 FROM runs WHERE name = ?", [name_or_path]):
            return name_or_path
        return str(Path(name_or_path).expanduser().resolve())


def open_store(path: Path | None = None, *, read_only: bool = False) -> Store:
    """Open a store, and make it if it is not there.

    Args:
        path: the DuckDB file; null for the default one in the user's cache directory. A default store that
            cannot be written is replaced by a temporary one, with a warning in `Store.problems`.
        read_only: nothing will be written, so that a store someone else owns can be read.

    Raises:
        StoreError: a path was given and there is no store that can be opened (and, unless read_only, written).

    """
    if path is not None:
        path = Path(path).expanduser()
        if read_only:
            if not path.exists():
                raise StoreError(f"{path}: no such store", "make one with `abstep ingest RUN --store FILE`")
            return Store(path, read_only=True)
        if path.is_file() and not _can_be_written(path):  # someone else's: what is in it can be compared
            return Store(path, read_only=True)
        _prepare(path)
        return Store(path)
    default = Path(platformdirs.user_cache_dir("abstep")) / "store.duckdb"
    try:
        _prepare(default)
    except StoreError as error:
        place = Path(tempfile.mkdtemp(prefix="abstep-"))
        problem = Problem(
            "store_unwritable",
            str(default),
            f"{error.message}; traces are read into a temporary store: {error.remedy}",
        )
        temporary = place / "store.duckdb"
        _prepare(temporary)
        return Store(temporary, temporary=place, problems=(problem,))
    return Store(default)


def _prepare(path: Path) -> None:
    """Make the directory and the file, and see that it is a store that can be written."""
    remedy = "give another file with --store"
    if path.is_dir():
        raise StoreError(f"{path}: is a directory", remedy)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path.parent}: cannot be made ({error.strerror})", remedy) from error
    if not _can_be_written(path):
        raise StoreError(f"{path}: cannot be written", remedy)
    if not path.exists() or path.stat().st_size == 0:
        create(path)
    with connect(path, read_only=False):
        pass


def _can_be_written(path: Path) -> bool:
    """Return whether the file, if there is one, and its directory (for the write-ahead log) can be written."""
    return (not path.exists() or os.access(path, os.W_OK)) and os.access(path.parent, os.W_OK)
