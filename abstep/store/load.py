"""A run out of the store, as the frames the other rooms work on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from abstep.errors import StoreError
from abstep.model import Problem, RunTables
from abstep.store.connection import one

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

_ORDER = {
    "spans": ("file", "span"),
    "collectives": ("file", "span"),
    "waits": ("file", "wait_start"),
    "host_calls": ("file", "start_ns"),
    "marks": ("file", "start_ns"),
    "threads": ("file", "thread"),
    "resources": ("file", "resource"),
}

_PIECE = 1 << 20


def load_run(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    *,
    repeat: int | None = None,
    rank: int | None = None,
    spans: bool = True,
) -> RunTables:
    """Return a run's tables.

    Args:
        connection: to the store.
        name: the run's.
        repeat: only this one; null for all.
        rank: only this one; null for all.
        spans: with spans and all that goes with them; else only the run's facts.

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
    files = query(
        connection,
        "SELECT r.repeat, r.rank, r.rank_guessed, r.path AS run_path, f.* EXCLUDE (rank) "
        "FROM files f JOIN run_files r USING (file) WHERE r.run = ? "
        "AND r.repeat = coalesce(?, r.repeat) AND r.rank = coalesce(?, r.rank) "
        "ORDER BY r.repeat, r.rank, f.trace_start",
        [run, repeat, rank],
    )
    held = files if spans else files.clear()
    frames = {table: _of_files(connection, table, held) for table in _ORDER}
    paths = query(connection, "SELECT path, parent, name FROM paths ORDER BY path")
    paths = _with_ids(paths, "path", _with_ancestors(paths, _used(frames, ("path", "range_path"))))
    used = np.union1d(_used(frames, ("name", "shape")), paths["name"].to_numpy())
    names = _with_ids(query(connection, "SELECT name, text FROM names ORDER BY name"), "name", used)
    repeats = connection.execute(
        "SELECT path, settings, recorded, environment FROM run_repeats WHERE run = ? ORDER BY repeat", [run]
    ).fetchall()
    problems = connection.execute(
        "SELECT id, path, message FROM run_problems WHERE run = ?", [run]
    ).fetchall()
    return RunTables(
        name=name,
        label=label or name,
        files=files,
        names=names,
        paths=paths,
        settings=tuple(json.loads(row[1]) for row in repeats),
        recorded=tuple(json.loads(row[2]) for row in repeats),
        environment=tuple(json.loads(row[3]) for row in repeats),
        repeat_paths=tuple(row[0] for row in repeats),
        problems=tuple(Problem(*row) for row in problems),
        **frames,
    )


def query(connection: duckdb.DuckDBPyConnection, sql: str, values: list[Any] | None = None) -> pl.DataFrame:
    """Return a query's rows as a frame."""
    table = connection.sql(sql, params=values or []).to_arrow_table()
    found = pl.from_arrow(
        table, rechunk=False
    )  # millions of rows stay in DuckDB's pieces rather than be held twice
    assert isinstance(found, pl.DataFrame)
    return found


def _of_files(connection: duckdb.DuckDBPyConnection, table: str, files: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the files, with their repeat and rank, in the table's order."""
    turns: list[dict[int, tuple[int, int]]] = [{}]
    for file, repeat, rank in files.select("file", "repeat", "rank").iter_rows():
        turn = next((owners for owners in turns if file not in owners), None)
        if turn is None:  # one content in two places comes twice
            turns.append(turn := {})
        turn[file] = (repeat, rank)
    rows = pl.concat([_of_owners(connection, table, owners) for owners in turns], rechunk=False)
    # rows come in the order they were written, which is that of `_ORDER` within a file
    order = list(_ORDER[table])
    return rows if _is_sorted(rows, order) else rows.sort([*order, "repeat"], maintain_order=True)


def _of_owners(
    connection: duckdb.DuckDBPyConnection, table: str, owners: dict[int, tuple[int, int]]
) -> pl.DataFrame:
    within = ", ".join(map(str, sorted(owners))) or "NULL"
    repeat, rank = (
        "CASE file "
        + " ".join(f"WHEN {file} THEN {owner[place]}" for file, owner in owners.items())
        + " END::INTEGER"
        if owners
        else "NULL::INTEGER"
        for place in range(2)
    )
    return query(
        connection,
        f"SELECT {repeat} AS repeat, {rank} AS rank, * FROM {table} WHERE file IN ({within})",  # noqa: S608 - numbers
    )


def _is_sorted(rows: pl.DataFrame, order: list[str]) -> bool:
    """Return whether the rows are in order, piece by piece of the frame so that little is copied."""
    first, second = (rows[column] for column in order)
    last: tuple[int, int] | None = None
    for start in range(0, rows.height, _PIECE):
        one, two = first[start : start + _PIECE].to_numpy(), second[start : start + _PIECE].to_numpy()
        if last is not None and (one[0], two[0]) < last:
            return False
        step = np.diff(one)
        if not ((step > 0) | ((step == 0) & (np.diff(two) >= 0))).all():
            return False
        last = (one[-1], two[-1])
    return True


def _used(frames: dict[str, pl.DataFrame], columns: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the distinct ids in these columns of any frame."""
    seen = np.zeros(0, bool)
    for frame in frames.values():
        for column in columns:
            if column not in frame.columns:
                continue
            for start in range(0, frame.height, _PIECE):
                ids = frame[column][start : start + _PIECE].drop_nulls().to_numpy()
                if len(ids) and (most := int(ids.max())) >= len(seen):
                    seen = np.concatenate((seen, np.zeros(most + 1 - len(seen), bool)))
                seen[ids] = True
    return np.flatnonzero(seen)


def _with_ids(rows: pl.DataFrame, column: str, ids: NDArray[Any]) -> pl.DataFrame:
    return rows.filter(pl.Series(np.isin(rows[column].to_numpy(), ids)))


def _with_ancestors(paths: pl.DataFrame, used: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the paths and all that enclose them."""
    parent = np.full(int(paths["path"].max() or 0) + 1, -1, np.int32)  # type: ignore[arg-type]
    parent[paths["path"].to_numpy()] = paths["parent"].to_numpy()
    wanted = np.zeros(len(parent), bool)
    at = used
    while len(at):
        wanted[at] = True
        at = np.unique(parent[at])
        at = at[at >= 0]
        at = at[~wanted[at]]
    return np.flatnonzero(wanted)
