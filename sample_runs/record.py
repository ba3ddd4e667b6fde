#!/usr/bin/env python3
"""Record the sample pairs in this folder: gloo data-parallel training on the CPU, base against variant.

Both sides of a pair stay resident, two rank processes each, and their windows are recorded in turn
(base, variant, variant, base, ...), so that slow drift of the machine falls on both sides alike. A window is
recorded again when other processes kept the cores busy during it, or when a core was slow, as told by the
forward pass, which no pair's change touches and no communication overlaps: windows are chosen by the state of
the machine and never by what they show of the change.
"""

import argparse
import json
import multiprocessing
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from training import RANKS, UNLIMITED, Settings, serve

HERE = Path(__file__).resolve().parent
CALM_LOAD = 0.12  # cores that other processes may take during a window
CALM_FORWARD = 1.15  # times the side's fastest window: how long its forward pass may take on a rank
TRIES = 12  # windows tried before the best of them is kept, with a warning
# Has glibc's malloc keep what is freed; see RESERVE.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
NEEDS = """\
needs: Linux, torch (CPU is enough), two idle cores, 8 GB of free memory and a few minutes.
Pairs on a rate-limited link also need `ip` and `tc` (iproute2) and a network namespace of their own, so that
the limit falls on this script's loopback alone:
    unshare -n  python sample_runs/record.py      as root
    unshare -rn python sample_runs/record.py      where user namespaces are allowed
Without one, --pair contention_eats_gain still works: it sets no limit."""


@dataclass(frozen=True)
class Pair:
    """Two sides and how much of each to record."""

    base: Settings
    variant: Settings
    repeats: int
    steps: int = 8


def _pairs():
    """Return every pair by its folder's name."""
    # Four blocks of two 1024 x 1024 layers: 33.6 MB of gradients, so that one all_reduce of everything takes
    # about as long on this link as the backward pass that could hide it.
    limited = Settings(bucket_cap_mb=4, batch_per_rank=256, hidden=1024, link="loopback, tbf 4gbit")
    # Without a limit the all_reduce is copying and adding on the ranks' own cores: more gradient and less
    # compute, so that this work is a good part of the step.
    unlimited = Settings(bucket_cap_mb=100, batch_per_rank=96, hidden=1536)
    return {
        "bucket_tail_shrinks": Pair(replace(limited, bucket_cap_mb=100), limited, repeats=4),
        "contention_eats_gain": Pair(unlimited, replace(unlimited, bucket_cap_mb=4), repeats=4),
        "same_settings": Pair(limited, limited, repeats=4),
        "unfair_accumulation": Pair(limited, replace(limited, accumulation=2), repeats=1),
    }


def _own_namespace():
    """Tell whether loopback is the only interface, as in a network namespace just made."""
    tunnels = {"tunl0", "sit0", "ip6tnl0", "gre0", "gretap0", "erspan0"}  # the kernel adds these by itself
    return {name for _, name in socket.if_nameindex()} <= {"lo"} | tunnels


