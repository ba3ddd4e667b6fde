"""Fixtures every test folder shares."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from abstep.compare.comparison import Comparison
    from abstep.measure.run import MeasuredRun

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep every test, and every process it starts, away from the user's own store and settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


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


@pytest.fixture(scope="session")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the session: what one test has read, the next need not parse."""
    return tmp_path_factory.mktemp("store") / "session.duckdb"


@pytest.fixture(scope="session")
def measured(own_store: Path) -> Callable[[Path], MeasuredRun]:
    """Read and measure a run as a comparison does; each place once."""
    from abstep.pipeline import Reading, read_run

    @cache
    def read(place: Path) -> MeasuredRun:
        return read_run(place, Reading(store=own_store))

    return read


@pytest.fixture(scope="session")
def with_spans(own_store: Path) -> Callable[[Path], MeasuredRun]:
    """Read and measure a run and hold its spans, marks and collectives, for tests that look at these."""
    from abstep.pipeline import Reading, read_run

    @cache
    def read(place: Path) -> MeasuredRun:
        return read_run(place, Reading(store=own_store), spans=True)

    return read


@pytest.fixture(scope="session")
def compared(measured: Callable[[Path], MeasuredRun]) -> Callable[..., Comparison]:
    """Compare two runs; each pair once for each number of warm-up windows (None finds them)."""
    from abstep.compare.build import CompareOptions, compare

    @cache
    def both(base: Path, variant: Path, warmup: int | None = None) -> Comparison:
        return compare(measured(base), measured(variant), CompareOptions(warmup=warmup))

    return both


@pytest.fixture(scope="session")
def quick_pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A small generated pair whose variant has more buckets and is faster; not to be changed."""
    from commands import QUICK
    from synth import scenario, write_pair

    return write_pair(tmp_path_factory.mktemp("pair"), *scenario("buckets", **QUICK))


@pytest.fixture(scope="session")
def pair(quick_pair: tuple[Path, Path]) -> tuple[Path, Path]:
    """The variant has more buckets and is faster."""
    return quick_pair


@pytest.fixture
def variant(pair: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of the variant that a test may spoil."""
    return Path(shutil.copytree(pair[1], tmp_path / "spoilt"))


@pytest.fixture(scope="session")
def kept_store(quick_pair: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds both sides of it, so that a test of something else need not parse."""
    from abstep.pipeline import Reading, read_run

    store = tmp_path_factory.mktemp("kept") / "runs.duckdb"
    for place in quick_pair:
        read_run(place, Reading(store=store))
    return store


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process: (exit status, standard output, standard error)."""
    from abstep import cli

    def run(*arguments: object) -> tuple[int, str, str]:
        status = cli.run([*map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run
