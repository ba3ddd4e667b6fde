"""What was recorded beside contention, in words: for screens, report and explanation alike. Never called a cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from abstep.compare.waiting import MATTERS, named_row
from abstep.units import ABSENT, bytes_text, counted, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from abstep.compare.comparison import Comparison
    from abstep.compare.rows import CollectiveRow, ContentionRow, Cores, PairEvidence, RankRow

DIRECTIONS = {
    "HtoD": "host to device",
    "DtoH": "device to host",
    "DtoD": "within the device",
    "other": "other",
}
NONE_RAN = "none"
GREW = ("grew", "appeared")
PAIRS_NAMED = 2


class Fact(NamedTuple):
    """One recorded fact of a pair, in words on both sides; ABSENT where it was not recorded."""

    label: str
    base: str
    variant: str

    @property
    def both(self) -> str:
        """Return both sides, once where they read the same."""
        return self.base if self.base == self.variant else f"{self.base} → {self.variant}"


def launch_facts(row: ContentionRow) -> list[Fact]:
    """Return how a pair's kernels were launched, as far as recorded on either side."""
    sides = (row.base_evidence, row.variant_evidence)
    told = {
        "registers a thread": [range_text(own.registers) for own in sides],
        "shared memory a block": [range_text(own.shared_bytes, bytes_text) for own in sides],
        "estimated occupancy": [occupancy_text(own) for own in sides],
        "collective's blocks": [range_text(own.blocks) for own in sides],
        "threads of such a block": [range_text(own.threads) for own in sides],
        "collective's channels": [range_text(own.channels) for own in sides],
    }
    return _known(told)


def copy_facts(row: ContentionRow) -> list[Fact]:
    """Return for how long copies ran beside both, by direction; one fact where none did, none without records."""
    sides = (row.base_evidence, row.variant_evidence)
    directions = [key for key in DIRECTIONS if any(key in (own.copies or {}) for own in sides)]
    told = {f"copies {DIRECTIONS[key]}": [_copied(own, key) for own in sides] for key in directions}
    return _known(told or {"copies": [_copied(own) for own in sides]})


def _known(told: Mapping[str, list[str]]) -> list[Fact]:
    return [Fact(label, *said) for label, said in told.items() if said != [ABSENT, ABSENT]]


def kernel_text(own: CollectiveRow) -> str:
    """Return how large a collective's kernels are: `24 x 544 threads (24 channels)`; absent where unknown."""
    if own.blocks is None:
        return ABSENT
    threads = "" if own.threads is None else f" x {range_text(own.threads)} threads"
    channels = "" if own.channels is None else f" ({range_text(own.channels)} channels)"
    return f"{range_text(own.blocks)}{threads}{channels}"


def evidence_sentences(comparison: Comparison) -> Iterator[str]:
    """Tell, in one sentence, what was recorded of pairs whose contention grew and differs between the runs."""
    grew = [row for row in comparison.contention if row.delta.verdict in GREW]
    parts = [*_collectives_changed(comparison, tuple(row.slot for row in grew))]
    for row in grew[:PAIRS_NAMED]:
        parts += _pair_changed(row, MATTERS * (comparison.step_time.base or 0.0))
    parts = list(dict.fromkeys(parts))
    if parts:
        yield f"Recorded beside it, as evidence and not as the cause: {'; '.join(parts)}."


def _collectives_changed(comparison: Comparison, slots: tuple[str, ...]) -> Iterator[str]:
    """Say where the kernels of these slots' collectives take another number of thread blocks."""
    seen: dict[tuple[str, str], dict[str, CollectiveRow]] = {}
    for row in comparison.collectives:
        own = f"{row.phase}/{row.group}/{row.collective}/"
        if row.blocks is not None and any(slot.startswith(own) for slot in slots):
            seen.setdefault((named_row(row), row.group), {})[row.side] = row
    names = [name for name, _ in seen]
    for (name, group), sides in sorted(seen.items()):
        what = f"{name} in {group}" if names.count(name) > 1 else name
        base, variant = sides.get("base"), sides.get("variant")
        if base is None or variant is None or base.blocks == variant.blocks:
            continue
        channels = base.channels is not None and variant.channels is not None
        yield (
            f"the kernels of {what} took {range_text(base.blocks)} thread blocks in the base and "
            f"{range_text(variant.blocks)} in the variant" + (" (one a channel)" if channels else "")
        )


