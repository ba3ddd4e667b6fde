"""The store's shared texts and paths: ids of one file's own dictionary to the store's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abstep.store.connection import one
from abstep.trace.tables import NAMES, PATHS, frame

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    from numpy.typing import NDArray

    from abstep.trace.tables import FileTables


class Dictionary:
    """What `names` and `paths` hold, kept between the files of one ingest and checked before each."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._paths: dict[tuple[int, int], int] = {}

    def refresh(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Read what another process may have added or removed since."""
        if self._shape(connection) == (len(self._names), len(self._paths)):
            return
        self._names = {
            text: name for name, text in connection.execute("SELECT name, text FROM names").fetchall()
        }
        self._paths = {
            (parent, name): path
            for path, parent, name in connection.execute("SELECT path, parent, name FROM paths").fetchall()
        }

    @staticmethod
    def _shape(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
        row = one(connection, "SELECT (SELECT count(*) FROM names), (SELECT count(*) FROM paths)")
        return row if row is not None else (0, 0)

    def take(
        self, connection: duckdb.DuckDBPyConnection, tables: FileTables
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Add a file's texts and paths and return, by its own ids, the store's ids of names and of paths.

        Both returned arrays have one more entry, -1, so that they can be indexed by a missing id.
        """
        names, fresh_names = self._take_names(tables.names)
        paths, fresh_paths = self._take_paths(tables.paths, names)
        for table, fresh in (("names", fresh_names), ("paths", fresh_paths)):
            if fresh.height:
                insert(connection, table, fresh)
        return names, paths

    def _take_names(self, own: pl.DataFrame) -> tuple[NDArray[np.int32], pl.DataFrame]:
        ids, known = [], self._names
        after = max(known.values(), default=-1) + 1
        fresh: list[tuple[int, str]] = []
        for text in own["text"].to_list():
            name = known.get(text)
            if name is None:
                name = after + len(fresh)
                known[text] = name
                fresh.append((name, text))
            ids.append(name)
        columns = {"name": [name for name, _ in fresh], "text": [text for _, text in fresh]}
        return np.array([*ids, -1], np.int32), frame(columns, NAMES)

    def _take_paths(
        self, own: pl.DataFrame, names: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], pl.DataFrame]:
        ids, known = [-1], self._paths
        after = max(known.values(), default=-1) + 1
        fresh: dict[str, list[int]] = {"path": [], "parent": [], "name": []}
        for parent, name in zip(own["parent"].to_list(), names[own["name"].to_numpy()].tolist(), strict=True):
            key = (ids[parent + 1], name)
            path = known.get(key)
            if path is None:
                path = after + len(fresh["path"])
                known[key] = path
                for column, value in zip(fresh.values(), (path, *key), strict=True):
                    column.append(value)
            ids.append(path)
        return np.array([*ids[1:], -1], np.int32), frame(fresh, PATHS)


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    """Append a frame to a table, by column names."""
    connection.register("rows_to_insert", rows.to_arrow())
    try:
        connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM rows_to_insert")  # noqa: S608 - our own table
    finally:
        connection.unregister("rows_to_insert")
