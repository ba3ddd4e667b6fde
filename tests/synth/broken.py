"""Hostile inputs: named makers that write a run nobody should have to read, and what should come of it.

`expect` is `reads` (a healthy run comes out), `odd_events` (it is read, and what is wrong is counted and said)
or `bad_file` (one line that names the file and the remedy). Where `figures` is true, the figures are exactly
those of `healthy_run().truth`: whatever was added must not touch them. Where `or_refused` is true, one clear
line would be right as well; where `either` is true, it does not matter whether the oddity is counted.
`all_broken()` has them all.
"""

from __future__ import annotations

import gzip
import os
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from synth.kineto import Layout, Writer
from synth.model import Job, SimRun
from synth.simulate import simulate
from synth.write import document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Broken:
    """One hostile input."""

    name: str
    expect: str
    say: str
    make: Callable[[Path], None]
    figures: bool = True
    or_refused: bool = False
    either: bool = False


BROKEN: dict[str, Broken] = {}


def add(name: str, expect: str, say: str, make: Callable[[Path], None], **more: bool) -> None:
    assert name not in BROKEN
    BROKEN[name] = Broken(name, expect, say, make, **more)


@lru_cache(maxsize=1)
def healthy_run() -> SimRun:
    return simulate(Job(world=1, steps=4, layers=2, buckets=2, gap_ns=2_000), "healthy")


@lru_cache(maxsize=1)
def _healthy() -> bytes:
    run = healthy_run()
    return msgspec.json.encode(document(Writer(run, run.ranks[0], Layout())))


def healthy_document() -> dict[str, Any]:
    """A fresh copy; numbers as text, so that none is rounded."""
    run = healthy_run()
    return document(Writer(run, run.ranks[0], Layout()))


def all_broken() -> dict[str, Broken]:
    """Every hostile input by name, those of broken_events.py included."""
    import synth.broken_events  # noqa: F401

    return BROKEN


def put(folder: Path, content: bytes, name: str = "rank0.json") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def _raw(content: bytes, name: str = "rank0.json") -> Callable[[Path], None]:
    return lambda folder: put(folder, content, name)


def _cut(find: bytes, offset: int = 0, share: float = 0.5) -> Callable[[Path], None]:
    """The healthy file up to a place in it: so far into the first `find` after that share of the file."""

    def make(folder: Path) -> None:
        text = _healthy()
        put(folder, text[: text.index(find, int(len(text) * share)) + offset])

    return make


def _text(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda folder: put(folder, change(_healthy()))


# not a trace at all ---------------------------------------------------------------------------------------
for _name, _content in {
    "empty": b"",
    "blank": b" \n\t\r\n ",
    "zeros": b"\0" * 4_096,
    "noise": bytes(range(256)) * 16,
    "prose": b"no trace was recorded\n",
    "html": b"<!doctype html><html><body>404 Not Found</body></html>",
    "number": b"12",
    "text": b'"trace"',
    "null": b"null",
    "other_object": b'{"answer": 42}',
    "events_null": b'{"schemaVersion": 1, "traceEvents": null}',
    "events_object": b'{"schemaVersion": 1, "traceEvents": {"0": {}}}',
    "events_text": b'{"schemaVersion": 1, "traceEvents": "none"}',
    "events_empty": b'{"schemaVersion": 1, "traceEvents": []}',
    "list_empty": b"[]",
    "list_of_numbers": b"[1, 2, 3]",
    "single_quotes": b"{'schemaVersion': 1, 'traceEvents': []}",
    "python_literal": b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "dur": None}]}',
    "key_cut": b'{"schemaVer',
    "brace_only": b"{",
    "events_just_opened": b'{"schemaVersion": 1, "traceEvents": [',
    "deep_root": b"[" * 200_000,
    "deep_metadata": b'{"a": ' * 100_000 + b"1" + b"}" * 100_000,
}.items():
    add(_name, "bad_file", "not a trace", _raw(_content))


