"""From two places of traces to a comparison: read, keep, cut, measure, compare. Each room is imported when used."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from abstep.errors import AbstepError

if TYPE_CHECKING:
    from collections.abc import Callable

    from abstep.compare.build import CompareOptions
    from abstep.compare.comparison import Comparison
    from abstep.measure.run import MeasuredRun
    from abstep.model import RunTables
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


def read_run(
    place: str | Path, reading: Reading | None = None, *, store: Store | None = None, spans: bool = False
) -> MeasuredRun:
    """Read and measure one run.

    Args:
        place: a directory or file of traces, or the name of a run in the store.
        reading: how to read it.
        store: an open store; None opens the one `reading` names.
        spans: hold all spans in memory with the measures; else they are read again where a screen needs them.

    Raises:
        AbstepError: the run cannot be read.

    """
    reading = reading or Reading()
    if store is None:
        with open_store(reading) as own:
            return read_run(place, reading, store=own, spans=spans)
    name = _stored(store, str(place), reading)
    if spans or store.temporary:
        from abstep.measure.run import measure  # noqa: PLC0415  polars costs 150 ms
        from abstep.windows import cut  # noqa: PLC0415

        return measure(cut(store.load(name), reading.step_marker))
    return _measured(store, name, reading.step_marker)


def _measured(store: Store, name: str, marker: str | None) -> MeasuredRun:
    """Return a run's measures: those kept in the store, else measured rank by rank and kept."""
    from abstep.measure.kept import from_parts, measures_key, to_parts  # noqa: PLC0415

    header = store.header(name)
    key = measures_key(header, marker)
    parts = store.load_measures(name, key)
    run = from_parts(header, parts) if parts is not None else None
    if run is None:
        run = _measure_by_rank(store, header, marker)
        if not store.read_only:
            store.save_measures(name, key, to_parts(run))
            if marker is None:
                store.save_windows(name, run.cut.windows.drop("window", "file", "own_work"))
    place, shown = store.path, run.cut.tables.name
    return replace(run, spans_of=lambda repeat, rank: _spans_of(place, shown, marker, repeat, rank))


def _measure_by_rank(store: Store, header: RunTables, marker: str | None) -> MeasuredRun:
    """Measure a run one rank at a time, so that memory is bounded by one rank's spans."""
    from abstep.measure.dictionary import dictionary  # noqa: PLC0415
    from abstep.measure.rank import measure_rank  # noqa: PLC0415
    from abstep.measure.run import combine, without_spans  # noqa: PLC0415
    from abstep.windows import Numbering, cut, cut_alone, joined  # noqa: PLC0415

    cuts, ranks = [], []
    first = Numbering()
    owners = header.files.select("repeat", "rank").unique().sort("repeat", "rank").rows()
    for repeat, rank in owners:
        tables = store.load(header.name, repeat=repeat, rank=rank)
        own = cut_alone(tables, marker, first)
        ranks.append(measure_rank(own, repeat, rank, dictionary(own.tables)).without_spans())
        first = Numbering(first.window + own.windows.height, first.row + own.tables.spans.height)
        cuts.append(replace(own, tables=without_spans(own.tables)))
    run = joined(header, cuts)
    if run.windows.is_empty():
        cut(store.load(header.name), marker)  # says that no step is marked, and the candidates
    return combine(run, ranks)


def _spans_of(place: Path, name: str, marker: str | None, repeat: int, rank: int) -> RunTables:
    """Return one rank's cut tables out of a store: device times are never moved, so they need no other rank."""
    from abstep.store import open_store as opened  # noqa: PLC0415
    from abstep.windows import cut_alone  # noqa: PLC0415

    with opened(place, read_only=True) as store:
        return cut_alone(store.load(name, repeat=repeat, rank=rank), marker).tables


def _stored(store: Store, place: str, reading: Reading) -> str:
    """Return the name under which the store holds a run, reading its traces where they are at hand."""
    path = Path(place)
    if path.exists():
        return store.ingest(path, progress=reading.progress)
    rows = store.runs()
    named = [row.name for row in rows if row.name == place] or [
        row.name for row in rows if row.label == place
    ]
    if len(named) == 1:
        return named[0]
    if named:
        raise AbstepError(
            f"{place}: {len(named)} runs in the store have this label", "name one as `abstep runs` lists it"
        )
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
