"""Names as they are kept: no control characters, no terminal escapes, nothing that turns text around."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_SPACES = re.compile(r"[\t\n\r]+")


def clean(text: str) -> str:
    """Return the text without what a terminal would act on; the rest stays."""
    return _ESCAPES.sub("", _SPACES.sub(" ", text))
