"""How a kernel was launched, as the recorder wrote it: registers, shared memory, occupancy, blocks and threads."""

from __future__ import annotations

import pytest
from events import call, kernel, trace, write

from abstep.trace.detect import read_trace

A100 = {"id": 0, "name": "A100", "numSms": 108, "maxThreadsPerMultiprocessor": 2048}
GEMM = {
    "registers per thread": 122,
    "shared memory": 12_544,
    "blocks per SM": 5.925926,
    "warps per SM": 23.703703,
    "grid": [8, 16, 5],
    "block": [128, 1, 1],
    "est. achieved occupancy %": 25,
}
NCCL = {
    "registers per thread": 96,
    "shared memory": 87_568,
    "grid": [8, 1, 1],
    "block": [544, 1, 1],
    "est. achieved occupancy %": 0,
}


def launched(tmp_path, *args, properties=(A100,)):
    """The kernels' launch configurations, in the order of the kernels."""
    events = [call(n, 10 * n) for n in range(len(args))]
    events += [kernel(n, 100 + 10 * n, 5, f"k{n}", **one) for n, one in enumerate(args)]
    path = write(tmp_path / "rank0.json", trace(*events, deviceProperties=list(properties)))
    tables = read_trace(path)
    assert tables.facts.odd_events == 0
    rows = {row.pop("resource"): row for row in tables.resources.to_dicts()}
    return [rows.get(number) for number in tables.spans["resource"].to_list()], tables


def test_everything_recorded_is_kept(tmp_path):
    (found, again, none), tables = launched(tmp_path, GEMM, GEMM, {})
    assert found == {
        "blocks": 640,
        "threads": 128,
        "registers": 122,
        "shared_bytes": 12_544,
        "occupancy_pct": 25,
    }
    assert again == found
    assert none is None
    assert tables.resources.height == 1, "one row a distinct launch configuration"


@pytest.mark.parametrize(
    ("args", "properties", "expected"),
    [
        (
            NCCL,
            [A100],
            None,
        ),  # 8 x 544 threads of 108 x 2048 are 2 %: the recorder's calculator found no room
        (NCCL | {"grid": [1, 1, 1], "block": [96, 1, 1]}, [A100], 0),  # 0.04 %: rounds to 0
        (NCCL, [], 0),  # nothing is known that contradicts it
        (GEMM | {"est. achieved occupancy %": -99}, [A100], None),
        (GEMM | {"est. achieved occupancy %": 62.5}, [A100], 62.5),
        (GEMM | {"est. achieved occupancy %": "75"}, [A100], 75),
        (GEMM | {"est. achieved occupancy %": "unknown"}, [A100], None),
        (GEMM | {"est. achieved occupancy %": True}, [A100], None),
    ],
)
def test_an_occupancy_that_cannot_be_is_unknown(tmp_path, args, properties, expected):
    (found,), _ = launched(tmp_path, args, properties=properties)
    assert found["occupancy_pct"] == expected


@pytest.mark.parametrize("odd", [None, -1, 2**40, 1.5, [], {}, "many", True])
def test_what_is_no_count_is_unknown_and_loses_no_kernel(tmp_path, odd):
    args = GEMM | {"registers per thread": odd, "shared memory": odd, "grid": odd, "block": odd}
    (found,), _ = launched(tmp_path, args)
    assert [found[key] for key in ("blocks", "threads", "registers", "shared_bytes")] == [None] * 4
    assert found["occupancy_pct"] == 25


def test_a_grid_recorded_as_text_is_one(tmp_path):
    (found,), _ = launched(tmp_path, {"grid": "[56, 1, 1]", "block": "[256, 2, 1]"})
    assert (found["blocks"], found["threads"]) == (56, 512)


def test_real_traces_record_how_kernels_were_launched(shared):
    place = shared / "data" / "ddp_resnet50_rank0_of_2" / "nccl_data.json.gz"
    tables = read_trace(place)
    whole = tables.spans.join(tables.resources, on="resource", how="inner").join(tables.names, on="name")
    first = whole.filter(whole["text"].str.contains("bn_bw_1C11_kernel_new")).row(0, named=True)
    assert (first["registers"], first["shared_bytes"], first["occupancy_pct"]) == (40, 400, 75)
    assert (first["blocks"], first["threads"]) == (512, 512)
    reduces = whole.filter(whole["text"].str.starts_with("ncclKernel_AllReduce"))
    assert set(reduces["blocks"]) == {8}
    assert set(reduces["threads"]) == {544}
    assert reduces["occupancy_pct"].null_count() == reduces.height, "recorded as 0 of a kernel that took 2 %"
