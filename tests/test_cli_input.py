"""Bad input gets what RESULT.md says: one line that names it and the remedy, or a warning and the rest."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import DONE, WRONG, files_in, one_line
from synth import scenario, write_run

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Judge:
    """Compares, and sees what is made of the input."""

    say: Callable[..., tuple[int, str, str]]
    store: Path
    place: Path

    def refuses(self, base, variant, *mentions):
        """One line, no output, nothing half-written."""
        told, report = self.place / "told.json", self.place / "report.md"
        outputs = "--json", told, "--report", report
        status, out, err = self.say("compare", base, variant, "--store", self.store, *outputs)
        assert (status, out) == (WRONG, "")
        one_line(err, *mentions)
        assert not told.exists()
        assert not report.exists()
        assert not list(self.place.glob(".told*")), "nothing half-written"

    def warns(self, base, variant, identifier, *mentions):
        """The rest is used and the warning said, in the result and in the summary; returns the result."""
        told = self.place / "told.json"
        status, out, err = self.say("compare", base, variant, "--store", self.store, "--json", told)
        assert (status, err) == (DONE, "")
        result = json.loads(told.read_text())
        messages = [row["message"] for row in result["warnings"] if row["id"] == identifier]
        assert messages
        for text in mentions:
            assert any(str(text) in message for message in messages)
        assert identifier in out
        return result


@pytest.fixture
def judge(say, kept_store, tmp_path):
    return Judge(say, kept_store, tmp_path)


def spoil(place, name, content):
    """Put other content in place of a rank's trace."""
    (place / "rank1.json.gz").unlink()
    (place / name).write_bytes(content)
    return place / name


def plain(place):
    return gzip.decompress((place / "rank1.json.gz").read_bytes())


