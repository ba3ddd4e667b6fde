"""A process that reads traces: paths in, one a line; pickled messages out, each behind its length.

Started as `python -m abstep.trace.worker` by store/parallel.py, so that rank files are read on all cores. A
process of our own rather than multiprocessing's: that one runs the caller's main module again.
"""

from __future__ import annotations

import json
import pickle
import signal
import struct
import sys
from pathlib import Path
from typing import IO, Any, BinaryIO

from abstep.errors import TraceError
from abstep.trace.detect import read_trace

LENGTH = struct.Struct("<Q")
#: Bytes of a file between two messages of progress.
_STRIDE = 1 << 20


def send(stream: BinaryIO, message: object) -> None:
    """Write one message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Any, ...]:
    """Return the next message.

    Raises:
        EOFError: the other side is gone.

    """
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    message: tuple[Any, ...] = pickle.loads(data)  # noqa: S301 - written by `send` in a process we started
    return message


def serve(paths: BinaryIO, out: BinaryIO) -> None:
    """Read every path that comes in and send ('bytes', count), then ('tables', …) or ('fault', message, remedy)."""
    for line in paths:
        path = Path(json.loads(line))
        told = 0

        def on_bytes(count: int) -> None:
            nonlocal told
            if count >= told + _STRIDE:
                told = count
                send(out, ("bytes", count))

        try:
            tables = read_trace(path, on_bytes)
        except TraceError as error:
            send(out, ("fault", error.message, error.remedy))
        else:
            send(out, ("tables", tables))


def main() -> None:
    """Serve standard input until it ends or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-c is the parent's business; it ends this process
    out = sys.stdout.buffer
    sys.stdout = sys.stderr
    try:
        serve(sys.stdin.buffer, out)
    except BrokenPipeError:
        sys.stderr.close()


if __name__ == "__main__":
    main()
