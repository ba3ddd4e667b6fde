"""A run out of the store, as the frames the other rooms work on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from abstep.errors import StoreError
from abstep.model import Problem, RunTables
from abstep.store.connection import one

if TYPE_CHECKING:
    import duckdb

_ORDER = {
    "spans": "file, span",
    "collectives": "file, span",
    "waits": "file, wait_start",
    "host_calls": "file, start_ns",
    "marks": "file, start_ns",
    "threads": "file, thread",
}


def load_run(connection: duckdb.DuckDBPyConnection, name: str) -> RunTables:
    """Return a run's tables.

    Raises:
        StoreError: the store has no such run.

    """
    row = one(connection, "SELECT run, label FROM runs WHERE name = ?", [name])
    if row is None:
        raise StoreError(
            f"{name}: the store holds no such run",
            "give a directory of traces, or a name `abstep runs` lists",
        )
    run, label = int(row[0]), row[1]
    frames = {
        table: query(
            connection,
            f"SELECT r.repeat, r.rank, t.* FROM {table} t JOIN run_files r USING (file) WHERE r.run = {run} ORDER BY {order}",
        )
        for table, order in _ORDER.items()
    }
    repeats = connection.execute(
        "SELECT path, settings, recorded FROM run_repeats WHERE run = ? ORDER BY repeat", [run]
    ).fetchall()
    problems = connection.execute(
        "SELECT id, path, message FROM run_problems WHERE run = ?", [run]
    ).fetchall()
    return RunTables(
        name=name,
        label=label or name,
        files=query(
            connection,
            "SELECT r.repeat, r.rank, r.rank_guessed, r.path AS run_path, f.* EXCLUDE (rank) "
            f"FROM files f JOIN run_files r USING (file) WHERE r.run = {run} ORDER BY r.repeat, r.rank, f.trace_start",
        ),
        names=query(connection, "SELECT name, text FROM names ORDER BY name"),
        paths=query(connection, "SELECT path, parent, name FROM paths ORDER BY path"),
        settings=tuple(json.loads(row[1]) for row in repeats),
        recorded=tuple(json.loads(row[2]) for row in repeats),
        repeat_paths=tuple(row[0] for row in repeats),
        problems=tuple(Problem(*row) for row in problems),
        **frames,
    )


def query(connection: duckdb.DuckDBPyConnection, sql: str) -> pl.DataFrame:
    """Return a query's rows as a frame."""
    found = pl.from_arrow(connection.sql(sql).to_arrow_table())
    assert isinstance(found, pl.DataFrame)
    return found.rechunk()