# cut off --------------------------------------------------------------------------------------------------
_LOST = {"figures": False, "or_refused": True}
_SHORT = "the steps before the cut, or refused; said to be truncated"
add("cut_in_a_key", "odd_events", _SHORT, _cut(b'"External id"', 5), **_LOST)
add("cut_in_a_text", "odd_events", _SHORT, _cut(b'"name":"ampere', 10), **_LOST)
add("cut_in_a_number", "odd_events", _SHORT, _cut(b'"ts":', 9), **_LOST)
add("cut_after_a_colon", "odd_events", _SHORT, _cut(b'"dur":', 6), **_LOST)
add("cut_in_args", "odd_events", _SHORT, _cut(b'"args":{', 8), **_LOST)
add("cut_in_an_array", "odd_events", _SHORT, _cut(b'"grid":[', 9), **_LOST)
add("cut_after_an_event", "odd_events", _SHORT, _cut(b"}},{", 2), **_LOST)
add("cut_after_a_comma", "odd_events", _SHORT, _cut(b"}},{", 3), **_LOST)
_WHOLE = "all events are there"
add("cut_before_the_last_bracket", "odd_events", _WHOLE, _text(lambda t: t[:-2]), or_refused=True)
add("cut_before_the_last_brace", "odd_events", _WHOLE, _text(lambda t: t[:-1]), or_refused=True)
add("cut_in_the_head", "bad_file", "ends before the events", _cut(b'"traceEvents"', 4, 0.0))


# gzip -----------------------------------------------------------------------------------------------------
def _gz(change: Callable[[bytes], bytes], name: str = "rank0.json.gz") -> Callable[[Path], None]:
    return lambda folder: put(folder, change(gzip.compress(_healthy(), 1, mtime=0)), name)


def _members(_: bytes) -> bytes:
    text = _healthy()
    third = len(text) // 3
    return b"".join(
        gzip.compress(part) for part in (text[:third], text[third : 2 * third], text[2 * third :])
    )


