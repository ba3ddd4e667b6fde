"""One trace event as msgspec decodes it: the fields a reader needs, the rest skipped without being built."""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated, Any, Union

import msgspec
from msgspec import Raw, Struct

#: An integer the tables can hold; anything beyond makes the event odd.
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_NONE = Raw(b"")


class Args(Struct, gc=False):
    """An event's `args`. Texts that are kept as recorded stay raw JSON."""

    correlation: Int64 | None = None
    stream: Int64 | None = None
    device: Int64 | None = None
    bytes: Int64 | str | float | None = None
    grid: Raw = _NONE
    block: Raw = _NONE
    registers: Raw = msgspec.field(default=_NONE, name="registers per thread")
    shared: Raw = msgspec.field(default=_NONE, name="shared memory")
    occupancy: Raw = msgspec.field(default=_NONE, name="est. achieved occupancy %")
    dims: Raw = msgspec.field(default=_NONE, name="Input Dims")
    types: Raw = msgspec.field(default=_NONE, name="Input type")
    collective: str | None = msgspec.field(default=None, name="Collective name")
    in_nelems: Int64 | None = msgspec.field(default=None, name="In msg nelems")
    out_nelems: Int64 | None = msgspec.field(default=None, name="Out msg nelems")
    group_size: Int64 | None = msgspec.field(default=None, name="Group size")
    dtype: str | None = None
    group_name: str | None = msgspec.field(default=None, name="Process Group Name")
    group_desc: str | None = msgspec.field(default=None, name="Process Group Description")
    group_ranks: Raw = msgspec.field(default=_NONE, name="Process Group Ranks")
    seq: Int64 | None = msgspec.field(default=None, name="Seq")
    peer: Raw = msgspec.field(default=_NONE, name="Rank")
    wait_on_stream: Int64 | None = None
    wait_on_record: Int64 | None = msgspec.field(default=None, name="wait_on_cuda_event_record_corr_id")
    name: Raw = _NONE


class Cat(Enum):
    """What an event is, by its category as recorded; everything not listed is not read."""

    KERNEL = "kernel"
    COPY = "gpu_memcpy"
    MEMSET = "gpu_memset"
    CALL = "cuda_runtime"
    OPERATOR = "cpu_op"
    RANGE = "user_annotation"
    SYNC = "cuda_sync"
    STACK = "python_function"
    OTHER = ""

    __hash__ = object.__hash__  # Enum's own is Python code, and this is looked up for every event

    @classmethod
    def _missing_(cls, value: object) -> Cat:
        return _CATEGORIES.get(str(value).lower(), cls.OTHER)


#: Other spellings: older recorders, other devices.
_CATEGORIES = {
    "kernel": Cat.KERNEL,
    "concurrent_kernel": Cat.KERNEL,
    "mtia_ccp_events": Cat.KERNEL,
    "hpu_op": Cat.KERNEL,
    "async_npu": Cat.KERNEL,
    "memcpy": Cat.COPY,
    "gpu_memcpy": Cat.COPY,
    "memset": Cat.MEMSET,
    "gpu_memset": Cat.MEMSET,
    "runtime": Cat.CALL,
    "cuda_runtime": Cat.CALL,
    "cuda_driver": Cat.CALL,
    "hip_runtime": Cat.CALL,
    "hip_driver": Cat.CALL,
    "xpu_runtime": Cat.CALL,
    "xpu_driver": Cat.CALL,
    "mtia_runtime": Cat.CALL,
    "privateuse1_runtime": Cat.CALL,
    "privateuse1_driver": Cat.CALL,
    "operator": Cat.OPERATOR,
    "cpu_op": Cat.OPERATOR,
    "user_annotation": Cat.RANGE,
    "nvtx": Cat.RANGE,
    "cuda_sync": Cat.SYNC,
    "python_function": Cat.STACK,
}


class Event(Struct, gc=False, tag_field="ph", tag="X"):
    """A complete event. `ts` and `dur` stay text, so that no digit is lost."""

    cat: Cat = Cat.OTHER
    name: str | None = None
    pid: Int64 | str | None = None
    tid: Int64 | str | None = None
    ts: Raw = _NONE
    dur: Raw = _NONE
    args: Args | None = None


class Metadata(Struct, gc=False, tag_field="ph", tag="M"):
    """A metadata event: names of threads."""

    name: str | None = None
    pid: Int64 | str | None = None
    tid: Int64 | str | None = None
    args: Args | None = None


def _skipped(phase: str) -> type[Struct]:
    return msgspec.defstruct(f"Phase{ord(phase)}", [], gc=False, tag_field="ph", tag=phase)


#: Every other phase of Chrome's format: flows, instants, counters, …; decoded to nothing.
_OTHERS = tuple(_skipped(phase) for phase in "BEbneiICPNODSTpFsftVvRc()")
AnyEvent = Union[(Event, Metadata, *_OTHERS)]  # type: ignore[valid-type]

_events: Any = msgspec.json.Decoder(list[AnyEvent])
_one: Any = msgspec.json.Decoder(AnyEvent)
_texts = msgspec.json.Decoder(list[Raw])
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_AT_BYTE = re.compile(r"\(byte (\d+)\)")

decode_events = _events.decode
decode_texts = _texts.decode


def decode_odd(texts: list[Raw]) -> tuple[list[Any], list[str]]:
    """Return the events that can be read one by one, and what is wrong with the others."""
    events: list[Any] = []
    wrong: list[str] = []
    for text in texts:
        try:
            events.append(_one.decode(text))
        except msgspec.ValidationError as error:
            if not str(error).startswith("Invalid value") or not str(error).endswith("`$.ph`"):
                wrong.append(str(error))  # else a phase Chrome's format has not: none of ours
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            wrong.append(str(error))
    return events, wrong


def end_of_list(error: msgspec.DecodeError) -> int | None:
    """Return the offset at which text goes on behind a complete list, when that is what is wrong."""
    found = _TRAILING.search(str(error))
    return int(found.group(1)) - 1 if found else None


def byte_of(error: Exception) -> int | None:
    """Return the byte a decoding error names."""
    found = _AT_BYTE.search(str(error))
    return int(found.group(1)) if found else None


_CONTROL = bytes.maketrans(bytes(range(32)), b" " * 32)
_NOT_A_NUMBER = re.compile(rb"([:\[,]\s*)-?(?:NaN|nan|Infinity|Inf|inf|infinity)(?:\([a-z]*\))?(?=\s*[,}\]])")
_BAD_ESCAPE = re.compile(rb'\\(?:\\|"|(?![/bfnrtu])|u(?![0-9a-fA-F]{4}))')
_LOOSE_COMMA = re.compile(rb",(\s*[}\]])")
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


def _escape(match: re.Match[bytes]) -> bytes:
    text = match.group()
    return text if text in (b"\\\\", b'\\"') else b"\\" + text


def repaired(text: bytes) -> bytes:
    """Return the text without what makes recorders' output invalid JSON.

    Control characters become spaces, bytes that are no UTF-8 become U+FFFD, NaN and infinities null, a stray
    backslash is escaped, a comma before a closing bracket goes. Only used where a text cannot be decoded.
    """
    text = text.translate(_CONTROL)
    text = text.decode("utf-8", "replace").encode()
    text = _BAD_ESCAPE.sub(_escape, text)
    text = _LONE_SURROGATE.sub(b"\\\\ufffd", text)
    text = _NOT_A_NUMBER.sub(rb"\1null", text)
    return _LOOSE_COMMA.sub(rb"\1", text)
