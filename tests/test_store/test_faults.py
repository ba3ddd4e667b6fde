"""What goes wrong around the store: killed, locked, damaged, full, not ours. Nothing lost, or one clear line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import platformdirs
import polars as pl
import pytest
from runs import put, put_run, trace

from abstep.errors import StoreError
from abstep.store import connection, open_store
from abstep.store.connection import SCHEMA_VERSION

PROJECT = Path(__file__).resolve().parents[2]
INGEST = """
import sys
from pathlib import Path
from abstep.store import open_store
with open_store(Path(sys.argv[1])) as store:
    print("ready", flush=True)
    for run in sys.argv[2:]:
        store.ingest(Path(run))
"""


def started(store: Path, *runs: Path, code: str = INGEST) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, str(store), *map(str, runs)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def rows(store: Path) -> int:
    with open_store(store) as opened:
        return sum(opened.load(run.name).spans.height for run in opened.runs())


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4])
def test_killed_at_any_moment(tmp_path: Path, delay: float) -> None:
    store = tmp_path / "s.duckdb"
    first = put_run(tmp_path / "first")
    second = put_run(tmp_path / "second", ranks=8, repeats=3, steps=60)
    with open_store(store) as opened:
        opened.ingest(first)
    process = started(store, second)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(delay)
    process.kill()
    process.communicate()
    with open_store(store) as opened:
        names = [run.name for run in opened.runs()]
        assert str(first) in names  # what was there is whole
        assert opened.load(str(first)).spans.height == 8
        if str(second) in names:
            assert opened.load(str(second)).spans.height == 8 * 3 * 120
        opened.ingest(second)  # and the next ingest goes on
        assert opened.load(str(second)).spans.height == 8 * 3 * 120
        with duckdb.connect(str(store)) as direct:
            found = direct.sql("SELECT count(*), count(DISTINCT content) FROM files").fetchall()
            spans = direct.sql("SELECT count(*), count(DISTINCT (file, span)) FROM spans").fetchall()
    assert found == [(26, 26)]
    assert spans == [(8 + 24 * 120, 8 + 24 * 120)]


def test_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    store, run = tmp_path / "s.duckdb", put_run(tmp_path / "run", ranks=4)
    code = INGEST.replace("store.ingest(Path(run))", "store.ingest(Path(run), progress=stop)").replace(
        "import sys\n",
        "import sys, os, signal\n"
        "from abstep.store import ingest\n"
        "ingest._BATCH_SPANS = 0\n"
        "def stop(row):\n"
        "    if row.files_done == 2: os.kill(os.getpid(), signal.SIGINT)\n",
    )
    process = started(store, run, code=code)
    _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT or "KeyboardInterrupt" in said
    with open_store(store) as opened:
        assert opened.runs() == []
    with duckdb.connect(str(store)) as direct:
        ((kept,),) = direct.sql("SELECT count(*) FROM files").fetchall()
    assert 1 <= kept < 4
    with open_store(store) as opened:
        opened.ingest(run)
    assert rows(store) == 16


def test_two_processes_take_turns(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    runs = [put_run(tmp_path / f"run{n}", ranks=3, steps=20) for n in range(4)]
    for n, run in enumerate(runs):
        for path in run.glob("*.json"):
            path.write_text(path.read_text(encoding="utf-8").replace("gemm0", f"gemm{n}"), encoding="utf-8")
    open_store(store).close()
    processes = [started(store, *order) for order in (runs, runs[::-1], runs)]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    with open_store(store) as opened:
        assert len(opened.runs()) == 4
        for n, run in enumerate(runs):
            tables = opened.load(str(run))
            assert tables.spans.height == 3 * 40
            assert f"gemm{n}" in tables.names["text"].to_list()
            assert not {f"gemm{k}" for k in range(4) if k != n} & set(tables.names["text"])


def test_a_store_held_by_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.duckdb"
    open_store(path).close()
    holder = started(
        path,
        code="import duckdb, sys, time\nc = duckdb.connect(sys.argv[1])\nprint('held', flush=True)\ntime.sleep(60)",
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        monkeypatch.setattr(connection, "PATIENCE", 0.3)
        with pytest.raises(StoreError, match="another process") as found:
            open_store(path)
        assert "--store" in found.value.remedy
        assert found.value.exit_code == 2
        holder.kill()
        holder.wait()
        open_store(path).close()
    finally:
        holder.kill()
        holder.communicate()


@pytest.mark.parametrize("content", [b"hello", b"{}" * 10_000, bytes(20_000)])
def test_a_file_that_is_no_store(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"s\.duckdb") as found:
        open_store(path)
    assert "\n" not in str(found.value)
    assert "--store" in found.value.remedy
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    path.touch()
    with open_store(path) as store:
        assert store.runs() == []


def test_a_damaged_store_is_said(tmp_path: Path) -> None:
    path, run = tmp_path / "s.duckdb", put_run(tmp_path / "run", steps=50)
    with open_store(path) as store:
        store.ingest(run)
    data = bytearray(path.read_bytes())
    for at in range(0, len(data), 997):
        data[at] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(StoreError) as found:
        rows(path)
    assert "\n" not in str(found.value)
    assert found.value.remedy


def test_another_database_or_version_is_refused(tmp_path: Path) -> None:
    other, old = tmp_path / "other.duckdb", tmp_path / "old.duckdb"
    with duckdb.connect(str(other)) as direct:
        direct.execute("CREATE TABLE mine (a INT)")
    with pytest.raises(StoreError, match="is not an abstep store"):
        open_store(other)
    open_store(old).close()
    with duckdb.connect(str(old)) as direct:
        direct.execute("UPDATE meta SET value = '0' WHERE key = 'schema_version'")
    with pytest.raises(StoreError, match=f"schema version 0, this abstep writes {SCHEMA_VERSION}"):
        open_store(old)


def test_an_older_default_store_costs_the_cache_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with open_store(None) as store:
        default = Path(store.path)
    with duckdb.connect(str(default)) as direct:
        direct.execute("UPDATE meta SET value = '0' WHERE key = 'schema_version'")
    with open_store(None) as store:
        (problem,) = store.problems
        assert Path(store.path) != default
    assert "schema version 0" in problem.message
    assert "delete that file" in problem.message


@pytest.mark.parametrize("place", ["file/s.duckdb", "folder"])
def test_a_place_that_cannot_be_a_store(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match=place.split("/", maxsplit=1)[0]) as found:
        open_store(tmp_path / place)
    assert found.value.exit_code == 2
    assert "--store" in found.value.remedy


def test_a_default_store_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda _: str(tmp_path / "file"))
    with open_store() as store:
        (problem,) = store.problems
        assert str(tmp_path / "file") in problem.message
        name = store.ingest(put_run(tmp_path / "run"))
        assert store.load(name).spans.height == 8
        assert store.path.exists()
    assert not store.path.exists()


def test_the_default_store_is_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda name: str(tmp_path / name))
    with open_store() as store:
        assert store.path == tmp_path / "abstep" / "store.duckdb"
        assert store.problems == ()


def test_reading_only(tmp_path: Path) -> None:
    path, run = tmp_path / "s.duckdb", put_run(tmp_path / "run")
    with pytest.raises(StoreError, match="no such store"):
        open_store(path, read_only=True)
    with open_store(path) as store:
        store.ingest(run)
    before = path.read_bytes()
    with open_store(path, read_only=True) as store:
        name = store.ingest(run)  # as it is in the store: nothing to write
        assert store.load(name).spans.height == 8
        put(run / "rank5.json", trace(5))
        with pytest.raises(StoreError, match="only read"):
            store.ingest(run)
    assert path.read_bytes() == before


def test_a_store_someone_else_owns_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, run = tmp_path / "s.duckdb", put_run(tmp_path / "run")
    with open_store(path) as store:
        store.ingest(run)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with open_store(path) as store:
        name = store.ingest(run)
        assert store.load(name).spans.height == 8
        store.save_windows(name, pl.DataFrame())
        put(run / "rank5.json", trace(5))
        with pytest.raises(StoreError, match="only read"):
            store.ingest(run)
    with pytest.raises(StoreError, match="cannot be written"):
        open_store(tmp_path / "other.duckdb")


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
from pathlib import Path
from abstep.errors import StoreError
from abstep.store import open_store
with open_store(Path(sys.argv[1])) as store:
    try:
        store.ingest(Path(sys.argv[2]))
    except StoreError as error:
        print(error)
"""


def test_a_full_disk(tmp_path: Path) -> None:
    store, run = tmp_path / "s.duckdb", put_run(tmp_path / "run", ranks=4, steps=3000)
    first = put_run(tmp_path / "first")
    with open_store(store) as opened:
        opened.ingest(first)
    process = started(store, run, code=FULL)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "make room" in out
    assert len(out.splitlines()) == 1
    with open_store(store) as opened:
        assert [row.name for row in opened.runs()] == [str(first)]
        assert opened.load(str(first)).spans.height == 8
        opened.ingest(run)
        assert opened.load(str(run)).spans.height == 4 * 6000


def test_the_clock_of_the_machine_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = put_run(tmp_path / "run")
    with open_store(tmp_path / "s.duckdb") as store:
        store.ingest(run)
        monkeypatch.setattr(time, "time", lambda: 10.0)
        put(run / "rank2.json", trace(2))
        store.ingest(run)
        assert store.runs()[0].read_unix == 10
        assert store.load(str(run)).files.height == 3
