"""Fixtures every test folder shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of traces and cases that is not part of the project; tests that need it skip, loudly."""
    place = Path(os.environ.get("ABSTEP_SHARED", "../shared"))
    place = place if place.is_absolute() else (PROJECT / place).resolve()
    if not (place / "cases").is_dir():
        pytest.skip(f"NOT CHECKED: no shared cases at {place} (set ABSTEP_SHARED)")
    return place


@pytest.fixture(scope="session")
def samples() -> Path:
    """The project's own recorded pairs."""
    return PROJECT / "sample_runs"
