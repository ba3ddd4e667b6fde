"""The command line as RESULT.md promises it: commands, exit status and what goes where."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import (
    COMMAND,
    CONDITION,
    DONE,
    NO_VERDICT,
    PROJECT,
    QUICK,
    WRONG,
    environment,
    files_in,
    on_a_terminal,
    one_line,
    started,
)
from synth import scenario, write_pair, write_run

from abstep import __version__, cli

CONTROL = re.compile(r"\x1b|\r")


# in processes of their own ----------------------------------------------------------------------------------
def test_compare_writes_a_summary_and_nothing_else_where_there_is_no_terminal(pair, tmp_path):
    found = started("compare", *pair, "--store", tmp_path / "s.duckdb", "--warmup", 0)
    assert (found.returncode, found.stderr) == (DONE, "")
    assert "The step is faster" in found.stdout
    assert not CONTROL.search(found.stdout), "no colour, no progress, no screens"
    assert found.stdout.isascii() or "utf" in (sys.stdout.encoding or "utf")


def test_json_is_alone_on_standard_output(pair, kept_store):
    found = started("compare", *pair, "--store", kept_store, "--json", "-")
    assert (found.returncode, found.stderr) == (DONE, "")
    told = json.loads(found.stdout)
    assert told["schema"] == "abstep.result/1"
    assert told["step_time"]["verdict"] == "faster"
    assert told["options"] == {"alpha": 0.05, "min_effect_pct": 1.0, "warmup": "auto", "version": __version__}


def test_an_error_is_one_line_and_status_2(tmp_path):
    found = started("compare", tmp_path / "nothing", tmp_path, "--store", tmp_path / "s.duckdb")
    assert (found.returncode, found.stdout) == (WRONG, "")
    one_line(found.stderr, tmp_path / "nothing")


def test_a_reader_that_closes_early_is_no_error(pair, kept_store):
    process = subprocess.Popen(
        [*COMMAND, "compare", *map(str, pair), "--store", str(kept_store), "--json", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=PROJECT,
        env=environment(),
    )
    process.stdout.close()
    assert process.wait(60) == DONE
    assert process.stderr.read() == b""
    process.stderr.close()


def test_progress_shows_on_a_terminal_and_is_taken_off_again(pair, tmp_path):
    status, shown = on_a_terminal("compare", *pair, "--store", tmp_path / "s.duckdb", output=False)
    assert status == DONE
    assert "files" in shown
    assert re.search(r"\d/2 files", shown)
    assert shown.endswith("\r\x1b[K")


def test_no_tui_writes_the_summary_to_a_terminal_too(pair, kept_store):
    status, shown = on_a_terminal("compare", *pair, "--store", kept_store, "--no-tui", output=True)
    assert status == DONE
    assert "The step is faster" in shown
    assert "\x1b[?1049h" not in shown, "the alternate screen is for the screens"


# commands and outputs ---------------------------------------------------------------------------------------
def test_report_and_json_files(pair, kept_store, tmp_path, say):
    report, told = tmp_path / "r.md", tmp_path / "r.json"
    status, out, err = say("compare", *pair, "--store", kept_store, "--report", report, "--json", told)
    assert (status, err) == (DONE, "")
    assert "The step is faster" in out, "the summary is still on standard output"
    result = json.loads(told.read_text())
    assert result["explanation"]["headline"] in report.read_text()
    assert f"abstep compare {pair[0]} {pair[1]}" in report.read_text(), "how to reproduce"
    assert files_in(tmp_path) == ["r.json", "r.md"], "nothing is left beside them"


def test_an_output_that_is_there_is_replaced_whole(pair, kept_store, tmp_path, say):
    told = tmp_path / "r.json"
    told.write_text("x" * 1_000_000)
    assert say("compare", *pair, "--store", kept_store, "--json", told)[0] == DONE
    assert json.loads(told.read_text())["schema"] == "abstep.result/1"


def test_fail_on_slower(pair, kept_store, say):
    base, variant = pair
    arguments = "--store", kept_store, "--fail-on", "slower"
    assert say("compare", base, variant, *arguments)[0] == DONE
    assert say("compare", variant, base, *arguments)[0] == CONDITION
    assert say("compare", variant, base, "--store", kept_store)[0] == DONE, (
        "without it a slower step is no failure"
    )
    assert say("compare", base, base, *arguments)[0] == DONE


def test_fail_on_with_too_few_windows_is_no_verdict(tmp_path, say):
    pair = write_pair(tmp_path, *scenario("buckets", **QUICK | {"steps": 4}))
    status, out, _ = say("compare", *pair, "--store", tmp_path / "s.duckdb", "--fail-on", "slower")
    assert status == NO_VERDICT
    assert "too few" in out.lower()


def test_fail_on_with_runs_that_are_not_comparable(pair, tmp_path, say):
    other, _ = scenario("buckets", **QUICK | {"world": 4})
    place = write_run(other, tmp_path / "four")
    store = "--store", tmp_path / "s.duckdb"
    assert say("compare", pair[0], place, *store)[0] == DONE
    assert say("compare", pair[0], place, *store, "--fail-on", "slower")[0] == NO_VERDICT
    assert say("compare", pair[0], place, *store, "--fail-on", "not-comparable")[0] == CONDITION
    assert say("compare", *pair, *store, "--fail-on", "not-comparable")[0] == DONE


def test_warmup_alpha_and_min_effect_are_used_and_said(pair, kept_store, tmp_path, say):
    told = tmp_path / "r.json"
    say(
        "compare",
        *pair,
        "--store",
        kept_store,
        "--json",
        told,
        "--warmup",
        2,
        "--alpha",
        0.01,
        "--min-effect",
        30,
    )
    result = json.loads(told.read_text())
    assert result["options"]["warmup"] == 2
    assert result["options"]["alpha"] == 0.01
    assert result["options"]["min_effect_pct"] == 30
    assert result["base"]["windows_used"] == 5
    assert [row["step"] for row in result["base"]["dropped"] if row["reason"] == "warm-up"] == [3, 4]
    assert result["step_time"]["verdict"] == "unchanged", "the 6 % that it is faster lie within 30"


def test_runs_of_the_store_by_their_names(pair, kept_store, say):
    status, out, err = say("runs", "--store", kept_store)
    assert (status, err) == (DONE, "")
    for place in pair:
        assert str(place) in out
        assert f"{place.name}: 1 repeat, 2 ranks, 2 files" in out


def test_names_in_the_store_stand_for_runs(pair, tmp_path, say):
    store = tmp_path / "s.duckdb"
    moved = [Path(shutil.copytree(place, tmp_path / f"own_{place.name}")) for place in pair]
    status, out, _ = say("ingest", *moved, "--store", store)
    assert status == DONE
    assert out.count("7 step windows") == 2
    for place in moved:
        shutil.rmtree(place)
    paths = say("compare", *moved, "--store", store)
    assert paths[0] == DONE, "by the path they were read from, though it is gone"
    labels = say("compare", "base", "variant", "--store", store)
    assert labels[0] == DONE, "by their labels"
    assert "The step is faster" in labels[1]


def test_ingest_once_and_compare_without_reading_again(pair, tmp_path, say, monkeypatch):
    store = tmp_path / "s.duckdb"
    assert say("ingest", *pair, "--store", store)[0] == DONE

    def refuse(*_):
        raise AssertionError("an unchanged file was parsed again")

    monkeypatch.setattr("abstep.trace.kineto.read_kineto", refuse)
    assert say("compare", *pair, "--store", store)[0] == DONE


def test_forget(pair, tmp_path, say):
    store = tmp_path / "s.duckdb"
    say("ingest", *pair, "--store", store)
    status, out, _ = say("forget", pair[0], "--store", store)
    assert (status, out) == (DONE, f"{pair[0]}: forgotten\n")
    assert str(pair[0]) not in say("runs", "--store", store)[1].splitlines()
    status, _, err = say("forget", pair[0], "--store", store)
    assert status == WRONG
    one_line(err, pair[0], "abstep runs")


def test_a_store_is_made_in_the_users_cache(pair, tmp_path, say, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert say("compare", *pair)[0] == DONE
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".duckdb"]


def test_a_single_trace_file_is_a_run(pair, tmp_path, say):
    files = [place / "rank0.json.gz" for place in pair]
    told = tmp_path / "r.json"
    status, _, _ = say("compare", *files, "--store", tmp_path / "s.duckdb", "--json", told)
    assert status == DONE
    result = json.loads(told.read_text())
    assert (result["base"]["ranks"], result["base"]["label"]) == ([0], "base"), "run.json lies beside it"
    assert {row["peer_wait_us"] for row in result["collectives"]} == {None}, "one rank of two: unsplit"


def test_step_marker(variant, pair, tmp_path, say):
    """Another annotation marks the steps where the user says so, on both sides."""
    store = "--store", tmp_path / "s.duckdb"
    told = tmp_path / "r.json"
    marker = "--step-marker", r"^DistributedDataParallel\.forward$"
    assert say("compare", pair[0], variant, *store, "--json", told, *marker)[0] == DONE
    result = json.loads(told.read_text())
    assert result["base"]["steps_used"] == list(range(7)), "numbered from 0 in order of time"


def test_a_step_marker_that_is_no_expression_or_matches_nothing(pair, kept_store, say):
    for marker, mention in (("(", "regular expression"), ("never_there", "candidates")):
        status, out, err = say("compare", *pair, "--store", kept_store, "--step-marker", marker)
        assert (status, out) == (WRONG, "")
        one_line(err, marker, mention)


def test_version_and_help(capsys):
    for argument, text in (("--version", f"abstep {__version__}\n"), ("--help", "usage: abstep")):
        with pytest.raises(SystemExit) as caught:
            cli.run([argument])
        assert caught.value.code == DONE
        assert capsys.readouterr().out.startswith(text)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["compare"],
        ["compare", "a"],
        ["compare", "a", "b", "c"],
        ["compare", "a", "b", "--alpha", "2"],
        ["compare", "a", "b", "--warmup", "-1"],
        ["compare", "a", "b", "--min-effect", "much"],
        ["compare", "a", "b", "--fail-on", "faster"],
        ["compare", "a", "b", "--unknown"],
        ["nothing"],
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        cli.run(arguments)
    assert caught.value.code == WRONG
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.strip()
    assert captured.err.count("\n") == 1, captured.err
