"""`abstep lab`: the labs from the command line, without a terminal or into their screens."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abstep.errors import AbstepError
from abstep.lab.controls import Controls
from abstep.lab.options import OF_A_RUN, add_parser
from abstep.lab.overlap_text import filled, timeline, told
from abstep.lab.roofline import Roofline
from abstep.lab.roofline import told as roofline_told
from abstep.lab.roofline_plot import plot
from abstep.lab.table import CONTROLS, OVERLAP_LEAVES_OUT, ROOFLINE_LEAVES_OUT

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from abstep.lab.predict import Change
WIDTHS = (60, 100)
"""Columns of a page at least and at most."""
__all__ = ["add_parser", "run"]


def run(options: argparse.Namespace) -> int:
    """Run what `add_parser` parsed; return the exit status.

    Raises:
        AbstepError: a value lies outside its lab's range, or a run cannot be read.

    """
    if options.lab is None:
        if _terminal():
            from abstep.tui.views.lab_app import run_labs  # noqa: PLC0415  textual costs 185 ms

            return run_labs()
        sys.stdout.write(_roofline_text(Roofline(), None) + "\n" + _overlap_text(Controls(), None))
        return 0
    _check_json(options.json)
    return _roofline(options) if options.lab == "roofline" else _overlap(options)


def _roofline(options: argparse.Namespace) -> int:
    given = {name: getattr(options, name) for name in ("intensity", "bandwidth")}
    controls = Roofline(**{name: value for name, value in given.items() if value is not None})
    if _screens(options):
        from abstep.tui.views.lab_app import run_labs  # noqa: PLC0415

        return run_labs("roofline", roofline=controls, look="ascii" if options.ascii else None)
    if options.json is not None:
        from abstep.lab.result import roofline_result  # noqa: PLC0415

        _write(options.json, roofline_result(controls, ROOFLINE_LEAVES_OUT))
    if options.json != "-":
        sys.stdout.write(_roofline_text(controls, options.predict, ascii=options.ascii))
    return 0


def _overlap(options: argparse.Namespace) -> int:
    if options.against is not None and options.from_run is None:
        raise AbstepError(
            "--against names a measured variant, but no run to predict it from", "add --from RUN"
        )
    if options.from_run is not None:
        return _predict(options)
    values: dict[str, Any] = {name: getattr(options, name) for name in (c.name for c in CONTROLS)}
    values |= {"ready_us": options.ready, "sizes_mb": options.sizes}
    values["late_launch"] = None if options.launch is None else options.launch == "late"
    controls = Controls(**{name: value for name, value in values.items() if value is not None})
    if _screens(options):
        from abstep.tui.views.lab_app import run_labs  # noqa: PLC0415

        return run_labs("overlap", overlap=controls, look="ascii" if options.ascii else None)
    if options.json is not None:
        from abstep.lab.overlap import play  # noqa: PLC0415
        from abstep.lab.result import overlap_result  # noqa: PLC0415

        _write(options.json, overlap_result(controls, play(controls.backward()), OVERLAP_LEAVES_OUT))
    if options.json != "-":
        sys.stdout.write(_overlap_text(controls, options.predict, ascii=options.ascii))
    return 0


def _predict(options: argparse.Namespace) -> int:
    from abstep.lab.against import against  # noqa: PLC0415  polars and scipy, which the labs alone don't need
    from abstep.lab.predict import predict  # noqa: PLC0415
    from abstep.lab.predict_text import prediction_text  # noqa: PLC0415
    from abstep.lab.result import prediction_result  # noqa: PLC0415
    from abstep.pipeline import Reading, open_store, read_run  # noqa: PLC0415
    from abstep.progress import ProgressLine  # noqa: PLC0415

    change = _change(options)
    with ProgressLine() as line:
        reading = Reading(options.store, options.step_marker, line.show, _say)
        with open_store(reading) as store:
            base = read_run(options.from_run, reading, store=store)
            variant = read_run(options.against, reading, store=store) if options.against is not None else None
    prediction = predict(base, change)
    beside = against(prediction, base, variant) if variant is not None else None
    if options.json is not None:
        _write(options.json, prediction_result(prediction, change, beside, OVERLAP_LEAVES_OUT))
    if options.json != "-":
        drawn_ascii = options.ascii or not _unicode()
        sys.stdout.write(_encoded(prediction_text(prediction, change, beside, _width(), ascii=drawn_ascii)))
    return 0


def _change(options: argparse.Namespace) -> Change:
    """Return what is asked of a measured run; its other controls come from the run itself."""
    from abstep.lab.predict import Change  # noqa: PLC0415

    own = [c.option for c in CONTROLS if c.name not in OF_A_RUN and getattr(options, c.name) is not None]
    own += [option for option in ("--ready", "--sizes") if getattr(options, option[2:]) is not None]
    if own:
        raise AbstepError(
            f"{own[0]}: with --from this comes from the run", "leave it out, or leave --from out"
        )
    given = {name: getattr(options, name) for name in OF_A_RUN}
    Controls(**{name: value for name, value in given.items() if value is not None})  # checks the ranges
    late = None if options.launch is None else options.launch == "late"
    assert {field.name for field in fields(Change)} == {*given, "late_launch"}
    return Change(late_launch=late, **given)


def _roofline_text(controls: Roofline, guess: float | None, *, ascii: bool = False) -> str:  # noqa: A002
    drawn_ascii = ascii or not _unicode()
    return _page(
        plot(controls, _width() - 2, 18, ascii=drawn_ascii),
        roofline_told(controls, guess),
        ROOFLINE_LEAVES_OUT,
    )


def _overlap_text(controls: Controls, guess: float | None, *, ascii: bool = False) -> str:  # noqa: A002
    from abstep.lab.overlap import play  # noqa: PLC0415
    from abstep.lab.roofline import judged  # noqa: PLC0415

    played = play(controls.backward())
    rows = filled(played.parts)
    said = told(played)
    if guess is not None:
        said.append(judged(guess, float(played.parts.step) / 1000, "us"))
    drawn = timeline(played, _width(), ascii=ascii or not _unicode())
    return _page(
        [*drawn, "", *(f"  {name:<36}{value:>12}" for name, value in rows)], said, OVERLAP_LEAVES_OUT
    )


def _page(drawn: Iterable[str], said: Sequence[str], left_out: Sequence[str]) -> str:
    lines = [*drawn, ""]
    for sentence in said:
        lines += textwrap.wrap(sentence, _width(), break_on_hyphens=False)
    lines += ["", "What this leaves out"]
    for sentence in left_out:
        lines += textwrap.wrap(
            sentence, _width(), initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
        )
    return _encoded("\n".join(lines) + "\n")


def _check_json(place: str | None) -> None:
    """Refuse a place that cannot be written before any work is done for it."""
    if place is None or place == "-":
        return
    path = Path(place)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise AbstepError(
            f"--json {path}: not a file in an existing directory", "name a file that can be written"
        )


def _write(place: str, result: dict[str, Any]) -> None:
    from abstep.lab.result import dumps  # noqa: PLC0415

    if place == "-":
        sys.stdout.write(dumps(result))
        return
    from abstep.outputs import write_text  # noqa: PLC0415  the command line's own way to write whole files

    write_text(Path(place), dumps(result))


def _terminal() -> bool:
    return sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _screens(options: argparse.Namespace) -> bool:
    """Whether to open the screens: a terminal, and nothing asked for that only text or JSON can give."""
    return _terminal() and not options.no_tui and options.json is None and options.predict is None


def _unicode() -> bool:
    return (sys.stdout.encoding or "ascii").lower().replace("-", "").startswith("utf")


def _encoded(text: str) -> str:
    encoding = sys.stdout.encoding or "ascii"
    return text.encode(encoding, "replace").decode(encoding)


def _width() -> int:
    return min(max(shutil.get_terminal_size((80, 24)).columns, WIDTHS[0]), WIDTHS[1])


def _say(line: str) -> None:
    sys.stderr.write(f"{''.join(letter if letter.isprintable() else ' ' for letter in line)}\n")
