"""Are the two runs the same work? Checked before any verdict is printed (SEMANTICS 8)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from abstep.compare.comparison import Check, Comparability, SettingChange
from abstep.compare.signatures import alike, matched_share
from abstep.compare.work import (
    bytes_by_kind,
    bytes_by_role,
    collective_kinds,
    forward_shapes,
    passes_a_step,
    signature_table,
    told_by_both,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from abstep.compare.sides import MeasuredSide

SAME_BYTES, NEAR_BYTES = 0.01, 0.05
SAME_WORK, NEAR_WORK = 0.90, 0.60
SHOWN = 4
REMEDIES = {
    "world_size": "compare runs with the same number of ranks",
    "device": "compare runs on the same kind of device",
    "placement": "ranks sit on other hosts or devices; record both sides in one allocation",
    "software": "record both sides with the same software, or count the difference as the change",
    "profiler": "record both sides with the same profiler settings: overhead differs",
    "steps": "record the same step numbers on both sides",
    "backend": "another backend is another implementation; name it as the change",
    "collective_semantics": "the runs communicate different things; compare runs of one model and sharding",
    "message_work": "the runs move different amounts of data; check model, dtype and sharding",
    "accumulation": "use the same gradient accumulation on both sides",
    "input_work": "use the same batch and sequence length on both sides",
    "compute_work": "the runs compute different things; change one setting at a time",
    "one_setting": "change one setting at a time: an effect is not attributed to any one of several",
}


def comparability(base: MeasuredSide, variant: MeasuredSide) -> Comparability:
    """Run every check; a fail withholds all verdicts, a warn qualifies them, unknown lowers nothing."""
    changed = settings_changed(base, variant)
    checks = (
        _same(base, variant, "world_size", "fail", lambda side: _known(side, "world_size")),
        _same(base, variant, "device", "fail", _device),
        _same(base, variant, "placement", "warn", _placement),
        _same_facts(base, variant, "software"),
        _same_facts(base, variant, "profiler"),
        _same(base, variant, "steps", "warn", _steps),
        _same(base, variant, "backend", "warn", lambda side: _known(side, "backend")),
        _semantics(base, variant),
        _messages(base, variant),
        _same(base, variant, "accumulation", "fail", _accumulation),
        _inputs(base, variant),
        _work(base, variant),
        _one_setting(base, variant, changed),
    )
    statuses = {check.status for check in checks}
    status = "not_comparable" if "fail" in statuses else "qualified" if "warn" in statuses else "comparable"
    return Comparability(status, checks, changed)


def settings_changed(base: MeasuredSide, variant: MeasuredSide) -> tuple[SettingChange, ...]:
    """Return the run.json settings that differ, by key; a key on one side only differs from None."""
    ours, theirs = settings_of(base), settings_of(variant)
    keys = sorted(set(ours) | set(theirs))
    return tuple(
        SettingChange(key, ours.get(key), theirs.get(key)) for key in keys if ours.get(key) != theirs.get(key)
    )


def settings_of(side: MeasuredSide) -> Mapping[str, Any]:
    """Return a run's settings: those of its repeats, joined; the first repeat that has a key decides."""
    joined: dict[str, Any] = {}
    for settings in side.run.cut.tables.settings:
        for key, value in settings.items():
            joined.setdefault(key, value)
    return joined


def _check(identifier: str, status: str, base: object, variant: object, message: str = "") -> Check:
    if status in ("warn", "fail"):
        message = f"{message}; {REMEDIES[identifier]}" if message else REMEDIES[identifier]
    return Check(identifier, status, str(base), str(variant), message)


def _same(
    base: MeasuredSide,
    variant: MeasuredSide,
    identifier: str,
    otherwise: str,
    value: Callable[[MeasuredSide], str | None],
) -> Check:
    ours, theirs = value(base), value(variant)
    if ours is None or theirs is None:
        return _check(identifier, "unknown", ours or "unknown", theirs or "unknown", "not recorded")
    return _check(identifier, "pass" if ours == theirs else otherwise, ours, theirs)


def _files(side: MeasuredSide) -> pl.DataFrame:
    return side.own(side.run.cut.tables.files)


def _known(side: MeasuredSide, column: str) -> str | None:
    values = _files(side)[column].drop_nulls().unique().sort().to_list()
    return ", ".join(str(value) for value in values) if values else None


def _device(side: MeasuredSide) -> str | None:
    kinds = _known(side, "device")
    names = _known(side, "device_name")
    return f"{kinds} ({names})" if kinds and names else kinds


def _placement(side: MeasuredSide) -> str | None:
    files = _files(side).select("rank", "host", "device_index").unique().sort("rank", "host", "device_index")
    if files["host"].null_count() == files.height and files["device_index"].null_count() == files.height:
        return None
    places = [
        f"{rank}: {host or '?'}{'' if device is None else f'/{device}'}"
        for rank, host, device in files.iter_rows()
    ]
    shown = ", ".join(places[:SHOWN])
    return shown if len(places) <= SHOWN else f"{shown}, … ({len(places)} places, {hash_text(places)})"


def hash_text(parts: list[str]) -> str:
    """Return a short text that differs where a long list differs."""
    import hashlib  # noqa: PLC0415  only for runs of many ranks

    return hashlib.blake2b("\n".join(parts).encode(), digest_size=4).hexdigest()


def _same_facts(base: MeasuredSide, variant: MeasuredSide, identifier: str) -> Check:
    ours, theirs = _facts(base, identifier), _facts(variant, identifier)
    if not ours and not theirs:
        return _check(identifier, "unknown", "unknown", "unknown", "not recorded")
    differing = sorted(key for key in set(ours) | set(theirs) if ours.get(key) != theirs.get(key))
    if not differing:
        return _check(identifier, "pass", _listed(ours, sorted(ours)), _listed(theirs, sorted(theirs)))
    return _check(identifier, "warn", _listed(ours, differing), _listed(theirs, differing))


