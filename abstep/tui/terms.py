"""The definitions of the words on the screens, shipped with the package."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple


class Term(NamedTuple):
    """A word and what it means."""

    name: str
    text: str


@lru_cache(maxsize=1)
def _read() -> dict[str, dict[str, str]]:
    text = files("abstep.tui").joinpath("definitions.toml").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = tomllib.loads(text)
    return found


def term(name: str) -> Term:
    """Return a word's definition."""
    return Term(name, _read()["words"][name])


def view_text(kind: str) -> str:
    """Return the paragraph of a view."""
    return _read()["views"][kind]


def words() -> list[Term]:
    """Return every word, in the order of the documentation."""
    return [Term(name, text) for name, text in _read()["words"].items()]


def markdown() -> str:
    """Return the words as the documentation shows them."""
    return "\n".join(f"- **{entry.name}**: {entry.text}" for entry in words())
