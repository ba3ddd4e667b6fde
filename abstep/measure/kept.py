"""A measured run as bytes and back, so that a store can keep it (frames as Arrow files, no code in them)."""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING

import polars as pl

from abstep import __version__
from abstep.measure.ranks import AcrossRanks
from abstep.measure.run import MeasuredRun
from abstep.windows import CutRun
from abstep.windows.clock import CommonClock
from abstep.windows.host_clock import HostShift

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abstep.model import RunTables

MEASURES = "16"
"""Raised whenever a measure changes, so that what an older version kept is measured anew."""
FRAMES = (
    "windows",
    "instances",
    "parts",
    "work",
    "signatures",
    "beside",
    "resources",
    "copies",
    "recorded",
    "sequences",
    "forward_shapes",
    "passes",
    "attribution",
    "setup",
    "ranges",
    "idle",
    "milestones",
    "delays",
    "path",
    "violations",
    "ideal",
)


def measures_key(header: RunTables, marker: str | None) -> str:
    """Return what a run's measures are the measures of: its contents, their places, the marker, the version."""
    held = header.files.select("content", "repeat", "rank", "file").sort("repeat", "rank", "content").rows()
    said = json.dumps([__version__, MEASURES, marker, held])
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def to_parts(run: MeasuredRun) -> dict[str, bytes]:
    """Return a measured run's frames as Arrow files, by name."""
    frames = {name: getattr(run, name) for name in FRAMES}
    frames["cut.windows"] = run.cut.windows
    frames["cut.marks"] = run.cut.marks
    frames["cut.shifts"] = run.cut.shifts.shifts
    frames["cut.quarantined"] = run.cut.quarantined
    frames["across.clock"] = run.across.clock.rows
    frames["across.unmatched"] = run.across.unmatched
    frames["scalars"] = pl.DataFrame({"recorded_edges": [run.recorded_edges]})
    return {name: _bytes(frame) for name, frame in frames.items()}


def from_parts(header: RunTables, parts: Mapping[str, bytes]) -> MeasuredRun | None:
    """Return the measured run that `to_parts` made; None where a part is missing or cannot be read.

    Args:
        header: the run's facts, without spans.
        parts: by name.

    """
    try:
        frames = {name: pl.read_ipc(io.BytesIO(data)) for name, data in parts.items()}
        clock = CommonClock(frames["across.clock"])
        return MeasuredRun(
            cut=CutRun(
                header,
                frames["cut.windows"],
                frames["cut.marks"],
                HostShift(frames["cut.shifts"]),
                frames["cut.quarantined"],
            ),
            **{name: frames[name] for name in FRAMES},  # type: ignore[arg-type]
            across=AcrossRanks(frames["instances"], clock, frames["across.unmatched"]),
            recorded_edges=float(frames["scalars"]["recorded_edges"][0]),
        )
    except (KeyError, pl.exceptions.PolarsError, OSError):
        return None  # a cache that cannot be read is measured anew


def _bytes(frame: pl.DataFrame) -> bytes:
    held = io.BytesIO()
    frame.write_ipc(held, compression="zstd")
    return held.getvalue()
