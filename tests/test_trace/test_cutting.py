"""A trace's text gives the same events whatever its layout and wherever the blocks end."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstep.errors import TraceError
from abstep.trace import inflate
from abstep.trace.event import Event, repaired
from abstep.trace.inflate import CutShortError, blocks
from abstep.trace.text import TraceText

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NASTY = ['a},{"ph"', "]", "},\n  {", '"', "\\", "é", "}]}", '{"traceEvents": [', "😀", "a, b"]


def document(count: int = 40) -> dict[str, Any]:
    events = []
    for n in range(count):
        args = {
            "External id": n,
            "nested": [{"ph": "X"}, {"name": NASTY[n % len(NASTY)]}],
            "s": NASTY[-n % len(NASTY)],
        }
        name = f"{NASTY[n % len(NASTY)]}{n}"
        events.append(
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 2, "ts": n, "dur": 1, "args": args}
        )
        if n % 7 == 0:
            events.append({"name": "thread_name", "ph": "M", "pid": 1, "tid": 2, "args": {"name": "main"}})
        if n % 5 == 0:
            events.append({"ph": "s", "id": n, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 2, "ts": n})
    return {
        "schemaVersion": 1,
        "head": [{"a": 1}, {"b": 2}],
        "traceEvents": events,
        "tail": [{"ph": 1}, {"name": 2}],
    }


def kineto(whole: dict[str, Any]) -> str:
    """Laid out as recorders do: each event over several lines, arguments on one."""
    events = ",\n  ".join(
        "{\n    " + json.dumps(event)[1:-1].replace(', "args"', ',\n    "args"') + "\n  }"
        for event in whole["traceEvents"]
    )
    rest = {key: value for key, value in whole.items() if key != "traceEvents"}
    return "\n" + json.dumps(rest, indent=2)[:-2] + f',\n  "traceEvents": [\n  {events}\n  ]\n}}'


LAYOUTS = {
    "compact": lambda whole: json.dumps(whole, separators=(",", ":")),
    "spaced": json.dumps,
    "indented": lambda whole: json.dumps(whole, indent=4),
    "utf8": lambda whole: json.dumps(whole, ensure_ascii=False),
    "kineto": kineto,
    "list": lambda whole: json.dumps(whole["traceEvents"], indent=1),
    "windows": lambda whole: "\ufeff" + json.dumps(whole, indent=2).replace("\n", "\r\n"),
}


def pieces(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    start, turn = 0, 0
    while start < len(data):
        size = sizes[turn % len(sizes)]
        yield data[start : start + size]
        start, turn = start + size, turn + 1


def names(text: TraceText) -> list[str]:
    return [event.name for events in text.events() for event in events if type(event) is Event]


@given(st.sampled_from(sorted(LAYOUTS)), st.lists(st.integers(1, 3000), min_size=1, max_size=5))
def test_any_layout_in_any_blocks(layout: str, sizes: list[int]) -> None:
    whole = document()
    data = LAYOUTS[layout](whole).encode()
    text = TraceText("x", pieces(data, sizes))
    assert names(text) == [event["name"] for event in whole["traceEvents"] if event["ph"] == "X"]
    assert (text.odd, text.notes, text.truncated) == (0, [], False)
    if layout != "list":
        rest = {key: value for key, value in whole.items() if key != "traceEvents"}
        assert {k: v for k, v in msgspec.json.decode(text.header).items() if k != "traceEvents"} == rest


@given(st.integers(1, 3000), st.integers(200, 5000))
def test_a_cut_is_never_taken_for_whole(size: int, cut: int) -> None:
    data = kineto(document()).encode()
    text = TraceText("x", pieces(data[: min(cut, data.rindex(b"]", 0, -40))], [size]))
    with pytest.raises(TraceError, match=r"breaks off|is not whole JSON|holds no"):
        names(text)


def test_one_odd_event_costs_only_itself() -> None:
    whole = document()
    wanted = [event["name"] for event in whole["traceEvents"] if event["ph"] == "X"]
    whole["traceEvents"][10] = dict(whole["traceEvents"][10], tid=[1])
    whole["traceEvents"].insert(20, "not an event")
    text = TraceText("x", pieces(json.dumps(whole).encode(), [700]))
    assert len(names(text)) == len(wanted) - 1
    assert text.odd == 2
    assert text.odd_example is not None


def test_a_missing_comma_costs_two_events() -> None:
    whole = document()
    for event in whole["traceEvents"]:
        event.get("args", {}).pop("nested", None)
    wanted = [event["name"] for event in whole["traceEvents"] if event["ph"] == "X"]
    data = kineto(whole).encode()
    place = data.index(b"},\n  {", 3000)
    text = TraceText("x", pieces(data[: place + 1] + data[place + 2 :], [900]))
    found = names(text)
    assert [name for name in wanted if name in found] == found
    assert len(wanted) - 2 <= len(found) < len(wanted)
    assert text.odd == 1


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (b'{"a": NaN, "b": [-Infinity, inf], "c": -nan(ind)}', {"a": None, "b": [None, None], "c": None}),
        (b'{"a": "x\x01\n y"}', {"a": "x   y"}),
        (b'{"a": "caf\xe9"}', {"a": "caf\ufffd"}),
        (rb'{"a": "C:\path\u12"}', {"a": r"C:\path\u12"}),
        (rb'{"a": "\ud800 \ud83d\ude00"}', {"a": "\ufffd \U0001f600"}),
        (b'{"a": [1, 2, ], }', {"a": [1, 2]}),
        (rb'{"a": "\\\" NaN \n"}', {"a": '\\" NaN \n'}),
    ],
)
def test_what_recorders_get_wrong_is_repaired(wrong: bytes, right: dict[str, Any]) -> None:
    assert msgspec.json.decode(repaired(wrong)) == right


def test_stacks_are_cut_out_and_nothing_else() -> None:
    whole = document(200)
    stack = {"ph": "X", "cat": "python_function", "name": "f.py(1): f", "pid": 1, "tid": 2, "ts": 1, "dur": 1}
    whole["traceEvents"] = [part for event in whole["traceEvents"] for part in (stack, stack, event)]
    whole["traceEvents"].append({"cat": "python_function", **stack, "name": "laid out otherwise"})
    text = TraceText("x", pieces(kineto(whole).encode(), [20_000]))
    found = []
    for events in text.events():
        rows = [event for event in events if type(event) is Event]
        text.stacks.saw(sum(event.name == "f.py(1): f" for event in rows), len(events))
        found += rows
    kept = [event.name for event in found if event.name != "f.py(1): f"]
    assert kept == [e["name"] for e in whole["traceEvents"] if e["ph"] == "X" and e["name"] != "f.py(1): f"]
    assert len(found) < len(kept) + 200  # most of the 400 stacks were never decoded


def test_an_event_without_end_is_refused() -> None:
    endless = (b'{"traceEvents": [{"name": "' if n == 0 else b"x" * (1 << 20) for n in range(100))
    with pytest.raises(TraceError, match="over 64 MB"):
        names(TraceText("x", endless))


def test_gzip_in_several_members_and_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflate, "BLOCK", 1000)
    data = kineto(document(300)).encode()
    path = tmp_path / "x.json"  # by content, not by name
    path.write_bytes(
        gzip.compress(data[:5000]) + gzip.compress(b"") + gzip.compress(data[5000:]) + b"\0" * 99
    )
    told: list[int] = []
    assert b"".join(blocks(path, told.append)) == data
    assert told[-1] == path.stat().st_size
    assert max(len(block) for block in blocks(path)) <= 1000


@pytest.mark.parametrize("keep", [0.2, 0.9, 0.999])
def test_gzip_that_breaks_off(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "x.json.gz"
    data = gzip.compress(kineto(document(300)).encode())
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(CutShortError, match="breaks off"):
        list(blocks(path))
