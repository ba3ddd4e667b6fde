"""The shared cases' truth in the words of the result file, so that a test only has to compare."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from abstep.compare.comparison import Comparison
    from abstep.measure.run import MeasuredRun

CASES = ("contention", "ddp_tail", "fsdp_prefetch", "host_bound", "late_rank_clocks", "same_twice")
SIDES = ("base", "variant")
CATEGORIES = ("compute_alone", "overlapped", "exposed", "copy_only", "idle")
ORIGIN_NS = 1_712_195_495_000_000_000
"""True time 0, on a clock that is right."""
EXACT_US = 1.0
SPLIT_US = {"late_rank_clocks": 20.0}
"""What the split across ranks and other clocks may be off by; 3 us where the clocks are right."""

SlotKey = tuple[str, str, str, str | None]


@dataclass(frozen=True)
class Case:
    """One pair: what is true of it, what was measured, and what was concluded."""

    name: str
    truth: Mapping[str, Any]
    runs: Mapping[str, MeasuredRun]
    comparison: Comparison

    @property
    def split_us(self) -> float:
        return SPLIT_US.get(self.name, 3.0)

    @cached_property
    def result(self) -> dict[str, Any]:
        from abstep.report.result import result

        return result(self.comparison)

    @cached_property
    def layers(self) -> int:
        """How deep the model is, as far as the truth speaks of its layers."""
        consumers = [row["consumer"] or "" for side in SIDES for row in self.truth[side]["intervals"]]
        found = [re.match(r"m0/(?:fwd|bwd)(\d+)/", consumer) for consumer in consumers]
        return 1 + max((int(match.group(1)) for match in found if match), default=0)

    def windows(self, side: str) -> dict[tuple[int, int], dict[str, float]]:
        """The truth's windows by (step, rank), without the last step: it has no end."""
        rows = {(row["step"], row["rank"]): row for row in self.truth[side]["windows"]}
        last = max(step for step, _ in rows)
        return {key: row for key, row in rows.items() if key[0] < last}

    def anchor(self, consumer: str) -> set[str]:
        """The places in the model that a consumer's name means; several kernels may share a range.

        `forward aten::addmm #k` is the gemm of the k-th layer, `backward GeluBackward0 #k` the k-th gelu of a
        backward pass that begins at the last layer, and all of an optimizer step is one range.
        """
        phase, label, number = re.fullmatch(r"(\w+) (.+) #(\d+)", consumer).groups()  # type: ignore[union-attr]
        ordinal = int(number) - 1
        backward = f"m0/bwd{self.layers - 1 - ordinal}"
        match phase, label:
            case "optimizer", "Optimizer.step#AdamW.step":
                return {"opt0", "opt1"}
            case "forward", "aten::addmm":
                return {f"m0/fwd{ordinal}/gemm"}
            case "forward", "aten::gelu":
                return {f"m0/fwd{ordinal}/gelu"}
            case "backward", "GeluBackward0":
                return {f"{backward}/gelu"}
            case "backward", "AddmmBackward0":
                return {f"{backward}/dx", f"{backward}/dw"}
        return set()

    def place(self, consumer: str) -> str:
        """The first place a consumer's name means: how truth.json calls a slot's consumer."""
        return min(self.anchor(consumer), default=f"nothing known as {consumer}")

    def slots(self, side: str, *fields: str) -> dict[SlotKey, dict[str, float]]:
        """The truth's exposed slots: incidental ones summed, whatever compute came next."""
        found: dict[SlotKey, dict[str, float]] = defaultdict(lambda: dict.fromkeys(fields, 0.0))
        for row in self.truth[side]["intervals"]:
            consumer = row["consumer"] if row["kind"] == "blocking" else None
            slot = found[row["kind"], row["collective"], row["phase"], consumer]
            for field in fields:
                value = row["peer_wait_us"] + row["transport_us"] if field == "exposed_us" else row[field]
                slot[field] = max(slot[field], value) if field == "presence" else slot[field] + value
        return dict(found)

    def measured_slots(self, side: str, *fields: str) -> dict[SlotKey, dict[str, float]]:
        """The result's slots of one side under the same keys."""
        found: dict[SlotKey, dict[str, float]] = {}
        for row in self.result["intervals"]:
            if row[f"{side}_us"] == 0:
                continue
            consumer = self.place(row["consumer"]) if row["consumer"] else None
            key = row["kind"], row["collective"], row["phase"], consumer
            assert key not in found, f"two rows for one slot: {key}"
            found[key] = {field: row[field] for field in fields}
        return found


def instances(case: Case, side: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(truth, measured) of every collective that the truth lists, paired by its place on its rank."""
    import polars as pl

    run = case.runs[side]
    rows = case.truth[side]["instances"]
    exposed = run.parts.group_by("row").agg(pl.col("exposed_ns").sum())
    own = run.across.clock.on_common(run.instances, "start_ns", "end_ns").join(exposed, on="row", how="left")
    pairs = []
    wanted = _by_place(rows, "start_us")
    held = _by_place(own.sort("start_ns").to_dicts(), "start_ns")
    for key, truths in wanted.items():
        assert len(truths) == len(held[key]), key
        pairs += zip(truths, held[key], strict=True)
    return pairs


def _by_place(rows: Iterable[dict[str, Any]], start: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row[start]):
        found[row["step"], row["rank"], row["collective"]].append(row)
    return found


def summed(rows: Iterable[Mapping[str, Any]], *keys: str) -> dict[tuple[Any, ...], dict[str, float]]:
    """Rows with their numbers summed under the same keys."""
    found: dict[tuple[Any, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        for field, value in row.items():
            if isinstance(value, int | float):
                found[tuple(row[key] for key in keys)][field] += value
    return {key: dict(value) for key, value in found.items()}


def load(folder: Path) -> dict[str, Any]:
    import json

    return json.loads((folder / "truth.json").read_text())
