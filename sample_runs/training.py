"""One rank of a sample run: the model, its training step, and windows of it under the profiler."""

import gzip
import os
import re
import statistics
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

RANKS = 2
WARM_STEPS = 3  # profiled but not kept: the first steps under the profiler are slower
# Memory that a rank touches and frees before it trains, in units of its gradients, with malloc told to keep it.
# Without it gradients keep landing in fresh pages, at times 18,000 page faults a step, at a cost that hides
# what a pair is to show.
RESERVE = 20
UNLIMITED = "loopback, no limit"


@dataclass(frozen=True)
class Settings:
    """What run.json states of one side; a pair's sides differ in at most one of these."""

    bucket_cap_mb: float
    batch_per_rank: int
    hidden: int
    blocks: int = 4
    accumulation: int = 1
    link: str = UNLIMITED


class _Block(nn.Module):
    """A residual block of two large layers: few operations, hence small traces."""

    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


class _Trainer:
    """One rank's model, data and optimizer."""

    def __init__(self, rank, settings):
        torch.manual_seed(1)
        blocks = [_Block(settings.hidden) for _ in range(settings.blocks)]
        net = nn.Sequential(*blocks, nn.Linear(settings.hidden, 10))
        self.model = DistributedDataParallel(net, bucket_cap_mb=settings.bucket_cap_mb)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()
        self.micro_batches = settings.accumulation
        source = torch.Generator().manual_seed(1000 + rank)
        self.x = torch.randn(settings.batch_per_rank, settings.hidden, generator=source)
        self.y = torch.randint(0, 10, (settings.batch_per_rank,), generator=source)
        self.forward_ms = []

    def step(self):
        """Run one training step; only its last micro batch reduces gradients."""
        for left in reversed(range(self.micro_batches)):
            with self.model.no_sync() if left else nullcontext():
                began = time.perf_counter()
                loss = self.loss(self.model(self.x), self.y) / self.micro_batches
                self.forward_ms.append((time.perf_counter() - began) * 1e3)
                loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def window(self, steps):
        """Run a window under the profiler; return it, its step times and its mean forward time in ms."""
        self.step()
        dist.barrier()
        took = []
        self.forward_ms.clear()
        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=0, warmup=WARM_STEPS, active=steps, repeat=1),
            record_shapes=True,
            with_stack=False,
        ) as profiler:
            for _ in range(WARM_STEPS + steps):
                began = time.perf_counter()
                self.step()
                took.append((time.perf_counter() - began) * 1e3)
                profiler.step()
        kept = self.forward_ms[WARM_STEPS * self.micro_batches :]
        return profiler, took[WARM_STEPS:], statistics.mean(kept)


def _write_trace(profiler, path):
    """Write one rank's trace, compressed, without the names of the machine and of its folders."""
    plain = path.with_suffix("")
    profiler.export_chrome_trace(str(plain))
    text = plain.read_bytes()
    plain.unlink()
    text = re.sub(rb'"traceName": "[^"]*"', b'"traceName": "%s"' % plain.name.encode(), text)
    text = re.sub(rb'"host_name": "[^"]*"', b'"host_name": "node-a"', text)
    path.write_bytes(gzip.compress(text, 9, mtime=0))


def serve(rank, port, settings, steps, pipe):
    """Serve windows until the pipe says None: run one, wait for the other ranks, write its trace."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.ones(RESERVE * 2 * settings.blocks * settings.hidden**2)
    trainer = _Trainer(rank, settings)
    for _ in range(8):  # DistributedDataParallel rebuilds its buckets after the first
        trainer.step()
    pipe.send("ready")
    while (folder := pipe.recv()) is not None:
        profiler, took, forward = trainer.window(steps)
        pipe.send((took, forward))
        pipe.recv()  # every rank has left the window: writing disturbs nobody now
        _write_trace(profiler, Path(folder) / f"rank{rank}.pt.trace.json.gz")
        pipe.send("written")
    dist.destroy_process_group()
