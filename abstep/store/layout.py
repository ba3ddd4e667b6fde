"""A run on disk: its repeats, their trace files, and run.json."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from abstep.errors import TraceError
from abstep.model import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RUN_FILE = "run.json"
SUFFIXES = (".json", ".json.gz")
_NOT_TRACES = (RUN_FILE, "truth.json")


@dataclass(frozen=True)
class Repeat:
    """One repeat of a run.

    Attributes:
        path: its directory relative to the run; '.' for the run's own.
        files: its traces, in natural order of their names.
        settings, recorded, environment, label: from run.json.

    """

    path: str
    files: tuple[Path, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    recorded: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    label: str | None = None


@dataclass(frozen=True)
class RunLayout:
    """A run as found on disk."""

    name: str
    root: Path
    label: str
    repeats: tuple[Repeat, ...]
    problems: tuple[Problem, ...]


def find_run(path: Path) -> RunLayout:
    """Return the run a directory or a single trace file is.

    Sub-directories that hold traces are its repeats; traces directly in it are one repeat.

    Raises:
        TraceError: there is no such path, or no trace in it.

    """
    try:
        root = path.expanduser().resolve()
        there = root.exists()
    except (OSError, RuntimeError):  # a name too long, links in a circle
        there = False
    if not there:
        raise TraceError(f"{path}: no such file or directory", "give a directory of traces, or one trace")
    problems: list[Problem] = []
    if root.is_file():
        repeats = [_repeat(root.parent, ".", (root,), {}, problems)]
        own: Mapping[str, Any] = {}
        label = _stem(root.name)
    else:
        own = _run_file(root, problems)
        found = [(".", root), *((entry.name, entry) for entry in _directories(root))]
        repeats = [
            _repeat(place, name, files, own, problems)
            for name, place in found
            if (files := _traces(place, problems))
        ]
        label = root.name
    if not repeats:
        raise TraceError(
            f"{path}: holds no traces (*.json, *.json.gz), nor do its sub-directories",
            "give a directory with one trace a rank",
        )
    labels = [repeat.label for repeat in repeats if repeat.label] + [_label(own)]
    label = next((text for text in labels if text), label)
    return RunLayout(str(root), root, label, tuple(repeats), tuple(problems))


def natural(text: str) -> list[tuple[int, str | int]]:
    """Return a sort key that puts rank2 before rank10."""
    return [(1, int(part)) if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text) if part]


def _stem(name: str) -> str:
    for suffix in (".pt.trace.json.gz", ".pt.trace.json", *reversed(SUFFIXES)):
        if name.endswith(suffix):
            return name[: -len(suffix)] or name
    return name


def _entries(place: Path) -> list[Path]:
    try:
        return sorted(place.iterdir(), key=lambda entry: natural(entry.name))
    except OSError as error:
        raise TraceError(f"{place}: cannot be listed ({error.strerror})", "check its permissions") from error


def _directories(root: Path) -> list[Path]:
    """Return the sub-directories, each once, whatever links to it; never the root itself."""
    seen = {root}
    found = []
    for entry in _entries(root):
        if not entry.name.startswith(".") and entry.is_dir() and (real := entry.resolve()) not in seen:
            seen.add(real)
            found.append(entry)
    return found


def _traces(place: Path, problems: list[Problem]) -> tuple[Path, ...]:
    """Return the trace files of a directory; a link that leads nowhere is noted."""
    found = []
    for entry in _entries(place):
        if not entry.name.endswith(SUFFIXES) or entry.name in _NOT_TRACES or entry.name.startswith("."):
            continue
        if entry.is_file():
            found.append(entry)
        elif entry.is_symlink() and not entry.is_dir() and not entry.is_fifo():
            problems.append(
                Problem("bad_file", str(entry), f"{entry}: is a link that leads nowhere; copy the file again")
            )
    return tuple(found)


def _repeat(
    place: Path, name: str, files: tuple[Path, ...], own: Mapping[str, Any], problems: list[Problem]
) -> Repeat:
    facts = _run_file(place, problems) if name != "." or not own else own
    facts = {**own, **facts}
    return Repeat(
        path=name,
        files=files,
        settings=_mapping(place, facts, "settings", problems),
        recorded=_mapping(place, facts, "recorded", problems),
        environment=_mapping(place, facts, "environment", problems),
        label=_label(facts),
    )


def _run_file(place: Path, problems: list[Problem]) -> Mapping[str, Any]:
    path = place / RUN_FILE
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        value = None
        fault = str(error).splitlines()[0] if str(error) else type(error).__name__
    else:
        fault = "it is no JSON object"
    if isinstance(value, dict):
        return value
    problem = Problem("bad_file", str(path), f"{path}: is not read ({fault}); correct it")
    if problem not in problems:
        problems.append(problem)
    return {}


def _mapping(place: Path, facts: Mapping[str, Any], key: str, problems: list[Problem]) -> Mapping[str, Any]:
    """Return a part of run.json that is an object; another type is noted and left out."""
    value = facts.get(key)
    if isinstance(value, dict):
        return value
    if value is not None:
        path = place / RUN_FILE
        text = f"{path}: its {key} are not read (they are no JSON object); correct them"
        problem = Problem("bad_file", str(path), text)
        if problem not in problems:
            problems.append(problem)
    return {}


def _label(facts: Mapping[str, Any]) -> str | None:
    from abstep.trace.clean import clean  # noqa: PLC0415 - keeps the import light

    label = facts.get("label")
    return clean(label) or None if isinstance(label, str) else None
