"""What names and metadata of collectives mean; what counts as communication by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from abstep.errors import TraceError
from abstep.trace import kinds
from abstep.trace.clean import clean
from abstep.trace.metadata import (
    bytes_of_type,
    collective_of,
    element_counts,
    message_elements,
    ranks_text,
    reduction_of,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("allreduce", "all_reduce"),
        ("allreduce_coalesced", "all_reduce"),
        ("_allgather_base", "all_gather"),
        ("all_gather_into_tensor_coalesced", "all_gather"),
        ("reduce_scatter_tensor", "reduce_scatter"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("all_to_allv", "all_to_all"),
        ("alltoall_base", "all_to_all"),
        ("nccl:_broadcast_oop", "broadcast"),
        ("c10d::broadcast_", "broadcast"),
        ("nccl:send 0->1", "send"),
        ("nccl:recv 0<-1", "recv"),
        ("c10d::recv_any_source_", "recv"),
        ("barrier", "barrier"),
        ("nccl:coalesced", "unknown"),
        ("gather", "gather"),
        ("scatter", "scatter"),
        ("_reduce_oop", "reduce"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "all_reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce_scatter"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send_recv"),
        ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "unknown"),
        ("ncclDevKernel_Reduce_Sum_f32", "reduce"),
    ],
)
def test_kinds_of_collectives(text: str, kind: str) -> None:
    assert collective_of(text) == kind


@pytest.mark.parametrize(
    ("kind", "into", "out", "size", "count"),
    [
        ("all_reduce", 10, 10, 4, 10),
        ("all_gather", 10, 40, 4, 40),
        ("all_gather", 10, None, 4, 40),
        ("all_gather", 10, None, None, None),
        ("reduce_scatter", 40, 10, 4, 40),
        ("reduce_scatter", 0, 10, 4, 40),
        ("all_to_all", 40, 36, 4, 40),
        ("gather", 10, 40, 4, 40),
        ("gather", 10, 0, 4, 40),
        ("scatter", 0, 10, 4, 40),
        ("broadcast", 7, 7, 4, 7),
        ("recv", 0, 9, 2, 9),
        ("send", 9, 0, 2, 9),
        ("all_reduce", None, None, 4, None),
    ],
)
def test_elements_of_the_bus_bandwidth_formula(
    kind: str, into: int | None, out: int | None, size: int | None, count: int | None
) -> None:
    assert message_elements(kind, into, out, size) == count


def test_sizes_of_types() -> None:
    widths = {"Float": 4, "BFloat16": 2, "c10::Half": 2, "Long": 8, "long int": 8, "unsigned char": 1, "Bool": 1,
              "Float8_e4m3fn": 1, "Double": 8, "Int": 4}  # fmt: skip
    assert {name: bytes_of_type(name) for name in widths} == widths
    assert bytes_of_type("TensorList") is None


def test_shapes_and_ranks() -> None:
    assert element_counts(b"[[[3, 4], [5]], [2, 2], []]") == [17, 4]
    assert element_counts(b"[[], [3]]") == []
    assert element_counts(b"not json") == []
    assert ranks_text(b'"[0, 1, 10]"') == "0,1,10"
    assert ranks_text(b"[0, 1]") == "0,1"
    assert ranks_text(b'"[0, 1, ...]"') is None
    assert reduction_of("ncclDevKernel_AllReduce_SumPostDiv_f32_RING") == "avg"
    assert reduction_of("ncclDevKernel_AllGather_RING_LL") is None


@pytest.mark.parametrize(
    "name",
    [
        "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
        "rcclGenericKernel",
        "void mscclpp::collective::allreduce<float>(int)",
        "oneccl_allreduce_kernel",
        "void nvshmemi_transfer_amo_fetch<int>()",
        "void deep_ep::internode::dispatch<true>(int)",
        "multimem_all_reduce_kernel<float>",
        "gloo:all_reduce",
    ],
)
def test_communication_by_name(name: str) -> None:
    assert kinds.load().is_communication(name)


@pytest.mark.parametrize(
    "name",
    ["ampere_sgemm_128x64_nn", "void at::native::reduce_kernel<512, 1>", "triton_poi_fused_add_0", "ncclx"],
)
def test_not_communication_by_name(name: str) -> None:
    assert not kinds.load().is_communication(name)


def test_fused_and_possible() -> None:
    table = kinds.load()
    assert table.is_fused("void allreduce_fusion_kernel_oneshot_lamport<int>()")
    assert not table.is_communication("void allreduce_fusion_kernel_oneshot_lamport<int>()")
    assert table.is_possible("my_all_reduce_v2")
    assert not table.is_possible("ncclDevKernel_AllReduce_Sum")


def test_rows_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "kinds.toml"
    own.write_text('[[library]]\nname = "ours"\nkernels = ["^acme_reduce"]\n', encoding="utf-8")
    before = kinds.load().identity
    monkeypatch.setenv(kinds.VARIABLE, str(own))
    kinds.load.cache_clear()
    try:
        assert kinds.load().is_communication("acme_reduce_f16")
        assert kinds.load().identity != before
        own.write_text("[[library]]\nkernels = ['(']", encoding="utf-8")
        kinds.load.cache_clear()
        with pytest.raises(TraceError, match=r"kinds\.toml"):
            kinds.load()
    finally:
        monkeypatch.undo()
        kinds.load.cache_clear()


def test_clean_text() -> None:
    assert clean("\x1b[2J\x1b[31mred\x1b]0;title\x07 a\tb\x9b1m\u202e") == "red a b1m"
    assert clean("void f<int>(a, b) é 👩‍👩") == "void f<int>(a, b) é 👩👩"
