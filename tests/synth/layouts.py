"""Host programs of one rank: what a training step launches, in which order, and what waits for what."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from synth.host import AUTOGRAD, COMM_STREAM, COMPUTE_STREAM, COPY_STREAM, MAIN, SECOND_COMM_STREAM, Host
from synth.model import ITEM_BYTES, Group, Job, Mark
from synth.names import EXPERT, GELU, GEMM, GEMM_DX
from synth.pieces import backward_layer, forward_layer, loss, optimizer, scaled, steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from synth.pieces import Program


# data parallel --------------------------------------------------------------------------------------------
def bucket_sizes(job: Job) -> list[tuple[int, int]]:
    """(last layer of the bucket in backward order, bytes) per bucket; the bytes add up to grad_bytes."""
    per = [(job.layers - job.frozen) * (k + 1) // job.buckets for k in range(job.buckets)]
    weights = [k + 1 if job.uneven else 1 for k in range(job.buckets)]
    item = ITEM_BYTES[job.dtype]
    total = job.grad_bytes * item // 4
    sizes = [total * w // sum(weights) // item * item for w in weights]
    sizes[-1] += total - sum(sizes)
    return [(job.layers - done, size) for done, size in zip(per, sizes, strict=True)]


def reduce_bucket(host: Host, group: Group, k: int, sizes: list[tuple[int, int]]) -> Mark:
    name = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
    k = {0: 1, 1: 0}.get(k, k) if (host.step_number, host.rank) in host.job.swapped else k
    with host.range(name):
        return host.collective(group, "all_reduce", sizes[k][1], f"bucket{k}")


def ddp_passes(host: Host, group: Group, tensor: Group | None = None) -> list[Mark]:
    """All forward and backward passes of a step; the last one reduces the gradients."""
    job, marks = host.job, []
    sizes = bucket_sizes(job)
    for micro in range(job.micro):
        name = "DistributedDataParallel.forward"
        with host.range(name, "user_annotation"), host.graph() if job.graph else nullcontext():
            for layer in range(job.layers):
                forward_layer(host, f"m{micro}/fwd{layer}")
                if tensor:
                    tensor_reduce(host, tensor, f"m{micro}/for{layer}/tp")
        loss(host, micro)
        with host.on(AUTOGRAD, "backward"):
            last = micro == job.micro - 1
            for layer in reversed(range(job.layers)):
                backward_layer(host, f"m{micro}/bwd{layer}")
                if tensor:
                    tensor_reduce(host, tensor, f"m{micro}/back{layer}/tp")
                for k, (upto, _) in enumerate(sizes):
                    if last and job.overlap and upto == layer:
                        marks.append(reduce_bucket(host, group, k, sizes))
            if last and not job.overlap:
                marks = [reduce_bucket(host, group, k, sizes) for k in range(job.buckets)]
    return marks


def tensor_reduce(host: Host, group: Group, label: str) -> None:
    """A tensor-parallel all_reduce that the next layer needs."""
    nbytes = host.job.batch * host.job.hidden * 256
    mark = host.collective(group, "all_reduce", nbytes, label, stream=SECOND_COMM_STREAM)
    host.wait(COMPUTE_STREAM, mark)


def ddp(host: Host) -> Program:
    def body(host: Host) -> Program:
        marks = ddp_passes(host, host.groups["dp"])
        yield from optimizer(host, marks)

    yield from steps(host, body)


def tp_dp(host: Host) -> Program:
    tp = host.job.tensor_parallel
    tensor = host.groups[f"tp{host.rank // tp * tp}"]
    data = host.groups[f"dp{host.rank % tp}"]

    def body(host: Host) -> Program:
        marks = ddp_passes(host, data, tensor)
        yield from optimizer(host, marks)

    yield from steps(host, body)


# sharded data parallel ------------------------------------------------------------------------------------
def fsdp(host: Host) -> Program:
    """all_gather before each layer, `prefetch` layers ahead; reduce_scatter after each layer's backward."""
    job = host.job
    group = host.groups["dp"]
    layer_bytes = job.grad_bytes // job.layers
    used: list[Mark] = []  # where the compute stream stood when a gathered layer was last asked for

    def through(layers: list[int], at: str, compute: Callable[[int], None]) -> None:
        gathered: list[Mark] = []
        for place, layer in enumerate(layers):
            while len(gathered) <= min(place + job.prefetch, len(layers) - 1):
                label = f"{at}{layers[len(gathered)]}/ag"
                gathered.append(host.collective(group, "all_gather", layer_bytes, label, after=used[-1]))
            host.wait(COMPUTE_STREAM, gathered[place])
            compute(layer)
            used.append(host.record(COMPUTE_STREAM))

    def body(host: Host) -> Program:
        scattered: list[Mark] = []
        for micro in range(job.micro):
            used.append(host.record(COMPUTE_STREAM))
            with host.range("FullyShardedDataParallel.forward", "user_annotation"):
                through(
                    list(range(job.layers)),
                    f"m{micro}/for",
                    lambda layer, m=micro: forward_layer(host, f"m{m}/fwd{layer}"),
                )
            loss(host, micro)

            def back(layer: int, m: int = micro) -> None:
                backward_layer(host, f"m{m}/bwd{layer}")
                label = f"m{m}/back{layer}/rs"
                stream = SECOND_COMM_STREAM
                scattered.append(host.collective(group, "reduce_scatter", layer_bytes, label, stream=stream))

            with host.on(AUTOGRAD, "backward"):
                through(list(reversed(range(job.layers))), f"m{micro}/back", back)
        yield from optimizer(host, scattered)

    yield from steps(host, body)


