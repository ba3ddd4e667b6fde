"""What a trace's metadata says about its run: rank, world, device, software."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from abstep.trace.clean import clean
from abstep.trace.columns import NONE

if TYPE_CHECKING:
    from abstep.trace.gather import Gather

_PROFILER = ("record_shapes", "with_stack", "profile_memory", "with_flops", "with_modules")


def header_of(text: bytes) -> dict[str, Any]:
    """Return the metadata around the events; empty where it is no object."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def base_ns(header: dict[str, Any]) -> int:
    """Return baseTimeNanoseconds, the instant the events' times count from; 0 when not given."""
    value = _int(header.get("baseTimeNanoseconds"))
    return value if value is not None and abs(value) < 2**62 else 0


def header_notes(header: dict[str, Any]) -> list[str]:
    """Return what is odd about the metadata, in words."""
    notes = []
    spread, base = header.get("distributedInfo"), header.get("baseTimeNanoseconds")
    if "distributedInfo" in header and not isinstance(spread, dict):
        notes.append("its distributedInfo is no object: rank and world size are not known from it")
    elif isinstance(spread, dict) and spread.get("rank") is not None and _rank(spread["rank"]) is None:
        notes.append("its distributedInfo.rank is no rank")
    if "baseTimeNanoseconds" in header and (_int(base) is None or base_ns(header) != _int(base)):
        notes.append("its baseTimeNanoseconds is no time: times count from an instant not known")
    return notes


def run_facts(header: dict[str, Any], gathered: Gather) -> dict[str, Any]:
    """Return the facts of tables.FileFacts that the metadata and the calls' names give."""
    spread = header.get("distributedInfo")
    spread = spread if isinstance(spread, dict) else {}
    index = _device_index(gathered)
    groups = spread.get("pg_config")
    if isinstance(groups, dict):
        groups = list(groups.values())
    software = {
        clean(str(key))[: -len("_version")]: _scalar(value)
        for source in (header, spread)
        for key, value in source.items()
        if key.endswith("_version")
    }
    return {
        "rank": _rank(spread.get("rank")),
        "world_size": _small(spread.get("world_size")),
        "backend": _text(spread.get("backend")),
        "device": _device(header, gathered),
        "device_name": _text(device_properties(header, index).get("name")),
        "device_index": index,
        "host": next((text for key in ("host_name", "hostname") if (text := _text(header.get(key)))), None),
        "software": software,
        "profiler": {key: _scalar(header[key]) for key in _PROFILER if key in header},
        "groups": groups if isinstance(groups, list) else [],
    }


def _device_index(gathered: Gather) -> int | None:
    device = gathered.device["device"]
    device = device[device != NONE]
    if not len(device):
        return None
    values, counts = np.unique(device, return_counts=True)
    return _small(int(values[counts.argmax()]))


def _device(header: dict[str, Any], gathered: Gather) -> str:
    if not gathered.device.height:
        return "cpu"
    keys = set(header)
    if any(key.startswith(("hip_", "roctracer", "rocprof")) for key in keys):
        return "rocm"
    called = {name for part in gathered.calls.parts() for name in np.unique(part["name"]).tolist()}
    for name_id in sorted(called):
        name = gathered.names.texts[name_id]
        if name.startswith("hip"):
            return "rocm"
        if name.startswith("cu"):
            return "cuda"
        if name.startswith(("ze", "ur", "pi", "sycl")):
            return "xpu"
        if name.startswith("acl"):
            return "npu"
    shown = json.dumps(header.get("deviceProperties", ""))
    return "rocm" if "AMD" in shown else "xpu" if "Intel" in shown else "cuda"


def device_properties(header: dict[str, Any], index: int | None) -> dict[str, Any]:
    """Return the device's entry of deviceProperties, else the first one's; empty where there is none."""
    properties = header.get("deviceProperties")
    rows = [row for row in properties if isinstance(row, dict)] if isinstance(properties, list) else []
    return next((row for row in rows if row.get("id") == index), rows[0] if rows else {})


def _text(value: object) -> str | None:
    return clean(value) if isinstance(value, str) and value else None


def _scalar(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    return value if isinstance(value, (int, float, bool)) or value is None else clean(json.dumps(value))


def _int(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return None
    return None


def _rank(value: object) -> int | None:
    number = _small(value)
    return number if number is not None and number >= 0 else None


def _small(value: object) -> int | None:
    number = _int(value)
    return number if number is not None and -(2**31) <= number < 2**31 else None
