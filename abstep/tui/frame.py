"""The whole screen as lines: breadcrumbs, the view, and the footer, prompt or message below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from abstep import units
from abstep.tui import keys, nav
from abstep.tui.look import role_of
from abstep.tui.widgets.lines import BLANK, Line, Span, cells, fit, line, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.compare.statistics import Delta
    from abstep.tui.look import Look
    from abstep.tui.widgets.painter import Frame

LEAST = (20, 4)  # columns and rows below which only a sentence is shown


class Shown(Protocol):
    """What is framed: a view, or what is seen before there is one."""

    @property
    def footer(self) -> tuple[str, ...]:
        """Return the actions named in the footer."""

    def delta(self) -> Delta | None:
        """Return the figure it is about."""

    def body(self, width: int, height: int) -> list[Line]:
        """Return its lines."""


def frame(
    view: Shown,
    titles: Sequence[str],
    width: int,
    height: int,
    look: Look,
    *,
    below: Sequence[Line] | None = None,
) -> Frame:
    """Return what the screen shows; `below` takes the place of the footer and what it needs above it."""
    if width < LEAST[0] or height < LEAST[1]:
        small: list[Line] = [line("too small")] + [BLANK] * (height - 1)
        return finished(small, width, height, look)
    body = view.body(width, height - 2)[: height - 2]
    body += [BLANK] * (height - 2 - len(body))
    last = list(below or [footer(view, width)])[: height - 2]
    top = header(titles, view.delta(), width, look)
    return finished([top, *body[: height - 1 - len(last)], *last], width, height, look)


def finished(lines: Sequence[Line], width: int, height: int, look: Look) -> Frame:
    """Return lines cut and filled to the screen, and safe to print."""
    return tuple(fit(one, width, ascii_only=look.ascii) for one in lines[:height])


def header(titles: Sequence[str], delta: Delta | None, width: int, look: Look) -> Line:
    """Return the breadcrumbs: where this is, and the figure it is about, which is never dropped."""
    figure: Span = ("", "")
    if delta is not None:
        text = units.delta_text(delta, ascii=look.ascii)
        if cells(text) > width - 8:
            text = f"{units.glyph(delta.verdict, ascii=look.ascii)} {units.time_text(delta.delta, sign=True)}"
        figure = (f"{text} ", role_of(delta.verdict))
    room = width - cells(figure[0]) - 2
    named = [units.name_text(title, ascii=look.ascii) for title in titles]
    way = nav.crumbs(named, room, separator=look.glyphs.crumb, more=look.glyphs.more)
    above, _, here = way.rpartition(f" {look.glyphs.crumb} ")
    left = ((f" {above} {look.glyphs.crumb} ", "dim"), (here, "title")) if above else ((f" {here}", "title"),)
    return spread(left, (figure,), width)


def footer(view: Shown, width: int) -> Line:
    """Return the footer's keys."""
    spans: list[Span] = [(" ", "")]
    for at, (shown, word) in enumerate(keys.footer(view.footer, width)):
        spans += [("   " if at else "", ""), (shown, "strong"), (f" {word}", "dim")]
    return tuple(spans)
