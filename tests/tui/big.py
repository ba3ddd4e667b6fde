"""Large comparisons behind the screens: 100,000 slots, and windows of 250,000 spans on each of four ranks."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from .fake import FakeDetail
from .pair import RUNS, comparison

if TYPE_CHECKING:
    from abstep.compare.comparison import Comparison, SlotRow

SLOTS = 100_000
SPANS = 250_000


class BigDetail(FakeDetail):
    def lanes(self, side: str, repeat: int, step: int, rank: int) -> pl.DataFrame:
        starts = np.arange(SPANS, dtype=np.int64) * 40 + rank * 7
        lengths = 20 + (np.arange(SPANS) * 7919 % 23)
        kinds = np.where(np.arange(SPANS) // 1000 % 3 == 2, 1, 0).astype(np.int8)
        return pl.DataFrame({
            "kind": kinds, "name": ["gemm"] * SPANS, "stream": np.zeros(SPANS, dtype=np.int64),
            "start_ns": starts, "end_ns": starts + lengths,
        })  # fmt: skip


@lru_cache(maxsize=1)
def big() -> Comparison:
    pair = comparison()
    rows: list[SlotRow] = []
    while len(rows) < SLOTS:
        at = len(rows)
        row = pair.intervals[at % len(pair.intervals)]
        delta = row.delta
        shifted = replace(delta, delta=None if delta.delta is None else delta.delta * (1 + at % 997 / 1000))
        rows.append(replace(row, id=f"{row.id}#{at}" if at >= len(pair.intervals) else row.id, delta=shifted,
                            label=f"{row.label} in block {at}"))  # fmt: skip
    return replace(pair, intervals=tuple(rows), detail=BigDetail(RUNS))
