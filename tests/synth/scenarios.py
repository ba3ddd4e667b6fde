"""Ready-made pairs: each plants one difference and keeps the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from synth.faults import lose, unlaunched, without_rank
from synth.model import Clock, Job, SimRun
from synth.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MILLISECOND = 1_000_000
SKEWED = {1: Clock(3 * MILLISECOND, 8.0), 2: Clock(-2_700_000, -5.0), 3: Clock(1_250_000, 2.0)}
SMALL_KERNELS = {"host_op_ns": 66_000, "gemm_ns": 18_000, "act_ns": 6_000, "grad_bytes": 20 << 20}


@dataclass(frozen=True)
class Pair:
    """What both sides share, what the variant changes, and how run.json calls it."""

    about: str
    both: Mapping[str, Any] = field(default_factory=dict)
    base: Mapping[str, Any] = field(default_factory=dict)
    variant: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    fault: Callable[[SimRun], SimRun] | None = None  # what goes wrong with the variant's recording


PAIRS: dict[str, Pair] = {
    "same": Pair("nothing differs but the noise", settings={"run_note": ("first", "second")}),
    "buckets": Pair(
        "more buckets: other counts and sizes, a smaller tail",
        base={"buckets": 2},
        variant={"buckets": 5},
        settings={"bucket_cap_mb": (32, 13)},
    ),
    "overlap_on": Pair(
        "reductions during the backward pass instead of after it",
        base={"overlap": False},
        settings={"overlap_comm": (False, True)},
    ),
    "contention": Pair(
        "overlap switched on: the tail shrinks, but compute and transport stretch",
        both={"buckets": 8, "compute_stretch": 1.9, "comm_stretch": 2.3},
        base={"overlap": False},
        settings={"overlap_comm": (False, True)},
    ),
    "growth": Pair(
        "overlapped compute stretches in the variant only; override compute_stretch and slowdown",
        both={"buckets": 4},
        variant={"compute_stretch": 1.2},
        settings={"nccl_max_nchannels": (4, 16)},
    ),
    "slowdown": Pair(
        "every compute span of the variant takes 3 % longer, overlapped or not",
        variant={"slowdown": 1.03},
        settings={"node": ("a", "b")},
    ),
    "fsdp_prefetch": Pair(
        "all_gathers one layer ahead: the blocking ones vanish, except the first",
        both={"parallel": "fsdp"},
        variant={"prefetch": 1},
        settings={"fsdp_prefetch": (0, 1)},
    ),
    "straggler": Pair(
        "rank 1 computes 12 % slower and is the late one; clocks are off in both",
        both={"clocks": SKEWED},
        variant={"slow_rank": {1: 1.12}},
        settings={"node_of_rank1": ("n1", "n7")},
    ),
    "straggler_removed": Pair(
        "rank 2's host loads data too long; in the variant it does not",
        both={"sync": "step"},
        base={"late_host_ns": {2: 4 * MILLISECOND}},
        settings={"loader_workers": (0, 4)},
    ),
    "clocks": Pair("clocks off by milliseconds, with drift", both={"clocks": SKEWED}, variant={"buckets": 6}),
    "slow_link": Pair(
        "the link takes twice as long, everything else is the same",
        variant={"link_bytes_per_us": 37_500},
        settings={"nccl_algo": ("ring", "tree")},
    ),
    "host_bound": Pair(
        "the device starves; a link three times as fast shrinks incidental time only",
        both={**SMALL_KERNELS, "sync": "step", "copies": False, "frozen": 3},
        variant={"link_bytes_per_us": 225_000},
        settings={"nccl_algo": ("tree", "ring")},
    ),
    "host_wait": Pair(
        "the host waits for the reductions before it launches the update; in the variant the stream does",
        base={"host_wait": "cudaStreamSynchronize"},
        settings={"async_optimizer": (False, True)},
    ),
    "free": Pair(
        "device memory is freed before the update, which waits for the device",
        base={"host_wait": "cudaFree"},
        settings={"expandable_segments": (False, True)},
    ),
    "rank_missing": Pair("rank 2's file is missing in the variant", fault=lambda run: without_rank(run, 2)),
    "lost_collective": Pair(
        "one collective of step first + 2 was not recorded on rank 1",
        fault=lambda run: lose(run, 1, run.job.first_step + 2, "bucket1"),
    ),
    "unlaunched": Pair(
        "one activity without a launch record",
        fault=lambda run: unlaunched(run, 0, run.job.first_step + 2, "m0/fwd2/gelu"),
    ),
    "other_order": Pair(
        "rank 1 issues its first two reductions swapped in step 5",
        both={"uneven": True},
        variant={"swapped": ((5, 1),)},
    ),
    "early_read": Pair(
        "rank 2 updates in step 5 before it has the gradients", variant={"early_read": ((5, 2),)}
    ),
    "legal_overlap": Pair(
        "every bucket has its own update, always before the next", {"per_bucket_optimizer": True}
    ),
    "tp_dp": Pair(
        "two tensor-parallel pairs, two data-parallel lanes; the data-parallel reductions overlap in the variant",
        both={"parallel": "tp_dp"},
        base={"overlap": False},
        settings={"overlap_grad_reduce": (False, True)},
    ),
    "tp_dp_late": Pair(
        "rank 3 computes 10 % slower: late in its own groups only",
        both={"parallel": "tp_dp"},
        variant={"slow_rank": {3: 1.1}},
        settings={"node_of_rank3": ("n1", "n7")},
    ),
    "moe": Pair(
        "all_to_all hidden behind the shared expert in the variant",
        both={"parallel": "moe", "layers": 4},
        base={"overlap": False},
        settings={"overlap_moe": (False, True)},
    ),
    "pipeline": Pair(
        "four stages; the link between them is twice as fast in the variant",
        both={"parallel": "pipeline", "micro": 4},
        variant={"link_bytes_per_us": 150_000},
        settings={"nccl_algo": ("tree", "ring")},
    ),
    "accumulation": Pair(
        "two passes a step in the variant: not comparable",
        variant={"micro": 2},
        settings={"accumulation": (1, 2)},
    ),
    "dtype": Pair(
        "gradients in half the bytes: not comparable",
        variant={"dtype": "BFloat16"},
        settings={"grad_dtype": ("float32", "bfloat16")},
    ),
    "batch": Pair("twice the batch: not comparable", variant={"batch": 64}),
    "world": Pair("half the ranks: not comparable", variant={"world": 2}),
    "two_settings": Pair(
        "buckets and link both differ: nothing can be ascribed to one of them",
        base={"buckets": 2},
        variant={"buckets": 5, "link_bytes_per_us": 60_000},
        settings={"bucket_cap_mb": (32, 13), "nccl_algo": ("ring", "tree")},
    ),
    "inserted": Pair(
        "a dropout in every layer of the variant; the slots stay",
        variant={"inserted": 1},
        settings={"dropout": (0.0, 0.1)},
    ),
    "packing": Pair("buckets are copied back into gradients before the update", both={"packing": True}),
    "graph": Pair("the forward pass is one graph launch in the variant", variant={"graph": True}),
    "cycles": Pair("three files a rank", both={"cycles": 3}),
    "warm_up": Pair(
        "the first three steps allocate and are slow",
        both={"steps": 20, "allocates": (3, 4), "step_factor": {3: 2.5, 4: 1.6, 5: 1.2}},
        variant={"buckets": 6},
        settings={"bucket_cap_mb": (16, 11)},
    ),
    "outlier": Pair("one slow step in the variant", both={"steps": 20}, variant={"step_factor": {12: 3.0}}),
}


def jobs(name: str, **overrides: Any) -> tuple[Job, Job]:
    """The two jobs of a pair. An override `base_x` or `variant_x` is that side's alone."""
    pair = PAIRS[name]
    sides = []
    for side, own in (("base", pair.base), ("variant", pair.variant)):
        changes: dict[str, Any] = {**pair.both, **own}
        seed = overrides.get("seed", 0) * 2 + (side == "variant")
        for key, value in overrides.items():
            where, _, rest = key.partition("_")
            if where not in {"base", "variant"}:
                changes[key] = value
            elif where == side:
                changes[rest] = value
        sides.append(Job(**{**changes, "seed": seed}))
    return sides[0], sides[1]


def scenario(name: str, **overrides: Any) -> tuple[SimRun, SimRun]:
    """Both simulated sides of a ready-made pair."""
    runs = []
    for n, (side, job) in enumerate(zip(("base", "variant"), jobs(name, **overrides), strict=True)):
        settings = {"model": f"toy-{job.layers}", "world_size": job.world, "batch": job.batch}
        settings |= {key: values[n] for key, values in PAIRS[name].settings.items()}
        runs.append(simulate(job, side, settings))
    fault = PAIRS[name].fault
    return runs[0], runs[1] if fault is None else fault(runs[1])