add("gz_several_members", "reads", "members are one stream", _gz(_members))
add("gz_empty_member_last", "reads", "an empty member adds nothing", _gz(lambda z: z + gzip.compress(b"")))
add("gz_zero_padding", "reads", "padding is not a member", _gz(lambda z: z + b"\0" * 512))
add(
    "gz_trailing_garbage", "odd_events", "the trace is whole", _gz(lambda z: z + b"garbage!"), or_refused=True
)
add("gz_cut", "odd_events", _SHORT, _gz(lambda z: z[: len(z) * 2 // 3]), **_LOST)
add("gz_head_only", "bad_file", "nothing inside", _gz(lambda z: z[:10]))
add("gz_of_nothing", "bad_file", "nothing inside", _gz(lambda _: gzip.compress(b"")))
add(
    "gz_wrong_checksum",
    "odd_events",
    "may be damaged",
    _gz(lambda z: z[:-8] + struct.pack("<II", 1, 2)),
    **_LOST,
)
add(
    "gz_flipped_bits",
    "bad_file",
    "cannot be inflated",
    _gz(lambda z: z[:60] + bytes(40) + z[100:]),
    figures=False,
)
add("gz_that_is_not", "reads", "what is inside decides, not the name", _raw(_healthy(), "rank0.json.gz"))
add("json_that_is_gz", "reads", "what is inside decides, not the name", _gz(lambda z: z, "rank0.json"))
add("gz_twice", "bad_file", "not a trace after inflating", _gz(gzip.compress), or_refused=True)
add(
    "gz_of_blanks", "bad_file", "inflates to 20 MB of blanks", _gz(lambda _: gzip.compress(b" " * 20_000_000))
)


# encodings ------------------------------------------------------------------------------------------------
def _in_a_name(content: bytes) -> Callable[[bytes], bytes]:
    """One more harmless host range, with this as its name."""
    event = b'"traceEvents":[{"ph":"X","cat":"cpu_op","pid":1,"tid":1,"ts":1,"dur":1,"name":"%s"},' % content
    return lambda text: text.replace(b'"traceEvents":[', event, 1)


add("utf8_mark", "reads", "a byte-order mark is no content", _text(lambda t: b"\xef\xbb\xbf" + t))
add("utf16", "bad_file", "not UTF-8", _text(lambda t: t.decode().encode("utf-16")))
add("utf32", "bad_file", "not UTF-8", _text(lambda t: t.decode().encode("utf-32")))
add(
    "half_utf16",
    "odd_events",
    _SHORT,
    _text(lambda t: t[:9_000] + t[9_000:].decode().encode("utf-16")),
    **_LOST,
)
add("latin1_name", "odd_events", "one name is not UTF-8", _text(_in_a_name(b"caf\xe9")), or_refused=True)
add("cut_utf8_name", "odd_events", "one name is not UTF-8", _text(_in_a_name(b"\xe2\x82")), or_refused=True)
add("lone_surrogate", "odd_events", "half a character", _text(_in_a_name(rb"\ud800")), or_refused=True)
add(
    "raw_control_name",
    "odd_events",
    "a raw control character",
    _text(_in_a_name(b"a\x01b\nc")),
    or_refused=True,
)
add("wrong_escape", "odd_events", "an escape JSON has not", _text(_in_a_name(rb"a\xb")), or_refused=True)
add("wide_name", "reads", "a name of 5 MB", _text(_in_a_name(b"w" * 5_000_000)), or_refused=True)


# more or less than JSON -----------------------------------------------------------------------------------
add("trailing_comma", "odd_events", "a comma too many", _text(lambda t: t[:-2] + b",]}"), or_refused=True)
add("missing_comma", "odd_events", "a comma too few", _text(lambda t: t.replace(b"}},{", b"}}{", 1)), **_LOST)
add("comment", "odd_events", "JSON has no comments", _text(lambda t: b"/* torch */" + t), or_refused=True)
add("trailing_text", "odd_events", "text after the end", _text(lambda t: t + b"\nDone.\n"), or_refused=True)
add("two_documents", "odd_events", "a second document", _text(lambda t: t + b"\n" + t), or_refused=True)
add("windows_lines", "reads", "blanks are no content", _text(lambda t: t.replace(b"},{", b"},\r\n{")))
add("tabs", "reads", "blanks are no content", _text(lambda t: t.replace(b'":', b'"\t:\t')))
add(
    "events_twice",
    "odd_events",
    "a key twice: one of the two, said",
    _text(lambda t: b'{"traceEvents":[],' + t[1:]),
    or_refused=True,
)


# folders --------------------------------------------------------------------------------------------------
def _folder(act: Callable[[Path], None]) -> Callable[[Path], None]:
    """A healthy rank 0 and something beside it."""

    def make(folder: Path) -> None:
        put(folder, _healthy())
        act(folder)

    return make


def _loop(folder: Path) -> None:
    (folder / "again").symlink_to(folder, target_is_directory=True)


def _chain(folder: Path) -> None:
    (folder / "rank1.json").symlink_to(folder / "rank2.json")
    (folder / "rank2.json").symlink_to(folder / "rank1.json")


def _two_claims(folder: Path) -> None:
    put(folder, _healthy().replace(b'"name":"aten::gelu"', b'"name":"aten::relu"'), "rank0_again.json")


add("no_folder", "bad_file", "no such run", lambda folder: None)
add("empty_folder", "bad_file", "no traces", lambda folder: folder.mkdir(parents=True))
add("only_run_json", "bad_file", "no traces", _raw(b'{"label": "x"}', "run.json"))
add("link_loop", "reads", "a folder inside itself", _folder(_loop))
add("link_chain", "odd_events", "two links to each other", _folder(_chain), or_refused=True)
add(
    "dangling_link",
    "odd_events",
    "a link to nothing",
    _folder(lambda f: (f / "rank1.json").symlink_to(f / "gone")),
)
add("folder_named_json", "reads", "a folder is no trace", _folder(lambda f: (f / "rank1.json").mkdir()))
add("pipe", "reads", "a named pipe is never opened", _folder(lambda f: os.mkfifo(f / "rank1.json")))
add("two_claims", "bad_file", "two files claim rank 0: both are named", _folder(_two_claims))
add(
    "one_bad_rank",
    "odd_events",
    "rank 1 is broken, rank 0 is read",
    _folder(lambda f: put(f, b"{", "rank1.json")),
)
add("escape_in_file_name", "reads", "shown harmlessly", _raw(_healthy(), "rank0\x1b[2J.json"))
add("newline_in_file_name", "reads", "shown harmlessly", _raw(_healthy(), "rank0\n| a | b |.json"))
for _name, _content in {
    "run_json_cut": b'{"label": "x", "settings": {"a": ',
    "run_json_list": b"[1]",
    "run_json_types": b'{"label": 7, "settings": [1, {"a": {}}], "recorded": "yes"}',
    "run_json_nested": b'{"label": "x", "settings": {"a": {"b": [1, 2]}}}',
    "run_json_nan": b'{"label": "x", "settings": {"lr": NaN}}',
}.items():
    add(
        _name,
        "odd_events",
        "run.json is not understood: said, and settings unknown",
        _folder(lambda f, c=_content: put(f, c, "run.json")),
        either=True,
    )
