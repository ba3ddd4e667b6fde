"""The hostile inputs are what they say: many, distinct, and written without a trace of this project's reader."""

from __future__ import annotations

import json

import pytest
from synth.broken import all_broken, healthy_run
from synth.broken_events import write_tiny_events
from synth.truth import CATEGORIES

BROKEN = all_broken()


def contents(folder):
    """Name to bytes; links, folders and pipes by their kind of entry."""
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    return {
        p.name: p.read_bytes() if p.is_file() and not p.is_symlink() else p.lstat().st_mode for p in entries
    }


def test_there_are_many_and_each_says_what_should_come_of_it():
    assert len(BROKEN) >= 150
    assert {b.expect for b in BROKEN.values()} == {"reads", "odd_events", "bad_file"}
    assert all(b.say and b.name == name for name, b in BROKEN.items())


@pytest.mark.parametrize("name", BROKEN)
def test_each_is_written_and_differs_from_the_healthy_run(name, tmp_path):
    BROKEN[name].make(tmp_path / "run")
    BROKEN["json_that_is_gz"].make(tmp_path / "healthy")
    if name not in {"no_folder", "json_that_is_gz"}:
        assert (tmp_path / "run").is_dir()
        assert contents(tmp_path / "run") != contents(tmp_path / "healthy")


def test_no_two_are_the_same(tmp_path):
    seen: dict[str, str] = {}
    for name, one in BROKEN.items():
        one.make(tmp_path / name)
        text = repr(contents(tmp_path / name))
        if len(text) > 4:
            assert text not in seen, (name, seen.get(text))
            seen[text] = name


def test_files_of_wrong_types_are_json_all_the_same(tmp_path):
    for name in ("ts_null", "dur_text", "correlation_object", "rank_list", "head_huge", "name_escapes"):
        BROKEN[name].make(tmp_path / name)
        assert json.loads((tmp_path / name / "rank0.json").read_bytes())["traceEvents"]


def test_the_healthy_run_has_figures_to_keep():
    truth = healthy_run().truth
    assert len(truth.completed()) == 3
    assert all(truth.mean(name) > 0 for name in CATEGORIES)


def test_tiny_events(tmp_path):
    write_tiny_events(tmp_path, 20_000)
    assert len(json.loads((tmp_path / "rank0.json").read_bytes())["traceEvents"]) > 20_000