def _facts(side: MeasuredSide, column: str) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for text in _files(side)[column].drop_nulls().unique().sort():
        for key, value in json.loads(text).items():
            found.setdefault(key, set()).add(str(value))
    return {key: "/".join(sorted(values)) for key, values in found.items()}


def _listed(facts: Mapping[str, str], keys: list[str]) -> str:
    return ", ".join(f"{key} {facts.get(key, '-')}" for key in keys) or "-"


def _steps(side: MeasuredSide) -> str | None:
    steps = sorted(set(side.run.cut.windows["step"].to_list()))
    if not steps:
        return None
    if steps == list(range(steps[0], steps[-1] + 1)):
        return f"{steps[0]}–{steps[-1]}"
    return ", ".join(str(step) for step in steps[:SHOWN]) + f", … ({len(steps)} steps to {steps[-1]})"


def _semantics(base: MeasuredSide, variant: MeasuredSide) -> Check:
    told = told_by_both(base, variant)
    ours, theirs = collective_kinds(base, told), collective_kinds(variant, told)
    texts = [", ".join(sorted(" ".join(kind) for kind in kinds)) or "none" for kinds in (ours, theirs)]
    if ours == theirs:
        return _check("collective_semantics", "pass", texts[0], texts[1])
    only_ours, only_theirs = ({kind[0] for kind in side} for side in (ours - theirs, theirs - ours))
    if _same_sum_sharded(base, only_ours, variant, only_theirs) or _same_sum_sharded(
        variant, only_theirs, base, only_ours
    ):
        message = "all_reduce on one side, reduce_scatter and all_gather on the other: the same sum, sharded"
        return _check("collective_semantics", "warn", texts[0], texts[1], message)
    return _check("collective_semantics", "fail", *texts)


def _same_sum_sharded(whole: MeasuredSide, own: set[str], sharded: MeasuredSide, other: set[str]) -> bool:
    """Whether one side's all_reduce(S) stands for the other's reduce_scatter(S) and all_gather(S), each once."""
    if own != {"all_reduce"} or other != {"reduce_scatter", "all_gather"}:
        return False
    reduced = bytes_by_kind(whole).get("all_reduce")
    parts = [bytes_by_kind(sharded).get(kind) for kind in ("reduce_scatter", "all_gather")]
    return reduced is not None and all(
        part is not None and _apart(reduced, part) <= SAME_BYTES for part in parts
    )


def _messages(base: MeasuredSide, variant: MeasuredSide) -> Check:
    ours, theirs = bytes_by_role(base), bytes_by_role(variant)
    if not ours and not theirs:
        status = "pass" if base.instances.is_empty() and variant.instances.is_empty() else "unknown"
        return _check(
            "message_work", status, "none", "none", "no bytes recorded" if status == "unknown" else ""
        )
    texts = [
        ", ".join(f"{role}: {size / 1e6:.3f} MB" for role, size in sorted(side.items())) or "unknown"
        for side in (ours, theirs)
    ]
    if not ours or not theirs:
        return _check("message_work", "unknown", texts[0], texts[1], "not recorded on one side")
    worst = max(_apart(ours.get(role, 0.0), theirs.get(role, 0.0)) for role in set(ours) | set(theirs))
    status = "pass" if worst <= SAME_BYTES else "warn" if worst <= NEAR_BYTES else "fail"
    return _check("message_work", status, *texts)


def _apart(ours: float, theirs: float) -> float:
    largest = max(abs(ours), abs(theirs))
    return abs(ours - theirs) / largest if largest else 0.0


def _accumulation(side: MeasuredSide) -> str | None:
    passes = passes_a_step(side)
    return None if passes is None else f"{passes:g} forward passes a step"


def _inputs(base: MeasuredSide, variant: MeasuredSide) -> Check:
    ours, theirs = forward_shapes(base), forward_shapes(variant)
    if ours is None or theirs is None:
        return _check(
            "input_work", "unknown", "unknown", "unknown", "shapes not recorded (record_shapes=True)"
        )
    differing = sorted(key for key in set(ours) & set(theirs) if ours[key] != theirs[key])
    shared_keys = set(ours) & set(theirs)
    if not shared_keys:
        return _check("input_work", "unknown", "unknown", "unknown", "no forward operator in common")
    if not differing:
        same = f"{len(shared_keys)} operators, same shapes"
        return _check("input_work", "pass", same, same)
    first = differing[0]
    shown = first.partition(" (")[0]
    return _check("input_work", "fail", f"{shown}: {ours[first]}", f"{shown}: {theirs[first]}")


def _work(base: MeasuredSide, variant: MeasuredSide) -> Check:
    share = matched_share(*alike(signature_table(base), signature_table(variant)))
    if share is None:
        return _check("compute_work", "unknown", "unknown", "unknown", "no compute")
    status = "pass" if share >= SAME_WORK else "warn" if share >= NEAR_WORK else "fail"
    text = f"{100 * share:.1f} % of compute time in common"
    return _check("compute_work", status, text, text)


def _one_setting(base: MeasuredSide, variant: MeasuredSide, changed: tuple[SettingChange, ...]) -> Check:
    if not settings_of(base) and not settings_of(variant):
        return _check("one_setting", "unknown", "unknown", "unknown", "no run.json")
    texts = [
        ", ".join(f"{change.key}={value}" for change in changed for value in [getattr(change, side)])
        or "same settings"
        for side in ("base", "variant")
    ]
    return _check("one_setting", "pass" if len(changed) <= 1 else "warn", *texts)