def _set_link(link):
    """Give this namespace's loopback the pair's rate."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=False, stderr=subprocess.DEVNULL)
    if link != UNLIMITED:
        shape = ["tbf", "rate", link.split()[-1], "burst", "256kb", "limit", "256mb"]
        subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", *shape], check=True)


def _busy_elsewhere(pids):
    """Return the seconds for which cores were busy with anything but these processes and this one."""
    tick = os.sysconf("SC_CLK_TCK")
    cores = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = cores[3] + cores[4]
    own = sum(os.times()[:2])
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        own += (int(fields[11]) + int(fields[12])) / tick
    return (sum(cores) - idle) / tick - own


def _wait_for_calm():
    """Wait while other processes keep the cores busy, up to half a minute."""
    for _ in range(60):
        before = _busy_elsewhere([])
        time.sleep(0.5)
        if (_busy_elsewhere([]) - before) / 0.5 < CALM_LOAD:
            return


class _Side:
    """The resident ranks of one side; between their windows they sleep on a pipe."""

    def __init__(self, label, settings, steps):
        self.label, self.settings = label, settings
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        context = multiprocessing.get_context("spawn")
        self.pipes, self.ranks = [], []
        for rank in range(RANKS):
            mine, theirs = context.Pipe()
            process = context.Process(target=serve, args=(rank, port, settings, steps, theirs), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(mine)
            self.ranks.append(process)
        self.answers()
        self.fastest_ms = float("inf")

    def tell(self, what):
        """Say the same to every rank."""
        for pipe in self.pipes:
            pipe.send(what)

    def answers(self):
        """Return what every rank answers, waiting for all of them."""
        return [pipe.recv() for pipe in self.pipes]

    def window(self, folder):
        """Record one window into `folder`; return how disturbed it was: up to 1 is calm."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        pids = [process.pid for process in self.ranks]
        started, before = time.time(), _busy_elsewhere(pids)
        self.tell(str(folder))
        answers = self.answers()
        load = max(0.0, (_busy_elsewhere(pids) - before) / (time.time() - started))
        self.tell("write")
        self.answers()
        forward = max(forward for _, forward in answers)
        self.fastest_ms = min(self.fastest_ms, forward)
        run = {
            "label": self.label,
            "settings": asdict(self.settings),
            "environment": {
                "torch": torch.__version__,
                "python": platform.python_version(),
                "backend": "gloo",
                "ranks": RANKS,
                "cores": os.cpu_count(),
                "threads_per_rank": 1,
                "pinning": "rank r on core r",
                "malloc": "glibc, memory reserved and kept",
            },
            "recorded": {
                "started_unix": round(started, 1),
                "resident": True,
                "foreign_cores_busy": round(load, 3),
                "forward_ms_slower_rank": round(forward, 2),
            },
        }
        (folder / "run.json").write_text(json.dumps(run, indent=1) + "\n")
        took = answers[0][0]
        print(
            f"{self.label:30} step median {statistics.median(took):6.1f} ms [{min(took):.1f}"
            f" to {max(took):.1f}], other load {load:.3f} cores, forward {forward:.1f} ms",
            flush=True,
        )
        return max(load / CALM_LOAD, (forward / self.fastest_ms - 1) / (CALM_FORWARD - 1))

    def close(self):
        """Let the ranks leave."""
        self.tell(None)
        for process in self.ranks:
            process.join(20)


def _record_calm(side, kept):
    """Record one window of `side` into the folder `kept`, again until one was calm."""
    attempt = kept.with_name(f"{kept.name}.try")
    least = float("inf")
    for _ in range(TRIES):
        _wait_for_calm()
        disturbed = side.window(attempt)
        if disturbed < least:
            shutil.rmtree(kept, ignore_errors=True)
            attempt.rename(kept)
            least = disturbed
        if least <= 1:
            break
    else:
        print(f"warning: {kept}: no window was calm; this machine is busy or its cores are shared")
    shutil.rmtree(attempt, ignore_errors=True)


def _record(name, pair, out):
    """Record a pair's windows, its sides in turn."""
    if _own_namespace():
        _set_link(pair.base.link)
    shutil.rmtree(out / name, ignore_errors=True)
    sides = {side: _Side(f"{name}: {side}", getattr(pair, side), pair.steps) for side in ("base", "variant")}
    for side in sides.values():  # thrown away: the first window of a process is slower than all after it
        side.window(out / name / "warm")
    shutil.rmtree(out / name / "warm")
    for repeat in range(1, pair.repeats + 1):
        for side in ("base", "variant") if repeat % 2 else ("variant", "base"):
            folder = out / name / side
            _record_calm(sides[side], folder / f"repeat{repeat}" if pair.repeats > 1 else folder)
    for side in sides.values():
        side.close()


def main():
    """Record the pairs asked for."""
    pairs = _pairs()
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=NEEDS, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE, help="where to record (default: this folder)")
    parser.add_argument("--pair", action="append", choices=sorted(pairs), help="only this pair; repeatable")
    asked = parser.parse_args()
    chosen = {name: pair for name, pair in pairs.items() if name in (asked.pair or pairs)}
    if len(os.sched_getaffinity(0)) < RANKS:
        sys.exit(f"record.py: {RANKS} cores are needed, one a rank")
    limited = [name for name, pair in chosen.items() if pair.base.link != UNLIMITED]
    if limited and not (shutil.which("tc") and _own_namespace()):
        sys.exit(f"record.py: a rate-limited link is needed for {', '.join(limited)}.\n{NEEDS}")
    os.environ.update(KEEP_MEMORY)
    for name, pair in chosen.items():
        _record(name, pair, asked.out.resolve())


if __name__ == "__main__":
    main()
