"""A comparison written by hand: what the reports are tested on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from abstep.compare.comparison import (
    AccountRow,
    CategoryRow,
    Check,
    ClockRow,
    CollectiveRow,
    Comparability,
    Comparison,
    ContentionRow,
    Control,
    Dropped,
    Explanation,
    Milestones,
    Note,
    PairEvidence,
    PathRow,
    RankRow,
    SettingChange,
    Side,
    SlotRow,
    Tail,
    ValidityRow,
)
from abstep.compare.statistics.types import ONE_RUN_SENTENCE, Delta, Verdict

MS = 1e6
REASONS = {0: "warm-up", 1: "warm-up", 17: "outlier", 41: "last_in_cycle"}
REDUCE = "all_reduce in backward before Optimizer.step#SGD.step #1"


def delta(base: float | None, variant: float | None, verdict: Verdict | None, **more: Any) -> Delta:
    """A delta of times in ms; the interval is a tenth of the larger side around it."""
    if base is None or variant is None:
        return Delta(None, None, None, verdict=verdict, **more)
    half = 0.1 * max(base, variant)
    tested: dict[str, Any] = {"n_base": 38, "n_variant": 38}
    if verdict not in (None, "too_few", "below_floor"):
        tested |= {"p_value": 0.0012, "q_value": 0.0045}
        tested |= {"ci_low": (variant - base - half) * MS, "ci_high": (variant - base + half) * MS}
    return Delta(base * MS, variant * MS, (variant - base) * MS, verdict=verdict, **(tested | more))


class Windows:
    """The part of the detail that the figures ask for."""

    def windows(self) -> pl.DataFrame:
        rows = [
            (name, 0, step, rank, int((mean + 0.1 * (step % 5) + 0.02 * rank) * MS), REASONS.get(step))
            for name, mean in (("base", 48.0), ("variant", 42.9))
            for step in range(42)
            for rank in (0, 1)
        ]
        schema = ["side", "repeat", "step", "rank", "length_ns", "reason"]
        return pl.DataFrame(rows, schema=schema, orient="row")


def side(name: str, **more: Any) -> Side:
    base = name == "base"
    plain = Side(
        name=f"runs/{name}", label="bucket 100 MB" if base else "bucket 4 MB", world_size=2, ranks=(0, 1),
        repeats=1, device="cuda", device_name="NVIDIA A100-SXM4-40GB", host_only=False, windows_total=42,
        windows_used=38, steps_used=tuple(s for s in range(42) if s not in REASONS),
        dropped=tuple(Dropped(0, 1 if step == 17 else None, step, why) for step, why in REASONS.items()),
        clock=(ClockRow(0, 0, 0.0, None, 3200.0, None), ClockRow(0, 1, 15_300.0, 0.8, 4100.0, -12_000.0)),
        settings={"overlap": True, "bucket_cap_mb": 100 if base else 4, "batch": 32}, resident=False,
        unattributed_share=0.0031, overlap_of_communication=4.0 / 16.2 if base else 9.4 / 15.0,
        overlap_of_compute=4.0 / 34.0 if base else 9.4 / 35.5,
        milestones=Milestones(0.21 * MS, 33.0 * MS, 45.1 * MS if base else 40.3 * MS, 47.0 * MS, 12.1 * MS),
        ideal=34.0 * MS if base else 35.5 * MS,
    )  # fmt: skip
    return replace(plain, **more)


def slot(number: int, base: float, variant: float, verdict: Verdict, **more: Any) -> SlotRow:
    words = {
        "id": f"backward/dp/all_reduce/{number}",
        "label": f"all_reduce in backward before layer_{number}.weight",
        "phase": "backward", "group": "default_pg (2)", "collective": "all_reduce", "kind": "blocking",
        "consumer": f"layer_{number}.weight", "inferred": number % 2 == 1, "matched": True,
        "base_peer_wait": 0.3 * base * MS, "variant_peer_wait": 0.25 * variant * MS,
        "base_transport": 0.7 * base * MS, "variant_transport": 0.75 * variant * MS,
        "base_independent": 0.4 * MS, "variant_independent": None,
        "base_presence": float(base > 0), "variant_presence": float(variant > 0),
    } | more  # fmt: skip
    return SlotRow(delta=delta(base, variant, verdict), **words)


def collectives(name: str) -> tuple[CollectiveRow, ...]:
    base = name == "base"
    return (
        CollectiveRow(
            side=name, collective="all_reduce", group="default_pg (2)", phase="backward", bytes=102_400_000.0,
            count=2.0 if base else 25.0, queue=0.12 * MS, peer_wait=3.7 * MS, transport=12.5 * MS,
            exposed=(12.2 if base else 5.6) * MS, hidden=(4.0 if base else 9.4) * MS, independent=21.0 * MS,
            slack=0.05 * MS, duration=(16.2 if base else 15.0) * MS, busbw_gb_s=8.19, late_rank=1,
            late_share=0.71, late_reason="compute", late_called=base, late_lead=1.2 * MS,
            split_uncertain=30_000.0, blocks=(24, 24) if base else (8, 32), threads=(544, 544),
            channels=(24, 24) if base else (8, 32),
        ),
    )  # fmt: skip


def comparison(**more: Any) -> Comparison:
    """DDP with large and with small buckets: one exposed slot disappears, contention takes a part back."""
    slots = (
        slot(1, 7.0, 0.0, "disappeared", label=REDUCE, consumer="Optimizer.step#SGD.step #1"),
        slot(2, 3.0, 1.2, "shrank"), slot(3, 1.0, 1.9, "grew"), slot(4, 0.0, 1.3, "appeared"),
        slot(5, 0.9, 0.9, "unchanged"),
        slot(6, 0.295, 0.296, "inconclusive", kind="incidental", consumer=None,
             label="all_reduce in backward, nothing waiting (incidental)"),
        slot(7, 0.005, 0.004, "below_floor", matched=False),
    )  # fmt: skip
    exposed = tuple(
        AccountRow("exposed", s.label, s.delta.delta or 0.0, s.delta.base, s.delta.variant, s.id)
        for s in slots
    )
    rest = (
        AccountRow("contention", "compute slowed beside communication", 1_312_345.4),
        AccountRow("speed", "same work at another speed", 152_111.3),
        AccountRow("added_work", "aten::cat: CatArrayBatchedCopy", 98_765.4),
        AccountRow("removed_work", "aten::copy_: Memcpy", -63_222.1),
        AccountRow("copy", "copies and memsets alone", 0.0),
        AccountRow("idle_end_of_step", "device idle after the step's last activity", -211_000.7),
        AccountRow("idle_host_late", "device idle, host late to launch", 199_000.2),
        AccountRow("idle_stream_wait", "device idle, stream waiting", 12_000.5),
        AccountRow("unassigned", "unassigned", 0.0),
    )  # fmt: skip
    categories = (
        ("compute_alone", 30.0, 26.1, "shrank"), ("overlapped", 4.0, 9.4, "grew"),
        ("exposed", 12.2, 5.6, "shrank"), ("copy_only", 0.4, 0.4, "unchanged"),
        ("idle", 1.6, 1.6, "inconclusive"),
    )  # fmt: skip
    plain = Comparison(
        version="0.1.0", options={"alpha": 0.05, "min_effect_pct": 1.0, "warmup": "auto"},
        base=side("base"), variant=side("variant"),
        comparability=Comparability(
            "qualified",
            (
                Check("world_size", "pass", "2", "2", ""), Check("device", "pass", "cuda", "cuda", ""),
                Check("software", "warn", "torch 2.7.1", "torch 2.8.0", "another version of PyTorch"),
                Check("one_setting", "pass", "bucket_cap_mb=100", "bucket_cap_mb=4", "one setting differs"),
                Check("compute_work", "pass", "0.99", "0.99", ""),
                Check("input_work", "unknown", "-", "-", "no shapes"),
            ),
            (SettingChange("bucket_cap_mb", 100, 4),),
        ),
        validity=tuple(
            ValidityRow(i, s, "pass", None, None, None, "")
            for i in ("collective_order", "early_consumption", "complete_set") for s in ("base", "variant")
        ),
        step_time=replace(
            delta(48.2, 43.1, "faster", q_value=None, ci_low=-5.6 * MS, ci_high=-4.61 * MS),
            margin=0.482 * MS, smallest_detectable=0.71 * MS,
        ),
        tail=Tail(0.31 * MS, 0.29 * MS, -0.02 * MS, 1, 1),
        decomposition=tuple(CategoryRow(c, delta(b, v, w)) for c, b, v, w in categories),
        account=exposed + rest, intervals=slots,
        contention=(
            ContentionRow(
                "aten::addmm ampere_sgemm_128x64", "all_reduce", slots[2].id, slots[2].label, delta(0.4, 1.7, "grew"),
                1.08, 1.31, 2.1 * MS, 5.9 * MS, 1.003,
                base_evidence=PairEvidence(
                    (122, 122), (12_544, 12_544), (25.0, 25.0), 25.0, (24, 24), (544, 544), (24, 24), {}
                ),
                variant_evidence=PairEvidence(
                    (122, 122), (12_544, 12_544), (25.0, 25.0), 25.0, (8, 32), (544, 544), (8, 32),
                    {"HtoD": 1.2 * MS, "DtoD": 0.04 * MS},
                ),
            ),
            ContentionRow(
                "aten::relu vectorized", "all_reduce", slots[2].id, slots[2].label, delta(0.02, 0.03, "inconclusive"),
                None, 1.02, 0.1 * MS, 0.2 * MS, None, "without samples alone: the run-wide ratio is used",
            ),
        ),
        collectives=collectives("base") + collectives("variant"),
        ranks=tuple(
            RankRow(s, r, c * MS, o * MS, e * MS, 0.4 * MS, i * MS, p * MS, late * MS)
            for s, r, c, o, e, i, p, late in (
                ("base", 0, 29.8, 4.0, 12.4, 1.6, 4.0, 0.0), ("base", 1, 30.2, 4.0, 12.0, 1.6, 3.4, 0.6),
                ("variant", 0, 25.9, 9.4, 5.8, 1.6, 4.0, 0.0), ("variant", 1, 26.3, 9.4, 5.4, 1.6, 3.4, 0.5),
            )
        ),
        path=(
            PathRow("base", 33.6 * MS, 12.4 * MS, 0.9 * MS, 1.3 * MS, {0: 0.31, 1: 0.69}),
            PathRow("variant", 35.4 * MS, 5.5 * MS, 0.9 * MS, 1.3 * MS, {0: 0.28, 1: 0.72}),
        ),
        explanation=Explanation(
            f"The step is 5.10 ms faster: 7.00 ms of exposed all_reduce disappeared ({REDUCE}).",
            (
                "Contention grew by 1.31 ms: aten::addmm takes 1.31x as long beside all_reduce as alone.",
                "Slots and contention together account for -5.29 ms of the difference.",
            ),
            -5.29 * MS, 0.0,
        ),
        warnings=(Note("single_repeat", "one repeat a side"),), unit="window", sentences=(ONE_RUN_SENTENCE,),
        control=Control(1.003, {0: 1.0, 1: 1.006}, delta(9.0, 9.027, "inconclusive")), detail=Windows(),
    )  # fmt: skip
    return replace(plain, **more)
