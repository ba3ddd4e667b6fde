"""A deterministic comparison, its windows simulated, for driving the screens without reading a trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from random import Random
from statistics import fmean, stdev

import numpy as np
import polars as pl

from abstep.compare.statistics import Delta

from . import simulate

REPEATS = (0, 1)
STEPS = range(2, 12)
WARM_UP, LAST, OUTLIER = 2, 11, (0, 7)
CATEGORIES = ("compute_alone", "overlapped", "exposed", "copy_only", "idle")


def _union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _mask(spans: list[tuple[int, int]], length: int) -> np.ndarray:
    steps = np.zeros(length // 1000 + 1, dtype=bool)
    for start, end in _union(spans):
        steps[start // 1000 : end // 1000] = True
    return steps


def categories(window: simulate.Window, rank: int) -> dict[str, int]:
    """Times to 1 us, which is exact enough to look at; they add up to the length."""
    length = window.length[rank]
    kinds = [[(s, e) for kind, _, _, s, e in window.spans[rank] if kind == k] for k in range(3)]
    compute, comm, copy = (_mask(spans, length) for spans in kinds)
    found = {
        "compute_alone": int((compute & ~comm).sum()) * 1000,
        "overlapped": int((compute & comm).sum()) * 1000,
        "exposed": int((comm & ~compute).sum()) * 1000,
        "copy_only": int((copy & ~comm & ~compute).sum()) * 1000,
    }
    return {**found, "idle": length - sum(found.values())}


@dataclass(frozen=True)
class Run:
    setting: simulate.Setting
    seed: int

    @cached_property
    def windows(self) -> dict[tuple[int, int], simulate.Window]:
        random = Random(self.seed)
        return {(r, s): simulate.Step(self.setting, random).run() for r in REPEATS for s in STEPS}

    def reason(self, repeat: int, step: int) -> str | None:
        if step == WARM_UP:
            return "warm-up"
        if step == LAST:
            return "last_in_cycle"
        return "outlier" if (repeat, step) == OUTLIER else None

    @cached_property
    def typical(self) -> list[tuple[int, int]]:
        return [key for key in self.windows if self.reason(*key) is None]

    def slot_values(self, slot: str) -> dict[tuple[int, int], dict[int, int]]:
        return {
            key: {
                r: sum(e - s for name, _, s, e, _ in window.exposed[r] if name == slot)
                for r in simulate.RANKS
            }
            for key, window in self.windows.items()
        }


def delta_of(base: list[float], variant: list[float], words: tuple[str, str] = ("grew", "shrank")) -> Delta:
    b, v = fmean(base), fmean(variant)
    error = math.sqrt(stdev(base) ** 2 / len(base) + stdev(variant) ** 2 / len(variant)) or 500.0
    p = math.erfc(abs(v - b) / error / math.sqrt(2))
    present_b = sum(x >= 10_000 for x in base) / len(base)
    present_v = sum(x >= 10_000 for x in variant) / len(variant)
    word = (
        words[v < b] if p < 0.01 and abs(v - b) > 15_000 else "unchanged" if error < 8_000 else "inconclusive"
    )
    if words[0] == "grew" and max(b, v) < 10_000:
        word = "below_floor"
    elif word == "shrank" and present_v <= 0.05:
        word = "disappeared"
    elif word == "grew" and present_b <= 0.05:
        word = "appeared"
    return Delta(
        base=b, variant=v, delta=v - b, ci_low=v - b - 2.1 * error, ci_high=v - b + 2.1 * error, p_value=p,
        q_value=min(1.0, p * 3) if words[0] == "grew" else None, n_base=len(base), n_variant=len(variant),
        presence_base=present_b, presence_variant=present_v, verdict=word,
    )  # fmt: skip


@dataclass(frozen=True)
class FakeDetail:
    runs: dict[str, Run]

    def slot_windows(self, slot: str) -> pl.DataFrame:
        rows = [
            (side, repeat, step, rank, value, run.reason(repeat, step) is None)
            for side, run in self.runs.items()
            for (repeat, step), ranks in run.slot_values(slot).items()
            for rank, value in ranks.items()
        ]
        schema = ["side", "repeat", "step", "rank", "exposed_ns", "typical"]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def slot_instances(self, slot: str) -> pl.DataFrame:
        rows = []
        for side, run in self.runs.items():
            for (repeat, step), window in run.windows.items():
                for number, one in enumerate(window.collectives):
                    if one.slot != slot and not (
                        slot.endswith("incidental") and slot.startswith(f"{one.phase}/")
                    ):
                        continue
                    last = max(one.start.values())
                    for rank in simulate.RANKS:
                        wait = min(one.end - one.start[rank], last - one.start[rank])
                        after = one.consumer_start.get(rank)
                        rows.append((
                            side, repeat, step, number, one.label, rank, one.host_launch[rank], one.ready[rank],
                            one.start[rank], one.end, last, one.start[rank] - one.ready[rank], wait,
                            one.end - one.start[rank] - wait, one.consumer, after,
                            None if after is None else max(0, after - one.end - 2000), one.exposed.get(rank, 0),
                        ))  # fmt: skip
        names = (
            "side repeat step instance label rank host_launch_ns first_valid_launch_ns start_ns end_ns "
            "last_arrival_ns queue_ns peer_wait_ns transport_ns consumer consumer_start_ns slack_ns exposed_ns"
        )
        return pl.DataFrame(rows, schema=names.split(), orient="row", infer_schema_length=None)

    def lanes(self, side: str, repeat: int, step: int, rank: int) -> pl.DataFrame:
        rows = self.runs[side].windows[(repeat, step)].spans[rank]
        return pl.DataFrame(rows, schema=["kind", "name", "stream", "start_ns", "end_ns"], orient="row")

    def pair_spans(self, side: str, repeat: int, step: int, rank: int, compute: str) -> pl.DataFrame:
        frame = self.lanes(side, repeat, step, rank)
        return frame.filter((pl.col("kind") == 0) & (pl.col("name") == compute)).select(
            "name", "start_ns", "end_ns"
        )

    def exposed(self, side: str, repeat: int, step: int, rank: int) -> pl.DataFrame:
        window = self.runs[side].windows[(repeat, step)]
        last = {one.end: max(one.start.values()) for one in window.collectives}
        rows = [
            (slot, kind, start, end, end - start, consumer, wait, end - start - wait)
            for slot, kind, start, end, consumer in window.exposed[rank]
            for wait in (max(0, min(end, last.get(end, start)) - start),)
        ]
        names = [
            "slot",
            "kind",
            "start_ns",
            "end_ns",
            "exposed_ns",
            "consumer",
            "peer_wait_ns",
            "transport_ns",
        ]
        return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)

    def windows(self) -> pl.DataFrame:
        rows = [
            (side, repeat, step, rank, window.length[rank], *categories(window, rank).values(),
             run.reason(repeat, step))
            for side, run in self.runs.items()
            for (repeat, step), window in run.windows.items()
            for rank in simulate.RANKS
        ]  # fmt: skip
        names = [
            "side",
            "repeat",
            "step",
            "rank",
            "length_ns",
            *CATEGORIES,
            "reason",
        ]
        return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)

    def matched_windows(self, slot: str | None) -> tuple[tuple[int, int], tuple[int, int]] | None:
        del slot
        return (0, 5), (0, 5)
