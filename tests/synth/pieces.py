"""Pieces every training step is made of: groups, layers, optimizer, and how far the host runs ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synth.host import (
    AUTOGRAD,
    COMPUTE_STREAM,
    MAIN,
    Host,
)
from synth.model import Group, Job, Mark
from synth.names import ADAM, COPY_BACK, DROPOUT, GELU, GELU_BACKWARD, GEMM, GEMM_DW, GEMM_DX, LOSS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from synth.host import Wait

    Program = Generator[Wait, None, None]


def groups_of(job: Job) -> dict[str, Group]:
    """Process groups by the key a layout uses; sub-groups of one role differ in name and ranks only."""
    everyone = Group("0", "default_pg", tuple(range(job.world)))
    groups = {"dp": everyone}
    if job.parallel == "tp_dp":
        tp = job.tensor_parallel
        for first in range(0, job.world, tp):
            groups[f"tp{first}"] = Group(f"{1 + first}", "tensor_parallel", tuple(range(first, first + tp)))
        for lane in range(tp):
            ranks = tuple(range(lane, job.world, tp))
            groups[f"dp{lane}"] = Group(f"{100 + lane}", "data_parallel", ranks)
        groups["dp"] = everyone
    if job.parallel == "pipeline":
        for rank in range(job.world - 1):
            groups[f"pp{rank}"] = Group(f"{200 + rank}", "pipeline", (rank, rank + 1))
    return groups


# pieces of a step -----------------------------------------------------------------------------------------
def _dims(job: Job) -> tuple[tuple[int, ...], ...]:
    return ((job.batch, job.hidden), (job.hidden, job.hidden))


def scaled(job: Job, ns: int) -> int:
    return ns * job.batch // 32


def forward_layer(host: Host, at: str) -> None:
    job = host.job
    host.kernel("aten::addmm", GEMM, f"{at}/gemm", scaled(job, job.gemm_ns), dims=_dims(job))
    host.kernel("aten::gelu", GELU, f"{at}/gelu", scaled(job, job.act_ns), dims=_dims(job)[:1])
    for k in range(job.inserted):
        host.kernel("aten::native_dropout", DROPOUT, f"{at}/dropout{k}", scaled(job, job.act_ns // 2))


def backward_layer(host: Host, at: str) -> None:
    job = host.job
    with host.range("autograd::engine::evaluate_function: GeluBackward0"):
        ns = scaled(job, job.act_ns * 3 // 2)
        host.kernel("aten::gelu_backward", GELU_BACKWARD, f"{at}/gelu", ns, dims=_dims(job)[:1])
    with host.range("autograd::engine::evaluate_function: AddmmBackward0"):
        host.kernel("aten::mm", GEMM_DX, f"{at}/dx", scaled(job, job.gemm_ns), dims=_dims(job))
        host.kernel("aten::mm", GEMM_DW, f"{at}/dw", scaled(job, job.gemm_ns * 9 // 8), dims=_dims(job))


def loss(host: Host, micro: int) -> None:
    host.kernel("aten::nll_loss_forward", LOSS, f"m{micro}/loss", 15_000)


def begin(host: Host) -> Program:
    """Data loading, the input copy and the cleared gradients."""
    late = host.job.late_host_ns.get(host.rank, 0)
    host.phase = "forward"
    if late:
        with host.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "user_annotation"):
            host.pause(late)
    if host.job.copies:
        host.copy("input", host.job.batch * host.job.hidden * 4, 12_000)
        host.memset("zero_grad", 4_096, 3_000)
    if host.step_number in host.job.allocates:
        yield host.sync_device("cudaMalloc")


def optimizer(host: Host, marks: list[Mark]) -> Program:
    """Waits for the reductions, then the update; the bug and the legal overlap are here."""
    job = host.job
    early = (host.step_number, host.rank) in job.early_read
    if job.host_wait:
        frees = not job.host_wait.endswith("Synchronize")
        yield host.sync_device(job.host_wait) if frees else host.sync(job.host_wait, *marks)
    elif not job.per_bucket_optimizer and not early:
        with host.on(AUTOGRAD, "backward"):
            for mark in marks:
                host.wait(COMPUTE_STREAM, mark)
            for k in range(len(marks) if job.packing else 0):
                op = "torch.distributed.ddp.reducer::copy_bucket_to_grad"
                host.kernel(op, COPY_BACK, f"unpack{k}", job.act_ns // 4, packs=True)
    with host.on(MAIN, "optimizer"), host.range("Optimizer.step#AdamW.step", "user_annotation"):
        host.pause(5_000)
        kernels = len(marks) if job.per_bucket_optimizer else job.opt_kernels
        for k in range(kernels):
            if job.per_bucket_optimizer:
                host.wait(COMPUTE_STREAM, marks[k])
            host.kernel("aten::_fused_adamw_", ADAM, f"opt{k}", job.opt_ns * job.opt_kernels // kernels)
        host.pause(5_000)


def finish(host: Host, ends: list[Mark]) -> Program:
    """How far the host may run ahead of its device."""
    ends.append(host.record(COMPUTE_STREAM))
    if host.job.sync == "step":
        yield host.sync("cudaStreamSynchronize", ends[-1])
    elif host.job.sync == "run_ahead" and len(ends) > 1:
        yield host.sync("cudaEventSynchronize", ends[-2])


def steps(host: Host, body: Callable[[Host], Program]) -> Program:
    ends: list[Mark] = []
    for number in host.job.step_numbers:
        with host.step(number):
            yield from begin(host)
            yield from body(host)
            yield from finish(host, ends)
    yield host.sync_device()
