"""The command line: arguments, choice of output, exit status (RESULT, Commands)."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from abstep import __version__
from abstep.errors import AbstepError
from abstep.lab.options import add_parser as lab_parser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from abstep.compare.build import CompareOptions
    from abstep.compare.comparison import Comparison
    from abstep.compare.isolated import Isolated
    from abstep.pipeline import Reading

DONE, CONDITION_HOLDS, WRONG_INPUT, NO_VERDICT = 0, 1, 2, 3


class OneLineParser(argparse.ArgumentParser):
    """A parser that says what is wrong with a call in one line, with the remedy."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        self.exit(WRONG_INPUT, f"abstep: {_printable(message)}; see `{self.prog} --help`\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of every command."""
    top: argparse.ArgumentParser = OneLineParser(
        prog="abstep",
        description="Compare the training steps of a baseline and a variant: which exposed communication interval "
        "disappeared, what contention grew, and does the step time follow?",
    )
    top.add_argument("--version", action="version", version=f"abstep {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _compare_parser(commands)
    ingest = commands.add_parser("ingest", help="parse runs once, compare often")
    ingest.add_argument("runs", nargs="+", metavar="RUN", help="directories or trace files")
    _store_option(ingest)
    listing = commands.add_parser("runs", help="list what a store holds")
    _store_option(listing)
    forget = commands.add_parser("forget", help="remove a run from a store")
    forget.add_argument("name", metavar="NAME", help="as `abstep runs` lists it")
    _store_option(forget)
    lab_parser(commands)
    return top


def _store_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--store",
        type=Path,
        metavar="FILE.duckdb",
        help="where step windows are kept (default: the user's cache)",
    )


def _compare_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    compare = commands.add_parser(
        "compare",
        help="compare two runs",
        description="Compare two runs: directories of traces, single trace files, or names of runs in the store. "
        "Opens the screens when standard output is a terminal.",
    )
    compare.add_argument("base", metavar="BASE", help="what you had")
    compare.add_argument("variant", metavar="VARIANT", help="what you changed")
    compare.add_argument(
        "--no-tui", action="store_true", help="a summary on standard output instead of the screens"
    )
    compare.add_argument("--report", type=Path, metavar="FILE.md", help="write the markdown report")
    compare.add_argument("--json", metavar="FILE|-", help="write the result file; '-' is standard output")
    _store_option(compare)
    compare.add_argument(
        "--warmup",
        type=_warmup,
        default=None,
        metavar="N|auto",
        help="windows to drop at the start of each repeat",
    )
    compare.add_argument(
        "--step-marker", metavar="REGEX", help="annotation that marks a step, when it is not ProfilerStep#N"
    )
    compare.add_argument(
        "--alpha", type=_alpha, default=0.05, metavar="A", help="error rate of each family of tests (0.05)"
    )
    compare.add_argument(
        "--min-effect",
        type=_percent,
        default=1.0,
        metavar="PCT",
        help="changes of the step below this percentage count as none (1)",
    )
    compare.add_argument(
        "--isolated", type=Path, metavar="FILE", help="nccl-tests output, shown beside concurrent durations"
    )
    compare.add_argument("--at", metavar="PLACE", help="open the screens there, e.g. intervals/3/rank/2")
    compare.add_argument(
        "--fail-on",
        choices=("slower", "not-comparable"),
        help="exit 1 when it holds, 3 when no verdict is possible",
    )


def _warmup(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of windows nor 'auto'")
    return int(text)


def _alpha(text: str) -> float:
    value = _number(text)
    if not 0 < value < 0.5:
        raise argparse.ArgumentTypeError(f"{text} does not lie between 0 and 0.5")
    return value


def _percent(text: str) -> float:
    value = _number(text)
    if not 0 <= value < 100:
        raise argparse.ArgumentTypeError(f"{text} does not lie between 0 and 100")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


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
    sys.stderr.write(f"{_printable(line)}\n")


def _printable(line: str) -> str:
    """Keep names from files off the terminal's controls."""
    return "".join(letter if letter.isprintable() else " " for letter in line)


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


def write_text(path: Path, text: str) -> None:
    """Write a whole file or none: beside its place first, then moved there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise AbstepError(
            f"{path}: cannot be written ({error.strerror})", "name a place that can be written"
        ) from None


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
                sys.stdout.write(f"{_printable(run.cut.tables.name)}: {completed} step windows\n")
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
    sys.stdout.write(f"{_printable(options.name)}: forgotten\n")
    return DONE


def _lab(options: argparse.Namespace, _: Sequence[str]) -> int:
    from abstep.lab_command import run as lab  # noqa: PLC0415

    return lab(options)


COMMANDS: dict[str, Callable[[argparse.Namespace, Sequence[str]], int]] = {
    "compare": _compare,
    "ingest": _ingest,
    "runs": _runs,
    "forget": _forget,
    "lab": _lab,
}
