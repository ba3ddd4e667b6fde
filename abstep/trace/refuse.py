"""What is wrong with a text that holds no trace events, in one line."""

from __future__ import annotations

import msgspec

from abstep.errors import TraceError
from abstep.trace.boundary import SPACE
from abstep.trace.event import byte_of

_AGAIN = "record or copy it again"


def without_events(name: str, text: bytes, cut_short: str | None) -> TraceError:
    """Return the error for a text in which no events were found.

    Args:
        name: the file.
        text: as much of it as was searched.
        cut_short: what is wrong with its gzip stream; null if nothing is.

    """
    if cut_short:
        return TraceError(f"{name}: {cut_short}, before any event", _AGAIN)
    if not text.strip(SPACE):
        return TraceError(f"{name}: the file is empty", _AGAIN)
    if text.lstrip(SPACE)[:1] != b"{":
        return TraceError(f"{name}: is not JSON (byte 0)", "give a trace written by torch.profiler")
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        byte = byte_of(error)
        where = f"byte {byte}" if byte is not None else f"it ends at byte {len(text)}"
        return TraceError(f"{name}: is not whole JSON ({where})", _AGAIN)
    return TraceError(
        f"{name}: holds no traceEvents", "give a trace written by torch.profiler (export_chrome_trace)"
    )
