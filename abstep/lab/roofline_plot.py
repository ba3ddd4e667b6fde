"""The roofline as text: both axes logarithmic, the ceilings as lines, and the point on them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from abstep.lab.roofline import BANDWIDTHS, INTENSITIES, ROOF_GFLOPS, attainable_gflops, figure

if TYPE_CHECKING:
    from abstep.lab.roofline import Roofline

RATES = (INTENSITIES[0] * BANDWIDTHS[0], 10 * ROOF_GFLOPS)
"""The range of the vertical axis, GFLOP/s: the roof has a decade above it."""
LABELS = 8  # columns left of the axis
LEAST_WIDTH, LEAST_HEIGHT = 40, 8


class Marks(NamedTuple):
    """What the plot is drawn with."""

    roof: str
    slope: str
    point: str
    axis: str
    tick: str
    corner: str
    floor: str
    drop: str


UNICODE = Marks("━", "╱", "●", "│", "┤", "└", "─", "┊")
ASCII = Marks("=", "/", "O", "|", "+", "+", "-", ":")


def plot(
    controls: Roofline,
    width: int = 78,
    height: int = 18,
    *,
    ascii: bool = False,  # noqa: A002
    share: float = 1.0,
) -> list[str]:
    """Return the plot as lines.

    Args:
        controls: the point, and the bandwidth whose ceiling is drawn.
        width: columns, at least 40.
        height: lines, at least 8, axis and its labels included.
        ascii: draw with ASCII characters only.
        share: how much of the work has gone through (0..1): the point climbs to its ceiling with it.

    """
    marks = ASCII if ascii else UNICODE
    columns, rows = max(width, LEAST_WIDTH) - LABELS - 1, max(height, LEAST_HEIGHT) - 3
    grid = [[" "] * columns for _ in range(rows)]
    for column in range(columns):
        intensity = _value(column, columns, INTENSITIES)
        rate = attainable_gflops(intensity, controls.bandwidth)
        row = _place(rate, rows, RATES)
        if row is not None:
            flat = intensity * controls.bandwidth >= ROOF_GFLOPS
            grid[rows - 1 - row][column] = marks.roof if flat else marks.slope
    _point(grid, controls, marks, share)
    lines = [
        f"{label:>{LABELS - 1}} {marks.tick if label else marks.axis}{''.join(cells)}".rstrip()
        for label, cells in zip(_rate_labels(rows), grid, strict=True)
    ]
    unit = "GFLOP/s"
    return [
        f"{unit:>{LABELS - 1}} {marks.axis} over FLOP/byte, log-log",
        *lines,
        f"{'':>{LABELS}}{marks.corner}{_floor(columns, marks)}",
        f"{'':>{LABELS}}{_intensity_labels(columns)}",
    ]


def _point(grid: list[list[str]], controls: Roofline, marks: Marks, share: float) -> None:
    rows, columns = len(grid), len(grid[0])
    column = _place(controls.intensity, columns, INTENSITIES) or 0
    top = _place(controls.attainable_gflops, rows, RATES) or 0
    reached = round(top * min(max(share, 0.0), 1.0))
    for row in range(reached):
        grid[rows - 1 - row][column] = marks.drop
    grid[rows - 1 - reached][column] = marks.point


def _value(at: int, cells: int, limits: tuple[float, float]) -> float:
    """Return the value at a cell's middle; the first and the last cell are the range's ends."""
    low, high = (math.log10(end) for end in limits)
    return float(10 ** (low + (high - low) * at / (cells - 1)))


def _place(value: float, cells: int, limits: tuple[float, float]) -> int | None:
    low, high = (math.log10(end) for end in limits)
    at = round((math.log10(value) - low) / (high - low) * (cells - 1))
    return at if 0 <= at < cells else None


def _decades(limits: tuple[float, float]) -> list[float]:
    low, high = (round(math.log10(end)) for end in limits)
    return [10.0**power for power in range(low, high + 1)]


def _rate_labels(rows: int) -> list[str]:
    labels = [""] * rows
    for decade in _decades(RATES):
        at = _place(decade, rows, RATES)
        if at is not None:
            labels[rows - 1 - at] = figure(decade)
    return labels


def _floor(columns: int, marks: Marks) -> str:
    cells = [marks.floor] * columns
    for decade in _decades(INTENSITIES):
        at = _place(decade, columns, INTENSITIES)
        if at is not None:
            cells[at] = "+" if marks is ASCII else "┬"
    return "".join(cells)


def _intensity_labels(columns: int) -> str:
    cells = [" "] * (columns + 1)
    for decade in _decades(INTENSITIES):
        label = figure(decade)
        at = min((_place(decade, columns, INTENSITIES) or 0) + 1, columns + 1 - len(label))
        cells[at : at + len(label)] = label
    return "".join(cells).rstrip()
