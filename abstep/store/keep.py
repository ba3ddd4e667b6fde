"""One file's tables into the store, whole or not at all."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import polars as pl

from abstep.store.connection import one
from abstep.store.dictionary import insert

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from abstep.store.dictionary import Dictionary
    from abstep.store.identity import Found
    from abstep.trace.tables import FileTables

_NAME_COLUMNS = ("name", "shape")
_PATH_COLUMNS = ("path", "range_path")
TABLES = ("spans", "collectives", "waits", "host_calls", "marks", "threads", "resources")


def keep_file(
    connection: duckdb.DuckDBPyConnection, dictionary: Dictionary, tables: FileTables, file: Found
) -> int:
    """Write one file's tables and return its number; a content that is there already is not written again.

    The caller runs this in a transaction.
    """
    if (known := file_number(connection, file.content)) is not None:
        return known
    row = one(connection, "SELECT coalesce(max(file), -1) + 1 FROM files")
    number = int(row[0]) if row else 0
    dictionary.refresh(connection)
    names, paths = dictionary.take(connection, tables)
    facts = asdict(tables.facts)
    for column in ("software", "profiler", "groups", "notes"):
        facts[column] = json.dumps(facts[column])
    facts |= {"file": number, "content": file.content, "path": str(file.path), "size_bytes": file.size}
    columns = ", ".join(facts)
    marks = ", ".join("?" * len(facts))
    connection.execute(f"INSERT INTO files ({columns}) VALUES ({marks})", list(facts.values()))  # noqa: S608 - our own columns
    for table in TABLES:
        rows: pl.DataFrame = getattr(tables, table)
        if rows.height:
            insert(connection, table, _with_store_ids(rows, number, names, paths))
    return number


def file_number(connection: duckdb.DuckDBPyConnection, content: str) -> int | None:
    """Return the number of the file of that content, if it is kept."""
    row = one(connection, "SELECT file FROM files WHERE content = ?", [content])
    return int(row[0]) if row else None


def _with_store_ids(
    rows: pl.DataFrame, file: int, names: NDArray[np.int32], paths: NDArray[np.int32]
) -> pl.DataFrame:
    changed = [pl.lit(file, pl.Int32).alias("file")]
    for columns, ids in ((_NAME_COLUMNS, names), (_PATH_COLUMNS, paths)):
        changed += [_mapped(rows[column], ids) for column in columns if column in rows.columns]  # type: ignore[misc]
    return rows.with_columns(changed)


def _mapped(column: pl.Series, ids: NDArray[np.int32]) -> pl.Series:
    own = column.fill_null(len(ids) - 1).to_numpy()
    mapped = pl.Series(column.name, ids[own])
    return mapped.set(column.is_null(), None) if column.null_count() else mapped
