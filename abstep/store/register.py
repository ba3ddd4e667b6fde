"""A run's own rows: its repeats, which file is which rank, what went wrong."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from abstep.model import Problem
from abstep.store.connection import one
from abstep.store.ranks import RankFile, ranks_of
from abstep.store.tidy import delete_run, drop_unused

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from abstep.store.identity import Found
    from abstep.store.layout import RunLayout

#: Problems that come from a file's content, found again whenever the run is registered.
_FROM_CONTENT = ("rank_guessed",)


class Register:
    """Writes one run, in place of an earlier reading's rows; the caller runs it in a transaction."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, layout: RunLayout, kept: Sequence[tuple[Found, int]]
    ) -> None:
        """Prepare to write.

        Args:
            connection: to the store.
            layout: the run on disk.
            kept: its files that are in the store, with their numbers there.

        """
        self._connection, self._layout, self._kept = connection, layout, kept

    def write(self, problems: Sequence[Problem]) -> None:
        """Write the run's rows.

        Raises:
            TraceError: two files claim one rank and overlap in time.

        """
        connection, layout = self._connection, self._layout
        row = one(connection, "SELECT run FROM runs WHERE name = ?", [layout.name])
        row = row or one(connection, "SELECT coalesce(max(run), -1) + 1 FROM runs")
        run = int(row[0]) if row else 0
        delete_run(connection, run)
        connection.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?)", [run, layout.name, layout.label, int(time.time())]
        )
        found = [*problems]
        for number, index in enumerate(sorted({file.repeat for file, _ in self._kept})):
            repeat = layout.repeats[index]
            connection.execute(
                "INSERT INTO run_repeats VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    run,
                    number,
                    repeat.path,
                    json.dumps(repeat.settings),
                    json.dumps(repeat.recorded),
                    json.dumps(repeat.environment),
                    repeat.label,
                ],
            )
            found += self._write_files(run, number, index)
        for problem in found:
            connection.execute(
                "INSERT INTO run_problems VALUES (?, ?, ?, ?)",
                [run, problem.id, problem.path, problem.message],
            )
        drop_unused(connection, within=layout.root)

    def _write_files(self, run: int, number: int, index: int) -> list[Problem]:
        layout, repeat = self._layout, self._layout.repeats[index]
        files = [(file, kept) for file, kept in self._kept if file.repeat == index]
        said, problems = [], []
        for file, kept in files:
            row = one(
                self._connection,
                "SELECT rank, trace_start, trace_end, events, odd_events, odd_example, notes, truncated "
                "FROM files WHERE file = ?",
                [kept],
            )
            assert row is not None
            rank, start, end, events, odd, example, notes, truncated = row
            said.append(RankFile(str(file.path), file.path.name, rank, start, end))
            path = str(file.path)
            problems += _faults(path, events, odd, example, truncated=truncated)
            problems += [Problem("bad_file", path, f"{path}: {note}") for note in json.loads(notes)]
        ranks, guessed = ranks_of(said)
        if guessed:
            where = str(layout.root if repeat.path == "." else layout.root / repeat.path)
            text = (
                f"{where}: the traces do not say their rank; numbered in order, and not compared across ranks"
            )
            problems.append(Problem("rank_guessed", where, text))
        for (file, kept), rank in zip(files, ranks, strict=True):
            path = file.path.name if layout.root.is_file() else str(file.path.relative_to(layout.root))
            self._connection.execute(
                "INSERT INTO run_files VALUES (?, ?, ?, ?, ?, ?)", [run, kept, number, rank, guessed, path]
            )
        return problems


def _faults(path: str, events: int, odd: int, example: str | None, *, truncated: bool) -> list[Problem]:
    problems = []
    if odd:
        text = f"{path}: {odd} of {events + odd} events cannot be read and are left out (first: {example})"
        problems.append(Problem("bad_file", path, text))
    if truncated:
        text = f"{path}: ends behind its last event; what its metadata would say is missing"
        problems.append(Problem("bad_file", path, text))
    return problems


def is_registered(
    connection: duckdb.DuckDBPyConnection,
    layout: RunLayout,
    found: Sequence[Found],
    problems: Sequence[Problem],
) -> bool:
    """Return whether the store holds the run exactly as it is on disk."""
    row = one(connection, "SELECT run, label FROM runs WHERE name = ?", [layout.name])
    if row is None or row[1] != layout.label or problems:
        return False
    run = row[0]
    repeats = connection.execute(
        "SELECT path, settings, recorded, environment, label FROM run_repeats WHERE run = ? ORDER BY repeat",
        [run],
    ).fetchall()
    wanted = [
        (r.path, json.dumps(r.settings), json.dumps(r.recorded), json.dumps(r.environment), r.label)
        for r in layout.repeats
    ]
    files = connection.execute(
        "SELECT r.repeat, r.path, f.content FROM run_files r JOIN files f USING (file) WHERE r.run = ? ORDER BY ALL",
        [run],
    ).fetchall()
    root = layout.root
    here = [
        (file.repeat, file.path.name if root.is_file() else str(file.path.relative_to(root)), file.content)
        for file in found
    ]
    return repeats == wanted and files == sorted(here)
