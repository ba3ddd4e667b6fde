"""Which names are communication: the table in kinds.toml, and the user's own rows."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abstep.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Names a file of the user's own rows.
VARIABLE = "ABSTEP_KINDS"
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True)
class Kinds:
    """The name table, compiled.

    Attributes:
        kernels: finds communication kernels and progress ranges.
        fused: finds kernels that compute and communicate; they are compute.
        possible: finds names that look like communication.
        launching: finds host ranges inside which every launch is communication.
        identity: changes when the table does.

    """

    kernels: re.Pattern[str]
    fused: re.Pattern[str]
    possible: re.Pattern[str]
    launching: re.Pattern[str]
    identity: str

    def is_communication(self, name: str) -> bool:
        """Return whether a kernel of that name is communication and nothing else."""
        return self.kernels.search(name) is not None and self.fused.search(name) is None

    def is_fused(self, name: str) -> bool:
        """Return whether a kernel of that name computes and communicates at once."""
        return self.fused.search(name) is not None

    def is_possible(self, name: str) -> bool:
        """Return whether a name looks like communication though no row knows it."""
        return (
            self.possible.search(name) is not None
            and not self.is_fused(name)
            and not self.is_communication(name)
        )


def user_file() -> Path | None:
    """Return the file of the user's own rows, if there is one."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    import platformdirs  # noqa: PLC0415 - only needed where the variable is not set

    path = Path(platformdirs.user_config_dir("abstep")) / "kinds.toml"
    return path if path.is_file() else None


@cache
def load() -> Kinds:
    """Return the name table with the user's rows added.

    Raises:
        TraceError: the user's file cannot be read or holds a wrong expression.

    """
    own = resources.files("abstep.trace").joinpath("kinds.toml").read_bytes()
    tables = [tomllib.loads(own.decode())]
    texts = [own]
    if (path := user_file()) is not None:
        try:
            texts.append(path.read_bytes())
            tables.append(tomllib.loads(texts[-1].decode()))
        except (OSError, ValueError) as error:
            raise TraceError(
                f"{path}: the table of kernel names cannot be read ({error})", "correct it"
            ) from error
    rows = [row for table in tables for row in table.get("library", [])]
    try:
        return Kinds(
            kernels=_any(row.get("kernels", []) for row in rows),
            fused=_any(row.get("fused", []) for row in rows),
            possible=_any(table.get("possible", {}).get("names", []) for table in tables),
            launching=_any(table.get("launching", {}).get("ranges", []) for table in tables),
            identity=hashlib.blake2b(b"\0".join(texts), digest_size=8).hexdigest(),
        )
    except (re.error, AttributeError, TypeError) as error:
        raise TraceError(
            f"{path}: a row of the table of kernel names is wrong ({error})", "correct it"
        ) from error


def _any(lists: Iterable[list[Any]]) -> re.Pattern[str]:
    parts = [_flagged(str(text)) for texts in lists for text in texts]
    return re.compile("|".join(parts)) if parts else _NEVER


def _flagged(text: str) -> str:
    """Return an expression as a group, so that (?i) at its start holds for it alone."""
    if text.startswith("(?i)"):
        return f"(?i:{text[4:]})"
    return f"(?:{text})"