def _pair_changed(row: ContentionRow, least: float) -> Iterator[str]:
    """Say what a pair's compute takes otherwise, and which copies beside it changed by `least` ns or more."""
    base, variant = row.base_evidence, row.variant_evidence
    name = row.compute.partition(": ")[0]
    had = []
    if (
        None not in (base.occupancy_pct, variant.occupancy_pct)
        and base.occupancy_pct != variant.occupancy_pct
    ):
        both = occupancy_text(base), occupancy_text(variant)
        had.append(f"an estimated occupancy of {both[0]} in the base and {both[1]} in the variant")
    if None not in (base.registers, variant.registers) and base.registers != variant.registers:
        both = range_text(base.registers), range_text(variant.registers)
        had.append(f"{both[0]} registers a thread in the base and {both[1]} in the variant")
    if had:
        yield f"{name} had {' and '.join(had)}"
    if base.copies is None or variant.copies is None:
        return
    for direction, words in DIRECTIONS.items():
        ours, theirs = (
            side.copies.get(direction, 0.0) for side in (base, variant) if side.copies is not None
        )
        if abs(theirs - ours) >= least > 0:
            yield (
                f"copies {words} ran beside {name} and {row.beside} for {time_text(ours)} a step in the base and "
                f"{time_text(theirs)} in the variant"
            )


def occupancy_text(own: PairEvidence) -> str:
    """Return `25 %`, or `52 % (15 to 75)` where kernels differ: the mean by their time, and the range."""
    if own.occupancy_pct is None or own.occupancy_mean_pct is None:
        return ABSENT
    low, high = own.occupancy_pct
    mean = f"{own.occupancy_mean_pct:.0f} %"
    return mean if low == high else f"{mean} ({low:g} to {high:g})"


def range_text(ends: tuple[float, float] | None, text: Callable[[float], str] = str) -> str:
    """Return `24`, or `8 to 24` where the smallest and largest differ; absent where unknown."""
    if ends is None:
        return ABSENT
    low, high = (text(end) for end in ends)
    return low if low == high else f"{low} to {high}"


def _copied(own: PairEvidence, direction: str = "") -> str:
    if own.copies is None:
        return ABSENT
    time = own.copies.get(direction, 0.0)
    return time_text(time) if time else NONE_RAN


def host_sentences(comparison: Comparison) -> list[str]:
    """Say which threads of which ranks shared how many cores in a host-only run, from recorded facts alone."""
    said: dict[str, list[str]] = {}
    for name, side in comparison.sides:
        rows = [row for row in comparison.ranks if row.side == name]
        if side.host_only and (text := _threads(rows)):
            said.setdefault(f"{text}; {_cores(side.cores)}.", []).append(name)
    where = {("base",): "In the base", ("variant",): "In the variant", ("base", "variant"): "In both runs"}
    return [f"{where[tuple(names)]}, {text}" for text, names in said.items()]


def _threads(rows: list[RankRow]) -> str:
    by_counts: dict[tuple[int, int], list[int]] = {}
    for row in rows:
        if row.compute_threads is not None and row.collective_threads is not None:
            by_counts.setdefault((row.compute_threads, row.collective_threads), []).append(row.rank)
    return "; ".join(
        f"{counted(compute, 'compute thread')} and {counted(collective, 'collective thread')} ran on {_ranks(ranks)}"
        for (compute, collective), ranks in sorted(by_counts.items())
    )


def _ranks(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"each of ranks {ranks[0]} to {ranks[-1]}"
    return f"each of ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def _cores(own: Cores) -> str:
    told = [] if own.cores is None else [counted(own.cores, "core")]
    told += [] if own.threads_per_rank is None else [f"{counted(own.threads_per_rank, 'thread')} a rank"]
    told += [] if own.pinning is None else [own.pinning]
    said = f"run.json records {', '.join(told)}" if told else ""
    return said if own.cores is not None else "; ".join(filter(None, ("cores not recorded", said)))