# experts --------------------------------------------------------------------------------------------------
def moe(host: Host) -> Program:
    """all_to_all to the experts and back in every layer; overlapped, a shared expert runs meanwhile."""
    job = host.job
    group = host.groups["dp"]
    nbytes = job.batch * job.hidden * 512

    def shared(at: str) -> None:
        host.kernel("aten::linear", EXPERT, f"{at}/shared", scaled(job, job.gemm_ns))

    def exchange(label: str, hide: str | None) -> None:
        mark = host.collective(group, "all_to_all", nbytes, label)
        if hide is not None and job.overlap:
            shared(hide)
        host.wait(COMPUTE_STREAM, mark)

    def body(host: Host) -> Program:
        for way, thread, phase in (("fwd", MAIN, "forward"), ("bwd", AUTOGRAD, "backward")):
            layers = range(job.layers) if way == "fwd" else reversed(range(job.layers))
            if way == "bwd":
                loss(host, 0)
            name = "MoE.forward" if way == "fwd" else "autograd::engine::evaluate_function: MoEBackward"
            with host.on(thread, phase):
                for layer in layers:
                    at = f"m0/{way}{layer}"
                    with host.range(name, "user_annotation" if way == "fwd" else "cpu_op"):
                        host.kernel("aten::addmm", GEMM, f"{at}/gate", scaled(job, job.act_ns))
                        if not job.overlap:
                            shared(at)
                        exchange(f"{at}/dispatch", at)
                        host.kernel("aten::bmm", GEMM_DX, f"{at}/expert", scaled(job, job.gemm_ns))
                        exchange(f"{at}/combine", None)
                        host.kernel("aten::gelu", GELU, f"{at}/gelu", scaled(job, job.act_ns))
        host.phase = "other"  # on the main thread, after the step's last backward node
        marks = [host.collective(group, "all_reduce", job.grad_bytes // 8, "grads")]
        yield from optimizer(host, marks)

    yield from steps(host, body)


# pipeline -------------------------------------------------------------------------------------------------
def pipeline(host: Host) -> Program:
    """Stages pass activations and gradients of `micro` micro-batches to their neighbours, forward first."""
    job, rank = host.job, host.rank
    nbytes = job.batch * job.hidden * 512
    mine = range(max(1, job.layers // job.world))

    def pass_on(kind: str, other: int, label: str) -> Mark:
        group = host.groups[f"pp{min(rank, other)}"]
        peer = (rank, other) if kind == "send" else (other, rank)
        stream = COMM_STREAM if other > rank else COPY_STREAM + 4
        return host.collective(group, kind, nbytes, label, stream=stream, peer=peer)

    def stage(micro: int, way: str, source: int, target: int, layer: Callable[[Host, str], None]) -> None:
        if 0 <= source < job.world:
            host.wait(COMPUTE_STREAM, pass_on("recv", source, f"m{micro}/{way}/recv"))
        for k in mine:
            layer(host, f"m{micro}/{way}{k}")
        if 0 <= target < job.world:
            pass_on("send", target, f"m{micro}/{way}/send")

    def body(host: Host) -> Program:
        for micro in range(job.micro):
            with host.range("PipelineStage.forward", "user_annotation"):
                stage(micro, "fwd", rank - 1, rank + 1, forward_layer)
        loss(host, 0)
        with host.on(AUTOGRAD, "backward"):
            for micro in range(job.micro):
                stage(micro, "bwd", rank + 1, rank - 1, backward_layer)
        host.phase = "other"
        norm = host.collective(host.groups["dp"], "all_reduce", 4, "norm", stream=SECOND_COMM_STREAM)
        yield from optimizer(host, [norm])

    yield from steps(host, body)


LAYOUTS = {"ddp": ddp, "fsdp": fsdp, "tp_dp": tp_dp, "moe": moe, "pipeline": pipeline}
