"""What was cut, in us from zero."""

from __future__ import annotations

from handmade import ns

THREE = [(0, 90), (100, 190), (200, 290)]


def windows(run):
    """(rank, step) -> (start us, end us, reason) from zero, whole us where they are."""
    zero = ns(0)
    return {
        (rank, step): (
            None if start is None else (start - zero) / 1000,
            None if end is None else (end - zero) / 1000,
            reason,
        )
        for rank, step, start, end, reason in run.windows.select(
            "rank", "step", "start_ns", "end_ns", "reason"
        ).iter_rows()
    }
