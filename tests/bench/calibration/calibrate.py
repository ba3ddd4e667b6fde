"""Measure the calibration table and print it beside its bars; see README.md."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from calibration_table import table

if TYPE_CHECKING:
    from calibration_cells import Row


STEP_TIMES = 8


def measure(place: int, datasets: int) -> list[Row]:
    cell = table()[place]
    return cell.rows(
        datasets if not cell.measure.func.__name__.startswith("step_rates") else STEP_TIMES * datasets
    )


def bar_text(row: Row) -> str:
    if row.bar is None:
        return ""
    low, high = row.bar
    return f"<= {high:g}" if low == 0 else f">= {low:g}" if high == 100 else f"{low:g} to {high:g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--datasets", type=int, default=250, help="per cell; eight times as many where only the step is made"
    )
    parser.add_argument("--only", default="", help="cells whose group or name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    places = [i for i, cell in enumerate(table()) if options.only in f"{cell.group}: {cell.name}"]
    started = time.perf_counter()
    failed, group = 0, ""
    with ProcessPoolExecutor(options.jobs) as pool:
        for rows in pool.map(measure, places, [options.datasets] * len(places)):
            for row in rows:
                if row.group != group:
                    group = row.group
                    print(f"\n### {group}\n\n| cell | figure | measured % | bar % | data sets |")
                    print("| --- | --- | --- | --- | --- |")
                mark = "" if row.holds else " **fails**"
                failed += not row.holds
                print(
                    f"| {row.cell} | {row.figure} | {row.value:.1f}{mark} | {bar_text(row)} | {row.datasets} |",
                    flush=True,
                )
    print(f"\n{failed} cells fail; {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
