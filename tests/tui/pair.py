"""The fake pair as a whole `Comparison`: the figures its windows give, with the words around them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from statistics import fmean

from abstep.compare import comparison as c
from abstep.compare.statistics import Delta

from . import simulate
from .fake import CATEGORIES, FakeDetail, Run, categories, delta_of

RUNS = {"base": Run(simulate.BASE, 11), "variant": Run(simulate.VARIANT, 12)}
WORDS = ("disappeared", "shrank", "grew", "appeared", "inconclusive", "unchanged", "below_floor")


def mean_over_ranks(values: dict[int, int]) -> float:
    return sum(values.values()) / len(values)


def slot_delta(slot: str) -> Delta:
    sides = []
    for run in RUNS.values():
        values = run.slot_values(slot)
        sides.append([mean_over_ranks(values[key]) for key in run.typical])
    return delta_of(sides[0], sides[1])


def slot_split(side: str, slot: str) -> tuple[float, float]:
    """Mean peer wait and transport inside a slot's exposed time, roughly."""
    run = RUNS[side]
    waits, rest = [], []
    for key in run.typical:
        window = run.windows[key]
        for rank in simulate.RANKS:
            wait = total = 0
            for name, _, start, end, _ in window.exposed[rank]:
                if name != slot:
                    continue
                total += end - start
                for one in window.collectives:
                    if one.end == end:
                        wait += max(0, min(end, max(one.start.values())) - start)
            waits.append(wait)
            rest.append(total - wait)
    return fmean(waits), fmean(rest)


def slot_row(slot: str) -> c.SlotRow:
    phase, group, collective, consumer = slot.split("/", 3)
    incidental = consumer == "incidental"
    words = f"{phase} {collective}, incidental" if incidental else f"{phase} {collective} before {consumer}"
    base, variant = slot_split("base", slot), slot_split("variant", slot)
    return c.SlotRow(
        id=slot, label=words, phase=phase, group=group, collective=collective,
        kind="incidental" if incidental else "blocking", consumer=None if incidental else consumer,
        inferred=collective == "broadcast", matched=True, delta=slot_delta(slot),
        base_peer_wait=base[0], variant_peer_wait=variant[0], base_transport=base[1], variant_transport=variant[1],
        base_independent=2_110_000.0 if collective == "all_reduce" else None,
        variant_independent=2_154_000.0 if collective == "all_reduce" else None,
        split_uncertain=1_300.0,
        base_presence=slot_delta(slot).presence_base, variant_presence=slot_delta(slot).presence_variant,
    )  # fmt: skip


def side(name: str, label: str, settings: dict[str, object]) -> c.Side:
    run = RUNS[name]
    dropped = [
        c.Dropped(repeat, None, step, reason)
        for repeat, step in run.windows
        if (reason := run.reason(repeat, step)) is not None
    ]
    shift = -0.4e3 if name == "base" else -12.1e3
    clock = [
        c.ClockRow(repeat, rank, rank * 41.2e3 or 0.0, None, 0.9e3, shift)
        for repeat in (0, 1)
        for rank in simulate.RANKS
    ]
    lap = 1.0 if name == "base" else 0.86
    return c.Side(
        name=f"/data/runs/{name}", label=label, world_size=4, ranks=simulate.RANKS, repeats=2, device="cuda",
        device_name="NVIDIA H100 80GB HBM3", host_only=False, windows_total=len(run.windows),
        windows_used=len(run.typical), steps_used=tuple(range(3, 11)), dropped=tuple(dropped), clock=tuple(clock),
        settings=settings, resident=False, unattributed_share=0.0012,
        overlap_of_communication=0.214 if name == "base" else 0.713,
        overlap_of_compute=0.093 if name == "base" else 0.288,
        milestones=c.Milestones(41e3, 5_100e3 * lap, 6_950e3 * lap, 7_300e3 * lap, 1_820e3 * lap * lap),
        ideal=5_420e3, bounds=c.Ideal(5_420e3, 6_180e3 if name == "base" else 5_900e3, {}),
    )  # fmt: skip


def decomposition() -> tuple[c.CategoryRow, ...]:
    rows = []
    for category in CATEGORIES:
        sides = [
            [
                fmean(categories(run.windows[key], rank)[category] for rank in simulate.RANKS)
                for key in run.typical
            ]
            for run in RUNS.values()
        ]
        rows.append(c.CategoryRow(category, delta_of(sides[0], sides[1], ("grew", "shrank"))))
    return tuple(rows)


