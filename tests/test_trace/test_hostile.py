"""No bytes can break the reader: tables or one clear line, whatever is done to a trace."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from events import call, kernel, note, op, trace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abstep.errors import TraceError
from abstep.trace.detect import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from abstep.trace.tables import FileTables

WHOLE = json.dumps(
    trace(
        note("ProfilerStep#1", 0, 100),
        op("aten::mm", 10, 50, **{"Input Dims": [[1, 2], []]}),
        call(1, 20),
        kernel(1, 30, 5, grid=[1, 2, 3], block=[4, 5, 6]),
        op(
            "record_param_comms",
            60,
            20,
            **{"Collective name": "allreduce", "In msg nelems": 9, "dtype": "Float"},
        ),
        call(2, 65),
        kernel(2, 70, 9, "ncclDevKernel_AllReduce_Sum_f32", stream=20, **{"Seq": 3, "Group size": 2}),
        baseTimeNanoseconds=1712195495000000000,
    ),
    indent=1,
).encode()

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["X", "M", "kernel", "cpu_op", "cuda_runtime", "thread_name"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"]
ARGS = ["correlation", "stream", "device", "bytes", "grid", "block", "Input Dims", "Input type", "Collective name",
        "In msg nelems", "Group size", "dtype", "Process Group Ranks", "Seq", "Rank", "wait_on_stream",
        "name"]  # fmt: skip
EVENTS = st.dictionaries(st.sampled_from(FIELDS), ANYTHING).flatmap(
    lambda event: st.fixed_dictionaries(
        {
            "ph": st.sampled_from(["X", "X", "X", "M", "s", "?"]),
            "cat": st.sampled_from(
                ["kernel", "cpu_op", "cuda_runtime", "gpu_memcpy", "cuda_sync", "user_annotation"]
            ),
            "name": st.text(max_size=3) | ANYTHING,
            "ts": st.integers(0, 100) | ANYTHING,
            "dur": st.integers(0, 9) | ANYTHING,
            "args": st.dictionaries(st.sampled_from(ARGS), ANYTHING) | ANYTHING,
        }
    ).map(lambda more: {**more, **event} if len(event) < 3 else event)
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "x.json"


def outcome(place: Path, data: bytes) -> FileTables | None:
    place.write_bytes(data)
    read = read_or_refuse(place)
    if isinstance(read, TraceError):
        assert str(place) in read.message
        assert "\n" not in str(read)
        assert read.remedy
        return None
    assert read.spans["start_ns"].is_sorted()
    assert (read.spans["end_ns"] >= read.spans["start_ns"]).all()
    assert "\x1b" not in "".join(read.names["text"])
    return read


def read_or_refuse(place: Path) -> FileTables | TraceError:
    try:
        return read_trace(place)
    except TraceError as error:
        return error


@given(st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE)), st.binary(max_size=30))
def test_bytes_replaced(place: Path, start: int, length: int, fresh: bytes) -> None:
    outcome(place, WHOLE[:start] + fresh + WHOLE[start + length % 40 :])


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_bytes_flipped(place: Path, flips: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for at, value in flips:
        data[at] = value
    outcome(place, bytes(data))


@given(st.lists(EVENTS, max_size=12))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_events(place: Path, events: list[dict[str, object]]) -> None:
    whole = json.loads(WHOLE)
    whole["traceEvents"][3:3] = events
    tables = outcome(place, json.dumps(whole).encode())
    assert tables is not None
    assert {"gemm", "ncclDevKernel_AllReduce_Sum_f32"} <= set(tables.names["text"])


@given(
    st.dictionaries(
        st.sampled_from(["distributedInfo", "deviceProperties", "baseTimeNanoseconds", "x_version"]), ANYTHING
    )
)
def test_any_metadata(place: Path, head: dict[str, object]) -> None:
    tables = outcome(place, json.dumps({**json.loads(WHOLE), **head}).encode())
    assert tables is not None
    assert tables.spans.height == 2


@given(st.binary(max_size=200))
def test_any_bytes(place: Path, data: bytes) -> None:
    assert outcome(place, data) is None


@given(st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_gzip_damaged(place: Path, at: int, fresh: bytes) -> None:
    data = gzip.compress(WHOLE, mtime=0)
    outcome(place, data[:at] + fresh + data[at + len(fresh) :])


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"hello", "is not JSON"),
        (b'{"a": 1}', "holds no traceEvents"),
        (b'{"a": ', "is not whole JSON"),
        (b'{"traceEvents": []}', "holds no device activity"),
        (b'{"traceEvents": [', "breaks off"),
        (WHOLE[:700], "breaks off"),
        (gzip.compress(WHOLE)[:200], "gzip stream breaks off"),
        (b"[" * 100_000, "breaks off|none of its events"),
        ('{"traceEvents": []}'.encode("utf-16"), "is not JSON"),
        (b'{"traceEvents": [1, 2]}', "none of its events can be read"),
    ],
)
def test_one_clear_line(place: Path, data: bytes, line: str) -> None:
    place.write_bytes(data)
    with pytest.raises(TraceError, match=line):
        read_trace(place)
