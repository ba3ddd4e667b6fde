"""What must be said beside the figures: what the error bars cover, what warm-up did, what small slots add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.statistics import ONE_RUN_SENTENCE
from abstep.units import value_text

if TYPE_CHECKING:
    from abstep.compare.sides import MeasuredSide
    from abstep.compare.statistics import StatisticsResult


def warmed_up(measured: MeasuredSide, warmup: int) -> str | None:
    """Say what the windows dropped as warm-up did, where their traces tell; None where they do not."""
    if not warmup:
        return None
    first = measured.windows.select("repeat", "step").unique().sort("repeat", "step")
    dropped = first.filter(pl.int_range(pl.len()).over("repeat") < warmup)
    seen = measured.run.setup.join(dropped, on=["repeat", "step"], how="semi", maintain_order="left")
    counts = {name: int(seen[name].sum()) for name in ("allocations", "compilations", "tunings")}
    told = [f"{count} {SETUP_WORDS[name]}" for name, count in counts.items() if count]
    windows = f"the first {warmup} windows of each repeat are dropped as warm-up"
    return f"{measured.name}: {windows}; they hold {', '.join(told)}." if told else None


SETUP_WORDS = {
    "allocations": "device-memory allocations (allocator growth)",
    "compilations": "compilations",
    "tunings": "kernel tunings",
}


def statistics_sentences(
    found: StatisticsResult, base: MeasuredSide, variant: MeasuredSide
) -> tuple[str, ...]:
    """Return the sentences that the statistics and the recordings oblige to."""
    said = [] if found.unit == "repeats" else [ONE_RUN_SENTENCE]
    resident = [
        bool(recorded.get("resident"))
        for measured in (base, variant)
        for recorded in measured.run.cut.tables.recorded
    ]
    if resident and any(resident):
        said.append(
            "Repeats are captures of processes that stayed up: launch-to-launch differences are not covered."
        )
    rest = found.intervals_not_called
    if rest is not None and rest.delta is not None:
        said.append(f"The slots called unchanged or inconclusive change by {value_text(rest)} a step in all.")
    said += [sentence for each in (base, variant) if (sentence := warmed_up(each, found.warmup))]
    return tuple(said)