SPOILT = {
    "empty": ("rank1.json.gz", lambda _: b"", "empty"),
    "no JSON": ("rank1.json", lambda _: b"hello\n" * 9, "not JSON"),
    "no gzip": ("rank1.json.gz", lambda _: b"hello\n" * 9, "not JSON"),
    "no trace": ("rank1.json", lambda _: b'{"loss": [1, 2]}', "traceEvents"),
    "a page of the web": ("rank1.json", lambda _: b"<!doctype html><p>404", "not JSON"),
    "cut short": ("rank1.json.gz", lambda text: gzip.compress(text)[: len(text) // 40], "copy it again"),
    "cut in its events": (
        "rank1.json",
        lambda text: text[: text.index(b'"ph"', len(text) // 2) - 1],
        "breaks off",
    ),
    "cut in a number": (
        "rank1.json",
        lambda text: text[: re.search(rb'"tid":\d\d', text[60_000:]).end() + 60_000],
        "breaks off",
    ),
}


@pytest.mark.parametrize("how", SPOILT)
def test_one_bad_rank_does_not_lose_the_others(pair, variant, how, judge):
    name, content, mention = SPOILT[how]
    file = spoil(variant, name, content(plain(variant)))
    result = judge.warns(pair[0], variant, "bad_file", file, mention, ";")
    assert result["variant"]["ranks"] == result["base"]["ranks"] == [0]
    assert result["variant"]["windows_used"] == 7
    assert "partial_ranks" in {row["id"] for row in result["warnings"]}


@pytest.mark.parametrize("how", SPOILT)
def test_a_run_of_one_bad_file_is_refused(pair, variant, how, judge):
    name, content, mention = SPOILT[how]
    file = spoil(variant, name, content(plain(variant)))
    judge.refuses(pair[0], file, file, mention)
    judge.refuses(file, pair[0], file, mention)


def test_a_folder_without_traces(pair, tmp_path, judge):
    (tmp_path / "hollow" / "deeper").mkdir(parents=True)
    (tmp_path / "hollow" / "notes.txt").write_text("nothing here")
    judge.refuses(pair[0], tmp_path / "hollow", tmp_path / "hollow", "no traces")


def test_a_missing_folder(pair, tmp_path, judge):
    judge.refuses(pair[0], tmp_path / "gone", tmp_path / "gone", "no such file")
    judge.refuses(tmp_path / "gone", pair[1], tmp_path / "gone", "no such file")


def test_a_folder_that_cannot_be_listed(pair, tmp_path, judge):
    if os.geteuid() == 0:
        pytest.skip("NOT CHECKED: root may list everything")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    judge.refuses(pair[0], closed, closed)


def rename_steps(place, name):
    for file in place.glob("rank*"):
        text = gzip.decompress(file.read_bytes()).replace(b"ProfilerStep#", name)
        file.write_bytes(gzip.compress(text, 1))


def test_a_trace_without_steps_lists_the_candidates(pair, variant, judge):
    rename_steps(variant, b"batch number ")
    mentions = variant, "ProfilerStep", "--step-marker", "'DistributedDataParallel.forward' (16 times)"
    judge.refuses(pair[0], variant, *mentions)


def test_candidates_are_those_that_repeat_most_regularly_first(pair, variant, kept_store, say):
    rename_steps(variant, b"batch number ")
    status, _, err = say("compare", pair[0], variant, "--store", kept_store)
    assert status == WRONG
    listed = re.findall(r"'([^']+)' \(\d+ times\)", err)
    assert listed[0] in ("DistributedDataParallel.forward", "Optimizer.step#AdamW.step")
    assert not [name for name in listed if name.startswith("batch number")], "each of these comes once"


def test_one_rank_twice_names_both_files(pair, variant, judge):
    text = gzip.decompress((variant / "rank0.json.gz").read_bytes())
    (variant / "again.json").write_bytes(text + b"\n")
    judge.refuses(pair[0], variant, variant / "again.json", variant / "rank0.json.gz", "rank 0")


def test_a_rank_on_one_side_only(pair, variant, judge):
    (variant / "rank1.json.gz").unlink()
    result = judge.warns(pair[0], variant, "partial_ranks", "rank")
    assert result["base"]["ranks"] == result["variant"]["ranks"] == [0]
    assert result["step_time"]["verdict"] == "faster"
    assert {row["rank"] for row in result["ranks"]} == {0}
    assert result["comparability"]["status"] == "comparable"


def test_no_communication_at_all(tmp_path, say):
    """A sentence, no figure that is not a number, and status 0."""
    places = []
    for seed in (0, 1):
        run, _ = scenario("same", world=1, steps=8, layers=4, seed=seed)
        place = write_run(run, tmp_path / f"run{seed}")
        file = place / "rank0.json.gz"
        document = json.loads(gzip.decompress(file.read_bytes()))
        document["traceEvents"] = [
            event
            for event in document["traceEvents"]
            if not str(event["name"]).startswith(("nccl", "c10d::", "record_param_comms"))
        ]
        file.write_bytes(gzip.compress(json.dumps(document).encode(), 1))
        places.append(place)
    told, report = tmp_path / "told.json", tmp_path / "r.md"
    store = "--store", tmp_path / "s.duckdb"
    status, out, err = say("compare", *places, *store, "--json", told, "--report", report)
    assert (status, err) == (DONE, "")
    result = json.loads(told.read_text(), parse_constant=pytest.fail)
    assert (result["intervals"], result["collectives"]) == ([], [])
    assert result["base"]["overlap_of_communication_pct"] is None
    for text in (out, report.read_text(), " ".join(result["explanation"]["sentences"])):
        assert "no communication" in text.lower()
        assert not re.search(r"\bnan\b|\binf\b", text.lower())


def test_stores_that_cannot_be_written(pair, tmp_path, say):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.duckdb").write_bytes(b"this is no database" * 500)
    for store, mention in (
        (tmp_path / "file" / "s.duckdb", tmp_path / "file"),
        (tmp_path / "folder", "directory"),
        (tmp_path / "other.duckdb", tmp_path / "other.duckdb"),
        (Path("/proc/nothing/s.duckdb"), "/proc/nothing"),
    ):
        for command in (["compare", *pair], ["ingest", *pair], ["runs"], ["forget", "x"]):
            status, out, err = say(*command, "--store", store)
            assert (status, out) == (WRONG, ""), (command, store)
            one_line(err, mention, "--store")
    assert (tmp_path / "other.duckdb").read_bytes() == b"this is no database" * 500, "left as it was"


def test_a_database_of_something_else_is_left_alone(pair, tmp_path, say):
    import duckdb

    place = tmp_path / "accounts.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.execute("CREATE TABLE accounts AS SELECT 1 AS id")
    status, _, err = say("ingest", pair[0], "--store", place)
    assert status == WRONG
    one_line(err, place, "--store")
    with duckdb.connect(str(place)) as connection:
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("accounts",)]


def test_a_default_store_that_cannot_be_written_is_replaced_by_a_temporary_one(
    pair, tmp_path, say, monkeypatch
):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    status, out, err = say("compare", *pair)
    assert status == DONE
    assert "The step is faster" in out
    assert err.count("\n") == 1, "a warning, once"
    assert str(tmp_path / "file") in err
    assert "temporary" in err
    assert files_in(tmp_path) == ["file"], "and it is gone afterwards"


@pytest.mark.parametrize("option", ["--report", "--json"])
def test_outputs_that_cannot_be_written(pair, kept_store, tmp_path, say, option):
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "folder", tmp_path / "no" / "such" / "place.md", Path("/proc/nothing.md")):
        status, out, err = say("compare", *pair, "--store", kept_store, option, place)
        assert (status, out) == (WRONG, ""), place
        one_line(err, place)
    assert files_in(tmp_path) == ["folder"]


def test_an_output_is_refused_before_anything_is_read(tmp_path, say):
    status, _, err = say("compare", tmp_path / "a", tmp_path / "b", "--report", tmp_path / "no" / "r.md")
    assert status == WRONG
    one_line(err, "--report")


def test_names_cannot_reach_the_terminal_as_controls(pair, tmp_path, say):
    """A folder's name, a label and a kernel's name are texts of strangers."""
    evil = tmp_path / "a\x1b[2Jb"
    shutil.copytree(pair[1], evil)
    note = json.loads((evil / "run.json").read_text()) | {"label": "x\x1b]0;owned\x07\ny"}
    (evil / "run.json").write_text(json.dumps(note))
    for arguments in (["compare", pair[0], evil], ["ingest", evil], ["runs"], ["forget", evil]):
        _, out, err = say(*arguments, "--store", tmp_path / "s.duckdb")
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", out + err), arguments
    _, _, err = say("compare", pair[0], tmp_path / "\x1b[31mred")
    assert "\x1b" not in err
    one_line(err)
