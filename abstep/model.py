"""The vocabulary of the definitions: kinds of activity, and one run's tables as the store hands them on."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


class Kind(IntEnum):
    """What a span on a device stream (or host thread) is; SEMANTICS 2. Stored as a small integer."""

    COMPUTE = 0
    COMMUNICATION = 1
    COPY = 2
    MEMSET = 3


class Category(StrEnum):
    """The five categories that tile a window exactly; SEMANTICS 3."""

    COMPUTE_ALONE = "compute_alone"
    OVERLAPPED = "overlapped"
    EXPOSED = "exposed"
    COPY_ONLY = "copy_only"
    IDLE = "idle"


class Phase(StrEnum):
    """Where in the step a launch belongs; SEMANTICS 4."""

    FORWARD = "forward"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"
    OTHER = "other"


class ExposedKind(StrEnum):
    """Whether an exposed stretch costs step time; SEMANTICS 5."""

    BLOCKING = "blocking"
    INCIDENTAL = "incidental"


@dataclass(frozen=True)
class Problem:
    """A warning about one file or one run; ids are RESULT.md's."""

    id: str
    path: str
    message: str


@dataclass(frozen=True)
class RunTables:
    """One run as the store hands it on: frames of columns, every time int64 ns as recorded.

    Attributes:
        name: absolute path of the run, or its name in the store.
        label: run.json's label, else the directory's name.
        files: schema.sql's `files` columns that matter to measuring, with `repeat` and `rank` (one row a file).
        spans, collectives, waits, host_calls, marks, threads, resources: schema.sql's columns, with `repeat` (Int32)
            and `rank` (Int32) beside `file`; spans sorted by (file, span). Names stay ids.
        names: `name` (Int32) -> `text`.
        paths: `path` (Int32), `parent` (Int32), `name` (Int32).
        settings: one mapping a repeat, as run.json has it.
        recorded, environment: one mapping a repeat, as run.json has it.
        repeat_paths: sub-directory of each repeat.
        problems: what went wrong while reading.

    """

    name: str
    label: str
    files: pl.DataFrame
    spans: pl.DataFrame
    collectives: pl.DataFrame
    waits: pl.DataFrame
    host_calls: pl.DataFrame
    marks: pl.DataFrame
    threads: pl.DataFrame
    resources: pl.DataFrame
    names: pl.DataFrame
    paths: pl.DataFrame
    settings: tuple[Mapping[str, Any], ...]
    recorded: tuple[Mapping[str, Any], ...]
    environment: tuple[Mapping[str, Any], ...]
    repeat_paths: tuple[str, ...]
    problems: tuple[Problem, ...] = field(default=())
