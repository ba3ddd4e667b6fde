"""The result file, `abstep.result/1`: a comparison as one JSON object (RESULT.md, Result file).

Times become float microseconds and end in `_us`, shares stay 0..1, percentages end in `_pct`. Unknown is
null, never 0 and never NaN. No time stamps and no file order: the same comparison gives the same bytes.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from abstep.report.rows import decomposition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from abstep.compare.comparison import (
        CollectiveRow,
        Comparison,
        ContentionRow,
        Dropped,
        PairEvidence,
        PathRow,
        RankRow,
        Side,
        SlotRow,
    )
    from abstep.compare.statistics.types import Delta

SCHEMA = "abstep.result/1"

_Object = dict[str, Any]


def result(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as RESULT.md's object; every verdict is null when the runs are not comparable."""
    judged = comparison.comparability.status != "not_comparable"
    return {
        "schema": SCHEMA,
        "options": {
            **{key: _plain(comparison.options.get(key)) for key in ("alpha", "min_effect_pct", "warmup")},
            "version": comparison.version,
        },
        "base": _side(comparison.base),
        "variant": _side(comparison.variant),
        "comparability": _comparability(comparison),
        "validity": [
            _texts(row, "id", "side", "status", "rank", "step", "collective", "message")
            for row in comparison.validity
        ],
        "step_time": _delta(comparison.step_time, judged=judged) | {"q_value": None},
        "tail": {
            "base_us": _us(comparison.tail.base),
            "variant_us": _us(comparison.tail.variant),
            "delta_us": _us(comparison.tail.delta),
            "windows_base": comparison.tail.windows_base,
            "windows_variant": comparison.tail.windows_variant,
        },
        "decomposition": [
            {"category": row.category} | _delta(row.delta, judged=judged) for row in decomposition(comparison)
        ],
        "account": [
            {"part": row.part, "label": row.label, "delta_us": _us(row.delta)} for row in comparison.account
        ],
        "intervals": [_slot(row, judged=judged) for row in comparison.intervals],
        "contention": [_contention(row, judged=judged) for row in comparison.contention],
        "collectives": [_collective(row) for row in comparison.collectives],
        "collective_contention": [
            _texts(row, "side", "collective", "group", "phase", "bytes", "alone_count", "beside_count")
            | _times(row, "alone_duration", "beside_duration", "alone_transport", "beside_transport")
            | _numbers(row, "alone_busbw_gb_s", "beside_busbw_gb_s")
            for row in comparison.beside_compute
        ],
        "ranks": [_rank(row) for row in comparison.ranks],
        "path": [_path(row) for row in comparison.path],
        "unmatched": [dict(row) for row in comparison.unmatched],
        "explanation": {
            "headline": comparison.explanation.headline,
            "sentences": list(comparison.explanation.sentences),
            "explained_us": _us(comparison.explanation.explained),
            "unassigned_us": _us(comparison.explanation.unassigned),
        },
        "warnings": [_texts(note, "id", "message") for note in comparison.warnings],
    }


def dumps(comparison: Comparison) -> str:
    """Return the result file's text: ASCII only, so no name in it can reach a terminal as an escape."""
    return json.dumps(result(comparison), allow_nan=False, indent=1) + "\n"


