"""The labs' results as JSON objects: times in float microseconds that end in `_us`, unknown is null."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from abstep.lab.overlap import Parts
from abstep.lab.roofline import ROOF_GFLOPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from abstep.lab.against import Against
    from abstep.lab.backward import Time
    from abstep.lab.controls import Controls
    from abstep.lab.overlap import Play
    from abstep.lab.predict import Change, Prediction
    from abstep.lab.roofline import Roofline

ROOFLINE_SCHEMA = "abstep.lab.roofline/1"
OVERLAP_SCHEMA = "abstep.lab.overlap/1"


def roofline_result(controls: Roofline, leaves_out: Sequence[str]) -> dict[str, Any]:
    """Return the roofline lab's result: rates GFLOP/s, intensities FLOP/byte, bandwidth decimal GB/s."""
    return {
        "schema": ROOFLINE_SCHEMA,
        "attainable_gflops": controls.attainable_gflops,
        "bound": controls.bound,
        "inputs": {
            "intensity": controls.intensity,
            "bandwidth": controls.bandwidth,
            "roof_gflops": ROOF_GFLOPS,
        },
        "ridge": controls.ridge,
        "leaves_out": list(leaves_out),
    }


def overlap_result(controls: Controls, played: Play, leaves_out: Sequence[str]) -> dict[str, Any]:
    """Return the overlap lab's result: the step, its parts, what binds, and what happened on every rank."""
    return {
        "schema": OVERLAP_SCHEMA,
        **_parts(played.parts),
        "ideal_us": _us(played.ideal),
        "gap": _gap(played.gap),
        "binding": played.binding,
        "inputs": asdict(controls),
        "buckets": [
            {
                "bytes": one.bytes,
                "stream": one.stream,
                "ready_us": _list(one.ready),
                "start_us": _list(one.start),
                "arrival_us": _us(one.arrival),
                "end_us": _us(one.end),
            }
            for one in played.events.collectives
        ],
        "ranks": [
            {
                "rank": work.rank,
                "backward_end_us": _us(played.events.backward_end[at]),
                "end_us": _us(played.window(at)[1]),
                "exposed": [
                    {"start_us": _us(start), "end_us": _us(end)} for start, end in played.exposed(at)
                ],
            }
            for at, work in enumerate(played.backward.ranks)
        ],
        "leaves_out": list(leaves_out),
    }


def prediction_result(
    prediction: Prediction, change: Change, beside: Against | None, leaves_out: Sequence[str]
) -> dict[str, Any]:
    """Return a prediction from a measured run; the step and its parts at the top are the predicted ones."""
    measured = prediction.measured
    names = ("step", *measured.categories)
    measured_of = {"step": measured.step, **measured.categories}
    return {
        "schema": OVERLAP_SCHEMA,
        **{f"{name}_us": _us(measured_of[name] + _delta(prediction, name)) for name in names},
        "from": measured.name,
        "label": measured.label,
        "inputs": asdict(change),
        "measured": {f"{name}_us": _us(measured_of[name]) for name in names},
        "delta": {f"{name}_us": _us(_delta(prediction, name)) for name in names},
        "replay_step_us": _us(prediction.replay.step),
        "ideal_us": _us(prediction.ideal),
        "gap": _gap(prediction.gap),
        "binding": prediction.binding,
        "buckets": [{"bytes": size} for size in prediction.buckets],
        "costs": {
            "launch_us": _us(prediction.costs.launch),
            "latency_us": _us(prediction.costs.latency),
            "us_per_mb": prediction.costs.byte_ns * 1e3,
            "compute_slowdown": prediction.costs.compute_slowdown,
            "transport_slowdown": prediction.costs.transport_slowdown,
        },
        "assumptions": list(prediction.assumptions),
        "against": None if beside is None else _against(beside, names),
        "leaves_out": list(leaves_out),
    }


def dumps(result: Mapping[str, Any]) -> str:
    """Return a result as text, with a newline at its end."""
    return json.dumps(result, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _against(beside: Against, names: Iterable[str]) -> dict[str, Any]:
    step = beside.comparison.step_time
    return {
        "variant": beside.comparison.variant.name,
        "label": beside.comparison.variant.label,
        "comparability": beside.comparison.comparability.status,
        **{f"{name}_us": _us(beside.variant(name)) for name in names},
        "delta_us": _us(step.delta),
        "ci_low_us": _us(step.ci_low),
        "ci_high_us": _us(step.ci_high),
        "verdict": step.verdict,
        "error_us": _us(beside.error),
        "error_pct": beside.error_pct,
    }


def _delta(prediction: Prediction, name: str) -> float:
    return prediction.delta(name) if name in Parts.__dataclass_fields__ else 0.0


def _parts(parts: Parts) -> dict[str, float | None]:
    return {f"{field.name}_us": _us(getattr(parts, field.name)) for field in fields(parts)}


def _gap(gap: Mapping[str, Time] | Mapping[str, float]) -> dict[str, float | None]:
    return {f"{name.replace(' ', '_')}_us": _us(value) for name, value in gap.items()}


def _list(times: Iterable[Time]) -> list[float | None]:
    return [_us(time) for time in times]


def _us(ns: Time | float | None) -> float | None:
    if ns is None or not math.isfinite(ns):
        return None
    return float(ns) / 1000.0
