"""Which rank a file is: its content, else its name, else the order, said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from runs import put, trace

from abstep.errors import TraceError
from abstep.store import open_store
from abstep.store.layout import natural
from abstep.store.ranks import RankFile, ranks_of

if TYPE_CHECKING:
    from pathlib import Path


def files(*rows: tuple[str, int | None, int, int]) -> list[RankFile]:
    return [RankFile(name, name, rank, start, end) for name, rank, start, end in rows]


@pytest.mark.parametrize(
    ("rows", "ranks", "guessed"),
    [
        ([("a.json", 3, 0, 9), ("b.json", 1, 0, 9)], [3, 1], False),
        ([("rank10.json", None, 0, 9), ("rank-2.json", None, 0, 9)], [10, 2], False),
        ([("worker_4_step.json", None, 0, 9), ("Rank_0.json", None, 0, 9)], [4, 0], False),
        ([("rank1.worker7.json", None, 0, 9), ("rank2.worker7.json", None, 0, 9)], [1, 2], False),
        ([("worker1-a.json", None, 0, 9), ("worker1-b.json", None, 5, 9)], [0, 1], True),
        (
            [("rank0.1.json", None, 0, 9), ("rank0.2.json", None, 9, 19), ("rank1.json", None, 0, 9)],
            [0, 0, 1],
            False,
        ),
        ([("rank100000.json", None, 0, 9)], [0], True),
        ([("host_24049.json", None, 0, 9), ("host_24050.json", None, 0, 9)], [0, 1], True),
        ([("a.json", 5, 0, 9), ("rank2.json", None, 0, 9)], [5, 2], False),
        ([("a.json", 1, 0, 9), ("b.json", None, 0, 9), ("c.json", None, 0, 9)], [1, 0, 2], True),
        ([("a.json", 0, 0, 9), ("b.json", 0, 9, 19)], [0, 0], False),
        ([("a.json", -1, 0, 9)], [0], True),
    ],
)
def test_ranks(rows: list[tuple[str, int | None, int, int]], ranks: list[int], guessed: bool) -> None:
    assert ranks_of(files(*rows)) == (ranks, guessed)


def test_two_captures_of_one_rank_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "run" / "first.json", trace(0))
    put(tmp_path / "run" / "second.json", trace(0, name="other"))
    with open_store(tmp_path / "s.duckdb") as store:
        with pytest.raises(TraceError, match=r"first\.json and .*second\.json are both rank 0") as found:
            store.ingest(tmp_path / "run")
        assert found.value.remedy
        assert store.runs() == []


def test_cycles_of_one_rank_join(tmp_path: Path) -> None:
    put(tmp_path / "run" / "first.json", trace(0))
    put(tmp_path / "run" / "second.json", trace(0, start=10_000))
    with open_store(tmp_path / "s.duckdb") as store:
        tables = store.load(store.ingest(tmp_path / "run"))
    assert tables.files.select("repeat", "rank").rows() == [(0, 0), (0, 0)]
    assert tables.files["file"].n_unique() == 2


def test_a_guess_is_said(tmp_path: Path) -> None:
    for name in ("b.json", "a.json"):
        put(tmp_path / "run" / name, trace(None, name=name))
    with open_store(tmp_path / "s.duckdb") as store:
        tables = store.load(store.ingest(tmp_path / "run"))
    assert tables.files.select("run_path", "rank", "rank_guessed").rows() == [
        ("a.json", 0, True),
        ("b.json", 1, True),
    ]
    assert [problem.id for problem in tables.problems] == ["rank_guessed"]


def test_natural_order() -> None:
    names = ["rank10.json", "rank9.json", "a", "10", "9"]
    assert sorted(names, key=natural) == ["a", "rank9.json", "rank10.json", "9", "10"]
