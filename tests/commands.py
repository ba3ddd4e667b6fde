"""Running the command as a user would, in a process of its own, and reading what it says when it refuses."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
DONE, CONDITION, WRONG, NO_VERDICT = 0, 1, 2, 3
QUICK = {"world": 2, "steps": 8, "layers": 4, "variant_buckets": 4}
"""A pair that is cheap to read: `scenario("buckets", **QUICK)`."""
COMMAND = (sys.executable, "-m", "abstep")


def environment(**more):
    return os.environ | {"PYTHONPATH": str(PROJECT)} | more


def started(*arguments):
    """Run to the end, standard output and error no terminals."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=PROJECT,
        env=environment(),
    )


def on_a_terminal(*arguments, output):
    """Run with standard error, and standard output if asked, on a terminal; return (status, what it showed)."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=theirs if output else subprocess.DEVNULL,
        stderr=theirs,
        cwd=PROJECT,
        env=environment(TERM="xterm-256color", NO_COLOR="1"),
    )
    os.close(theirs)
    shown = b""
    while True:
        ready, _, _ = select.select([ours], [], [], 60)
        try:
            data = os.read(ours, 65536) if ready else b""
        except OSError:  # the other end is closed
            data = b""
        if not data:
            break
        shown += data
    os.close(ours)
    return process.wait(60), shown.decode()


def one_line(error, *mentions):
    """Assert that an error is one line for a person: what is wrong, what it is about, what to do."""
    assert error.count("\n") == 1, error
    assert error.startswith("abstep: ")
    assert "Traceback" not in error
    assert ";" in error, "what is wrong; what to do about it"
    for text in mentions:
        assert str(text) in error


def files_in(place):
    return sorted(str(path.relative_to(place)) for path in Path(place).rglob("*"))
