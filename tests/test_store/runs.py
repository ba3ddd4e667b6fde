"""Small runs on disk for tests of the store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def trace(
    rank: int | None = 0, *, start: int = 0, steps: int = 2, name: str = "gemm", **head: Any
) -> dict[str, Any]:
    """A trace of a few steps: a kernel and an all_reduce in each."""
    events: list[dict[str, Any]] = []
    main = {"pid": 10, "tid": 10}
    for step in range(steps):
        at, link = start + 1000 * step, 2 * step + 1
        more = {"correlation": link, "stream": 7, "device": 0, "registers per thread": 40}
        comm = {"correlation": link + 1, "stream": 20, "device": 0, "Collective name": "allreduce", "In msg nelems": 8,
                "dtype": "Float", "Seq": step}  # fmt: skip
        nccl = "ncclDevKernel_AllReduce_Sum_f32"
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", **main, "ts": at, "dur": 900},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", **main, "ts": at + 10, "dur": 100},
            *(
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **main, "ts": at + 20 + n, "dur": 1,
                 "args": {"correlation": link + n}}
                for n in range(2)
            ),
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 50, "dur": 400, "args": more},
            {"ph": "X", "cat": "kernel", "name": nccl, "pid": 0, "tid": 20, "ts": at + 300, "dur": 300, "args": comm},
        ]  # fmt: skip
    info = {} if rank is None else {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}}
    return {"schemaVersion": 1, **info, **head, "traceEvents": events}


def put(path: Path, whole: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(whole if isinstance(whole, str) else json.dumps(whole), encoding="utf-8")
    return path


def put_run(folder: Path, ranks: int = 2, repeats: int = 0, **more: Any) -> Path:
    """A run of some ranks, in sub-directories when it has repeats."""
    for repeat in range(max(1, repeats)):
        place = folder / f"repeat{repeat + 1}" if repeats else folder
        for rank in range(ranks):
            put(place / f"rank{rank}.json", trace(rank, name=f"gemm{repeat}", **more))
    return folder
