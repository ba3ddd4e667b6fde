"""Reading a run into the store and getting it out again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest
from runs import put, put_run, trace

from abstep.errors import StoreError, TraceError
from abstep.model import RunTables
from abstep.store import Progress, open_store, parallel
from abstep.trace import detect
from abstep.trace.tables import SPANS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s" / "store.duckdb") as opened:
        yield opened


def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files parsed from now on."""
    seen: list[str] = []
    real = detect.read_trace

    def counted(path: Path, *rest: object) -> object:
        seen.append(path.name)
        return real(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(parallel, "read_trace", counted)
    return seen


def test_a_run_comes_back_as_it_was_read(tmp_path: Path, store: Store) -> None:
    run = put_run(tmp_path / "base", baseTimeNanoseconds=5_000_000_000_000_000)
    put(run / "run.json", {"label": "bucket 25 MB", "settings": {"cap": 25}, "recorded": {"resident": False}})
    name = store.ingest(run)
    tables = store.load(name)
    assert isinstance(tables, RunTables)
    assert name == str(run.resolve())
    assert (tables.name, tables.label) == (name, "bucket 25 MB")
    assert tables.settings == ({"cap": 25},)
    assert tables.recorded == ({"resident": False},)
    assert tables.repeat_paths == (".",)
    assert tables.problems == ()
    assert tables.files.select("repeat", "rank", "world_size", "backend", "device").rows() == [
        (0, 0, 2, "nccl", "cuda"),
        (0, 1, 2, "nccl", "cuda"),
    ]
    spans = tables.spans
    assert spans.columns[:4] == ["repeat", "rank", "file", "span"]
    assert {name: dtype for name, dtype in spans.schema.items() if name in SPANS} == SPANS
    assert (spans.schema["repeat"], spans.schema["rank"]) == (pl.Int32, pl.Int32)
    assert spans.select("file", "span").equals(spans.select("file", "span").sort("file", "span"))
    one = spans.filter(rank=1).row(0, named=True)
    texts = dict(tables.names.iter_rows())
    assert (texts[one["name"]], one["start_ns"], one["end_ns"]) == (
        "gemm0",
        5_000_000_000_050_000,
        5_000_000_000_450_000,
    )
    parents = {path: (parent, texts[own]) for path, parent, own in tables.paths.iter_rows()}
    assert parents[one["path"]] == (-1, "aten::mm")
    assert (
        tables.collectives.select("collective", "bytes", "seq").rows()
        == [("all_reduce", 32, 0), ("all_reduce", 32, 1)] * 2
    )


def test_repeats_are_sub_directories(tmp_path: Path, store: Store) -> None:
    run = put_run(tmp_path / "v", repeats=3)
    for number in (1, 2):
        put(run / f"repeat{number}" / "run.json", {"settings": {"seed": number}, "label": "wide"})
    tables = store.load(store.ingest(run))
    assert tables.repeat_paths == ("repeat1", "repeat2", "repeat3")
    assert tables.settings == ({"seed": 1}, {"seed": 2}, {})
    assert tables.label == "wide"
    assert tables.files.select("repeat", "rank").rows() == [(r, k) for r in range(3) for k in range(2)]
    assert sorted(tables.spans["repeat"].unique()) == [0, 1, 2]


def test_settings_beside_the_repeats_hold_for_all(tmp_path: Path, store: Store) -> None:
    run = put_run(tmp_path / "v", repeats=2)
    put(run / "run.json", {"label": "all", "settings": {"a": 1}})
    put(run / "repeat2" / "run.json", {"settings": {"a": 2}})
    tables = store.load(store.ingest(run))
    assert tables.settings == ({"a": 1}, {"a": 2})
    assert tables.label == "all"


def test_one_file_is_a_run(tmp_path: Path, store: Store) -> None:
    path = put(tmp_path / "rank3.pt.trace.json", trace(3))
    tables = store.load(store.ingest(path))
    assert (tables.name, tables.label) == (str(path.resolve()), "rank3")
    assert tables.files["run_path"].to_list() == ["rank3.pt.trace.json"]
    assert tables.files["rank"].to_list() == [3]


def test_an_unchanged_file_is_not_parsed_again(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = put_run(tmp_path / "base")
    seen = parses(monkeypatch)
    store.ingest(run)
    assert seen == ["rank0.json", "rank1.json"]
    store.ingest(run)
    os.utime(run / "rank0.json", (1, 1))
    store.ingest(run)
    assert len(seen) == 2
    before = (run / "rank1.json").stat()
    text = (run / "rank1.json").read_text(encoding="utf-8")
    put(run / "rank1.json", text.replace("gemm0", "gemm9"))
    os.utime(
        run / "rank1.json", ns=(before.st_atime_ns, before.st_mtime_ns)
    )  # same size, same time, other content
    tables = store.load(store.ingest(run))
    assert seen[2:] == ["rank1.json"]
    assert "gemm9" in tables.names["text"].to_list()
    assert tables.files.height == 2


def test_content_counts_not_the_path(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = put_run(tmp_path / "a"), put_run(tmp_path / "b")
    seen = parses(monkeypatch)
    store.ingest(first)
    store.ingest(second)
    assert len(seen) == 2
    assert store.load(str(second)).spans.height == 8
    store.forget(str(first))
    assert store.load(str(second)).spans.height == 8
    store.forget(str(second))
    assert store.runs() == []


def test_runs_and_forget(tmp_path: Path, store: Store) -> None:
    run = put_run(tmp_path / "base", repeats=2)
    store.ingest(run)
    (row,) = store.runs()
    size = sum(path.stat().st_size for path in run.rglob("*.json"))
    assert (row.name, row.label, row.repeats, row.ranks, row.files, row.size_bytes) == (
        str(run),
        "base",
        2,
        2,
        4,
        size,
    )
    assert row.read_unix > 1_500_000_000
    assert store.load(str(run)).resources["registers"].to_list() == [40] * 4, "one row a file"
    store.forget(str(run))
    with duckdb.connect(str(store.path)) as connection:
        for table in (
            "files",
            "spans",
            "collectives",
            "marks",
            "threads",
            "resources",
            "run_files",
            "run_repeats",
            "runs",
        ):
            assert connection.sql(f"SELECT count(*) FROM {table}").fetchall() == [(0,)], table
    with pytest.raises(StoreError, match="no such run"):
        store.load(str(run))
    with pytest.raises(StoreError, match="no such run"):
        store.forget(str(run))


def test_windows_are_kept(tmp_path: Path, store: Store) -> None:
    name = store.ingest(put_run(tmp_path / "base"))
    rows = pl.DataFrame(
        {
            "repeat": [0],
            "rank": [0],
            "step": [1],
            "cycle": [0],
            "start_ns": [5],
            "end_ns": [9],
            "reason": [None],
        },
        schema_overrides={"reason": pl.String},
    )
    store.save_windows(name, rows)
    store.save_windows(name, rows)
    with duckdb.connect(str(store.path)) as connection:
        assert connection.sql("SELECT * FROM windows").fetchall() == [(0, 0, 0, 1, 0, 5, 9, None)]


def test_one_bad_file_costs_only_itself(tmp_path: Path, store: Store) -> None:
    run = put_run(tmp_path / "base")
    put(run / "rank2.json", "{")
    put(run / "rank10.json", "")
    tables = store.load(store.ingest(run))
    assert tables.files["rank"].to_list() == [0, 1]
    assert [(problem.id, Path(problem.path).name) for problem in tables.problems] == [
        ("bad_file", "rank2.json"),
        ("bad_file", "rank10.json"),
    ]
    assert "is not whole JSON" in tables.problems[0].message


def test_only_bad_files_are_an_error(tmp_path: Path, store: Store) -> None:
    put(tmp_path / "base" / "rank0.json", '{"traceEvents": [')
    with pytest.raises(TraceError, match=r"rank0\.json"):
        store.ingest(tmp_path / "base")
    assert store.runs() == []


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_no_run_there(tmp_path: Path, store: Store, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError, match=name) as found:
        store.ingest(tmp_path / name)
    assert found.value.exit_code == 2
    assert found.value.remedy


def test_odd_events_are_said(tmp_path: Path, store: Store) -> None:
    whole = trace(0)
    whole["traceEvents"].append(dict(whole["traceEvents"][-1], dur=-5))
    tables = store.load(store.ingest(put(tmp_path / "rank0.json", whole)))
    (problem,) = tables.problems
    assert problem.id == "bad_file"
    assert "1 of 13 events" in problem.message
    assert "negative duration" in problem.message


def test_a_damaged_run_json_is_said(tmp_path: Path, store: Store) -> None:
    run = put_run(tmp_path / "base")
    put(run / "run.json", '{"label": ')
    tables = store.load(store.ingest(run))
    assert [problem.id for problem in tables.problems] == ["bad_file"]
    assert tables.settings == ({},)


def test_progress_is_told(tmp_path: Path, store: Store) -> None:
    told: list[Progress] = []
    store.ingest(put_run(tmp_path / "base"), progress=told.append)
    assert told[-1].bytes_done == told[-1].bytes_total > 0
    assert (told[-1].files_done, told[-1].files_total) == (2, 2)
    assert [row.bytes_done for row in told] == sorted(row.bytes_done for row in told)
    again: list[Progress] = []
    store.ingest(tmp_path / "base", progress=again.append)
    assert again == []


def test_processes_of_their_own_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = put_run(tmp_path / "base", ranks=5, repeats=2)
    put(run / "repeat1" / "rank7.json", "{")
    with open_store(tmp_path / "a.duckdb") as store:
        here = store.load(store.ingest(run))
    monkeypatch.setattr(parallel, "_WORTH", 0)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    told: list[Progress] = []
    with open_store(tmp_path / "b.duckdb") as store:
        there = store.load(store.ingest(run, progress=told.append))
    same = ["repeat", "rank", "span", "start_ns", "end_ns", "kind", "stream"]
    assert there.spans.select(same).sort(same).equals(here.spans.select(same).sort(same))
    assert there.problems == here.problems
    assert told[-1].files_done == 11


def test_a_process_that_dies_costs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = put_run(tmp_path / "base", ranks=4)
    monkeypatch.setattr(parallel, "_WORTH", 0)
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    real, first = parallel._start, []

    def start() -> object:
        process = real()
        if not first:
            first.append(process)
            process.kill()
        return process

    monkeypatch.setattr(parallel, "_start", start)
    with open_store(tmp_path / "a.duckdb") as store:
        tables = store.load(store.ingest(run))
    assert tables.files.height == 3
    (problem,) = tables.problems
    assert "the process that read it ended" in problem.message


def test_part_of_a_run(tmp_path: Path, store: Store) -> None:
    name = store.ingest(put_run(tmp_path / "base", repeats=2))
    part = store.load(name, repeat=1, rank=0)
    assert part.files.select("repeat", "rank").rows() == [(1, 0)]
    assert set(part.spans.select("repeat", "rank").unique().rows()) == {(1, 0)}
    assert part.spans.height == 4


def test_one_content_in_two_repeats(tmp_path: Path, store: Store) -> None:
    for repeat in ("a", "b"):
        put(tmp_path / "run" / repeat / "rank0.json", trace(0))
    tables = store.load(store.ingest(tmp_path / "run"))
    assert tables.files["repeat"].to_list() == [0, 1]
    assert tables.spans.group_by("repeat").len().sort("repeat").rows() == [(0, 4), (1, 4)]


def test_the_store_is_open_to_duckdb(tmp_path: Path, store: Store) -> None:
    store.ingest(put_run(tmp_path / "base"))
    with duckdb.connect(str(store.path), read_only=True) as connection:
        rows = connection.sql(
            "SELECT n.text, count(*) FROM spans JOIN names n USING (name) GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        settings = connection.sql("SELECT settings FROM run_repeats").fetchall()
    assert rows == [("gemm0", 4), ("ncclDevKernel_AllReduce_Sum_f32", 4)]
    assert json.loads(settings[0][0]) == {}


@pytest.mark.parametrize("key", ["settings", "recorded", "environment"])
def test_a_part_of_run_json_that_is_no_object_is_said(tmp_path: Path, store: Store, key: str) -> None:
    run = put_run(tmp_path / "base")
    put(run / "run.json", {"label": "kept", key: [1, 2]})
    tables = store.load(store.ingest(run))
    (problem,) = tables.problems
    assert problem.id == "bad_file"
    assert str(run / "run.json") in problem.message
    assert f"its {key} are not read" in problem.message
    assert tables.label == "kept"
