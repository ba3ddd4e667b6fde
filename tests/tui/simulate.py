"""A tiny two-stream simulation of one training step on four ranks: where the fake comparison's windows come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

LAYERS = 6
RANKS = (0, 1, 2, 3)
US = 1_000


@dataclass
class Collective:
    kind: str
    phase: str
    label: str
    consumer: str | None
    host_launch: dict[int, int] = field(default_factory=dict)
    ready: dict[int, int] = field(default_factory=dict)
    start: dict[int, int] = field(default_factory=dict)
    end: int = 0
    consumer_start: dict[int, int] = field(default_factory=dict)
    exposed: dict[int, int] = field(default_factory=dict)

    @property
    def slot(self) -> str:
        return f"{self.phase}/dp/{self.kind}/{self.consumer or 'incidental'}"


@dataclass
class Window:
    """One step on every rank: spans (kind, name, stream, start, end), exposed stretches, collectives."""

    spans: dict[int, list[tuple[int, str, str, int, int]]]
    exposed: dict[int, list[tuple[str, str, int, int, str | None]]]
    collectives: list[Collective]
    length: dict[int, int]


@dataclass(frozen=True)
class Setting:
    """What differs between the sides."""

    buckets: int
    gather_ahead: bool
    stretch: float
    late_rank: int | None


BASE = Setting(buckets=2, gather_ahead=False, stretch=1.0, late_rank=2)
VARIANT = Setting(buckets=6, gather_ahead=True, stretch=1.12, late_rank=None)


class Step:
    """Runs one step: compute in order on each rank, collectives in order on one link."""

    def __init__(self, setting: Setting, random: Random) -> None:
        self.setting = setting
        self.random = random
        self.now = dict.fromkeys(RANKS, 0)
        self.link = 0
        self.window = Window({r: [] for r in RANKS}, {r: [] for r in RANKS}, [], {})

    def compute(self, name: str, us: float, needs: Collective | None = None, host_gap: float = 0.0) -> None:
        for rank in RANKS:
            slow = 1.06 if rank == self.setting.late_rank and "backward" in name else 1.0
            length = int(us * US * slow * (1 + 0.02 * (self.random.random() - 0.5)))
            start = self.now[rank] + 2 * US + int(host_gap * US)
            if needs is not None:
                start = max(start, needs.end + 2 * US)
                needs.consumer_start[rank] = start
            busy = any(c.end > start and c.start[rank] < start + length for c in self.window.collectives)
            length = int(length * (self.setting.stretch if busy else 1.0))
            self.window.spans[rank].append((0, name, "compute", start, start + length))
            self.now[rank] = start + length

    def launch(self, kind: str, phase: str, label: str, us: float, consumer: str | None) -> Collective:
        made = Collective(kind, phase, label, consumer)
        for rank in RANKS:
            made.ready[rank] = self.now[rank]
            made.host_launch[rank] = self.now[rank] - 300 * US
            made.start[rank] = max(self.now[rank], self.link) + int((4 + 4 * self.random.random()) * US)
        made.end = max(made.start.values()) + int(us * US * (1 + 0.03 * (self.random.random() - 0.5)))
        self.link = made.end
        for rank in RANKS:
            self.window.spans[rank].append((1, f"ncclDevKernel_{kind}", "comm", made.start[rank], made.end))
        self.window.collectives.append(made)
        return made

    def copy(self, us: float) -> None:
        for rank in RANKS:
            start = self.now[rank] + 5 * US
            self.window.spans[rank].append((2, "Memcpy HtoD", "copy", start, start + int(us * US)))

    def run(self) -> Window:
        ahead = (
            self.launch("all_gather", "forward", "params 0", 160, "layers.0.qkv") if self._ahead() else None
        )
        for layer in range(LAYERS):
            gathered = (
                ahead
                if ahead is not None
                else self.launch("all_gather", "forward", f"params {layer}", 160, f"layers.{layer}.qkv")
            )
            if self._ahead() and layer + 1 < LAYERS:
                self.compute(f"layers.{layer}.norm", 30)
                ahead = self.launch(
                    "all_gather", "forward", f"params {layer + 1}", 160, f"layers.{layer + 1}.qkv"
                )
            self.compute(f"layers.{layer}.qkv", 210, gathered)
            self.compute(f"layers.{layer}.mlp", 260, host_gap=30 if layer == 1 else 0)
        self.compute("loss", 60)
        pending = []
        size = LAYERS // self.setting.buckets
        for layer in reversed(range(LAYERS)):
            self.compute(f"layers.{layer}.mlp.backward", 480)
            self.compute(f"layers.{layer}.qkv.backward", 400, host_gap=40 if layer == 2 else 0)
            if layer % size == 0:
                label = f"bucket {LAYERS // size - 1 - layer // size}"
                pending.append(
                    self.launch("all_reduce", "backward", label, 430 * size + 40, "Optimizer.step#AdamW")
                )
        self.compute("Optimizer.step#AdamW", 330, pending[-1])
        norm = self.launch(
            "all_reduce", "optimizer", "grad norm", 60 if self._ahead() else 35, "Optimizer.step#clip"
        )
        self.compute("Optimizer.step#clip", 25, norm)
        if self._ahead():
            scale = self.launch("broadcast", "optimizer", "scale", 42, "GradScaler.update")
            self.compute("GradScaler.update", 20, scale)
        noisy = self.launch(
            "all_reduce", "other", "metrics", 20 + 160 * self.random.random() ** 3, "metrics.log"
        )
        self.compute("metrics.log", 15, noisy)
        self.copy(90 if self._ahead() else 95)
        self._measure()
        return self.window

    def _ahead(self) -> bool:
        return self.setting.gather_ahead

    def _measure(self) -> None:
        for rank in RANKS:
            spans = sorted((s, e, n) for kind, n, _, s, e in self.window.spans[rank] if kind == 0)
            cursor = 0
            for start, end, name in spans:
                for one in self.window.collectives:
                    first, last = max(one.start[rank], cursor), min(one.end, start)
                    if last > first:
                        blocks = one.consumer_start.get(rank) == start
                        waited = one.slot if blocks else f"{one.phase}/dp/{one.kind}/incidental"
                        one.exposed[rank] = one.exposed.get(rank, 0) + last - first
                        self.window.exposed[rank].append(
                            (
                                waited,
                                "blocking" if blocks else "incidental",
                                first,
                                last,
                                name if blocks else None,
                            )
                        )
                cursor = end
            self.window.length[rank] = cursor + 120 * US
