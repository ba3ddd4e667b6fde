"""What a launch is called: phase, the outermost meaningful range, its occurrence; packing lends its timing only."""

from __future__ import annotations

import pytest
from handmade import collective, kernel, tables

from abstep.measure.dictionary import base_name
from abstep.measure.run import measure
from abstep.windows import cut

STEPS = [(-100, 2_900), (2_900, 3_900)]
CLOSING = kernel(3_000, 3_010, launch=2_910)
MAIN, AUTOGRAD = 0, 1
THREADS = {MAIN: (True, False), AUTOGRAD: (False, True)}
NODE = "autograd::engine::evaluate_function: AddmmBackward0"


@pytest.mark.parametrize(
    ("kernel_name", "base"),
    [
        (
            "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
            "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::Gelu>(int)",
            "at::native::vectorized_elementwise_kernel",
        ),
        (
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<float, 4>(int)",
            "at::native::multi_tensor_apply_kernel",
        ),
        ("triton_poi_fused_add_3", "triton_poi_fused_add"),
        ("triton_red_fused_mean_0d1d2de3", "triton_red_fused_mean"),
        ("triton_per_fused__softmax_backward__0d1d2d", "triton_per_fused__softmax_backward_"),
        ("kernel_12", "kernel"),
        ("cutlass::Kernel<cutlass::gemm<A<B>>, 2>(Params)", "cutlass::Kernel"),
        ("<lambda>", "<lambda>"),
        ("_5", "_5"),
        ("", ""),
    ],
)
def test_base_names(kernel_name, base):
    assert base_name(kernel_name).rstrip("_") == base.rstrip("_")


def consumers(*activities, waits=()):
    """(phase of the launch, name of the consumer) of every collective, in order of time."""
    run = measure(cut(tables(*activities, CLOSING, steps=STEPS, waits=waits, threads=THREADS)))
    return run.instances.sort("start_ns").select("phase", "consumer").rows()


def followed(consumer, *more, launched=()):
    """A collective that a kernel waits for: recorded, so that nothing else can be its consumer."""
    talk = collective(100, 200, 10, path=launched)
    return consumers(talk, consumer, *more, waits=[(7, 20, 15, 14)])[0]


# phases -----------------------------------------------------------------------------------------------------
def test_optimizer_is_what_runs_inside_an_optimizers_step():
    path = ("Optimizer.step#AdamW.step", "aten::_fused_adamw_")
    assert followed(kernel(200, 300, 20, path=path))[1] == "optimizer Optimizer.step#AdamW.step #1"


def test_backward_is_inside_an_autograd_node_and_named_without_its_prefix():
    path = (NODE, "AddmmBackward0", "aten::mm")
    assert followed(kernel(200, 300, 20, path=path))[1] == "backward AddmmBackward0 #1"


def test_backward_is_also_a_thread_that_runs_nodes_and_never_carries_a_step():
    """What hooks launch there, recomputation too, is backward."""
    hook = kernel(200, 300, 20, path=("aten::mul",), thread=AUTOGRAD)
    assert followed(hook)[1] == "backward aten::mul #1"


def test_a_thread_that_carries_the_step_and_runs_nodes_is_not_backward_altogether():
    """On the CPU the calling thread runs the backward pass: only what lies inside nodes is backward."""
    run = measure(
        cut(
            tables(
                collective(100, 200, 10),
                kernel(200, 300, 20, path=("aten::addmm",)),
                kernel(400, 500, 30, path=(NODE, "aten::mm")),
                CLOSING,
                steps=STEPS,
                waits=[(7, 20, 15, 14)],
                threads={0: (True, True)},
            )
        )
    )
    assert run.instances["consumer"].to_list() == ["forward aten::addmm #1"]


def test_forward_is_inside_a_modules_forward():
    path = ("MyModel.forward", "aten::addmm")
    assert followed(kernel(200, 300, 20, path=path))[1] == "forward MyModel.forward #1"


