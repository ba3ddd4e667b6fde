"""Kernel names as recorders have written them, by generation, and the words of the collectives' metadata."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synth.model import Span

_TILE = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5"
_ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::{0}(at::TensorIteratorBase&, "
    "at::native::GeluType)::{{lambda()#2}}, at::detail::Array<char*, 2> >(int)"
)
GEMM, GEMM_DX, GEMM_DW = f"{_TILE}_tn", f"{_TILE}_nn", f"{_TILE}_nt"
GELU = _ELEMENTWISE.format("GeluCUDAKernelImpl")
COPY_BACK = "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>(int)"
DROPOUT = "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, 1, 4>(float*)"
GELU_BACKWARD = _ELEMENTWISE.format("GeluBackwardCUDAKernelImpl")
EXPERT = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1"
_ANONYMOUS = "void at::native::(anonymous namespace)::"
LOSS = f"{_ANONYMOUS}nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*)"
ADAM = (
    f"{_ANONYMOUS}multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "FusedOptimizerTensorListMetadata<4>, "
    "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4>>()"
)

# what record_param_comms and kernel metadata call them
RECORDED = MappingProxyType(
    {
        "all_reduce": "allreduce",
        "all_gather": "_allgather_base",
        "reduce_scatter": "_reduce_scatter_base",
        "all_to_all": "all_to_allv",
        "broadcast": "broadcast",
        "send": "send",
        "recv": "recv",
    }
)
ANNOTATED = MappingProxyType(
    {
        "all_reduce": "nccl:all_reduce",
        "all_gather": "nccl:_all_gather_base",
        "reduce_scatter": "nccl:_reduce_scatter_base",
        "all_to_all": "nccl:all_to_all",
        "broadcast": "nccl:broadcast",
        "send": "nccl:send 0->1",
        "recv": "nccl:recv 0<-1",
    }
)
_NCCL = MappingProxyType(
    {
        "all_reduce": "AllReduce",
        "all_gather": "AllGather",
        "reduce_scatter": "ReduceScatter",
        "all_to_all": "SendRecv",
        "broadcast": "Broadcast",
        "send": "SendRecv",
        "recv": "SendRecv",
    }
)
_TYPE = MappingProxyType({"Float": "f32", "BFloat16": "bf16", "Half": "f16"})
GENERATIONS = ("new", "old", "generic", "rccl")


def communication_kernel(span: Span, dtype: str, generation: str) -> str:
    """The kernel's name in one of the generations of the library."""
    name = _NCCL[span.collective]
    if generation == "generic":
        return "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"
    if generation == "rccl":
        return "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
    if generation == "old":
        if name == "SendRecv":
            return "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"
        return f"ncclKernel_{name}_RING_LL_Sum_{'float' if dtype == 'Float' else 'half'}(ncclWorkElem)"
    if name == "SendRecv":
        return "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
    summed = "_Sum_" + _TYPE[dtype] if name in {"AllReduce", "ReduceScatter"} else ""
    return f"ncclDevKernel_{name}{summed}_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def annotation(span: Span) -> str:
    if span.collective == "send":
        return f"nccl:send {span.peer[0]}->{span.peer[1]}"
    if span.collective == "recv":
        return f"nccl:recv {span.peer[1]}<-{span.peer[0]}"
    return ANNOTATED[span.collective]


def renamed(kernel: str) -> str:
    """Another build's name for the same kernel: another tile, another library."""
    return kernel.replace("ampere_bf16_s16816gemm_bf16_128x128", "sm90_xmma_gemm_bf16_256x64").replace(
        "multi_tensor_apply_kernel", "fused_adamw_kernel"
    )
