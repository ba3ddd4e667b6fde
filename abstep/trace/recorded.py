"""Recorded communication metadata, found by the row of the event that carries it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather


class Recorded:
    """The metadata of a file.

    Attributes:
        facts: number of each row's facts in `Gather.meta_facts`.
        seq: sequence number of each row; columns.NONE where there is none.

    """

    def __init__(self, gathered: Gather) -> None:
        meta = gathered.meta
        key = meta["row"] * 2 + meta["on"]
        self._order = np.argsort(key, kind="stable")
        self._key = key[self._order]
        self.facts, self.seq = meta["facts"], meta["seq"]

    def rows(self, on: int, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row of the metadata of each event; -1 for none.

        Args:
            on: gather.ON_DEVICE or ON_HOST.
            row: of the device or ops columns; -1 for none.

        """
        if not len(self._key):
            return np.full(len(row), -1, np.int64)
        wanted = row * 2 + on
        found = np.minimum(np.searchsorted(self._key, wanted), len(self._key) - 1)
        return np.where((row >= 0) & (self._key[found] == wanted), self._order[found], -1)
