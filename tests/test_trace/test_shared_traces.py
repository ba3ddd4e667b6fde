"""Published traces and simulated cases: what their README says, and every time exact to the nanosecond."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl
import pytest

from abstep.trace.detect import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from abstep.trace.tables import FileTables

DATA = {
    "ddp": "data/ddp_resnet50_rank0_of_2/nccl_data.json.gz",
    "rocm": "data/rocm_ddp_rank0_of_8/resnet_act_checkpoint.json.gz",
    "a100": "data/different_world_size/base/control.json.gz",
    "v100": "data/different_world_size/variant/test.json.gz",
    "many": "data/ddp_many_small_collectives_rank1_of_2/df_index_resolver.json.gz",
    "single": "data/single_gpu_no_collectives/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "sync": "data/cuda_sync_events/event_sync_trace.json.gz",
    "gloo": "data/gloo_cpu_only_rank34_of_300/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
    "case": "cases/fsdp_prefetch/variant/rank2.json.gz",
}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")


def kinds(tables: FileTables) -> dict[int, int]:
    return dict(tables.spans["kind"].value_counts().iter_rows())


def collectives(tables: FileTables) -> dict[str, int]:
    return dict(tables.collectives["collective"].value_counts().iter_rows())


@pytest.mark.parametrize("name", [name for name in DATA if name != "gloo"])
def test_every_span_is_exact(shared: Path, name: str) -> None:
    path = shared / DATA[name]
    whole = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal, parse_int=Decimal)
    base = int(whole.get("baseTimeNanoseconds", 0))
    expected = sorted(
        (base + int(event["ts"] * 1000), base + int(event["ts"] * 1000) + int(event["dur"] * 1000))
        for event in whole["traceEvents"]
        if event.get("ph") == "X" and event.get("cat") in DEVICE
    )
    tables = read_trace(path)
    assert sorted(tables.spans.select("start_ns", "end_ns").iter_rows()) == expected
    assert (tables.facts.odd_events, tables.facts.notes, tables.facts.truncated) == (0, [], False)


def test_metadata_of_a_ddp_trace(shared: Path) -> None:
    tables = read_trace(shared / DATA["ddp"])
    assert collectives(tables) == {"all_reduce": 15, "broadcast": 6}
    assert set(tables.collectives["source"]) == {"metadata"}
    assert tables.collectives["bytes"].null_count() == 0
    assert set(tables.collectives["group_size"]) == {2}
    assert tables.facts.device_name == "NVIDIA A100-PG509-200"
    assert tables.marks.filter(pl.col("step").is_not_null())["step"].to_list() == [4, 5, 6]


def test_a_rocm_trace(shared: Path) -> None:
    tables = read_trace(shared / DATA["rocm"])
    assert (tables.facts.device, tables.facts.rank, tables.facts.device_index) == ("rocm", 0, 2)
    assert tables.facts.device_name == "AMD Instinct MI300X"
    assert collectives(tables) == {"all_reduce": 6, "broadcast": 6, "unknown": 5}  # 5 of 17 without metadata
    assert tables.facts.software["nccl"] == "2.22.3"
    comm = tables.spans.filter(kind=1)
    assert comm["stream"].unique().to_list() == [4]


def test_world_sizes_and_old_collectives(shared: Path) -> None:
    base, variant = read_trace(shared / DATA["a100"]), read_trace(shared / DATA["v100"])
    assert (base.facts.rank, base.facts.world_size) == (3, 8)
    assert (variant.facts.rank, variant.facts.world_size) == (1, 2)
    assert collectives(base) == {"all_to_all": 42, "all_reduce": 18}
    assert base.collectives["bytes"].null_count() == 0


def test_many_small_collectives(shared: Path) -> None:
    assert collectives(read_trace(shared / DATA["many"])) == {"all_reduce": 2020}


def test_no_collectives(shared: Path) -> None:
    tables = read_trace(shared / DATA["single"])
    assert tables.collectives.height == 0
    assert 1 not in kinds(tables)


def test_stream_waits(shared: Path) -> None:
    tables = read_trace(shared / DATA["sync"])
    ((stream, on_stream, wait, record),) = tables.waits.rows()
    assert (stream, on_stream) == (24, 20)
    assert record < wait
    assert tables.spans.height == 6


def test_gloo_on_a_cpu(shared: Path) -> None:
    tables = read_trace(shared / DATA["gloo"])
    assert (tables.facts.host_only, tables.facts.rank, tables.facts.device) == (True, 34, "cpu")
    assert collectives(tables) == {"all_reduce": 10}


def test_launches_before_the_capture(shared: Path) -> None:
    for path in sorted((shared / "data/dlrm_straggler_removed").glob("*/*.json.gz")):
        assert 73 <= read_trace(path).spans["launch_start"].null_count() <= 94


def test_a_simulated_case_is_whole(shared: Path) -> None:
    tables = read_trace(shared / DATA["case"])
    assert tables.spans["launch_start"].null_count() == 0
    assert collectives(tables) == {"all_gather": 240, "reduce_scatter": 120}
    assert tables.collectives.filter(collective="all_gather")["bytes"].unique().to_list() == [2097152 * 4]
    assert tables.waits.height == 720


def test_recorded_gloo_is_joined_to_its_launches(shared: Path) -> None:
    for path in sorted((shared / "recorded").glob("*/variant/**/rank0.pt.trace.json.gz")):
        tables = read_trace(path)
        comm = tables.spans.filter(kind=1)
        assert comm["launch_start"].null_count() == 0
        assert (comm["start_ns"] >= comm["launch_start"]).all()
        assert tables.collectives["bytes"].null_count() == 0
        assert set(tables.collectives["source"]) == {"launch"}