def test_forward_is_also_the_main_thread_before_the_steps_next_backward_node():
    backward = kernel(400, 500, 400, path=(NODE,), thread=AUTOGRAD)
    assert followed(kernel(200, 300, 20, path=("aten::addmm",)), backward)[1] == "forward aten::addmm #1"


def test_other_is_the_rest():
    backward = kernel(50, 90, 5, path=(NODE,), thread=AUTOGRAD)
    metric = kernel(200, 300, 20, path=("aten::sum",))
    assert followed(metric, backward)[1] == "other aten::sum #1"


def test_the_phase_of_a_collective_is_that_of_its_launch():
    backward = kernel(400, 500, 400, path=(NODE,), thread=AUTOGRAD)
    update = kernel(200, 300, 20, path=("Optimizer.step#SGD.step",))
    assert followed(update, backward, launched=(NODE, "c10d::allreduce_"))[0] == "backward"
    assert followed(update, backward, launched=("DDP.forward", "c10d::broadcast_"))[0] == "forward"
    assert followed(update, backward, launched=("Optimizer.step#ZeRO", "c10d::broadcast_"))[0] == "optimizer"


# occurrences ------------------------------------------------------------------------------------------------
def test_occurrences_count_ranges_not_kernels():
    """Two kernels of one node are one place; the next node of that name is the second."""
    first = [
        kernel(50 + 10 * n, 55 + 10 * n, 1 + n, path=(NODE, "aten::mm"), range_start=0.5, thread=AUTOGRAD)
        for n in range(3)
    ]
    second = kernel(200, 300, 20, path=(NODE, "aten::mm"), range_start=19, thread=AUTOGRAD)
    assert followed(second, *first)[1] == "backward AddmmBackward0 #2"


def test_occurrences_count_within_a_step_and_a_phase():
    """The same operator in forward does not number the backward's."""
    forward = kernel(50, 60, 1, path=("aten::mm",))
    backward = kernel(200, 300, 20, path=("aten::mm",), thread=AUTOGRAD)
    assert followed(backward, forward)[1] == "backward aten::mm #1"


def test_what_no_range_encloses_is_named_by_its_kernel():
    alone = kernel(200, 300, 20, name="void at::native::fill_kernel<float>(float*)")
    assert followed(alone)[1] == "other at::native::fill_kernel #1"


# packing ----------------------------------------------------------------------------------------------------
PACKING = [
    "torch.distributed.ddp.reducer::copy_bucket_to_grad",
    "fsdp::split_with_sizes_copy",
    "fsdp::all_gather_copy_in",
    "aten::chunk_cat",
    "aten::split_with_sizes_copy",
]


@pytest.mark.parametrize("name", PACKING)
def test_packing_gives_its_timing_and_the_span_behind_it_the_name(name):
    unpack = kernel(200, 230, 20, path=(name,))
    update = kernel(230, 300, 21, path=("Optimizer.step#Adam",))
    run = measure(
        cut(tables(collective(100, 200, 10), unpack, update, CLOSING, steps=STEPS, waits=[(7, 20, 15, 14)]))
    )
    row = run.instances.to_dicts()[0]
    assert row["consumer"] == "optimizer Optimizer.step#Adam #1"
    assert row["slack_ns"] == 0, "the packing waited, not what comes after it"
    assert run.parts["consumer"].to_list() == ["optimizer Optimizer.step#Adam #1"]


def test_buckets_that_are_unpacked_one_by_one_are_one_slot():
    """Two buckets or five: what waits is the optimizer, so the slot survives another bucket count."""
    unpack = [kernel(200 + 100 * n, 210 + 100 * n, 40 + n, path=(PACKING[0],)) for n in range(3)]
    talk = [collective(100 + 100 * n, 200 + 100 * n, 10 + n) for n in range(3)]
    update = kernel(410, 500, 60, path=("Optimizer.step#Adam",))
    waits = [(7, 20, 39.5 + n, 10.5 + n) for n in range(3)]
    names = consumers(*talk, *unpack, update, waits=waits)
    assert {name for _, name in names} == {"optimizer Optimizer.step#Adam #1"}
