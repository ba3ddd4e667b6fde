"""The sample's awkward relatives: not comparable, too few windows, nothing known, nothing communicating, hostile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from abstep.compare.comparison import (
    AccountRow,
    CategoryRow,
    Check,
    ClockRow,
    Comparability,
    Comparison,
    Cores,
    Dropped,
    Explanation,
    Milestones,
    Note,
    PairEvidence,
    PathRow,
    SettingChange,
    Tail,
    ValidityRow,
)
from abstep.compare.statistics.types import Delta

from .sample import MS, comparison, delta, side


def every_delta(c: Comparison, change: Any) -> Comparison:
    """The comparison with every delta changed alike."""
    return replace(
        c,
        step_time=change(c.step_time),
        decomposition=tuple(replace(r, delta=change(r.delta)) for r in c.decomposition),
        intervals=tuple(replace(r, delta=change(r.delta)) for r in c.intervals),
        contention=tuple(replace(r, delta=change(r.delta)) for r in c.contention),
    )


def not_comparable() -> Comparison:
    """Another world size; as comparability leaves it, every verdict None."""
    c = comparison()
    check = Check("world_size", "fail", "2", "4", "the runs have 2 and 4 ranks")
    failed = replace(c.comparability, status="not_comparable", checks=(check, *c.comparability.checks[1:]))
    told = Explanation("The runs are not comparable: they have 2 and 4 ranks.", (), -5.29 * MS, 0.0)
    return every_delta(replace(c, comparability=failed, explanation=told), lambda d: replace(d, verdict=None))


def too_few() -> Comparison:
    """Three windows a side: description only."""
    bare = {"verdict": "too_few", "ci_low": None, "ci_high": None, "p_value": None, "q_value": None,
            "n_base": 3, "n_variant": 4}  # fmt: skip
    note = Note("too_few_windows", "3 and 4 windows")
    told = Explanation("Too few windows to say more than what they hold.", (), -5.29 * MS, 0.0)
    return every_delta(comparison(warnings=(note,), explanation=told), lambda d: replace(d, **bare))


def no_communication() -> Comparison:
    """Traces in which nothing communicates."""
    step = delta(34.0, 33.0, "faster", q_value=None)
    zero = Delta(0.0, 0.0, 0.0, verdict="unchanged", n_base=38, n_variant=38)
    rows = (CategoryRow("compute_alone", delta(34.0, 33.0, "shrank")),
            *(CategoryRow(c, zero) for c in ("overlapped", "exposed", "copy_only", "idle")))  # fmt: skip
    bare = {"overlap_of_communication": None, "overlap_of_compute": 0.0, "clock": ()}
    return comparison(
        step_time=step, decomposition=rows, intervals=(), contention=(), collectives=(), path=(), ranks=(),
        base=side("base", **bare), variant=side("variant", **bare),
        account=(AccountRow("speed", "same work at another speed", -1.0 * MS),), no_communication=True, control=None,
        explanation=Explanation("The step is 1.00 ms faster.", ("Nothing communicates.",), None, None),
    )  # fmt: skip


def unknown() -> Comparison:
    """Everything that may be unknown is."""
    nothing = Delta(None, None, None)
    c = every_delta(comparison(), lambda _: nothing)
    bare = {
        "world_size": None, "device_name": None, "settings": {}, "unattributed_share": None, "ideal": None,
        "overlap_of_communication": None, "overlap_of_compute": None, "steps_used": (), "windows_used": 0,
        "milestones": Milestones(None, None, None, None, None),
        "clock": (ClockRow(0, 0, None, None, None, None),),
    }  # fmt: skip
    split = dict.fromkeys(("queue", "peer_wait", "transport", "independent", "slack", "bytes", "busbw_gb_s",
                           "late_rank", "late_share", "late_reason",
                           "late_lead", "split_uncertain"))  # fmt: skip
    parts = ("peer_wait", "transport", "independent")
    halves = dict.fromkeys(f"{s}_{part}" for s in ("base", "variant") for part in parts)
    return replace(
        c, base=side("base", **bare), variant=side("variant", **bare), account=(), detail=None, control=None,
        tail=Tail(None, None, None, 0, 0), pairing=None, warnings=(), sentences=(),
        collectives=tuple(replace(r, **split, blocks=None, threads=None, channels=None) for r in c.collectives),
        intervals=tuple(replace(s, **halves, consumer=None) for s in c.intervals),
        ranks=tuple(replace(r, peer_wait=None, lateness=None) for r in c.ranks),
        path=tuple(PathRow(p.side, None, None, None, None, {}) for p in c.path),
        contention=tuple(
            replace(r, base_stretch=None, variant_stretch=None, base_overlap=None, variant_overlap=None,
                    control_ratio=None, base_evidence=PairEvidence(), variant_evidence=PairEvidence())
            for r in c.contention),
        explanation=Explanation("", (), None, None),
    )  # fmt: skip


def hostile(text: str) -> Comparison:
    """Every text a file can put into a comparison replaced."""
    c = comparison()
    sides = {
        n: replace(s, name=text, label=text, device=text, device_name=text, settings={text: text},
                   dropped=(Dropped(0, None, 0, text),), host_only=True, cores=Cores(2, 1, text))
        for n, s in c.sides
    }  # fmt: skip
    return replace(
        c, **sides, comparability=Comparability(
            "qualified", (Check("software", "warn", text, text, text),), (SettingChange(text, text, text),)),
        validity=(ValidityRow("complete_set", "base", "fail", 0, 3, text, text),),
        account=tuple(replace(r, label=text) for r in c.account),
        intervals=tuple(
            replace(s, id=text, label=text, group=text, collective=text, consumer=text) for s in c.intervals),
        contention=tuple(
            replace(r, compute=text, collective=text, slot=text, note=text) for r in c.contention),
        collectives=tuple(replace(r, collective=text, group=text, phase=text) for r in c.collectives),
        ranks=tuple(replace(r, compute_threads=1, collective_threads=2) for r in c.ranks),
        explanation=Explanation(text, (text,), 0.0, 0.0), warnings=(Note("bad_file", text),),
        sentences=(text,), unmatched=({"operator": text, "side": "base"},), pairing=text,
    )  # fmt: skip


VARIANTS = {
    "plain": comparison,
    "not_comparable": not_comparable,
    "too_few": too_few,
    "no_communication": no_communication,
    "unknown": unknown,
}
