"""Hostile events: the healthy run with events no recorder should write, all beside the figures or named.

Importing this adds to `broken.BROKEN`. What is added lies inside a span that computes anyway, so that the
figures stay whether it is skipped or kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from synth.broken import add, healthy_document, healthy_run, put
from synth.kineto import BASE_NS, ORIGIN_NS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Event = dict[str, Any]
HUGE = msgspec.Raw(b"1" + b"0" * 40)
WRONG: dict[str, Any] = {
    "null": None,
    "true": True,
    "text": "soon",
    "empty": "",
    "list": [1],
    "object": {"a": 1},
    "nan": msgspec.Raw(b"NaN"),
    "infinity": msgspec.Raw(b"-Infinity"),
    "huge": HUGE,
    "exponent": msgspec.Raw(b"1e999"),
    "negative": -5.5,
}
NOT_JSON = ("nan", "infinity")  # some parsers refuse the whole file for these


def _kernel(**changes: Any) -> Event:
    """A microsecond of compute inside the first matrix product of the second step."""
    run = healthy_run()
    span = next(
        s for s in run.ranks[0].spans if s.step == run.job.first_step + 1 and s.anchor.endswith("/gemm")
    )
    ns = ORIGIN_NS - BASE_NS + span.start + 10_000
    args = {"device": 0, "context": 1, "stream": 99, "correlation": 777_777}
    when = {"ts": msgspec.Raw(f"{ns // 1000}.{ns % 1000:03d}".encode()), "dur": 1.0}
    return {"ph": "X", "cat": "kernel", "name": "odd", "pid": 0, "tid": 99, **when, "args": args} | changes


def _range(**changes: Any) -> Event:
    """A host range on a thread of its own."""
    return _kernel(cat="cpu_op", pid=2_910_052, tid=1, args={"External id": 5}) | changes


def _with(*events: Any) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        whole = healthy_document()
        whole["traceEvents"] = [*whole["traceEvents"][:40], *events, *whole["traceEvents"][40:]]
        put(folder, msgspec.json.encode(whole))

    return make


def _without(event: Event, key: str) -> Event:
    return {k: v for k, v in event.items() if k != key}


# one field of the wrong type ------------------------------------------------------------------------------
for _word, _value in WRONG.items():
    _soft = {"or_refused": _word in NOT_JSON}
    if _word != "negative":
        add(f"ts_{_word}", "odd_events", "no time", _with(_kernel(ts=_value)), **_soft)
    add(f"dur_{_word}", "odd_events", "no duration", _with(_kernel(dur=_value)), **_soft)
    _soft["either"] = True
    add(f"pid_{_word}", "odd_events", "a host range of no importance", _with(_range(pid=_value)), **_soft)
    add(f"args_{_word}", "odd_events", "no arguments", _with(_kernel(args=_value)), **_soft)
    _args = {"device": 0, "stream": 99}
    add(
        f"correlation_{_word}",
        "odd_events",
        "joined to no launch",
        _with(_kernel(args={**_args, "correlation": _value})),
        **_soft,
    )
for _key in ("name", "cat", "ph", "tid"):
    for _word in ("null", "list", "object", "huge"):
        say = "an odd host range"
        add(f"{_key}_{_word}", "odd_events", say, _with(_range(**{_key: WRONG[_word]})), either=True)
for _key in ("name", "cat", "ph", "ts", "dur", "pid", "tid", "args"):
    add(f"no_{_key}", "odd_events", "an event without it", _with(_without(_range(), _key)), either=True)
for _word, _value in {
    "number": 3,
    "null": None,
    "text": "event",
    "list": [],
    "true": False,
    "empty": {},
}.items():
    add(f"event_{_word}", "odd_events", "not an event", _with(_value))


# times that cannot be -------------------------------------------------------------------------------------
def _corrupt(dur: Any) -> Callable[[Path], None]:
    """A span of the compute stream that runs into all that follow it."""

    def make(folder: Path) -> None:
        span = next(s for s in healthy_run().ranks[0].spans if s.step == healthy_run().job.first_step)
        whole = healthy_document()
        for event in whole["traceEvents"]:
            if event.get("cat") == "gpu_memcpy" and event["args"]["correlation"] == span.launch.correlation:
                event["dur"] = dur
        put(folder, msgspec.json.encode(whole))

    return make


add("runs_into_the_next", "odd_events", "quarantined", _corrupt(5_000_000.0), figures=False)
add("runs_for_years", "odd_events", "quarantined", _corrupt(msgspec.Raw(b"1000000000000000")), figures=False)
add(
    "time_beyond_int64",
    "odd_events",
    "no such time",
    _with(_kernel(ts=msgspec.Raw(b"9300000000000000000.5"))),
)
_EARLY = msgspec.Raw(b"-99999999999999.5")
add("time_before_epoch", "odd_events", "no such time", _with(_range(ts=_EARLY)), either=True)
add("many_decimals", "reads", "rounded to the nanosecond", _with(_range(dur=msgspec.Raw(b"1." + b"3" * 400))))
add("zero_length", "reads", "takes no time", _with(_kernel(dur=0), _kernel(dur=0)))
add("integer_times", "reads", "integers are numbers too", _with(_range(dur=1)))
add("time_as_exponent", "reads", "a number all the same", _with(_range(dur=msgspec.Raw(b"1.5e0"))))


def _change(act: Callable[[Event], Any]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        whole = healthy_document()
        act(whole)
        put(folder, msgspec.json.encode(whole))

    return make


def _clock_step(whole: Event) -> None:
    """Half-way, somebody set the clock an hour forward."""
    middle = healthy_run().truth.windows[2].start + ORIGIN_NS - BASE_NS
    for event in whole["traceEvents"]:
        us = event.get("ts")
        if us is not None and int(bytes(us).replace(b".", b"")) >= middle:
            event["ts"] = msgspec.Raw(f"{int(bytes(us).split(b'.')[0]) + 3_600_000_000}.000".encode())


def _duplicate_launches(whole: Event) -> None:
    calls = [e for e in whole["traceEvents"] if e.get("cat") == "cuda_runtime"]
    whole["traceEvents"] += [dict(call) for call in calls[:5]]


def _drop(*starts: str) -> Callable[[Path], None]:
    """Without the events whose name or category starts so."""

    def act(whole: Event) -> None:
        events = whole["traceEvents"]
        whole["traceEvents"] = [
            e for e in events if not f"{e.get('cat')}".startswith(starts) and not e["name"].startswith(starts)
        ]

    return _change(act)


def _overlapping(whole: Event) -> None:
    whole["traceEvents"].append(_kernel(tid=7, dur=20.0, args={"device": 0, "stream": 7, "correlation": 4}))


add("clock_step", "reads", "a window is an hour long", _change(_clock_step), figures=False, either=True)
add("launched_twice", "odd_events", "two launches of one activity", _change(_duplicate_launches), either=True)
add("two_at_once", "odd_events", "two spans of one stream overlap", _change(_overlapping), figures=False)
add("no_steps", "bad_file", "lists the annotations", _drop("ProfilerStep"), figures=False)
add("no_launches", "bad_file", "nothing belongs to a step", _drop("cuda"), figures=False)
add("no_device", "reads", "no communication", _drop("kernel", "gpu_"), figures=False)


# steps, ranks and the head --------------------------------------------------------------------------------
for _word, _mark in {
    "huge": "ProfilerStep#99999999999999999999999",
    "negative": "ProfilerStep#-4",
    "words": "ProfilerStep#four",
    "bare": "ProfilerStep#",
    "spaced": "ProfilerStep# 4 ",
}.items():
    _odd_mark = _with(_range(cat="user_annotation", name=_mark))
    add(f"step_{_word}", "odd_events", "a mark of no step", _odd_mark, either=True)
for _word, _value in (WRONG | {"text": "zero", "float": 0.5}).items():
    _soft = {"or_refused": _word in (*NOT_JSON, "negative", "huge", "exponent", "float")}

    def _set_rank(whole: Event, value: Any = _value) -> None:
        whole["distributedInfo"]["rank"] = value

    add(
        f"rank_{_word}",
        "odd_events",
        "the rank is taken from the file's name",
        _change(_set_rank),
        either=_word == "null",
        **_soft,
    )
for _word in ("null", "list", "text", "huge", "object"):

    def _set_head(whole: Event, value: Any = WRONG[_word]) -> None:
        whole |= {"distributedInfo": value, "deviceProperties": value, "schemaVersion": value}

    def _set_base(whole: Event, value: Any = WRONG[_word]) -> None:
        whole["baseTimeNanoseconds"] = value

    add(f"head_{_word}", "odd_events", "the head is not understood", _change(_set_head), either=True)
    add(f"base_time_{_word}", "odd_events", "relative times are enough", _change(_set_base), or_refused=True)
add(
    "base_time_text_number",
    "reads",
    "a number in quotes",
    _change(lambda w: w.update(baseTimeNanoseconds=f"{BASE_NS}")),
)
add(
    "head_last",
    "reads",
    "the head may follow the events",
    _change(lambda w: w.update(distributedInfo=w.pop("distributedInfo"))),
)


# names ----------------------------------------------------------------------------------------------------
for _word, _text in {
    "escapes": "\x1b[2J\x1b[31mred\x1b]0;title\x07\x9b1m",
    "controls": "".join(map(chr, range(1, 32))) + "\x7f",
    "right_to_left": "abc\u202edcba\u2066\u200b",
    "markup": "[bold red]x[/] [@click=app.quit]quit[/] {x} %s",
    "markdown": "| a | b |\n|---|---|\n<script>alert(1)</script> [x](javascript:1) `code` # title",
    "sql": "'; DROP TABLE spans; --",
    "path": "../../../../etc/passwd\0",
    "formula": "=cmd|' /C calc'!A0",
    "long": "n" * 100_000,
    "emoji": "👩‍👩‍👧‍👦" * 50,
}.items():
    add(
        f"name_{_word}",
        "reads",
        "shown harmlessly",
        _with(_kernel(name=_text), _range(name=_text), _range(name=_text, cat="user_annotation")),
    )


# shapes of arguments --------------------------------------------------------------------------------------
def _nested(depth: int) -> msgspec.Raw:
    return msgspec.Raw(b'{"a":' * depth + b"1" + b"}" * depth)


add("deep_args", "odd_events", "nested without end", _with(_range(args=_nested(50_000))), or_refused=True)
add("wide_args", "reads", "many arguments", _with(_range(args={f"k{n}": n for n in range(50_000)})))
add(
    "ids_beyond_int64",
    "reads",
    "ids are only ids",
    _with(_range(args={"Comms Id": HUGE, "External id": HUGE})),
)
add(
    "same_key_twice",
    "reads",
    "one of the two",
    _with(msgspec.Raw(b'{"ph":"M","ph":"M","name":"a","name":"b"}')),
)
add("begin_and_end", "reads", "pairs of begin and end are host ranges", _with(_range(ph="B"), _range(ph="E")))
add("unknown_phases", "reads", "other events are not ours", _with(*(_range(ph=ph) for ph in "biCPOND?")))
add(
    "unknown_category",
    "reads",
    "other rows are not ours",
    _with(_range(cat="mtia_ccp_events"), _range(cat="")),
)


def write_tiny_events(folder: Path, count: int = 10_000_000) -> None:
    """The healthy run and very many host events of no length."""
    event = b'{"ph":"X","cat":"cpu_op","name":"e","pid":1,"tid":1,"ts":1.000,"dur":0},'
    head, events, tail = msgspec.json.encode(healthy_document()).partition(b'"traceEvents":[')
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "rank0.json").open("wb") as file:
        file.write(head + events)
        for _ in range(count // 10_000):
            file.write(event * 10_000)
        file.write(tail)
