"""Write a file whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from abstep.errors import AbstepError

if TYPE_CHECKING:
    from pathlib import Path


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
