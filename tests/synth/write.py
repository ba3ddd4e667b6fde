"""Files of a simulated run: one Kineto document a rank, beside run.json."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import msgspec

from synth.kineto import BASE_NS, Layout, Writer
from synth.model import RankTrace, SimRun

if TYPE_CHECKING:
    from pathlib import Path

    from synth.kineto import Event


def document(writer: Writer) -> Any:
    layout, rank = writer.layout, writer.rank
    if layout.root == "list":
        return writer.events()
    name = layout.file_name.format(rank)
    properties = [{"id": n, "name": layout.device, "computeMajor": 8, "numSms": 108} for n in range(8)]
    head: Event = {"schemaVersion": 1, "deviceProperties": properties}
    groups = [g for g in writer.run.groups if rank in g.ranks]
    if layout.distributed != "none":
        info: Event = {"backend": "nccl", "rank": rank, "world_size": writer.run.job.world}
        if layout.distributed == "no_rank":
            del info["rank"]
        info["pg_count"] = len(groups)
        info["pg_config"] = [
            {
                "pg_name": g.name,
                "pg_desc": g.role,
                "backend_config": "cuda:nccl",
                "pg_size": len(g.ranks),
                "ranks": list(g.ranks),
            }
            for g in groups
        ]
        info["nccl_version"] = "2.20.5"
        head["distributedInfo"] = info
    if layout.rocm:
        head |= {
            "roctracer_version": 4.1,
            "hip_runtime_version": 60443483,
            "hip_driver_version": 60443483,
        }
    else:
        head |= {"cuda_runtime_version": 12010, "cuda_driver_version": 12040}
    head |= {"with_stack": int(layout.stacks), "record_shapes": int(layout.shapes)}
    if layout.host_name:
        head["host_name"] = layout.host_name
    head |= {"traceName": name, "displayTimeUnit": "ms"}
    if layout.time in {"float", "int"}:
        head["baseTimeNanoseconds"] = BASE_NS
    return head | {"traceEvents": writer.events()}


def _part(run: SimRun, trace: RankTrace, cycle: int) -> RankTrace:
    """What one profiler cycle holds: its steps' host time and what was launched in it."""
    steps = {number: mark for number, mark in trace.steps.items() if run.job.cycle_of(number) == cycle}
    first, last = min(m.start for m in steps.values()), max(m.end for m in steps.values())
    return RankTrace(
        trace.rank,
        spans=[s for s in trace.spans if s.step in steps],
        ranges=[r for r in trace.ranges if first <= r.start < last],
        calls=[c for c in trace.calls if first <= c.start < last],
        edges=[e for e in trace.edges if first <= e.call.start < last],
        steps=steps,
    )


def write_run(run: SimRun, folder: Path, layout: Layout | None = None, **options: Any) -> Path:
    """One file a rank, and run.json; returns the folder."""
    layout = layout or Layout(**options)
    folder.mkdir(parents=True, exist_ok=True)
    for rank, trace in run.ranks.items():
        for cycle in range(run.job.cycles):
            part = trace if run.job.cycles == 1 else _part(run, trace, cycle)
            text = msgspec.json.encode(document(Writer(run, part, layout)))
            if layout.indent:
                text = msgspec.json.format(text, indent=2)
            stem, dot, end = layout.file_name.format(rank).partition(".")
            name = f"{stem}{f'_cycle{cycle}' if run.job.cycles > 1 else ''}{dot}{end}"
            if layout.gz:
                (folder / f"{name}.gz").write_bytes(gzip.compress(text, compresslevel=1, mtime=0))
            else:
                (folder / name).write_bytes(text)
    note = {"label": run.label, "settings": run.settings} | (
        {"recorded": run.recorded} if run.recorded else {}
    )
    (folder / "run.json").write_bytes(msgspec.json.encode(note))
    return folder


def write_repeats(runs: list[SimRun], folder: Path, **options: Any) -> Path:
    """Several launches of one configuration: a sub-directory each."""
    for n, run in enumerate(runs):
        write_run(run, folder / f"repeat{n + 1}", **options)
    return folder


def write_pair(folder: Path, base: SimRun, variant: SimRun, **options: Any) -> tuple[Path, Path]:
    """Both sides, as folders `base` and `variant`."""
    return write_run(base, folder / "base", **options), write_run(variant, folder / "variant", **options)
