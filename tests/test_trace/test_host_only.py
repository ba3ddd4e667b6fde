"""Traces without a device: operators are compute, progress ranges communication, joined to their launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from events import GLOO, MAIN, Event, note, op, trace, write

from abstep.trace import columns, slices
from abstep.trace.detect import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from abstep.trace.tables import FileTables

GROUP = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}
WORKER = {"ph": "M", "name": "thread_name", **GLOO, "args": {"name": "thread 20 (pt_gloo_runloop)"}}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def one(*events: Event, **head: Any) -> FileTables:
        info = {"backend": "gloo", "rank": 0, "world_size": 2, "pg_config": [GROUP]}
        return read_trace(
            write(tmp_path / "r.json", trace(*events, WORKER, **{"distributedInfo": info, **head}))
        )

    return one


def spans(tables: FileTables, kind: int) -> list[tuple[str, int, int]]:
    names = dict(tables.names.iter_rows())
    rows = tables.spans.filter(tables.spans["kind"] == kind)
    return [
        (names[n], s // 1000, e // 1000) for n, s, e in rows.select("name", "start_ns", "end_ns").iter_rows()
    ]


def test_outermost_operators_are_compute(read: Any) -> None:
    tables = read(
        note("ProfilerStep#2", 0, 9000),
        note("DistributedDataParallel.forward", 0, 4000),
        op("aten::linear", 100, 500),
        op("aten::addmm", 150, 300),
        op("autograd::engine::evaluate_function: MmBackward0", 2000, 900),
        op("MmBackward0", 2010, 850),
        op("aten::mm", 2050, 700),
        op("torch::distributed::reducer::mul_out", 3500, 50),
        op("aten::worker", 100, 50, {"pid": 10, "tid": 77}),
    )
    assert tables.facts.host_only
    assert tables.facts.device == "cpu"
    assert spans(tables, 0) == [
        ("aten::linear", 100, 600),
        ("aten::mm", 2050, 2750),
        ("torch::distributed::reducer::mul_out", 3500, 3550),
    ]
    assert spans(tables, 1) == []
    row = tables.spans.row(1, named=True)
    assert (row["launch_start"], row["launch_end"], row["range_start"]) == (2050_000, 2750_000, 2000_000)


def test_short_holes_are_bridged_but_never_over_a_launch(read: Any) -> None:
    tables = read(
        note("ProfilerStep#2", 0, 9000),
        op("aten::a", 0, 100),
        op("aten::b", 399, 100),
        op("aten::c", 799, 100),
        op("aten::d", 1000, 100),
        op("c10d::allreduce_", 1120, 10),
        op("aten::e", 1200, 100),
    )
    assert spans(tables, 0) == [
        ("aten::a", 0, 399),
        ("aten::b", 399, 499),
        ("aten::c", 799, 1000),
        ("aten::d", 1000, 1100),
        ("aten::e", 1200, 1300),
    ]


def test_a_launch_is_cut_out_of_the_operator_around_it(read: Any) -> None:
    tables = read(
        note("ProfilerStep#2", 0, 9000),
        op("fsdp::step", 0, 1000),
        op("c10d::_allgather_base_", 200, 100),
        op("c10d::_allgather_base_", 600, 400),
    )
    assert spans(tables, 0) == [("fsdp::step", 0, 200), ("fsdp::step", 300, 600)]
    assert tables.spans["launch_start"].to_list() == [0, 300_000]


def test_progress_is_joined_to_the_kth_launch_of_its_kind(read: Any) -> None:
    other = {"pid": 10, "tid": 21}
    tables = read(
        note("ProfilerStep#2", 0, 9000),
        op("c10d::allreduce_", 100, 10, **{"Input Dims": [[[1000]], []]}),
        op("c10d::broadcast_", 150, 10, **{"Input Dims": [[[8]], []]}),
        op("c10d::_reduce_scatter_base_", 200, 10, **{"Input Dims": [[250], [500], []]}),
        op("c10d::_allgather_base_", 300, 10, **{"Input Dims": [[800], [400], []]}),
        note("gloo:all_reduce", 120, 500, GLOO, **{"Input Dims": [[1000]], "Input type": ["float"]}),
        note("gloo:all_reduce", 240, 100, other, **{"Input Dims": [[500]], "Input type": ["c10::Half"]}),
        note("gloo:broadcast", 160, 50, other, **{"Input Dims": [[8]], "Input type": ["float"]}),
        note("gloo:all_gather", 700, 50, GLOO, **{"Input Dims": [[400], [800]], "Input type": ["float"]}),
        op("aten::copy_", 720, 10, GLOO),
        op("aten::copy_", 760, 10, GLOO),
    )
    assert spans(tables, 1) == [
        ("gloo:all_reduce", 120, 620),
        ("gloo:broadcast", 160, 210),
        ("gloo:all_reduce", 240, 340),
        ("gloo:all_gather", 700, 750),
        ("aten::copy_", 760, 770),
    ]
    rows = tables.collectives.to_dicts()
    assert [row["collective"] for row in rows] == [
        "all_reduce",
        "broadcast",
        "reduce_scatter",
        "all_gather",
        "unknown",
    ]
    assert [row["bytes"] for row in rows] == [4000, 32, 1000, 3200, None]
    assert [row["source"] for row in rows] == ["launch"] * 4 + ["name"]
    assert {row["group_ranks"] for row in rows} == {"0,1"}
    comm = tables.spans.filter(tables.spans["kind"] == 1)
    assert comm["launch_start"].to_list() == [100_000, 150_000, 200_000, 300_000, None]
    threads = dict(tables.threads.select("thread", "tid").iter_rows())
    assert [threads[s] for s in comm["stream"].to_list()] == [20, 21, 21, 20, 20]
    assert spans(tables, 0) == []


def test_progress_of_work_launched_before_the_capture(read: Any) -> None:
    tables = read(
        note("ProfilerStep#2", 0, 9000),
        op("aten::a", 0, 10),
        note("gloo:all_reduce", 20, 100, GLOO),
        op("c10d::allreduce_", 50, 10),
        note("gloo:all_reduce", 130, 100, GLOO),
    )
    comm = tables.spans.filter(tables.spans["kind"] == 1)
    assert comm["launch_start"].to_list() == [None, 50_000]


def test_without_steps_the_busiest_thread_counts(read: Any) -> None:
    tables = read(
        *(op(f"aten::a{n}", 1000 * n, 10) for n in range(3)), op("aten::b", 0, 5000, {"pid": 1, "tid": 2})
    )
    assert [name for name, *_ in spans(tables, 0)] == ["aten::a0", "aten::a1", "aten::a2"]


def test_slices_of_time_change_nothing(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = [note("ProfilerStep#2", 0, 999_999)]
    for n in range(300):
        at = 1000 * n
        events += [
            op("autograd::engine::evaluate_function: X", at, 900),
            op(f"aten::op{n % 7}", at + 10, 400),
            *([] if n % 5 else [op("aten::big", at, 3990)]),
            op("c10d::allreduce_", at + 450, 20),
            note("gloo:all_reduce", at + 500, 1200, GLOO if n % 2 else {"pid": 10, "tid": 21}),
        ]
    whole = read(*events)
    monkeypatch.setattr(slices, "SLICE_ROWS", 50)
    monkeypatch.setattr(slices, "_SAMPLE", 2)
    monkeypatch.setattr(columns, "SPILL_ROWS", 90)
    cut = read(*events)
    ids = ("path", "range_path", "name")
    assert cut.spans.drop(ids).equals(whole.spans.drop(ids))
    assert cut.collectives.equals(whole.collectives)
    assert spans(cut, 0) == spans(whole, 0)


def test_a_host_only_trace_without_communication(read: Any) -> None:
    tables = read(op("aten::a", 0, 10, MAIN))
    assert tables.collectives.height == 0
    assert tables.spans.height == 1
