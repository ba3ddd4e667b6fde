"""What no run refers to any more leaves the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

_OF_RUN = ("measures", "windows", "run_problems", "run_repeats", "run_files", "runs")
_OF_FILE = ("spans", "collectives", "waits", "host_calls", "marks", "threads", "resources", "files")


def delete_run(connection: duckdb.DuckDBPyConnection, run: int) -> None:
    """Remove a run's own rows, within a transaction; its files stay."""
    for table in _OF_RUN:
        connection.execute(f"DELETE FROM {table} WHERE run = ?", [run])  # noqa: S608 - our own table names


def drop_unused(connection: duckdb.DuckDBPyConnection, *, within: Path | None = None) -> int:
    """Remove files that no run holds, within a transaction, and return how many.

    Args:
        connection: to the store.
        within: only files that were read from this directory or file; another process may be reading others.

    """
    rows = connection.execute(
        "SELECT file, path FROM files WHERE file NOT IN (SELECT file FROM run_files)"
    ).fetchall()
    if within is not None:
        rows = [row for row in rows if row[1] == str(within) or row[1].startswith(f"{within}/")]
    for file, _ in rows:
        for table in _OF_FILE:
            connection.execute(f"DELETE FROM {table} WHERE file = ?", [file])  # noqa: S608 - our own table names
    return len(rows)
