"""The labs' controls as a table, and what each lab leaves out: what options, rows and help are made of.

Nothing but texts and numbers, so that the command line can offer the labs without loading them.
"""

from __future__ import annotations

from typing import NamedTuple

ROOFLINE_LEAVES_OUT = (
    "B is a synthetic device-memory bandwidth, not a network's.",
    "It contains no collective.",
    (
        "It cannot show overlapping kernels, rank readiness, transport, or the slowdown of communication beside "
        "compute: `abstep lab overlap` is for those."
    ),
)
OVERLAP_LEAVES_OUT = (
    "One backward of replicated data parallel: no sharding, no pipeline, no other collective.",
    "One link, the same for every rank and all the time; the host is late only by the launch cost.",
    "Slowdowns are constant factors; real ones depend on kernels, channels and memory traffic.",
    "Nothing varies: no noise, no warm-up, no outliers.",
)


class Control(NamedTuple):
    """One control.

    Attributes:
        name: its field in `Controls`.
        option: on the command line.
        label: in a screen's row.
        unit: of its value; "" for counts and factors.
        reset: the value that Reset gives.
        low, high: its range.
        steps: the values that keys go through.
        meaning: in a line.

    """

    name: str
    option: str
    label: str
    unit: str
    reset: float
    low: float
    high: float
    steps: tuple[float, ...]
    meaning: str


CONTROLS: tuple[Control, ...] = (
    Control("bucket_mb", "--bucket-mb", "bucket size", "MiB", 20, 0.001, 100_000, (1, 2, 5, 10, 16, 20, 25, 40, 80),
            "bytes at which a bucket closes, in MiB as DDP's bucket_cap_mb counts"),
    Control("streams", "--streams", "communication streams", "", 1, 1, 2, (1, 2),
            "buckets take turns on them; what moves at once shares the link"),
    Control("launch_us", "--launch-cost", "launch cost", "us", 5, 0, 1e6, (0, 1, 2, 5, 10, 20, 50, 100, 200),
            "between a collective's turn on its stream and its start, each time"),
    Control("latency_us", "--latency", "latency", "us", 20, 0, 1e6, (0, 5, 10, 20, 50, 100, 200),
            "of transport, before the first byte moves"),
    Control("bandwidth", "--bandwidth", "bus bandwidth", "GB/s", 75, 0.001, 1e6, (5, 10, 20, 40, 75, 100, 150, 300),
            "of an all_reduce, decimal: transport = latency + 2(n-1)/n x bytes / bandwidth"),
    Control("ranks", "--ranks", "ranks", "", 4, 1, 64, (1, 2, 4, 8, 16), "data-parallel ranks"),
    Control("late_us", "--late", "last rank late by", "us", 0, 0, 1e6, (0, 50, 100, 200, 400, 800, 1600),
            "the last rank computes this much longer before its backward"),
    Control("compute_slowdown", "--compute-slowdown", "compute slowed by", "x", 1, 1, 100,
            (1, 1.05, 1.1, 1.2, 1.4, 1.9), "while a collective is on its device"),
    Control("transport_slowdown", "--transport-slowdown", "transport slowed by", "x", 1, 1, 100,
            (1, 1.1, 1.2, 1.5, 2, 2.3), "while any rank still computes its backward"),
    Control("groups", "--groups", "gradient groups", "", 40, 1, 1024, (1, 2, 4, 8, 16, 40, 80, 160),
            "of equal size, ready at equal distances, the last at the backward's end"),
    Control("gradients_mb", "--gradients", "gradients", "MiB", 80, 0.001, 1e6, (20, 40, 80, 160, 320, 640),
            "of all groups together"),
    Control("backward_us", "--backward", "backward", "us", 4800, 0, 1e9, (1200, 2400, 4800, 9600),
            "compute of the backward, with nothing beside it"),
    Control("rest_us", "--rest", "forward and optimizer", "us", 0, 0, 1e9, (0, 600, 1200, 2400, 4800),
            "compute that no reduction may run beside"),
)  # fmt: skip
BY_NAME = {control.name: control for control in CONTROLS}
WHOLE = frozenset({"ranks", "groups", "streams"})
"""Controls that are whole numbers."""
