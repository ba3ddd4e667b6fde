"""Device traces: kinds, launches, paths, names, waits and metadata, from events written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from events import BACKWARD, MAIN, Event, call, event, kernel, note, op, trace, write

from abstep.trace import columns, slices
from abstep.trace.detect import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from abstep.trace.tables import FileTables


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def one(*events: Event, **head: Any) -> FileTables:
        return read_trace(write(tmp_path / "rank0.json", trace(*events, **head)))

    return one


def path_text(tables: FileTables, path: int | None) -> str | None:
    names, parents = dict(tables.names.iter_rows()), tables.paths["parent"].to_list()
    own = tables.paths["name"].to_list()
    parts: list[str] = []
    while path is not None and path >= 0:
        parts.append(names[own[path]])
        path = parents[path]
    return " > ".join(reversed(parts)) if parts else None


def named(tables: FileTables) -> list[str | None]:
    """The name of the range that names each span, innermost part only."""
    return [
        text and text.split(" > ")[-1] for text in (path_text(tables, p) for p in tables.spans["range_path"])
    ]


def test_a_span_knows_its_launch_and_path(read: Any) -> None:
    tables = read(
        note("ProfilerStep#4", 0, 1000),
        note("DistributedDataParallel.forward", 10, 500),
        op("aten::linear", 20, 100, **{"Input Dims": [[8, 4], [4, 4], []]}),
        op("aten::addmm", 30, 50, **{"Input Dims": [[4], [8, 4], [4, 4]]}),
        call(7, "40.5", "5.25"),
        kernel(7, "90.125", "10.5", grid=[2, 3, 4], block=[128, 1, 1]),
        baseTimeNanoseconds=1_000_000_000_000_000_000,
    )
    (row,) = tables.spans.iter_rows(named=True)
    base = 1_000_000_000_000_000_000
    names = dict(tables.names.iter_rows())
    assert row["kind"] == 0
    assert (row["start_ns"], row["end_ns"]) == (base + 90_125, base + 100_625)
    assert (row["launch_start"], row["launch_end"]) == (base + 40_500, base + 45_750)
    assert path_text(tables, row["path"]) == "DistributedDataParallel.forward > aten::linear > aten::addmm"
    assert row["range_start"] == base + 20_000
    assert path_text(tables, row["range_path"]) == "DistributedDataParallel.forward > aten::linear"
    assert names[row["shape"]] == "[[4], [8, 4], [4, 4]]"
    assert (row["stream"], row["device"], row["graph"], row["bytes"]) == (7, 0, False, None)
    (launched,) = tables.resources.iter_rows(named=True)
    assert launched == {
        "resource": row["resource"],
        "blocks": 24,
        "threads": 128,
        "registers": None,
        "shared_bytes": None,
        "occupancy_pct": None,
    }
    (thread,) = tables.threads.iter_rows(named=True)
    assert (thread["pid"], thread["tid"], thread["has_step"], thread["has_backward"]) == (10, 10, True, False)
    marks = tables.marks.with_columns(text=tables.marks["name"].replace_strict(names))
    assert marks["text"].to_list() == ["ProfilerStep#4", "DistributedDataParallel.forward"]
    assert marks["step"].to_list() == [4, None]


@pytest.mark.parametrize(
    ("ranges", "name"),
    [
        (["Optimizer.step#Adam.step", "aten::_foreach_add_"], "Optimizer.step#Adam.step"),
        (["train", "Optimizer.step#Adam.step", "aten::add_"], "Optimizer.step#Adam.step"),
        (["encoder.forward", "layer1", "aten::mm"], "encoder.forward"),
        (["## forward ##", "FullyShardedDataParallel.forward", "aten::mm"], "aten::mm"),
        (
            ["autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0", "aten::mm"],
            "autograd::engine::evaluate_function: AddmmBackward0",
        ),
        (["aten::to", "aten::_to_copy", "aten::copy_"], None),
        (["layer1", "aten::to", "aten::copy_"], "layer1"),
        (["torch.distributed.ddp.reducer::copy_bucket_to_grad", "aten::copy_"], None),
        (["fsdp::split_with_sizes_copy", "aten::split_with_sizes_copy"], None),
        (["FSDP::all_gather_copy_out", "aten::chunk_cat", "aten::mul"], None),
        (["nccl:all_reduce"], "nccl:all_reduce"),
        (["c10d::allreduce_", "record_param_comms", "nccl:all_reduce"], "c10d::allreduce_"),
        ([], None),
    ],
)
def test_the_range_that_names_a_launch(read: Any, ranges: list[str], name: str | None) -> None:
    events = [
        (note if not ("::" in text and not text.startswith("FSDP")) else op)(text, 10 + deep, 500 - 2 * deep)
        for deep, text in enumerate(ranges)
    ]
    tables = read(note("ProfilerStep#1", 0, 900), *events, call(1, 100), kernel(1, 200, 5))
    assert named(tables) == [name]
    assert tables.spans["range_start"].null_count() == (name is None)


def test_kinds_by_name_by_launch_and_by_copy(read: Any) -> None:
    nccl = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    tables = read(
        op("symm_mem::one_shot_all_reduce", 0, 50),
        call(1, 10),
        op("aten::mm", 100, 200),
        *(call(n, 100 + n) for n in range(2, 9)),
        kernel(1, 300, 5, "plain_kernel"),
        kernel(2, 310, 5, nccl, stream=20, grid=[24, 1, 1], block=[512, 1, 1]),
        kernel(3, 320, 5, "void vllm::cross_device_reduce_1stage<float>(int)"),
        kernel(4, 330, 5, "allreduce_fusion_kernel_oneshot_lamport"),
        event(
            "gpu_memcpy",
            "Memcpy PtoP (Device -> Device)",
            340,
            5,
            correlation=5,
            stream=7,
            device=0,
            bytes=64,
        ),
        event(
            "gpu_memcpy",
            "Memcpy HtoD (Pinned -> Device)",
            350,
            5,
            correlation=6,
            stream=7,
            device=0,
            bytes=99,
        ),
        event("gpu_memset", "Memset (Device)", 360, 5, correlation=7, stream=7, device=0, bytes=8),
        kernel(8, 370, 5, "all_reduced_mean_kernel"),
        event("cuda_sync", "Stream Wait Event", 380, 5, stream=7, correlation=1),
        event("gpu_user_annotation", "nccl:all_reduce", 300, 50),
    )
    assert tables.spans["kind"].to_list() == [1, 1, 1, 0, 1, 2, 3, 0]
    assert tables.spans["bytes"].to_list() == [None, None, None, None, 64, 99, None, None]
    assert tables.spans["resource"].is_not_null().to_list() == [False, True, *[False] * 6]
    assert tables.resources["blocks"].to_list() == [24]
    assert tables.collectives["collective"].to_list() == [
        "all_reduce",
        "all_reduce",
        "all_reduce",
        "send_recv",
    ]
    assert tables.collectives["source"].to_list() == ["launch", "name", "name", "name"]
    assert tables.collectives["reduction"].to_list() == [None, "sum", None, None]


def test_metadata_on_the_kernel_and_on_its_range(read: Any) -> None:
    said = {
        "Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 400, "Group size": 4,
        "dtype": "BFloat16", "Process Group Name": "3", "Process Group Description": "dp",
        "Process Group Ranks": "[0, 1, 2, 3]", "Seq": 12,
    }  # fmt: skip
    generic = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"
    tables = read(
        op("record_param_comms", 0, 50, **{**said, "Collective name": "reduce_scatter_tensor", "Seq": 13}),
        call(1, 10),
        call(2, 60),
        note("nccl:all_to_all", 100, 50, **{"Input Dims": [[8, 1024]], "Input type": ["float"]}),
        call(3, 110),
        call(4, 160),
        kernel(1, 200, 5, generic),
        kernel(2, 210, 5, generic, **said),
        kernel(3, 220, 5, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"),
        kernel(4, 230, 5, generic, **{"Process Group Ranks": "[0, 1, ...]"}),
    )
    rows = tables.collectives.to_dicts()
    assert [row["collective"] for row in rows] == ["reduce_scatter", "all_gather", "all_to_all", "unknown"]
    assert [row["source"] for row in rows] == ["metadata", "metadata", "range", "name"]
    assert [row["bytes"] for row in rows] == [200, 800, 32768, None]
    assert [row["seq"] for row in rows] == [13, 12, None, None]
    assert [row["group_ranks"] for row in rows] == ["0,1,2,3", "0,1,2,3", None, None]
    assert [row["dtype"] for row in rows] == ["BFloat16", "BFloat16", "float", None]


def test_the_only_group_is_everyones(read: Any) -> None:
    info = {
        "rank": 0,
        "world_size": 2,
        "pg_config": [{"pg_name": "0", "pg_desc": "x", "pg_size": 2, "ranks": [0, 1]}],
    }
    tables = read(call(1, 0), kernel(1, 10, 5, "ncclDevKernel_AllReduce_Sum"), distributedInfo=info)
    (row,) = tables.collectives.to_dicts()
    assert (row["group_name"], row["group_desc"], row["group_size"], row["group_ranks"]) == (
        "0",
        "x",
        2,
        "0,1",
    )


def test_recorded_waits(read: Any) -> None:
    wait = {"cuda_sync_kind": "Stream Wait Event", "device": 0}
    tables = read(
        call(1, 10, name="cudaEventRecord"),
        call(2, 20, name="cudaStreamWaitEvent"),
        event("cuda_sync", "Stream Wait Event", 21, 1, **wait, stream=20, correlation=2, wait_on_stream=7,
              wait_on_cuda_event_record_corr_id=1),
        event("cuda_sync", "Stream Wait Event", 25, 1, **wait, stream=20, correlation=3, wait_on_stream=7,
              wait_on_cuda_event_record_corr_id=99),
        event("cuda_sync", "Event Sync", 30, 1, **wait, stream=-1, correlation=4, wait_on_stream=-1,
              wait_on_cuda_event_record_corr_id=-1),
        kernel(9, 40, 5),
    )  # fmt: skip
    assert tables.waits.rows() == [(20, 7, 20_000, 10_000)]
    assert tables.spans.height == 1


def test_host_calls_that_hold_their_thread_up(read: Any) -> None:
    names = ["cudaStreamSynchronize", "hipDeviceSynchronize", "cudaMemcpy", "cudaMemcpyAsync", "cudaFree",
             "cudaFreeAsync", "hipHostMalloc", "cudaLaunchKernel", "cuStreamSynchronize"]  # fmt: skip
    tables = read(*(call(n, 10 * n, 5, name) for n, name in enumerate(names)), kernel(7, 300, 5))
    texts = dict(tables.names.iter_rows())
    found = [(texts[name], kind) for name, kind in tables.host_calls.select("name", "kind").iter_rows()]
    assert found == [
        ("cudaStreamSynchronize", "sync"),
        ("hipDeviceSynchronize", "sync"),
        ("cudaMemcpy", "copy"),
        ("cudaFree", "alloc"),
        ("hipHostMalloc", "alloc"),
        ("cuStreamSynchronize", "sync"),
    ]


def test_one_graph_launch_covers_many_kernels(read: Any) -> None:
    tables = read(
        op("run", 0, 50), call(5, 10, 9, "cudaGraphLaunch"), *(kernel(5, 100 + 10 * n, 5) for n in range(4))
    )
    assert tables.spans["graph"].to_list() == [True] * 4
    assert tables.spans["launch_start"].to_list() == [10_000] * 4


def test_correlations_that_repeat(read: Any) -> None:
    """Two processes in one file: each activity belongs to the last call before it; nested calls count once."""
    other = {"pid": 99, "tid": 99}
    tables = read(
        call(1, 10), call(1, 1000, place=other), call(2, 20, 9), call(2, 22, 3, "cuLaunchKernel"),
        kernel(1, 100, 5), kernel(1, 1100, 5), kernel(2, 120, 5), kernel(3, 130, 5),
    )  # fmt: skip
    by_start = tables.spans.sort("start_ns")
    assert by_start["launch_start"].to_list()[1:3] == [20_000, None]
    assert by_start["launch_start"].to_list()[0] == 10_000


def test_backward_threads_are_known(read: Any) -> None:
    tables = read(
        note("ProfilerStep#1", 0, 100),
        op("autograd::engine::evaluate_function: MulBackward0", 10, 5, BACKWARD),
        kernel(1, 50, 5),
    )
    flags = {
        row["tid"]: (row["has_step"], row["has_backward"]) for row in tables.threads.iter_rows(named=True)
    }
    assert flags == {10: (True, False), 11: (False, True)}


def test_slices_of_time_change_nothing(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = [note("whole run", 0, 100_000)]
    for n in range(400):
        at = 10 + 200 * n
        place = BACKWARD if n % 3 == 0 else MAIN
        events += [
            op(f"outer{n % 5}::op", at, 150, place),
            op("aten::mm", at + 5, 100, place),
            call(n + 1, at + 10, place=place),
            kernel(n + 1, at + 900, 5),
        ]
    whole = read(*events)
    monkeypatch.setattr(slices, "SLICE_ROWS", 60)
    monkeypatch.setattr(slices, "_SAMPLE", 2)
    monkeypatch.setattr(columns, "SPILL_ROWS", 90)
    cut = read(*events)
    assert [path_text(cut, p) for p in cut.spans["path"]] == [
        path_text(whole, p) for p in whole.spans["path"]
    ]
    assert cut.spans.drop("path", "range_path", "name").equals(whole.spans.drop("path", "range_path", "name"))
    assert named(cut) == named(whole)


def test_names_are_cleaned(read: Any) -> None:
    tables = read(
        call(1, 0), kernel(1, 10, 5, "\x1b[31mred\x1b[0m \x00a\nb\u202e\x9b"), kernel(1, 20, 5, "red a b")
    )
    assert tables.names["text"].to_list() == ["red a b"]
    assert tables.spans["name"].n_unique() == 1


def test_old_categories_and_texts_for_times(read: Any) -> None:
    tables = read(
        event("Operator", "aten::mm", "0", "100"),
        event("Runtime", "cudaLaunchKernel", 10, 5, **{"external id": 3, "correlation": 3}),
        {**event("Kernel", "gemm", 0, 0, correlation=3, stream=7, device=0), "ts": "50.25", "dur": "7.125"},
    )
    assert tables.spans.select("start_ns", "end_ns", "launch_start").rows() == [(50_250, 57_375, 10_000)]
    assert path_text(tables, tables.spans["path"][0]) == "aten::mm"
