"""What no run refers to any more leaves the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

_TABLES = ("spans", "collectives", "waits", "host_calls", "marks", "threads", "files")


def drop_unused(
    connection: duckdb.DuckDBPyConnection, *, only_of_run: str = "", root: Path | None = None
) -> int:
    """Remove files that no run holds and return how many.

    Args:
        connection: within a transaction.
        only_of_run: name of a run: only files once read from under its path.
        root: that path.

    """
    rows = connection.execute(
        "SELECT file, path FROM files WHERE file NOT IN (SELECT file FROM run_files)"
    ).fetchall()
    if only_of_run and root is not None:
        inside = f"{root}/"
        rows = [row for row in rows if row[1] == str(root) or row[1].startswith(inside)]
    for file, _ in rows:
        for table in _TABLES:
            connection.execute(f"DELETE FROM {table} WHERE file = ?", [file])
    return len(rows)
