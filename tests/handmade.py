"""A run's tables written by hand, a line an activity: what the rooms behind the store are tested with.

Times are us from an arbitrary zero, as floats or integers; tables hold ns.

    run = tables(
        kernel(10, 30, launch=2, path=["Optimizer.step#Adam"]),
        collective(20, 60, launch=5),
        steps=[(0, 100), (100, 200)],
    )
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from abstep.model import Kind, RunTables
from abstep.trace.tables import COLLECTIVES, HOST_CALLS, MARKS, RESOURCES, SPANS, THREADS, WAITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ZERO_NS = 1_712_195_495_000_000_000
OWNER = {"repeat": pl.Int32, "rank": pl.Int32, "file": pl.Int32}
FILES = OWNER | {
    "rank_guessed": pl.Boolean,
    "path": pl.String,
    "run_path": pl.String,
    "world_size": pl.Int32,
    "backend": pl.String,
    "device": pl.String,
    "device_name": pl.String,
    "device_index": pl.Int32,
    "host": pl.String,
    "software": pl.String,
    "profiler": pl.String,
    "groups": pl.String,
    "events": pl.Int64,
    "odd_events": pl.Int64,
    "odd_example": pl.String,
    "truncated": pl.Boolean,
    "trace_start": pl.Int64,
    "trace_end": pl.Int64,
    "host_only": pl.Boolean,
    "fused_names": pl.String,
}


def ns(us: float | None) -> int | None:
    return None if us is None else ZERO_NS + round(us * 1000)


@dataclass(frozen=True)
class Activity:
    """One span, in us."""

    kind: Kind
    start: float
    end: float
    launch: float | None
    stream: int
    path: tuple[str, ...]
    name: str
    thread: int = 0
    graph: bool = False
    named: str | None = None  # the outermost meaningful range; else the path's first
    range_start: float | None = None
    shape: str | None = None
    resource: Mapping[str, Any] | None = None  # columns of `resources`
    said: Mapping[str, Any] = field(default_factory=dict)  # of collectives


def kernel(
    start: float,
    end: float,
    launch: float | None = None,
    *,
    stream: int = 7,
    path: Sequence[str] = (),
    name: str = "gemm",
    **more: Any,
) -> Activity:
    return Activity(Kind.COMPUTE, start, end, launch, stream, tuple(path), name, **more)


def collective(
    start: float,
    end: float,
    launch: float | None = None,
    *,
    stream: int = 20,
    path: Sequence[str] = (),
    kind: str = "all_reduce",
    **said: Any,
) -> Activity:
    own = ("thread", "graph", "named", "range_start", "resource", "name")
    more = {name: said.pop(name) for name in own if name in said}
    said = {"collective": kind, "group_name": "0", "group_desc": "default_pg"} | said
    name = more.pop("name", f"nccl_{kind}")
    return Activity(Kind.COMMUNICATION, start, end, launch, stream, tuple(path), name, said=said, **more)


def copy(
    start: float,
    end: float,
    launch: float | None = None,
    *,
    stream: int = 7,
    name: str = "Memcpy HtoD",
    **more: Any,
) -> Activity:
    return Activity(Kind.COPY, start, end, launch, stream, (), name, **more)


def memset(
    start: float, end: float, launch: float | None = None, *, stream: int = 7, **more: Any
) -> Activity:
    return Activity(Kind.MEMSET, start, end, launch, stream, (), "Memset", **more)


@dataclass
class _Names:
    ids: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, text: str) -> int:
        return self.ids.setdefault(text, len(self.ids))


@dataclass
class _Paths:
    names: _Names
    rows: dict[tuple[str, ...], int] = field(default_factory=dict)

    def of(self, path: tuple[str, ...]) -> int | None:
        if not path:
            return None
        self.of(path[:-1])
        return self.rows.setdefault(path, len(self.rows))


def tables(
    *activities: Activity,
    steps: Iterable[tuple[float, float]] | Mapping[int, tuple[float, float]] = (),
    first_step: int = 0,
    marks: Iterable[tuple[str, float, float]] = (),
    waits: Iterable[tuple[int, int, float, float]] = (),
    calls: Iterable[tuple[str, str, float, float]] = (),
    threads: Mapping[int, tuple[bool, bool]] | None = None,
    rank: int = 0,
    repeat: int = 0,
    file: int | None = None,
    **facts: Any,
) -> RunTables:
    """One rank trace.

    Args:
        activities: its spans.
        steps: host annotations ProfilerStep#N, by number, or in a row from `first_step` on.
        first_step: number of the first of a row.
        marks: other annotations: name, start, end.
        waits: stream, on_stream, when the wait and the record were called.
        calls: name, kind (sync, copy, alloc, graph), start, end, on thread 0.
        threads: number -> carries ProfilerStep, runs backward nodes.
        rank, repeat, file: which.
        facts: columns of `files`.

    """
    names = _Names()
    paths = _Paths(names)
    launched: list[Mapping[str, Any]] = []
    file = rank if file is None else file
    owner = {"repeat": repeat, "rank": rank, "file": file}
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for number, one in enumerate(sorted(activities, key=lambda a: (a.start, a.end))):
        named = one.named or (one.path[0] if one.path else None)
        upto = one.path.index(named) + 1 if named in one.path else 0
        launch = one.launch
        if one.resource is not None and one.resource not in launched:
            launched.append(one.resource)
        begun = one.range_start if one.range_start is not None else launch
        rows["spans"].append(
            owner
            | {
                "span": number,
                "kind": int(one.kind),
                "name": names[one.name],
                "stream": one.stream,
                "start_ns": ns(one.start),
                "end_ns": ns(one.end),
                "launch_start": ns(launch),
                "launch_end": None if launch is None else ns(launch + 1),
                "thread": None if launch is None else one.thread,
                "path": paths.of(one.path),
                "range_path": paths.of(one.path[:upto]),
                "range_start": ns(begun) if upto else None,
                "shape": None if one.shape is None else names[one.shape],
                "graph": one.graph,
                "resource": None if one.resource is None else launched.index(one.resource),
            }
        )
        if one.kind == Kind.COMMUNICATION:
            rows["collectives"].append(owner | {"span": number, "source": "metadata", **one.said})
    numbered = steps.items() if isinstance(steps, dict) else enumerate(steps, start=first_step)
    for step, (start, end) in numbered:
        rows["marks"].append(_mark(owner, names[f"ProfilerStep#{step}"], start, end) | {"step": step})
    rows["marks"] += [_mark(owner, names[name], start, end) for name, start, end in marks]
    rows["waits"] = [
        owner | {"stream": a, "on_stream": b, "wait_start": ns(wait), "record_start": ns(record)}
        for a, b, wait, record in waits
    ]
    rows["host_calls"] = [
        owner | {"thread": 0, "name": names[name], "kind": kind, "start_ns": ns(start), "end_ns": ns(end)}
        for name, kind, start, end in calls
    ]
    rows["threads"] = [
        owner | {"thread": number, "has_step": step, "has_backward": backward}
        for number, (step, backward) in (threads or {0: (True, False)}).items()
    ]
    rows["resources"] = [owner | {"resource": number} | dict(one) for number, one in enumerate(launched)]
    held = {
        table: _frame(rows[table], OWNER | columns)
        for table, columns in (
            ("spans", SPANS),
            ("collectives", COLLECTIVES),
            ("waits", WAITS),
            ("host_calls", HOST_CALLS),
            ("marks", MARKS),
            ("threads", THREADS),
            ("resources", RESOURCES),
        )
    }
    path_rows = [
        {"path": number, "parent": paths.rows.get(path[:-1], -1), "name": names[path[-1]]}
        for path, number in paths.rows.items()
    ]
    ends = [ns(one.end) for one in activities] or [ns(0)]
    said = owner | {
        "rank_guessed": False,
        "path": f"rank{rank}.json",
        "run_path": f"rank{rank}.json",
        "device": "cuda",
        "software": "{}",
        "profiler": "{}",
        "groups": "[]",
        "odd_events": 0,
        "truncated": False,
        "trace_start": ns(0),
        "trace_end": max(end for end in ends if end is not None),
        "host_only": False,
    }
    return RunTables(
        name="/runs/handmade",
        label="handmade",
        files=_frame([said | facts], FILES),
        names=_frame(
            [{"name": number, "text": text} for text, number in names.ids.items()],
            {"name": pl.Int32, "text": pl.String},
        ),
        paths=_frame(path_rows, {"path": pl.Int32, "parent": pl.Int32, "name": pl.Int32}),
        settings=({},),
        recorded=({},),
        environment=({},),
        repeat_paths=(".",),
        **held,
    )


def _mark(owner: dict[str, Any], name: int, start: float, end: float) -> dict[str, Any]:
    return owner | {"thread": 0, "name": name, "start_ns": ns(start), "end_ns": ns(end)}


def _frame(rows: list[dict[str, Any]], schema: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict(schema), orient="row")


def joined(*runs: RunTables, repeats: int = 1) -> RunTables:
    """Several rank traces as one run; their names and paths are numbered anew."""
    names, paths = 0, 0
    moved = []
    for run in runs:
        shift = {"name": names, "shape": names, "path": paths, "range_path": paths}

        def move(frame: pl.DataFrame, shift: dict[str, int] = shift) -> pl.DataFrame:
            return frame.with_columns(
                (pl.col(c) + by).cast(pl.Int32) for c, by in shift.items() if c in frame.columns
            )

        new_paths = run.paths.with_columns(
            pl.when(pl.col("parent") >= 0).then(pl.col("parent") + paths).otherwise(-1).cast(pl.Int32)
        )
        moved.append(
            replace(
                run,
                spans=move(run.spans),
                marks=move(run.marks),
                host_calls=move(run.host_calls),
                names=move(run.names),
                paths=move(new_paths),
            )
        )
        names += run.names.height
        paths += run.paths.height
    frames = ("files", "spans", "collectives", "waits", "host_calls", "marks", "threads", "resources")
    frames += ("names", "paths")
    together = {table: pl.concat([getattr(run, table) for run in moved]) for table in frames}
    sides = {
        "settings": ({},) * repeats,
        "recorded": ({},) * repeats,
        "environment": ({},) * repeats,
        "repeat_paths": tuple(f"r{n}" for n in range(repeats)),
    }
    return replace(moved[0], **together, **sides)
