"""From two places of traces to a comparison: read, keep, cut, measure, compare. Each room is imported when used."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from abstep.errors import AbstepError

if TYPE_CHECKING:
    from collections.abc import Callable

    from abstep.compare.build import CompareOptions
    from abstep.compare.comparison import Comparison
    from abstep.measure.run import MeasuredRun
    from abstep.store import Progress, Store


@dataclass(frozen=True)
class Reading:
    """How traces are read and kept.

    Attributes:
        store: the store's file; None for the one in the user's cache directory.
        step_marker: regular expression of the annotation that marks a step; None for ProfilerStep#N.
        progress: told what is being read.
        notice: told, in a line, what the user should know about the store.

    """

    store: Path | None = None
    step_marker: str | None = None
    progress: Callable[[Progress], None] | None = field(default=None, compare=False)
    notice: Callable[[str], None] | None = field(default=None, compare=False)


def open_store(reading: Reading, *, read_only: bool = False) -> Store:
    """Open the store a reading names, telling what went wrong with the default one."""
    from abstep.store import open_store as opened  # noqa: PLC0415  duckdb costs 90 ms

    store = opened(reading.store, read_only=read_only)
    for problem in store.problems:
        if reading.notice is not None:
            reading.notice(problem.message)
    return store


def read_run(place: str | Path, reading: Reading | None = None, *, store: Store | None = None) -> MeasuredRun:
    """Read and measure one run.

    Args:
        place: a directory or file of traces, or the name of a run in the store.
        reading: how to read it.
        store: an open store; None opens the one `reading` names.

    Raises:
        AbstepError: the run cannot be read.

    """
    reading = reading or Reading()
    if store is None:
        with open_store(reading) as own:
            return read_run(place, reading, store=own)
    from abstep.measure.run import measure  # noqa: PLC0415  polars costs 150 ms
    from abstep.windows import cut  # noqa: PLC0415

    name = _stored(store, str(place), reading)
    run = cut(store.load(name), reading.step_marker)
    if reading.step_marker is None and not store.read_only:
        store.save_windows(name, run.windows.drop("window", "file", "own_work"))
    return measure(run)


def _stored(store: Store, place: str, reading: Reading) -> str:
    """Return the name under which the store holds a run, reading its traces where they are at hand."""
    path = Path(place)
    if path.exists():
        return store.ingest(path, progress=reading.progress)
    held = {row.name for row in store.runs()} | {row.label for row in store.runs()}
    if place in held:
        return place
    raise AbstepError(
        f"{place}: no such file or directory, and the store holds no run of that name",
        "give a directory of traces, a trace file, or a name that `abstep runs` lists",
    )


def compare_traces(
    base: str | Path,
    variant: str | Path,
    options: CompareOptions | None = None,
    reading: Reading | None = None,
) -> Comparison:
    """Compare two runs: directories, trace files, or names of runs in the store.

    Raises:
        AbstepError: a run cannot be read or has no completed step window.

    """
    reading = reading or Reading()
    with open_store(reading) as store:
        measured = [read_run(place, reading, store=store) for place in (base, variant)]
    from abstep.compare.build import compare  # noqa: PLC0415

    return compare(measured[0], measured[1], options)
