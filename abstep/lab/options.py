"""The options of `abstep lab`: one a control, and what starts from a measured run."""

from __future__ import annotations

import argparse
from pathlib import Path

from abstep.lab.table import CONTROLS, OVERLAP_LEAVES_OUT, ROOFLINE_LEAVES_OUT, WHOLE

OF_A_RUN = (
    "bucket_mb",
    "streams",
    "launch_us",
    "bandwidth",
    "latency_us",
    "compute_slowdown",
    "transport_slowdown",
)
"""Controls that `--from RUN` takes too: what would change, and what a run may not tell."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `lab` and its two labs to the command line.

    Args:
        subparsers: of the top parser; parsed options of a lab go to `run`.

    """
    lab = subparsers.add_parser(
        "lab",
        help="two labs to predict with before measuring",
        description="Two small exact models: `roofline`, one ceiling; `overlap`, what overlap can do. Opens their "
        "screens when standard output is a terminal and no value is asked for.",
    )
    labs = lab.add_subparsers(dest="lab", metavar="LAB")
    roofline = labs.add_parser(
        "roofline",
        help="attainable GFLOP/s under a compute roof and a memory bandwidth",
        description=f"Attainable = min(1000, I x B) GFLOP/s. {' '.join(ROOFLINE_LEAVES_OUT)}",
    )
    roofline.add_argument("--intensity", type=_number, metavar="I", help="FLOP/byte, 0.1 to 1000 (4)")
    roofline.add_argument("--bandwidth", type=_number, metavar="B", help="decimal GB/s, 10 to 10,000 (50)")
    roofline.add_argument("--predict", type=_number, metavar="GFLOPS", help="your prediction, to be judged")
    overlap = labs.add_parser(
        "overlap",
        help="the step of one data-parallel backward, or what a change would do to a measured run",
        description=f"One data-parallel backward, exactly. {' '.join(OVERLAP_LEAVES_OUT)}",
    )
    _overlap_options(overlap)
    for each in (roofline, overlap):
        each.add_argument("--json", metavar="FILE|-", help="write the result; '-' is standard output")
        each.add_argument("--no-tui", action="store_true", help="text, also in a terminal")
        each.add_argument("--ascii", action="store_true", help="draw with ASCII characters only")


def _overlap_options(overlap: argparse.ArgumentParser) -> None:
    for control in CONTROLS:
        unit = control.unit or "N"
        overlap.add_argument(
            control.option,
            dest=control.name,
            type=_whole if control.name in WHOLE else _number,
            metavar="FACTOR" if unit == "x" else unit,
            help=f"{control.label}: {control.meaning} ({control.reset:g})".replace("%", "%%"),
        )
    overlap.add_argument(
        "--launch", choices=("early", "late"), help="as buckets fill, or when the backward has ended (early)"
    )
    overlap.add_argument(
        "--ready",
        type=_numbers,
        metavar="US,US,...",
        help="own ready times of the groups, us from the backward's begin",
    )
    overlap.add_argument("--sizes", type=_numbers, metavar="MIB,...", help="own sizes of the groups")
    overlap.add_argument(
        "--predict", type=_number, metavar="US", help="your prediction of the step, to be judged"
    )
    overlap.add_argument(
        "--from",
        dest="from_run",
        metavar="RUN",
        help="start from a measured run: predict it with another --bucket-mb, --launch, --streams, --launch-cost or "
        "--bandwidth",
    )
    overlap.add_argument(
        "--against", metavar="RUN", help="the measured variant to put beside the prediction (with --from)"
    )
    overlap.add_argument("--store", type=Path, metavar="FILE.duckdb", help="where step windows are kept")
    overlap.add_argument("--step-marker", metavar="REGEX", help="annotation that marks a step")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_number(part) for part in text.split(","))
