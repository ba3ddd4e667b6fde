"""The command line: arguments, choice of output, exit status (RESULT, Commands)."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from abstep.arguments import parser, printable
from abstep.errors import AbstepError
from abstep.outputs import write_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from abstep.compare.build import CompareOptions
    from abstep.compare.comparison import Comparison
    from abstep.compare.isolated import Isolated
    from abstep.pipeline import Reading

DONE, CONDITION_HOLDS, NO_VERDICT = 0, 1, 3


def run(arguments: Sequence[str]) -> int:
    """Run one command; return the exit status. One line on standard error for what the user can mend."""
    options = parser().parse_args(arguments)
    try:
        return COMMANDS[options.command](options, arguments)
    except AbstepError as error:
        _say(f"abstep: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("abstep: stopped; nothing was left half-written")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _say(line: str) -> None:
    sys.stderr.write(f"{printable(line)}\n")


def _reading(options: argparse.Namespace, progress: Callable[..., None] | None) -> Reading:
    from abstep.pipeline import Reading  # noqa: PLC0415  nothing is imported before it is needed

    return Reading(options.store, getattr(options, "step_marker", None), progress, _say)


def _compare(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    from abstep.compare.build import CompareOptions  # noqa: PLC0415

    _check_outputs(options)
    chosen = CompareOptions(options.alpha, options.min_effect, options.warmup, _isolated(options.isolated))
    command = f"abstep {shlex.join(arguments)}"
    screens = not (options.no_tui or options.json == "-") and sys.stdout.isatty() and sys.stdin.isatty()
    if screens and os.environ.get("TERM", "dumb") != "dumb":
        return _screens(options, chosen, command)
    from abstep.pipeline import compare_traces  # noqa: PLC0415
    from abstep.progress import ProgressLine  # noqa: PLC0415

    with ProgressLine() as line:
        comparison = compare_traces(options.base, options.variant, chosen, _reading(options, line.show))
    _write(comparison, options, command)
    if options.json != "-":
        from abstep.report.text import summary  # noqa: PLC0415

        sys.stdout.write(summary(comparison, **_text_look()))
    return exit_status(comparison, options.fail_on)


def _isolated(path: Path | None) -> Isolated | None:
    if path is None:
        return None
    from abstep.compare.isolated import read_isolated  # noqa: PLC0415

    return read_isolated(path)


def _text_look() -> dict[str, bool]:
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return {
        "unicode": encoding.startswith("utf"),
        "colour": sys.stdout.isatty()
        and "NO_COLOR" not in os.environ
        and os.environ.get("TERM", "dumb") != "dumb",
    }


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse a place that cannot be written before any work is done for it."""
    for option, place in (("--report", options.report), ("--json", options.json)):
        if place is None or str(place) == "-":
            continue
        path = Path(place)
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise AbstepError(
                f"{option} {path}: not a file in an existing directory", "name a file that can be written"
            )
        if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
            raise AbstepError(f"{option} {path}: cannot be written", "name a file that can be written")


def _screens(options: argparse.Namespace, chosen: CompareOptions, command: str) -> int:
    from abstep.pipeline import compare_traces  # noqa: PLC0415
    from abstep.tui.app import run_screens  # noqa: PLC0415  textual costs 185 ms

    held: list[Comparison] = []

    def load(progress: Callable[..., None]) -> Comparison:
        comparison = compare_traces(options.base, options.variant, chosen, _reading(options, progress))
        held.append(comparison)
        return comparison

    def export(path: Path) -> None:
        from abstep.report.markdown import markdown  # noqa: PLC0415

        write_text(path, markdown(held[-1], command=command))

    run_screens(load, at=options.at, export=export)
    if not held:
        return 130
    _write(held[-1], options, command)
    return exit_status(held[-1], options.fail_on)


def _write(comparison: Comparison, options: argparse.Namespace, command: str) -> None:
    if options.report is not None:
        from abstep.report.markdown import markdown  # noqa: PLC0415

        write_text(options.report, markdown(comparison, command=command))
    if options.json is not None:
        from abstep.report.result import dumps  # noqa: PLC0415

        text = dumps(comparison)
        if options.json == "-":
            sys.stdout.write(text)
        else:
            write_text(Path(options.json), text)


def exit_status(comparison: Comparison, fail_on: str | None) -> int:
    """Return 0, or with --fail-on 1 where its condition holds and 3 where no verdict is possible."""
    if fail_on is None:
        return DONE
    incomparable = comparison.comparability.status == "not_comparable"
    if fail_on == "not-comparable":
        return CONDITION_HOLDS if incomparable else DONE
    if incomparable or comparison.step_time.verdict in (None, "too_few"):
        return NO_VERDICT
    return CONDITION_HOLDS if comparison.step_time.verdict == "slower" else DONE


def _ingest(options: argparse.Namespace, _: Sequence[str]) -> int:
    from abstep.pipeline import open_store, read_run  # noqa: PLC0415
    from abstep.progress import ProgressLine  # noqa: PLC0415

    with ProgressLine() as line:
        reading = _reading(options, line.show)
        with open_store(reading) as store:
            for place in options.runs:
                run = read_run(Path(place), reading, store=store)
                line.clear()
                completed = run.windows.select("repeat", "step").n_unique()
                sys.stdout.write(f"{printable(run.cut.tables.name)}: {completed} step windows\n")
    return DONE


def _runs(options: argparse.Namespace, _: Sequence[str]) -> int:
    from abstep.pipeline import open_store  # noqa: PLC0415
    from abstep.report.text import runs_table  # noqa: PLC0415

    with open_store(_reading(options, None)) as store:
        sys.stdout.write(runs_table(store.runs(), store.path))
    return DONE


def _forget(options: argparse.Namespace, _: Sequence[str]) -> int:
    from abstep.pipeline import open_store  # noqa: PLC0415

    with open_store(_reading(options, None)) as store:
        store.forget(options.name)
    sys.stdout.write(f"{printable(options.name)}: forgotten\n")
    return DONE


def _check(options: argparse.Namespace, _: Sequence[str]) -> int:
    from abstep.compare.selfcheck import self_check  # noqa: PLC0415
    from abstep.compare.statistics import StatisticsOptions  # noqa: PLC0415
    from abstep.pipeline import read_run  # noqa: PLC0415
    from abstep.progress import ProgressLine  # noqa: PLC0415
    from abstep.report.check import check_text  # noqa: PLC0415

    with ProgressLine() as line:
        run = read_run(options.run, _reading(options, line.show))
    found = self_check(run, StatisticsOptions(skip=options.warmup))
    sys.stdout.write(check_text(found, unicode=_text_look()["unicode"]))
    return DONE


def _lab(options: argparse.Namespace, _: Sequence[str]) -> int:
    from abstep.lab_command import run as lab  # noqa: PLC0415

    return lab(options)


COMMANDS: dict[str, Callable[[argparse.Namespace, Sequence[str]], int]] = {
    "compare": _compare,
    "ingest": _ingest,
    "runs": _runs,
    "forget": _forget,
    "check": _check,
    "lab": _lab,
}
