"""The columns of one kind of figure (step, categories, intervals, contention) over the windows used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from abstep.compare.statistics.additive import ExactMeans, exact_means
from abstep.compare.statistics.types import Flags, Floats, Ints, RunMetrics, Sides

PRESENT = 10_000
"""ns a rank: an interval is present in a window from here on."""
RESIDUAL = "residual"

Columns = Callable[[RunMetrics], Mapping[str, Ints]]


def check_run_metrics(run: RunMetrics, where: str) -> None:
    """Raise ValueError when a repeat's columns do not have one integer a window, naming the column."""
    n = len(run.step)
    if run.ranks < 1:
        raise ValueError(f"{where}: ranks must be at least 1, not {run.ranks}")
    columns = {"step_numbers": run.step_numbers, "step": run.step}
    for kind, group in (
        ("category", run.categories),
        ("interval", run.intervals),
        ("contention", run.contention),
    ):
        columns.update({f"{kind} {name!r}": column for name, column in group.items()})
    for name, column in columns.items():
        array = np.asarray(column)
        if array.shape != (n,):
            raise ValueError(f"{where}: {name} has shape {array.shape}, but there are {n} windows")
        if n and array.dtype.kind not in "iu":
            raise ValueError(f"{where}: {name} holds {array.dtype}, not whole nanoseconds")


def with_residual(runs: Sides[tuple[RunMetrics, ...]]) -> Columns:
    """Return the categories of a run, with a `residual` if they do not add up to the step everywhere."""

    def rest(run: RunMetrics) -> Ints:
        total = sum((np.asarray(x, dtype=np.int64) for x in run.categories.values()), np.zeros_like(run.step))
        return np.asarray(run.step - total, dtype=np.int64)

    every = [run for side in runs for run in side]
    if not any(run.categories for run in every) or not any(rest(run).any() for run in every):
        return lambda run: run.categories

    def categories(run: RunMetrics) -> Mapping[str, Ints]:
        known = run.categories.get(RESIDUAL, np.zeros_like(run.step))
        return {**run.categories, RESIDUAL: known + rest(run)}

    return categories


@dataclass(frozen=True)
class Sample:
    """k figures on both sides: a side, a compared repeat, int64 (k, n) sums over ranks."""

    names: tuple[str, ...]
    columns: Sides[tuple[Ints, ...]]
    ranks: Sides[tuple[int, ...]]

    @classmethod
    def gather(
        cls, runs: Sides[tuple[RunMetrics, ...]], kept: Sides[tuple[Ints, ...]], columns: Columns
    ) -> Sample:
        """Return all figures of a kind, names sorted; an absent one is 0.

        Args:
            runs: the compared repeats.
            kept: their windows used.
            columns: the kind.

        """
        names = tuple(sorted({name for side in runs for run in side for name in columns(run)}))
        sides = [
            tuple(_matrix(columns(run), names, index) for run, index in zip(side, indices, strict=True))
            for side, indices in zip(runs, kept, strict=True)
        ]
        ranks = [tuple(run.ranks for run in side) for side in runs]
        return cls(names, Sides(sides[0], sides[1]), Sides(ranks[0], ranks[1]))

    def windows(self, side: int) -> Floats:
        """Return (k, n) ns a rank of the one repeat compared."""
        return self.columns[side][0] / self.ranks[side][0]

    def repeat_means(self, side: int) -> Floats:
        """Return (k, R) means of the repeats, ns a rank."""
        return np.stack(
            [
                x.sum(axis=-1) / (x.shape[-1] * ranks)
                for x, ranks in zip(self.columns[side], self.ranks[side], strict=True)
            ],
            axis=-1,
        )

    @cached_property
    def exact(self) -> Sides[ExactMeans | None]:
        """Return the exact means of both sides; None for a side without windows."""
        base, variant = (
            exact_means(columns, ranks) if columns and all(x.shape[-1] for x in columns) else None
            for columns, ranks in zip(self.columns, self.ranks, strict=True)
        )
        return Sides(base, variant)

    def means(self, side: int) -> Floats:
        """Return the means of a side that has windows, (k,), ns a rank."""
        exact = self.exact[side]
        assert exact is not None
        return exact.floats()

    @cached_property
    def delta(self) -> Floats:
        """Return variant - base of two sides that have windows, (k,), each rounded once."""
        base, variant = self.exact
        assert base is not None
        assert variant is not None
        return variant.minus(base).floats()

    def presence(self, side: int) -> list[tuple[int, int]]:
        """Return, a figure, in how many windows it is 10 us or more a rank, and of how many."""
        columns, ranks = self.columns[side], self.ranks[side]
        n = sum(x.shape[-1] for x in columns)
        counts = sum(
            ((x >= PRESENT * r).sum(axis=-1) for x, r in zip(columns, ranks, strict=True)),
            np.zeros(len(self.names), dtype=np.int64),
        )
        return [(count, n) for count in counts.tolist()]

    def present(self, side: int) -> Flags:
        """Return (k, n), in which windows of the one repeat compared it is 10 us or more a rank."""
        return self.columns[side][0] >= PRESENT * self.ranks[side][0]

    def select(self, rows: Flags) -> Sample:
        """Return the figures where `rows` (k,) is true."""
        return Sample(
            tuple(name for name, taken in zip(self.names, rows.tolist(), strict=True) if taken),
            Sides(tuple(x[rows] for x in self.columns.base), tuple(x[rows] for x in self.columns.variant)),
            self.ranks,
        )

    def total(self) -> Sample:
        """Return the sum of all figures as one."""
        return Sample(
            ("",),
            Sides(
                tuple(x.sum(axis=0, keepdims=True) for x in self.columns.base),
                tuple(x.sum(axis=0, keepdims=True) for x in self.columns.variant),
            ),
            self.ranks,
        )


def _matrix(columns: Mapping[str, Ints], names: tuple[str, ...], index: Ints) -> Ints:
    matrix = np.zeros((len(names), len(index)), dtype=np.int64)
    for row, name in enumerate(names):
        if name in columns:
            matrix[row] = np.asarray(columns[name])[index]
    return matrix
