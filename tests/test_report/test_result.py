"""The result file is RESULT.md's object, to the key."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from abstep.compare.comparison import Comparison, Dropped
from abstep.report.result import dumps, result

from . import odd, sample

NUMBER = (int, float)
MAYBE = (int, float, type(None))
TEXT = (str,)
MAYBE_TEXT = (str, type(None))
WHOLE = (int,)
MAYBE_WHOLE = (int, type(None))
MAYBE_ENDS = (list, type(None))  # smallest and largest

DELTA: dict[str, Any] = {
    "base_us": MAYBE, "variant_us": MAYBE, "delta_us": MAYBE, "delta_pct": MAYBE, "ci_low_us": MAYBE,
    "ci_high_us": MAYBE, "p_value": MAYBE, "q_value": MAYBE, "n_base": WHOLE, "n_variant": WHOLE,
    "verdict": MAYBE_TEXT,
}  # fmt: skip
SIDE: dict[str, Any] = {
    "label": TEXT, "world_size": MAYBE_WHOLE, "ranks": [WHOLE], "repeats": WHOLE, "device": TEXT,
    "windows_total": WHOLE, "windows_used": WHOLE, "steps_used": [WHOLE],
    "dropped": [{"repeat": WHOLE, "rank": MAYBE_WHOLE, "step": WHOLE, "reason": TEXT}],
    "clock": [{"repeat": WHOLE, "rank": WHOLE, "offset_us": MAYBE, "drift_ppm": MAYBE, "spread_us": MAYBE,
               "host_device_shift_us": MAYBE}],
    "settings": (dict,), "unattributed_share": MAYBE, "overlap_of_communication_pct": MAYBE,
    "overlap_of_compute_pct": MAYBE,
    "milestones": {"first_launch_us": MAYBE, "backward_end_us": MAYBE, "last_collective_end_us": MAYBE,
                   "update_end_us": MAYBE, "tail_us": MAYBE},
    "cores": MAYBE_WHOLE, "threads_per_rank": MAYBE_WHOLE, "pinning": MAYBE_TEXT,
    "start_delay_us": MAYBE, "ideal_us": MAYBE, "bound_us": MAYBE, "ideal_kept_by": (dict, type(None)),
}  # fmt: skip
SLOT_TIMES = ("base_peer_wait_us", "variant_peer_wait_us", "base_transport_us", "variant_transport_us")
SCHEMA: dict[str, Any] = {
    "schema": TEXT,
    "options": {"alpha": NUMBER, "min_effect_pct": NUMBER, "warmup": (int, str), "version": TEXT},
    "base": SIDE,
    "variant": SIDE,
    "comparability": {
        "status": TEXT,
        "checks": [{"id": TEXT, "status": TEXT, "base": TEXT, "variant": TEXT, "message": TEXT}],
        "settings_changed": [{"key": TEXT, "base": (object,), "variant": (object,)}],
    },
    "validity": [{"id": TEXT, "side": TEXT, "status": TEXT, "rank": MAYBE_WHOLE, "step": MAYBE_WHOLE,
                  "collective": MAYBE_TEXT, "message": TEXT}],
    "step_time": DELTA,
    "tail": {"base_us": MAYBE, "variant_us": MAYBE, "delta_us": MAYBE, "windows_base": WHOLE,
             "windows_variant": WHOLE},
    "decomposition": [DELTA | {"category": TEXT}],
    "account": [{"part": TEXT, "label": TEXT, "delta_us": NUMBER}],
    "intervals": [
        DELTA | dict.fromkeys(("id", "label", "phase", "group", "collective", "kind"), TEXT)
        | {"consumer": MAYBE_TEXT, "inferred": (bool,), "matched": (bool,), "presence_base": MAYBE,
           "presence_variant": MAYBE} | dict.fromkeys(SLOT_TIMES, MAYBE)
    ],
    "contention": [
        DELTA | dict.fromkeys(("compute", "collective", "slot", "slot_label"), TEXT)
        | dict.fromkeys(("base_stretch", "variant_stretch", "base_overlap_us", "variant_overlap_us",
                         "control_ratio"), MAYBE)
        | {f"{side}_{key}": MAYBE_ENDS for side in ("base", "variant")
           for key in ("registers", "shared_bytes", "occupancy_pct", "collective_blocks", "collective_threads",
                       "collective_channels")}
        | {f"{side}_occupancy_mean_pct": MAYBE for side in ("base", "variant")}
        | {f"{side}_copies": (dict, type(None)) for side in ("base", "variant")}
    ],
    "collectives": [
        {"side": TEXT, "collective": TEXT, "group": TEXT, "phase": TEXT, "bytes": MAYBE, "count": NUMBER,
         "queue_us": MAYBE, "peer_wait_us": MAYBE, "transport_us": MAYBE, "exposed_us": NUMBER,
         "hidden_us": NUMBER, "independent_us": MAYBE, "slack_us": MAYBE, "duration_us": NUMBER,
         "busbw_gb_s": MAYBE, "late_rank": MAYBE_WHOLE, "late_share": MAYBE, "late_reason": MAYBE_TEXT,
         "isolated_us": MAYBE} | dict.fromkeys(("blocks", "threads", "channels"), MAYBE_ENDS)
    ],
    "unmatched": [{"side": TEXT, "collective": TEXT, "group": TEXT, "count": WHOLE}],
    "collective_contention": [
        {"side": TEXT, "collective": TEXT, "group": TEXT, "phase": TEXT, "bytes": MAYBE_WHOLE, "alone_count": WHOLE,
         "beside_count": WHOLE, "alone_duration_us": MAYBE, "beside_duration_us": MAYBE, "alone_transport_us": MAYBE,
         "beside_transport_us": MAYBE, "alone_busbw_gb_s": MAYBE, "beside_busbw_gb_s": MAYBE}
    ],
    "ranks": [
        {"side": TEXT, "rank": WHOLE, "peer_wait_us": MAYBE, "lateness_us": MAYBE,
         "compute_threads": MAYBE_WHOLE, "collective_threads": MAYBE_WHOLE}
        | {f"{c}_us": NUMBER for c in ("compute_alone", "overlapped", "exposed", "copy_only", "idle")}
    ],
    "path": [{"side": TEXT, "compute_us": MAYBE, "transport_us": MAYBE, "host_us": MAYBE, "idle_us": MAYBE,
              "ranks": (dict,)}],
    "explanation": {"headline": TEXT, "sentences": [TEXT], "explained_us": MAYBE, "unassigned_us": MAYBE},
    "warnings": [{"id": TEXT, "message": TEXT}],
}  # fmt: skip


def matches(value: Any, schema: Any, place: str) -> None:
    if isinstance(schema, dict):
        assert isinstance(value, dict), place
        assert set(value) == set(schema), place
        for key in schema:
            matches(value[key], schema[key], f"{place}.{key}")
    elif isinstance(schema, list):
        assert isinstance(value, list), place
        for i, item in enumerate(value):
            matches(item, schema[0], f"{place}[{i}]")
    else:
        assert isinstance(value, schema), f"{place}: {value!r}"
        assert not isinstance(value, bool) or bool in schema or object in schema, place


def blend(value: Any, number: float) -> Any:
    """The same comparison with every float replaced: what NaN would look like."""
    if isinstance(value, float):
        return number
    if isinstance(value, tuple):
        return tuple(blend(item, number) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{f.name: blend(getattr(value, f.name), number) for f in fields(value) if f.init}
        )
    return value


@pytest.mark.parametrize("name", odd.VARIANTS)
def test_every_key_is_there_with_its_type(name: str) -> None:
    matches(json.loads(dumps(odd.VARIANTS[name]())), SCHEMA, name)


def test_figures_are_the_comparisons_in_microseconds() -> None:
    plain = sample.comparison()
    found = result(replace(plain, step_time=replace(plain.step_time, q_value=0.5)))
    assert found["step_time"]["delta_us"] == pytest.approx(-5100)
    assert found["step_time"]["ci_low_us"] == pytest.approx(-5600)
    assert found["step_time"]["q_value"] is None
    assert found["step_time"]["p_value"] == 0.0012
    assert found["step_time"]["delta_pct"] == pytest.approx(-100 * 5.1 / 48.2)
    assert found["base"]["overlap_of_communication_pct"] == pytest.approx(100 * 4 / 16.2)
    assert found["variant"]["clock"][1] == {
        "repeat": 0, "rank": 1, "offset_us": 15.3, "drift_ppm": 0.8, "spread_us": 4.1,
        "host_device_shift_us": -12.0,
    }  # fmt: skip
    assert found["path"][0]["ranks"] == {"0": 0.31, "1": 0.69}
    assert found["intervals"][0]["presence_variant"] == 0.0
    assert found["contention"][0]["variant_overlap_us"] == pytest.approx(5900)


def test_parts_add_up() -> None:
    found = result(sample.comparison())
    step = found["step_time"]["delta_us"]
    assert sum(row["delta_us"] for row in found["decomposition"]) == pytest.approx(step, abs=1e-3)
    assert sum(row["delta_us"] for row in found["account"]) == pytest.approx(step, abs=1e-3)
    exposed = next(row for row in found["decomposition"] if row["category"] == "exposed")
    for key in ("base_us", "variant_us"):
        assert sum(row[key] for row in found["intervals"]) == pytest.approx(exposed[key], abs=1e-3)


def test_unknown_is_null_and_never_nan() -> None:
    found = result(odd.unknown())
    assert found["step_time"]["delta_us"] is None
    assert found["intervals"][0]["base_transport_us"] is None
    for number in (math.nan, math.inf, -math.inf):
        text = dumps(blend(sample.comparison(), number))
        assert json.loads(text, parse_constant=pytest.fail)["step_time"]["base_us"] is None


def test_no_verdict_when_not_comparable() -> None:
    judged = sample.comparison()
    status = replace(judged.comparability, status="not_comparable")
    found = result(replace(judged, comparability=status))
    rows = [found["step_time"], *found["decomposition"], *found["intervals"], *found["contention"]]
    assert {row["verdict"] for row in rows} == {None}
    assert found["step_time"]["delta_us"] is not None
    assert {row["verdict"] for row in result(judged)["intervals"]} > {"disappeared"}


def test_order_of_what_has_none_does_not_matter() -> None:
    def shuffled(c: Comparison) -> Comparison:
        side = replace(
            c.base, ranks=c.base.ranks[::-1], dropped=c.base.dropped[::-1], clock=c.base.clock[::-1],
            settings=dict(reversed(list(c.base.settings.items()))), steps_used=c.base.steps_used[::-1],
        )  # fmt: skip
        path = tuple(replace(p, ranks=dict(reversed(list(p.ranks.items())))) for p in c.path)
        return replace(c, base=side, path=path)

    plain = sample.comparison()
    more = replace(plain.base, dropped=(*plain.base.dropped, Dropped(0, None, 17, "incomplete")))
    plain = replace(plain, base=more)
    assert dumps(shuffled(plain)) == dumps(plain)


def test_bytes_are_plain_ascii() -> None:
    text = dumps(odd.hostile("\x1b]0;x\x07\u202e \u2028\ud800"))
    assert text.isascii()
    assert not any(c < " " for c in text if c != "\n")
    assert text.endswith("}\n")


def test_odd_settings_become_json() -> None:
    settings = {"a": math.nan, "b": {2: (1, None)}, "c": object}
    found = result(replace(sample.comparison(), base=sample.side("base", settings=settings)))
    assert found["base"]["settings"] == {"a": None, "b": {"2": [1, None]}, "c": str(object)}
