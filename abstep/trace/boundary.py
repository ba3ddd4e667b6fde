"""Where one event seems to end and the next to begin, by the look of the text."""

from __future__ import annotations

import re

SPACE = b" \t\r\n"
#: Between two events; unlike `last_boundary` only where the next one starts with a key events have.
BOUNDARY = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id|s|bp)"\s*:)')


def last_boundary(text: bytes, before: int | None = None) -> int:
    """Return where the comma behind the last whole event before a place seems to be; 0 when there is none."""
    before = len(text) if before is None else before
    for _ in range(1000):
        brace = text.rfind(b"{", 0, before)
        if brace <= 0:
            return 0
        comma = brace - 1
        while comma > 0 and text[comma] in SPACE:
            comma -= 1
        if text[comma] == 0x2C:  # ','
            close = comma - 1
            while close > 0 and text[close] in SPACE:
                close -= 1
            if text[close] == 0x7D:  # '}'
                return comma
        before = brace
    return 0
