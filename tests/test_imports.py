"""Data flows one way: each room knows only the rooms to its left, and nothing heavy is loaded before it is used."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from synth import scenario, write_pair

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "abstep"
ROOMS = ("trace", "store", "windows", "measure", "compare", "report", "tui")
COMMON = {"errors", "model", "units"}
"""What every room may use: the vocabulary, the error and the way numbers become text."""
ALLOWED_ABOVE = {"tui": {"pipeline"}}
ONLY_IN = {
    "textual": ("tui",),
    "scipy": ("compare/statistics",),
    "duckdb": ("store",),
    "msgspec": ("trace",),
    "isal": ("trace",),
}
HEAVY = ("duckdb", "polars", "textual", "scipy", "numpy", "pyarrow", "msgspec", "isal")


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def module_name(path):
    parts = ("abstep", *path.relative_to(PACKAGE).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(path):
    """Every module a file names in an import, wherever it stands, as dotted names; relative ones resolved."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path)[:-1]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            source = ".".join(part for part in (base, node.module) if part)
            found.append(source)
            found += [f"{source}.{alias.name}" for alias in node.names]
    return found


def own_rooms(path):
    """The parts of abstep that a file imports from."""
    rooms = set()
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "abstep" and len(parts) > 1 and not parts[1].startswith("__version"):
            rooms.add(parts[1])
    return {room for room in rooms if (PACKAGE / room).exists() or (PACKAGE / f"{room}.py").exists()}


def test_the_house_has_these_rooms_and_no_others():
    found = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert found == {*ROOMS, "lab"}
    assert {path.stem for path in PACKAGE.glob("*.py")} >= {
        *COMMON,
        "pipeline",
        "cli",
        "__main__",
        "__init__",
    }


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_knows_one_to_its_right(room):
    """`report` and `tui` stand side by side: the screens may show what the report says, never the reverse."""
    left = set(ROOMS[: ROOMS.index(room)])
    may = left | {room} | COMMON | ALLOWED_ABOVE.get(room, set())
    if room == "tui":
        may |= {"lab"}
    for path in modules():
        if room_of(path) == room:
            assert own_rooms(path) <= may, path


def test_what_all_may_use_knows_no_room():
    for name in sorted(COMMON):
        assert own_rooms(PACKAGE / f"{name}.py") <= COMMON


def test_the_lab_holds_models_only():
    for path in modules():
        if room_of(path) == "lab":
            assert own_rooms(path) <= {*ROOMS[: ROOMS.index("report")], "lab"} | COMMON, path


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_used_in_its_own_room_only(library):
    for path in modules():
        inside = str(path.relative_to(PACKAGE)).startswith(ONLY_IN[library])
        used = {name.split(".")[0] for name in imports(path)}
        assert library not in used or inside, path


def test_the_check_itself_sees_relative_and_late_imports(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "abstep")
    file = tmp_path / "abstep" / "store" / "keep.py"
    file.parent.mkdir(parents=True)
    file.write_text("def late():\n    from ..compare.build import compare\n    import scipy.stats as s\n")
    assert "abstep.compare.build" in imports(file)
    assert "scipy.stats" in imports(file)
    (tmp_path / "abstep" / "compare").mkdir()
    assert own_rooms(file) == {"compare"}


def loaded(code, *arguments):
    """Which modules a fresh interpreter holds after running some code; its output is thrown away."""
    program = (
        f"import sys, io, contextlib\n"
        f"with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    try:\n        {code}\n"
        f"    except SystemExit as done:\n        assert not done.code\n"
        f"print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=PROJECT,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
    )
    return {name.split(".")[0] for name in done.stdout.split()}, set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import abstep",
        "from abstep.cli import run; run(['--help'])",
        "from abstep.cli import run; run(['compare', '--help'])",
        "from abstep.cli import run; run(['--version'])",
    ],
)
def test_nothing_heavy_is_loaded_for_it(code):
    top, _ = loaded(code)
    assert "abstep" in top
    assert not top & set(HEAVY)


def test_a_summary_loads_no_screens(tmp_path):
    places = write_pair(tmp_path, *scenario("same", world=2, steps=3, layers=2))
    code = "from abstep.cli import run; assert run(['compare', *sys.argv[1:], '--no-tui']) == 0"
    top, every = loaded(code, *map(str, places), "--store", str(tmp_path / "s.duckdb"))
    assert {"polars", "duckdb"} <= top
    assert "textual" not in top
    assert not [name for name in every if name.startswith("abstep.tui")]


def test_a_call_that_fails_at_once_loads_nothing_that_compares(tmp_path):
    code = "from abstep.cli import run; assert run(['compare', 'none', 'none', *sys.argv[1:]]) == 2"
    top, _ = loaded(code, "--store", str(tmp_path / "s.duckdb"))
    assert not top & {"textual", "scipy"}


def test_reading_the_api_names_is_lazy():
    """The package offers the API without loading what is behind it, and no name hides the package compare."""
    top, _ = loaded("import abstep; assert 'read_run' in dir(abstep); assert 'compare_traces' in dir(abstep)")
    assert not top & set(HEAVY)
    code = (
        "import abstep, abstep.compare, types; assert isinstance(abstep.compare, types.ModuleType); "
        "assert callable(abstep.read_run) and callable(abstep.compare_traces)"
    )
    loaded(code)
