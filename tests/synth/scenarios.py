"""Ready-made pairs: each plants one difference and keeps the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from synth.model import Clock, Job, SimRun
from synth.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        both={**SMALL_KERNELS, "sync": "step", "copies": False},
        variant={"link_bytes_per_us": 225_000},
        settings={"nccl_algo": ("tree", "ring")},
    ),
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
    return runs[0], runs[1]
