"""What a prediction rests on, in sentences: what was measured, and what is taken for granted."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from abstep.units import bytes_text, count_text, rate_text, ratio_text, share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from abstep.lab.costs import Costs
    from abstep.lab.measured import MeasuredBackward
    from abstep.lab.predict import Change


def bus_bandwidth(byte_ns: float, ranks: int, collective: str = "all_reduce") -> float:
    """Return decimal GB/s of a time a byte (ns), by nccl-tests' factors."""
    factor = (2 if collective == "all_reduce" else 1) * (ranks - 1) / ranks
    return factor / byte_ns if byte_ns else float("inf")


def assumptions(
    found: MeasuredBackward,
    known: Costs,
    change: Change,
    slow: tuple[Fraction, Fraction],
    used: int,
) -> list[str]:
    """Say what the prediction rests on, what was measured and what is taken for granted."""
    ranks = len(found.windows[0])
    sizes = sorted({one.bytes for window in found.windows for one in window[0].reductions})
    rate = rate_text(bus_bandwidth(known.byte_ns, ranks, found.collective))
    of = f" of {len(found.windows)}, evenly chosen," if used < len(found.windows) else ""
    played = f"{used} typical windows{of} of {ranks} ranks, each played with its own ready times"
    said = [f"{played}; the difference between the plays is added to what was measured."]
    if found.left_out:
        said.append(f"{found.left_out} windows without the same reductions on every rank are left out.")
    said.append(
        "Gradients arrive evenly over the backward: reductions were launched after it, so when each was ready is "
        "not recorded."
        if found.late_launch
        else "Gradients arrive evenly between the measured ready times; before the first, from the backward's begin."
    )
    said.append(
        "Buckets close at their size exactly; forward, optimizer and what the host does stay as measured."
    )
    if known.latency is None:
        said.append(
            f"Transport is proportional to bytes at {rate} bus bandwidth: one bucket size ({bytes_text(sizes[-1])}) "
            "was measured, which cannot tell a latency (--latency says one)."
        )
    else:
        listed = f"{bytes_text(sizes[0])} to {bytes_text(sizes[-1])}"
        source = f"from buckets of {listed}" if change.latency_us is None else "the latency as given"
        said.append(f"Transport: {time_text(known.latency)} and {rate} bus bandwidth, {source}.")
    said.append(f"Launch cost {time_text(known.launch)} a collective, the measured median.")
    said.append(
        _slowed(
            "Compute beside collectives",
            (change.compute_slowdown, known.compute_slowdown),
            slow[0],
            f" on the {share_text(known.beside)} of it that ran there",
        )
    )
    said.append(
        _slowed("Transport beside compute", (change.transport_slowdown, known.transport_slowdown), slow[1])
    )
    if not known.whole:
        said.append(
            "Not every rank was traced or on one clock: the shortest duration of each collective counts as transport."
        )
    if found.streams == 2:
        said.append("Its reductions overlap one another: two communication streams that share the link.")
    return said


def _slowed(what: str, known: tuple[float | None, float | None], used: Fraction, rests_on: str = "") -> str:
    """Say how slow work is beside the other kind: `known` is (given, measured)."""
    given, measured = known
    if given is None and measured is None:
        return f"{what} is not slowed: this run cannot tell by how much it would be."
    as_known = "as given" if given is not None else f"as measured{rests_on}"
    slowed = "is not slowed" if used == 1 else f"takes {ratio_text(float(used))} as long"
    return f"{what} {slowed}, {as_known}."


def buckets_text(sizes: Sequence[int]) -> str:
    """Return buckets, of these bytes each, in words: `5 buckets of 16.8 MB`."""
    alike = all(abs(low - high) <= 1 for low, high in pairwise(sizes))
    of = bytes_text(sizes[0]) if alike else f"{bytes_text(min(sizes))} to {bytes_text(max(sizes))}"
    return f"{count_text(len(sizes))} bucket{'' if len(sizes) == 1 else 's'} of {of}"
