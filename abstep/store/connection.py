"""Opening the DuckDB file: waiting for another process's lock, creating the schema, refusing what is not ours."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from abstep.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The version of schema.sql; another one in a file is refused.
SCHEMA_VERSION = "3"
#: How long another process may hold the file before a call gives up, seconds.
PATIENCE = 20.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5


@contextmanager
def connect(path: Path, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the store's file for one piece of work.

    The lock on the file is held no longer than that, so that several processes can take turns.

    Raises:
        StoreError: the file is locked, is no store, is damaged, or cannot be written.

    """
    connection = _open(path, read_only=read_only)
    try:
        _check(connection, path)
        yield connection
    except duckdb.Error as error:
        raise StoreError(f"{path}: {_first_line(error)}", _remedy(error)) from error
    finally:
        _close(connection, path)


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Run the body as one transaction: all of it or, on any error, nothing."""
    connection.begin()
    try:
        yield
    except BaseException:
        with suppress(duckdb.Error):  # the error that led here is the one to tell
            connection.rollback()
        raise
    connection.commit()


def one(
    connection: duckdb.DuckDBPyConnection, sql: str, values: list[Any] | None = None
) -> tuple[Any, ...] | None:
    """Return the first row of a query, whose result is then finished (DuckDB 2 refuses other work before)."""
    rows = connection.execute(sql, values or []).fetchall()
    return rows[0] if rows else None


def _open(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    until = time.monotonic() + PATIENCE
    pause = _FIRST_PAUSE
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only, config={"threads": 2})
        except duckdb.Error as error:
            if not _is_locked(error):
                raise StoreError(f"{path}: {_first_line(error)}", _remedy(error)) from error
            if time.monotonic() > until:
                raise StoreError(
                    f"{path}: another process holds the store",
                    "wait for it to end, or give another file with --store",
                ) from error
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _close(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        connection.close()
    except duckdb.Error as error:
        raise StoreError(f"{path}: {_first_line(error)}", _remedy(error)) from error


def _check(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    tables = {row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if "meta" not in tables or "run_files" not in tables:
        raise StoreError(f"{path}: is not an abstep store", "give another file with --store")
    found = one(connection, "SELECT value FROM meta WHERE key = 'schema_version'")
    version = found[0] if found else "none"
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{path}: is of schema version {version}, this abstep writes {SCHEMA_VERSION}",
            "delete that file (traces are read again) or give another one with --store",
        )


def create(path: Path) -> None:
    """Make an empty store, whole or not at all, where there is none; an empty file counts as none.

    Raises:
        StoreError: it cannot be written.

    """
    from abstep import __version__  # noqa: PLC0415 - only a new store needs it

    schema = resources.files("abstep.store").joinpath("schema.sql").read_text(encoding="utf-8")
    try:
        place = Path(tempfile.mkdtemp(prefix=".abstep-", dir=path.parent))
        try:
            fresh = place / "store.duckdb"
            connection = _open(fresh, read_only=False)
            connection.execute(schema)
            connection.execute(
                "INSERT INTO meta VALUES ('schema_version', ?), ('created_by', ?)",
                [SCHEMA_VERSION, f"abstep {__version__}"],
            )
            _close(connection, fresh)
            if not path.exists() or path.stat().st_size == 0:
                fresh.replace(path)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    except duckdb.Error as error:
        raise StoreError(f"{path}: {_first_line(error)}", _remedy(error)) from error
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written ({error.strerror})", "give another file with --store"
        ) from error


def _is_locked(error: duckdb.Error) -> bool:
    return "Conflicting lock" in str(error) or "being used by another process" in str(error)


def _first_line(error: duckdb.Error) -> str:
    return str(error).splitlines()[0].strip()


def _remedy(error: duckdb.Error) -> str:
    text = str(error).lower()
    if "no space left" in text or "disk quota" in text or "could not write" in text:
        return "make room, or give a file on another disk with --store"
    if "could not set lock" in text:
        return "this file system has no locks: give a file on a local disk with --store"
    if "permission" in text or "read-only" in text:
        return "give another file with --store"
    return "give another file with --store, or delete this one: traces are read again"
