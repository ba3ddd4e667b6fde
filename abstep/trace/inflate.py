"""The bytes of a trace file in blocks of bounded size, inflated when they are gzip (by content, not by name)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isal import isal_zlib

from abstep.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO

GZIP = b"\x1f\x8b"
#: Most bytes of one inflated block; peak memory grows with it, and smaller ones cost more calls.
BLOCK = 4 << 20
_READ = 256 << 10
_DAMAGED: type[Exception] = isal_zlib.error  # type: ignore[assignment] # its stub says otherwise


class CutShortError(Exception):
    """The compressed stream ends before its end mark, or is damaged there."""


def blocks(
    path: Path, on_bytes: Callable[[int], None] | None = None, notes: list[str] | None = None
) -> Iterator[bytes]:
    """Yield the file's content in blocks.

    Args:
        path: the file.
        on_bytes: told, now and then, how many bytes of the file on disk have been read.
        notes: told what was odd about the file.

    Raises:
        TraceError: the file cannot be read or is empty.
        CutShortError: a gzip stream that ends early or is damaged; what came before it has been yielded.

    """
    try:
        with path.open("rb") as file:
            magic = file.read(2)
            file.seek(0)
            if not magic:
                raise TraceError(f"{path}: the file is empty", "record or copy it again")
            yield from _inflated(file, on_bytes, notes) if magic == GZIP else _plain(file, on_bytes)
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read ({error.strerror})", "check the file and its permissions"
        ) from error


def _plain(file: BinaryIO, on_bytes: Callable[[int], None] | None) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        if on_bytes is not None:
            on_bytes(file.tell())
        yield block


def _inflated(
    file: BinaryIO, on_bytes: Callable[[int], None] | None, notes: list[str] | None
) -> Iterator[bytes]:
    inflate = isal_zlib.decompressobj(wbits=31)
    while True:
        data = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
        if inflate.eof:
            data = data or file.read(_READ)
            if data and len(data) < 2:
                data += file.read(_READ)
            if not data.startswith(GZIP):  # the end, or padding or garbage, which gzip(1) ignores too
                if data.strip(b"\0") and notes is not None:
                    notes.append("bytes behind the end of its gzip stream are left out")
                return
            inflate = isal_zlib.decompressobj(wbits=31)
        elif not data:
            data = file.read(_READ)
        try:
            block = inflate.decompress(data, BLOCK)
        except _DAMAGED as error:
            raise CutShortError("its gzip stream is damaged") from error
        if not (data or block or inflate.eof):
            raise CutShortError("its gzip stream breaks off")
        if on_bytes is not None:
            on_bytes(file.tell())
        if block:
            yield block
