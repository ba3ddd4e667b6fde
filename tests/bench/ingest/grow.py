"""Grows a real trace: its events again and again, later in time, with fresh correlations and steps.

python tests/bench/ingest/grow.py SOURCE TARGET.json.gz --times 8
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path
from typing import Any, Self

_STEP = re.compile(r"^ProfilerStep#(\d+)$")
_LINKS = ("correlation", "External id", "wait_on_cuda_event_record_corr_id")


def load(path: Path) -> dict[str, Any]:
    text = path.read_bytes()
    if text[:2] == b"\x1f\x8b":
        text = gzip.decompress(text)
    return json.loads(text, parse_float=Text)


class Text(float):
    """A decimal number that is written as it was read."""

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        return self.text


def shifted(value: Any, by_us: int) -> Any:
    """Return a time later by whole microseconds, with its decimals as recorded."""
    if isinstance(value, Text):
        whole, dot, decimals = value.text.partition(".")
        return Text(f"{int(whole) + by_us}{dot}{decimals}")
    return value + by_us if isinstance(value, int) else value


def copy_of(event: dict[str, Any], number: int, length_us: int, links: int, steps: int) -> dict[str, Any]:
    """Return the event of the number-th copy."""
    later = dict(event)
    if "ts" in later:
        later["ts"] = shifted(later["ts"], number * length_us)
    if later.get("ph") in ("s", "f") and isinstance(later.get("id"), int):
        later["id"] += number * links
    args = later.get("args")
    if isinstance(args, dict):
        later["args"] = {
            key: value + number * links if key in _LINKS and isinstance(value, int) and value > 0 else value
            for key, value in args.items()
        }
    if found := _STEP.match(str(later.get("name"))):
        later["name"] = f"ProfilerStep#{int(found.group(1)) + number * steps}"
    return later


def grow(source: Path, target: Path, times: int, *, stacks: int = 0) -> tuple[int, int]:
    """Write the grown trace and return its bytes and events.

    Args:
        source: a Kineto trace.
        target: where to; gzipped when named so.
        times: how many copies.
        stacks: python_function events to add before each other event.
    """
    trace = load(source)
    events = trace["traceEvents"]
    timed = [
        event for event in events if isinstance(event.get("ts"), (int, float)) and event.get("ph") == "X"
    ]
    first = min(float(event["ts"]) for event in timed)
    last = max(float(event["ts"]) + float(event.get("dur", 0)) for event in timed)
    length = int(last - first) + 1000
    links = 1 + max(
        (value for e in events for key in _LINKS if isinstance(value := (e.get("args") or {}).get(key), int)),
        default=0,
    )
    numbers = [int(found.group(1)) for event in events if (found := _STEP.match(str(event.get("name"))))]
    steps = max(numbers, default=0) - min(numbers, default=0) + 1
    opener = gzip.open if target.name.endswith(".gz") else open
    written = count = 0
    head = json.dumps({key: value for key, value in trace.items() if key != "traceEvents"}, indent=2)[:-2]
    with opener(
        target, "wt", encoding="utf-8", **({"compresslevel": 6} if target.suffix == ".gz" else {})
    ) as file:
        written += file.write(head + ',\n  "traceEvents": [\n')
        for number in range(times):
            lines = []
            for index, event in enumerate(events):
                if event.get("ph") == "M" and number:
                    continue
                later = copy_of(event, number, length, links, steps)
                if stacks and later.get("cat") in ("cpu_op", "Operator"):
                    lines += [_stack(later, deep) for deep in range(stacks)]
                lines.append(_layout(later))
                count += 1
                if len(lines) > 4000 or index == len(events) - 1:
                    tail = "\n" if number == times - 1 and index == len(events) - 1 else ",\n"
                    written += file.write(",\n".join(lines) + tail)
                    lines = []
            if lines:
                written += file.write(",\n".join(lines) + ("\n" if number == times - 1 else ",\n"))
        written += file.write("  ]\n}\n")
    return written, count


def _layout(event: dict[str, Any]) -> str:
    """Return the event as the recorder lays it out."""
    outer = json.dumps({key: value for key, value in event.items() if key not in ("args", "ts", "dur")})[1:-1]
    times = ", ".join(f'"{key}": {event[key]!r}' for key in ("ts", "dur") if key in event)
    text = f"  {{\n    {outer}"
    if times:
        text += f",\n    {times}"
    if "args" in event:
        inner = json.dumps(event["args"])[1:-1]
        text += f',\n    "args": {{\n      {inner}\n    }}'
    return text + "\n  }"


def _stack(event: dict[str, Any], deep: int) -> str:
    return _layout(
        {
            "ph": "X",
            "cat": "python_function",
            "name": f"torch/nn/modules/module.py({1500 + deep}): _wrapped_call_impl_of_some_module_{deep}",
            "pid": event["pid"],
            "tid": event["tid"],
            "ts": event["ts"],
            "dur": event.get("dur", 1),
            "args": {"Python parent id": deep, "Python id": deep + 1, "Python module id": 3, "Ev Idx": 7},
        }
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("source", type=Path)
    arguments.add_argument("target", type=Path)
    arguments.add_argument("--times", type=int, default=8)
    arguments.add_argument("--stacks", type=int, default=0)
    given = arguments.parse_args()
    size, count = grow(given.source, given.target, given.times, stacks=given.stacks)
    print(f"{given.target}: {size / 1e6:.0f} MB of JSON, {count} events")


if __name__ == "__main__":
    main()
