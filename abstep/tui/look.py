"""Looks: what each role is drawn with, from true colour down to plain ASCII.

The terminal keeps its own background and text colours. Vermillion says worse and sky blue says better, never
alone: a glyph and a word stand beside every colour, and what computes differs from what communicates by fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from rich.style import Style

from abstep.errors import AbstepError

if TYPE_CHECKING:
    from collections.abc import Mapping

Depth: TypeAlias = Literal["full", "256", "16", "none"]

NAMES = ("full", "256", "16", "mono", "ascii")
"""The looks a user may ask for."""


class Ink(NamedTuple):
    """A colour at each depth: 24 bits, one of 256, one of 16."""

    full: tuple[int, int, int]
    of_256: int
    of_16: int | None

    def codes(self, depth: Depth) -> str:
        """Return the terminal's codes for text in this colour; "" without colours."""
        if depth == "full":
            red, green, blue = self.full
            return f"38;2;{red};{green};{blue}"
        if depth == "256":
            return f"38;5;{self.of_256}"
        if depth == "16":
            return "" if self.of_16 is None else str(self.of_16 + (30 if self.of_16 < 8 else 82))
        return ""

    def name(self, depth: Depth) -> str | None:
        """Return this colour's name in rich's words; None without colours."""
        if depth == "full":
            return f"rgb({self.full[0]},{self.full[1]},{self.full[2]})"
        number = {"256": self.of_256, "16": self.of_16}.get(depth)
        return None if number is None else f"color({number})"


VERMILLION = Ink((213, 94, 0), 166, 9)
SKY_BLUE = Ink((86, 180, 233), 74, 12)
DEEP_BLUE = Ink((0, 114, 178), 25, 4)  # sky blue for a light background
PURPLE = Ink((204, 121, 167), 175, 5)
GREY = Ink((138, 138, 138), 245, None)  # of 16, none is grey on every background

_ROLES: dict[str, tuple[str, Ink | None]] = {
    "": ("", None),
    "title": ("1", None),
    "head": ("1", None),
    "strong": ("1", None),
    "dim": ("2", None),
    "warning": ("1", None),
    "cursor": ("7", None),
    "worse": ("", VERMILLION),
    "better": ("", SKY_BLUE),
    "compute": ("", GREY),
    "communication": ("", PURPLE),
    "copy": ("2", None),
    "exposed": ("", None),
    "chosen": ("1;7", None),
    "base": ("", None),
    "variant": ("1", None),
}
"""Role -> attributes and colour. A name that stands for meaning, never for a colour."""

WORSE = frozenset({"grew", "appeared", "slower"})
BETTER = frozenset({"shrank", "disappeared", "faster"})


class Glyphs(NamedTuple):
    """The characters that look different in ASCII."""

    crumb: str
    more: str
    cursor: str
    up: str
    down: str
    bar: tuple[str, ...]  # busy share of a cell, from the least to all of it
    hatch: tuple[str, ...]  # the same, for communication
    rule: str
    left_end: str
    right_end: str
    waits: str
    tick: str
    ready: str
    consumer: str
    last: str
    arrow: str
    waits_for: str
    pipe: str


_UNICODE = Glyphs(
    crumb="›", more="…", cursor="▶", up="▴", down="▾", bar=tuple("▁▂▃▄▅▆▇█"), hatch=tuple("░▒▓"),
    rule="─", left_end="├", right_end="┤", waits="╌", tick="┬", ready="│", consumer="▷",
    last="◀ last", arrow="→", waits_for="←", pipe="│",
)  # fmt: skip
_PLAIN = Glyphs(
    crumb=">", more="...", cursor=">", up="^", down="v", bar=tuple(".:+#"), hatch=tuple("'~%"),
    rule="-", left_end="[", right_end="]", waits="~", tick="+", ready="|", consumer=">",
    last="< last", arrow="->", waits_for="<-", pipe="|",
)  # fmt: skip


@dataclass(frozen=True)
class Look:
    """One way to draw: colours of some depth, and Unicode or ASCII."""

    name: str = "full"
    depth: Depth = "full"
    ascii: bool = False
    light: bool = False

    @property
    def glyphs(self) -> Glyphs:
        """Return the characters of this look."""
        return _PLAIN if self.ascii else _UNICODE

    def codes(self, role: str) -> str:
        """Return the terminal's codes of a role; "" for plain text."""
        attributes, ink = self._of(role)
        return ";".join(part for part in (attributes, ink.codes(self.depth) if ink else "") if part)

    def style(self, role: str) -> Style:
        """Return a role as the style that textual draws with: the same as `codes`."""
        attributes, ink = self._of(role)
        colour = ink.name(self.depth) if ink else None
        on = attributes.split(";")
        return Style(color=colour, bold="1" in on or None, dim="2" in on or None, reverse="7" in on or None)

    def _of(self, role: str) -> tuple[str, Ink | None]:
        attributes, ink = _ROLES[role]
        return attributes, DEEP_BLUE if ink is SKY_BLUE and self.light else ink


def role_of(verdict: str | None) -> str:
    """Return the role of a verdict: only what grew or shrank has a colour, and overlap never comes here."""
    if verdict in WORSE:
        return "worse"
    return "better" if verdict in BETTER else ""


def choose(name: str | None, environ: Mapping[str, str]) -> Look:
    """Return the look asked for (`full`, `256`, `16`, `mono`, `ascii`), or what the terminal says it can do.

    NO_COLOR takes the colours of every look away.
    """
    asked = name or environ.get("ABSTEP_LOOK") or None
    if asked is not None and asked not in NAMES:
        raise AbstepError(f"there is no look {asked!r}", f"use one of {', '.join(NAMES)}")
    found: str = asked or _detected(environ)
    depth: Depth = {"full": "full", "256": "256", "mono": "none"}.get(found, "16")  # type: ignore[assignment]
    if environ.get("NO_COLOR"):
        depth = "none"
    plain = found == "ascii" or (asked is None and not _speaks_utf8(environ))
    return Look(found, depth, plain, _is_light(environ))


def _detected(environ: Mapping[str, str]) -> str:
    term = environ.get("TERM", "")
    if environ.get("COLORTERM", "") in ("truecolor", "24bit"):
        return "full"
    if "256color" in term or "direct" in term:
        return "256"
    return "mono" if term in ("", "dumb", "vt100", "vt102", "vt220") else "16"


def _speaks_utf8(environ: Mapping[str, str]) -> bool:
    spoken = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "UTF-8"
    return "utf" in spoken.lower()


def _is_light(environ: Mapping[str, str]) -> bool:
    """Return whether COLORFGBG, where a terminal sets it, names a light background."""
    behind = environ.get("COLORFGBG", "").rpartition(";")[2]
    return behind in ("7", "15")
