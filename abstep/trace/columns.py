"""Columns grown list by list, kept on disk once they are many, so that memory does not grow with the file."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

#: No value in an int64 column.
NONE = -(2**63)
#: Rows of one role kept in memory before they go to disk.
SPILL_ROWS = 200_000
_Part = dict[str, "NDArray[Any]"]


class Ids(dict[Any, int]):
    """Gives each distinct key the next id: `ids[key]`."""

    def __missing__(self, key: object) -> int:
        """Take the next id."""
        self[key] = value = len(self)
        return value


class Columns:
    """Columns of one role.

    Attributes:
        height: rows.

    """

    def __init__(self, **dtypes: Any) -> None:
        """Make empty columns.

        Args:
            dtypes: numpy type of each column, by name.

        """
        self._dtypes = {name: np.dtype(dtype) for name, dtype in dtypes.items()}
        self._parts: list[_Part] = []
        self._spilled: list[int] = []
        self._file: BinaryIO | None = None
        self._in_memory = 0
        self.height = 0

    def add(self, **columns: Any) -> None:
        """Append equally long columns: all of them, by name."""
        part = {name: np.asarray(columns[name], dtype) for name, dtype in self._dtypes.items()}
        rows = len(next(iter(part.values())))
        self._parts.append(part)
        self.height += rows
        self._in_memory += rows
        if self._in_memory >= SPILL_ROWS:
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="abstep-")  # noqa: SIM115 - lives as long as the columns
        self._file.seek(0, 2)
        for name in self._dtypes:
            np.concatenate([part[name] for part in self._parts]).tofile(self._file)
        self._file.flush()
        self._spilled.append(self._in_memory)
        self._parts, self._in_memory = [], 0

    def parts(self, wanted: Sequence[bool] | None = None) -> Iterator[_Part]:
        """Yield the rows in bounded pieces, in the order they came.

        Args:
            wanted: of each piece, in order, whether it is; null for all.

        """
        if self._file is not None:
            at = 0
            for number, rows in enumerate(self._spilled):
                if wanted is None or wanted[number]:
                    self._file.seek(at)
                    yield {name: np.fromfile(self._file, dtype, rows) for name, dtype in self._dtypes.items()}
                at += rows * sum(dtype.itemsize for dtype in self._dtypes.values())
        if self._parts and (wanted is None or wanted[-1]):
            self._parts = [{name: np.concatenate([p[name] for p in self._parts]) for name in self._dtypes}]
            yield self._parts[0]

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one column whole."""
        found = [part[name] for part in self.parts()]
        if len(found) == 1:
            return found[0]
        return np.concatenate(found) if found else np.empty(0, self._dtypes[name])

    def close(self) -> None:
        """Give the disk space back; the rows are gone."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._parts, self._spilled, self.height = [], [], 0


def ints(values: list[int | None]) -> NDArray[np.int64]:
    """Return the integers, NONE where there is no value."""
    if None in values:
        values = [NONE if value is None else value for value in values]
    return np.array(values, np.int64)


def at(values: NDArray[Any], row: NDArray[Any], *, none: int = NONE) -> NDArray[Any]:
    """Return the values at the rows; `none` where the row is below 0."""
    if not len(values):
        return np.full(len(row), none, values.dtype)
    return np.asarray(np.where(row >= 0, values[np.maximum(row, 0)], none))