def account(step: Delta, slots: list[c.SlotRow]) -> tuple[c.AccountRow, ...]:
    rows = [
        c.AccountRow("exposed", row.label, row.delta.delta or 0.0, row.delta.base, row.delta.variant, row.id)
        for row in slots
    ]
    others = (("contention", "contention", 182e3), ("speed", "same work at another speed", -21e3),
              ("added_work", "added work", 4e3), ("copy", "copies", 0.3e3), ("idle_end_of_step", "end of step", 0.0),
              ("idle_host_late", "host late", -8e3), ("idle_stream_wait", "stream wait", 1.5e3))  # fmt: skip
    rows += [c.AccountRow(part, label, value) for part, label, value in others]
    rest = (step.delta or 0.0) - sum(row.delta for row in rows)
    return (*rows, c.AccountRow("unassigned", "unassigned", rest))


def contention_rows(slots: list[c.SlotRow]) -> tuple[c.ContentionRow, ...]:
    target = next(row for row in slots if row.collective == "all_reduce" and row.consumer)
    grew = Delta(base=12e3, variant=131e3, delta=119e3, ci_low=88e3, ci_high=150e3, p_value=2e-6, q_value=1e-5,
                 n_base=14, n_variant=14, verdict="grew")  # fmt: skip
    even = Delta(base=30e3, variant=33e3, delta=3e3, ci_low=-9e3, ci_high=15e3, p_value=0.4, q_value=0.5,
                 n_base=14, n_variant=14, verdict="inconclusive")  # fmt: skip
    small = replace(grew, base=4e3, variant=67e3, delta=63e3, ci_low=41e3, ci_high=85e3)
    names = (("layers.1.mlp.backward", grew, 1.02, 1.24), ("layers.2.qkv.backward", small, 1.01, 1.13),
             ("layers.0.norm", even, 1.0, 1.01))  # fmt: skip
    return tuple(
        c.ContentionRow(name, target.collective, target.id, target.label, delta, one, two, 210e3, 980e3, 1.001, "",
                        *(c.PairEvidence((96, 96), (8_448, 41_000), (25.0, 75.0), 41.3, blocks, (544, 544), blocks,
                                         copies)
                          for blocks, copies in (((24, 24), {}), ((8, 32), {"HtoD": 61e3, "DtoD": 3e3}))))
        for name, delta, one, two in names
    )  # fmt: skip


def collective_rows() -> tuple[c.CollectiveRow, ...]:
    rows = []
    for name, wait, transport, late in (("base", 211e3, 1_760e3, 2), ("variant", 96e3, 1_910e3, None)):
        rows.append(c.CollectiveRow(
            name, "all_reduce", "dp", "backward", 83_886_080.0, 2.0 if late else 5.0, 12e3, wait, transport, 620e3,
            1_140e3, 2_110e3, 3e3, wait + transport, 71.4, late, 0.83 if late else None, "compute" if late else None,
            late_called=late is not None, late_lead=226e3 if late else None,
        ))  # fmt: skip
        rows.append(c.CollectiveRow(
            name, "all_gather", "dp", "forward", 12_582_912.0, 4.0, 4e3, 20e3, 640e3, 560e3, 80e3, 300e3, 1e3,
            660e3, 58.2, None, None, None,
        ))  # fmt: skip
    return tuple(rows)


def rank_rows() -> tuple[c.RankRow, ...]:
    rows = []
    for name, run in RUNS.items():
        for rank in simulate.RANKS:
            means = [
                fmean(categories(run.windows[key], rank)[category] for key in run.typical)
                for category in CATEGORIES
            ]
            late = 210e3 if (name, rank) == ("base", 2) else 8e3 + 2e3 * rank
            rows.append(c.RankRow(name, rank, *means, peer_wait=220e3 - late, lateness=late))
    return tuple(rows)


