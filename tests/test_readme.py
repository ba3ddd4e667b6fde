"""The README is true: its keys, options and commands are the program's, and CI runs what it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from abstep.arguments import parser
from abstep.tui.keys import markdown_table

PROJECT = Path(__file__).resolve().parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, flags=re.DOTALL)


def test_the_table_of_keys_is_the_one_the_screens_use():
    assert markdown_table() in README


def test_ci_installs_and_tests_as_the_readme_says():
    test = next(text.strip() for _, text in BLOCKS if "pytest" in text)
    ci = (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
    assert test.endswith("python -m pytest -n auto")
    assert "pip install -e '.[dev]'" in test
    assert "-e '.[dev]'" in ci
    assert "python -m pytest -n auto" in ci


def test_the_first_command_compares_a_sample_pair_that_exists():
    command = next(text for _, text in BLOCKS if "abstep compare sample_runs" in text)
    base, variant = command.split()[-2:]
    assert (PROJECT / base).is_dir()
    assert (PROJECT / variant).is_dir()


def test_pictures_and_files_it_names_exist():
    for place in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (PROJECT / place).exists(), place
    for place in re.findall(r"`((?:abstep|tests)/[\w/.]+)`", README):
        assert (PROJECT / place).exists(), place


@pytest.mark.parametrize("command", ["compare", "ingest", "check"])
def test_every_option_is_told(command):
    actions = parser()._subparsers._group_actions[0].choices[command]._actions
    options = {option for action in actions for option in action.option_strings if option.startswith("--")}
    told = {option for option in options - {"--help"} if option in README}
    assert told == options - {"--help"}


def test_the_recording_snippet_is_python():
    snippet = next(text for language, text in BLOCKS if language == "python")
    ast.parse(snippet)
    for needed in (
        "enable_cuda_sync_events=True",
        "record_shapes=True",
        "with_stack=False",
        "run.json",
        "active=",
    ):
        assert needed in snippet


def test_the_changelog_starts_with_this_version():
    from abstep import __version__

    assert f"## {__version__}" in (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
