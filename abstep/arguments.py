"""What the command line takes: every command's arguments, and one line for a call that is wrong."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from abstep import __version__
from abstep.lab.options import add_parser as lab_parser

WRONG_INPUT = 2


def printable(line: str) -> str:
    """Keep names from files off the terminal's controls."""
    return "".join(letter if letter.isprintable() else " " for letter in line)


class OneLineParser(argparse.ArgumentParser):
    """A parser that says what is wrong with a call in one line, with the remedy."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        self.exit(WRONG_INPUT, f"abstep: {printable(message)}; see `{self.prog} --help`\n")


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
    check = commands.add_parser(
        "check",
        help="a run against itself: what differs, and what these windows could show",
        description="Compare a run with itself: odd against even windows, and its repeats with each other. What is "
        "found is no fault but a fact; the smallest change that these windows could show is printed with it.",
    )
    check.add_argument(
        "run", metavar="RUN", help="a directory of traces, a trace file, or a run in the store"
    )
    _store_option(check)
    check.add_argument(
        "--warmup", type=_warmup, default=None, metavar="N|auto", help="windows to drop at the start"
    )
    check.add_argument("--step-marker", metavar="REGEX", help="annotation that marks a step")
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