@lru_cache(maxsize=1)
def comparison() -> c.Comparison:
    """The fake pair: overlap switched on, the tail shrinks, compute stretches a little, the step is faster."""
    slots = sorted({
        name for run in RUNS.values() for window in run.windows.values() for rank in simulate.RANKS
        for name, *_ in window.exposed[rank]
    })  # fmt: skip
    rows = [slot_row(slot) for slot in slots]
    rows.sort(key=lambda row: (WORDS.index(row.delta.verdict or ""), -abs(row.delta.delta or 0)))
    parts = decomposition()
    base = [fmean(RUNS["base"].windows[key].length.values()) for key in RUNS["base"].typical]
    variant = [fmean(RUNS["variant"].windows[key].length.values()) for key in RUNS["variant"].typical]
    step = replace(delta_of(base, variant, ("slower", "faster")), q_value=None)
    sentences = (
        (
            "all_reduce before Optimizer.step#AdamW, exposed in backward, shrank by 1.08 ms: six buckets start while "
            "backward still runs."
        ),
        "all_gather before layers.1 to layers.5 disappeared: prefetched one layer ahead.",
        "Contention grew by 0.18 ms: compute that overlaps the reductions runs 1.24x as long as alone.",
    )
    return c.Comparison(
        version="0.1.0", options={"alpha": 0.05, "min_effect_pct": 1.0, "warmup": "auto"},
        base=side("base", "2 buckets", {"buckets": 2, "prefetch": 0, "batch": 32}),
        variant=side("variant", "6 buckets, prefetch", {"buckets": 6, "prefetch": 1, "batch": 32}),
        comparability=c.Comparability(
            "qualified",
            (
                c.Check("world_size", "pass", "4", "4", "the same number of ranks"),
                c.Check("device", "pass", "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", "the same device"),
                c.Check("placement", "unknown", "-", "-", "host names were not recorded"),
                c.Check("software", "pass", "2.9.1, nccl 2.27", "2.9.1, nccl 2.27", "the same versions"),
                c.Check("collective_semantics", "pass", "3 kinds", "3 kinds", "the same kinds, groups and types"),
                c.Check("message_work", "pass", "96.5 MB", "96.5 MB", "the same bytes a step in each role"),
                c.Check("compute_work", "pass", "0.99", "0.99", "99 % of compute time is on the same work"),
                c.Check("one_setting", "warn", "buckets 2, prefetch 0", "buckets 6, prefetch 1",
                        "two settings changed: no effect is attributed to one of them"),
            ),
            (c.SettingChange("buckets", 2, 6), c.SettingChange("prefetch", 0, 1)),
        ),
        validity=(
            c.ValidityRow("collective_order", "base", "pass", None, None, None, "the same order on every rank"),
            c.ValidityRow("collective_order", "variant", "pass", None, None, None, "the same order on every rank"),
            c.ValidityRow("early_consumption", "base", "pass", None, None, None, "no optimizer span ran early"),
            c.ValidityRow("early_consumption", "variant", "unknown", 1, 7, "all_reduce #3",
                          "the optimizer starts per bucket: whether it waits for its own can't be told"),
            c.ValidityRow("complete_set", "base", "pass", None, None, None, "the same collectives in every window"),
            c.ValidityRow("complete_set", "variant", "fail", 3, 9, "all_gather params 2",
                          "rank 3, step 9: one collective is missing"),
        ),
        step_time=step, tail=c.Tail(8e3, 2e3, -6e3, 1, 1), decomposition=parts, account=account(step, rows),
        intervals=tuple(rows), contention=contention_rows(rows), collectives=collective_rows(), ranks=rank_rows(),
        path=(
            c.PathRow("base", 6_010e3, 1_320e3, 90e3, 40e3, {0: 0.1, 1: 0.05, 2: 0.8, 3: 0.05}),
            c.PathRow("variant", 6_160e3, 410e3, 88e3, 41e3, {0: 0.3, 1: 0.2, 2: 0.3, 3: 0.2}),
        ),
        explanation=c.Explanation(
            f"The step is {-(step.delta or 0) / 1e6:.2f} ms faster, and exposed communication explains it.",
            sentences, step.delta, 12e3,
        ),
        warnings=(
            c.Note("single_repeat", "two repeats a side: the smallest number that says anything about repeats"),
            c.Note("clock_uncertain", "base: the ranks' clocks agree within 0.9 us; splits below that name no rank"),
        ),
        unit="windows", detail=FakeDetail(RUNS),
        control=c.Control(1.003, dict.fromkeys(simulate.RANKS, 1.003), Delta(300e3, 301e3, 1e3, verdict="unchanged")),
    )  # fmt: skip
