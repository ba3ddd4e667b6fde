"""Host ranges in slices of time, so that nesting them takes the same memory whatever the file's size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from abstep.trace.columns import Columns

#: About how many ranges a slice holds.
SLICE_ROWS = 200_000
_SAMPLE = 64


class Slice:
    """The ranges that start in [low, high), and those still open from before.

    Attributes:
        low, high: ns; the first slice is open below, the last above.
        rows: columns of `ops`.
        carried: how many of the rows, the first ones, started before `low`.

    """

    def __init__(
        self, low: int | None, high: int | None, rows: dict[str, NDArray[Any]], carried: int
    ) -> None:
        self.low, self.high, self.rows, self.carried = low, high, rows, carried

    def holds(self, time: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each instant lies in the slice."""
        inside = np.ones(len(time), bool)
        if self.low is not None:
            inside &= time >= self.low
        if self.high is not None:
            inside &= time < self.high
        return inside


def slices(ops: Columns) -> Iterator[Slice]:
    """Yield the file's host ranges in order of time.

    Args:
        ops: operators and annotations.

    """
    edges, bounds = _edges(ops)
    carried: dict[str, NDArray[Any]] | None = None
    for low, high in zip([None, *edges], [*edges, None], strict=True):
        pieces = [] if carried is None else [carried]
        wanted = [(high is None or first < high) and (low is None or last >= low) for first, last in bounds]
        for part in ops.parts(wanted):
            inside = Slice(low, high, part, 0).holds(part["start"])
            if inside.all():
                pieces.append(part)
            elif inside.any():
                pieces.append({name: values[inside] for name, values in part.items()})
        if not pieces:
            continue
        rows = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
        count = len(carried["start"]) if carried is not None else 0
        yield Slice(low, high, rows, count)
        if high is not None:
            open_ = rows["end"] > high
            carried = {name: values[open_] for name, values in rows.items()}


def _edges(ops: Columns) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the times between slices, from a sample of the starts, and the first and last start of each part."""
    bounds, samples = [], []
    for part in ops.parts():
        bounds.append((int(part["start"].min()), int(part["start"].max())))
        samples.append(part["start"][::_SAMPLE])
    wanted = -(-ops.height // SLICE_ROWS)
    if wanted <= 1:
        return [], bounds
    sample = np.sort(np.concatenate(samples))
    places = np.linspace(0, len(sample), wanted + 1)[1:-1].astype(int)
    return [int(edge) for edge in np.unique(sample[places])], bounds
