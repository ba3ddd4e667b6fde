"""What the pseudo-terminal tests run: the screens, on something, in a process of their own."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

from abstep.errors import AbstepError
from abstep.tui.app import run_screens


class Progress(NamedTuple):
    file: str
    bytes_done: int
    bytes_total: int
    files_done: int
    files_total: int


def slowly(progress):
    from .pair import comparison

    for number in range(200):
        progress(Progress(f"/data/runs/base/rank{number % 4}.json.gz", number, 200, number // 50, 4))
        time.sleep(0.02)
    return comparison()


def deaf(progress):
    progress(Progress("/data/runs/base/rank0.json.gz", 1, 200, 0, 4))
    time.sleep(60)


def failing(progress):
    progress(Progress("/data/runs/base/rank0.json.gz", 1, 200, 0, 4))
    raise AbstepError("rank0.json.gz: not a trace", "record it again")


def source(what: str):
    if what == "big":
        from .big import big

        return big()
    if what in ("slowly", "failing", "deaf"):
        return {"slowly": slowly, "failing": failing, "deaf": deaf}[what]
    from .pair import comparison

    return comparison()


def main() -> int:
    what = sys.argv[1]
    at = sys.argv[2] if len(sys.argv) > 2 else None
    if what == "crash":
        from abstep.tui.views.slots import SlotsView

        def broken(self, width, height):
            raise ZeroDivisionError("planted")

        SlotsView.body = broken
    try:
        return run_screens(source(what), at=at, export=lambda path: Path(path).write_text("report"))
    except AbstepError as error:
        print(f"abstep: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
