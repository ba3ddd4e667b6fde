"""A generated run as it was measured, beside its truth: the same windows, collectives and slots by the same keys."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
from synth import write_run
from synth.kineto import ORIGIN_NS
from synth.truth import CATEGORIES, local_windows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from synth import SimRun
    from synth.model import Span
    from synth.truth import Window
    from synth.truth_calls import Call

    from abstep.measure.run import MeasuredRun

SpanKey = tuple[int, int, int]
Slot = tuple[str, str, str, str, str | None]
REPORTED = {"send": "send_recv", "recv": "send_recv"}
"""What the result calls a simulated kind, where it is not the kind itself."""


@dataclass(frozen=True)
class Against:
    """One run, simulated, written, read and measured. Times of both are ns on the rank's own clock."""

    run: SimRun
    measured: MeasuredRun
    streams: dict[int, int]
    quantum_ns: int = 1

    def shown(self, rank: int, true_ns: int) -> int:
        """What that rank's file says of a true time."""
        local = ORIGIN_NS + self.run.clock(rank).show(true_ns)
        return local // self.quantum_ns * self.quantum_ns

    @cached_property
    def spans(self) -> dict[SpanKey, Span]:
        """Spans by (rank, stream as written, start as written)."""
        return {
            (rank, self.streams.get(span.stream, span.stream), self.shown(rank, span.start)): span
            for rank, trace in self.run.ranks.items()
            for span in trace.spans
        }

    @cached_property
    def rows(self) -> dict[int, Span]:
        """The simulated span behind each measured row."""
        columns = self.measured.cut.tables.spans.select("row", "rank", "stream", "start_ns")
        return {
            row: self.spans[rank, stream, start]
            for row, rank, stream, start in columns.iter_rows()
            if (rank, stream, start) in self.spans
        }

    # windows -----------------------------------------------------------------------------------------------
    def true_windows(self) -> dict[tuple[int, int], Window]:
        return {(w.step, w.rank): w for w in local_windows(self.run) if w.reason is None}

    def windows(self) -> dict[tuple[int, int], dict[str, Any]]:
        return {(row["step"], row["rank"]): row for row in self.measured.windows.to_dicts()}

    def assert_windows(self) -> None:
        found = self.windows()
        truths = self.true_windows()
        assert set(found) == set(truths)
        for key, true in truths.items():
            window = found[key]
            assert window["start_ns"] == ORIGIN_NS + true.start, key
            assert window["end_ns"] == ORIGIN_NS + true.end, key
            for name in CATEGORIES:
                assert window[name] == getattr(true, name), (key, name)

    # collectives -------------------------------------------------------------------------------------------
    def calls(self) -> list[tuple[Call, dict[str, Any]]]:
        """(truth, measured) of every collective that a completed window launched."""
        completed = set(self.true_windows())
        true = {
            (call.rank, call.start, call.end, call.label): call
            for call in self.run.truth.calls
            if (call.step, call.rank) in completed
        }
        pairs = []
        for row in self.measured.instances.to_dicts():
            span = self.rows[row["row"]]
            pairs.append((true.pop((span.rank, span.start, span.end, span.anchor)), row))
        assert not true, f"not measured: {sorted(true)[:3]}"
        return pairs

    # slots -------------------------------------------------------------------------------------------------
    def true_slots(self) -> dict[tuple[int, int], dict[Slot, list[Fraction]]]:
        """(step, rank) -> slot -> [exposed, peer wait]; a consumer is the first place of its named range."""
        found: dict[tuple[int, int], dict[Slot, list[Fraction]]] = defaultdict(
            lambda: defaultdict(lambda: [Fraction(0), Fraction(0)])
        )
        completed = set(self.true_windows())
        for row in self.run.truth.exposed:
            if (row.step, row.rank) in completed:
                kind, phase, role, collective, consumer = row.slot
                place = self.heads.get(consumer, consumer) if consumer is not None else None
                reported = REPORTED.get(collective, collective)
                both = found[row.step, row.rank][kind, phase, role, reported, place]
                both[0] += row.ns
                both[1] += row.peer_wait
        return found

    def slots(self) -> dict[tuple[int, int], dict[Slot, list[int]]]:
        """The same as measured; a consumer's name stands for the first place in the model that bears it."""
        found: dict[tuple[int, int], dict[Slot, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        for row in self.measured.parts.to_dicts():
            consumer = None
            if row["kind"] == "blocking":
                consumer = self.places[row["consumer"]]
            slot = row["kind"], row["phase"], row["group"], row["collective"], consumer
            both = found[row["step"], row["rank"]][slot]
            both[0] += row["exposed_ns"]
            both[1] += row["peer_wait_ns"] or 0
        return found

    @cached_property
    def _named(self) -> list[tuple[str, str]]:
        """(name, place in the model) of every compute span that packs nothing, in launch order."""
        spans = self.measured.cut.tables.spans
        compute = spans.filter(pl.col("kind") == 0).select("row", "launch_start").sort("launch_start", "row")
        names = pl.concat([own.names.of(compute["row"]) for own in self.measured.ranks])
        return [
            (anchor, self.rows[row].anchor)
            for row, anchor in compute.join(names, on="row", maintain_order="left")
            .select("row", "anchor")
            .iter_rows()
            if row in self.rows and not self.rows[row].packs
        ]

    @cached_property
    def places(self) -> dict[str, str]:
        """The first place in the model that each name stands for."""
        return dict(reversed(self._named))

    @cached_property
    def heads(self) -> dict[str, str]:
        """The first place that bears the same name, of every place: a range may hold several."""
        return {place: self.places[name] for name, place in self._named}

    def assert_slots(self, within_ns: int) -> None:
        """Every slot of every window, each part off by less than a ns of division among collectives."""
        true, found = self.true_slots(), self.slots()
        for key in true:
            wanted = {slot: both for slot, both in true[key].items() if both[0]}
            held = {slot: both for slot, both in found[key].items() if both[0]}
            assert set(held) == set(wanted), key
            for slot, (ns, wait) in wanted.items():
                assert abs(held[slot][0] - ns) <= within_ns, (key, slot)
                assert abs(held[slot][1] - wait) <= within_ns, (key, slot, "peer wait")


def measured_run(run: SimRun, folder: Path, **layout: Any) -> Against:
    """Write a run into a folder of its own, read it through the session's store, and measure it, spans at hand."""
    from abstep.pipeline import Reading, read_run

    place = write_run(run, folder / "run", **layout)
    measured = read_run(place, Reading(store=folder.parent / "generated.duckdb"), spans=True)
    streams = dict(layout.get("streams", {}))
    return Against(run, measured, streams, 1000 if layout.get("time") == "int" else 1)


def total(rows: Iterable[dict[str, Any]], name: str) -> int:
    return sum(row[name] for row in rows)