def _us(ns: float | None) -> float | None:
    """Return a time (ns) in us; what is not a finite number is unknown."""
    return None if ns is None or not math.isfinite(ns) else ns / 1000.0


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """Return a setting as JSON: scalars as they are, what is not a number null, mappings by key."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in sorted((str(k), v) for k, v in value.items())}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def _texts(row: object, *keys: str) -> _Object:
    return {key: getattr(row, key) for key in keys}


def _times(row: object, *keys: str) -> _Object:
    return {f"{key}_us": _us(getattr(row, key)) for key in keys}


def _numbers(row: object, *keys: str) -> _Object:
    return {key: _number(getattr(row, key)) for key in keys}


def _delta(delta: Delta, *, judged: bool) -> _Object:
    return {
        **_times(delta, "base", "variant", "delta"),
        **_numbers(delta, "delta_pct"),
        **_times(delta, "ci_low", "ci_high"),
        **_numbers(delta, "p_value", "q_value"),
        "n_base": delta.n_base,
        "n_variant": delta.n_variant,
        "verdict": delta.verdict if judged else None,
    }


def _side(side: Side) -> _Object:
    return {
        "label": side.label,
        "world_size": side.world_size,
        "ranks": sorted(side.ranks),
        **_texts(side, "repeats", "device", "windows_total", "windows_used"),
        "steps_used": sorted(side.steps_used),
        "dropped": _dropped(side.dropped),
        "clock": [
            {
                **_texts(row, "repeat", "rank"),
                **_times(row, "offset"),
                **_numbers(row, "drift_ppm"),
                **_times(row, "spread", "host_device_shift"),
            }
            for row in sorted(side.clock, key=lambda row: (row.repeat, row.rank))
        ],
        "settings": _settings(side.settings),
        "unattributed_share": _number(side.unattributed_share),
        "overlap_of_communication_pct": _pct(side.overlap_of_communication),
        "overlap_of_compute_pct": _pct(side.overlap_of_compute),
        "milestones": _times(
            side.milestones, "first_launch", "backward_end", "last_collective_end", "update_end", "tail"
        ),
        **_texts(side.cores, "cores", "threads_per_rank", "pinning"),
        "start_delay_us": _us(side.start_delay),
        "ideal_us": _us(side.ideal),
        "bound_us": _us(side.bound),
        "ideal_kept_by": None
        if side.bounds is None
        else {f"{cause}_us": _us(time) for cause, time in side.bounds.kept_by.items()},
    }


def _pct(share: float | None) -> float | None:
    return None if share is None or not math.isfinite(share) else 100.0 * share


def _settings(settings: Mapping[str, Any]) -> _Object:
    return {key: _plain(settings[key]) for key in sorted(settings)}


def _dropped(dropped: Iterable[Dropped]) -> list[_Object]:
    ordered = sorted(dropped, key=lambda d: (d.repeat, d.step, -1 if d.rank is None else d.rank, d.reason))
    return [_texts(row, "repeat", "rank", "step", "reason") for row in ordered]


def _comparability(comparison: Comparison) -> _Object:
    found = comparison.comparability
    return {
        "status": found.status,
        "checks": [_texts(check, "id", "status", "base", "variant", "message") for check in found.checks],
        "settings_changed": [
            {"key": row.key, "base": _plain(row.base), "variant": _plain(row.variant)}
            for row in sorted(found.settings_changed, key=lambda row: row.key)
        ],
    }


def _slot(row: SlotRow, *, judged: bool) -> _Object:
    return {
        **_texts(row, "id", "label", "phase", "group", "collective", "kind", "consumer", "inferred"),
        **_delta(row.delta, judged=judged),
        "presence_base": _number(row.base_presence),
        "presence_variant": _number(row.variant_presence),
        **_times(row, "base_peer_wait", "variant_peer_wait", "base_transport", "variant_transport"),
        "matched": row.matched,
    }


def _contention(row: ContentionRow, *, judged: bool) -> _Object:
    return {
        **_texts(row, "compute", "collective", "slot"),
        "slot_label": row.beside,
        **_delta(row.delta, judged=judged),
        **_numbers(row, "base_stretch", "variant_stretch"),
        **_times(row, "base_overlap", "variant_overlap"),
        **_numbers(row, "control_ratio"),
        **_evidence("base", row.base_evidence),
        **_evidence("variant", row.variant_evidence),
    }


def _evidence(side: str, own: PairEvidence) -> _Object:
    """Return what was recorded of a pair on one side: ranges as [smallest, largest]."""
    copies = None if own.copies is None else {f"{key}_us": _us(own.copies[key]) for key in sorted(own.copies)}
    return {
        f"{side}_registers": _ends(own.registers),
        f"{side}_shared_bytes": _ends(own.shared_bytes),
        f"{side}_occupancy_pct": _ends(own.occupancy_pct),
        f"{side}_occupancy_mean_pct": _number(own.occupancy_mean_pct),
        f"{side}_collective_blocks": _ends(own.blocks),
        f"{side}_collective_threads": _ends(own.threads),
        f"{side}_collective_channels": _ends(own.channels),
        f"{side}_copies": copies,
    }


def _ends(ends: tuple[float, float] | None) -> list[float] | None:
    return None if ends is None or not all(map(math.isfinite, ends)) else list(ends)


def _collective(row: CollectiveRow) -> _Object:
    return {
        **_texts(row, "side", "collective", "group", "phase"),
        **_numbers(row, "bytes", "count"),
        **_times(
            row,
            *("queue", "peer_wait", "transport", "exposed", "hidden", "independent", "slack", "duration"),
        ),
        **_numbers(row, "busbw_gb_s"),
        **_texts(row, "late_rank"),
        **_numbers(row, "late_share"),
        **_texts(row, "late_reason"),
        **_times(row, "isolated"),
        **{key: _ends(getattr(row, key)) for key in ("blocks", "threads", "channels")},
    }


def _rank(row: RankRow) -> _Object:
    return {
        **_texts(row, "side", "rank"),
        **_times(row, "compute_alone", "overlapped", "exposed", "copy_only", "idle", "peer_wait", "lateness"),
        **_texts(row, "compute_threads", "collective_threads"),
    }


def _path(row: PathRow) -> _Object:
    return {
        "side": row.side,
        **_times(row, "compute", "transport", "host", "idle"),
        "ranks": {str(rank): _number(row.ranks[rank]) for rank in sorted(row.ranks)},
    }
