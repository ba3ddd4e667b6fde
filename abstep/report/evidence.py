"""The report's sections on what the changes rest on: collectives, ranks, path, comparability, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abstep.compare import recorded
from abstep.report import rows, wording
from abstep.report.changes import MOST_ROWS, NAME, left_out, uncertain
from abstep.report.markup import fold, plain, table
from abstep.units import (
    ABSENT,
    bytes_text,
    count_text,
    pair_text,
    rate_text,
    share_text,
    time_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from abstep.compare.comparison import CollectiveRow, Comparison, PathRow, RankRow

SIDES = ("base", "variant")
BOLD = frozenset({"warn", "fail"})
CLOCKS = (
    "Offset: this rank's clock minus the lowest traced rank's; spread: how far the ends of collectives, which all "
    "ranks share, scatter around it. No difference between ranks is known better than that."
)
FOLD_RANKS = 8
"""From more ranks than this their table is folded."""


def collectives(comparison: Comparison) -> list[str]:
    """Return the collectives of both sides beside each other, a step."""
    if not comparison.collectives:
        return []
    sides: dict[tuple[str, str, str], dict[str, CollectiveRow]] = {}
    for row in comparison.collectives:
        sides.setdefault((row.collective, row.group, row.phase), {})[row.side] = row
    order = sorted(sides.items(), key=lambda item: (-max(r.duration for r in item[1].values()), item[0]))
    isolated = _isolated(comparison)
    shown = any(row.blocks is not None for row in comparison.collectives)
    durations = ("duration", "exposed", "hidden", *(["isolated"] * isolated))
    amounts, times = [], []
    for (collective, group, phase), found in order[:MOST_ROWS]:
        name = f"{plain(collective)}, {plain(phase)}, {plain(group, width=NAME)}"
        measured = [_pair(found, key) for key in durations]
        counts = [_both(found, "count", count_text), _both(found, "bytes", bytes_text)]
        sizes = [ABSENT if row is None else recorded.kernel_text(row) for row in map(found.get, SIDES)]
        size = [sizes[0] if sizes[0] == sizes[1] else " → ".join(sizes)] * shown
        amounts.append((name, *counts, *measured, _both(found, "busbw_gb_s", rate_text), *size))
        unsure = max((row.split_uncertain or 0.0 for row in found.values()), default=0.0)
        parts = [
            _pair(found, "queue"),
            *(uncertain(_pair(found, k), unsure) for k in ("peer_wait", "transport")),
        ]
        parts += [_pair(found, "slack"), _pair(found, "independent")]
        late = [_late(found.get(side)) for side in ("base", "variant")]
        times.append((name, *parts, late[0] if late[0] == late[1] else " → ".join(late)))
    heads = ["Collective", "Count", "Bytes", "Duration", "Exposed", "Hidden", *(["Isolated"] * isolated)]
    lines = ["Sums per step, base → variant; one figure where both read the same.", ""]
    lines += [*table([*heads, "Bus bandwidth", *(["Thread blocks of its kernel"] * shown)], amounts), ""]
    heads = ["Collective", "Queue", "Peer wait", "Transport", "Slack", "Compute that could hide it"]
    lines += table([*heads, "Last to arrive"], times) + left_out(len(sides))
    return [*lines, "", wording.UNSPLIT] if wording.unsplit(comparison) else lines


def _isolated(comparison: Comparison) -> bool:
    return any(row.isolated is not None for row in comparison.collectives)


def _late(row: CollectiveRow | None) -> str:
    if row is None or row.late_rank is None:
        return ABSENT
    if row.pipelined:
        return f"rank {row.late_rank} ({share_text(row.late_share)}), by the pipeline's schedule"
    if not row.late_called:
        return "no rank regularly"
    lead = "" if row.late_lead is None else f", by {time_text(row.late_lead)}"
    why = f", {plain(row.late_reason)}" if row.late_reason else ""
    why += "" if row.late_range is None else f": {plain(row.late_range[0], width=NAME)}"
    return f"rank {row.late_rank} ({share_text(row.late_share)}{lead}{why})"


def _pair(found: Mapping[str, object], key: str) -> str:
    """Return one figure of both sides' rows: `12.3 → 14.1 ms`."""
    return pair_text(getattr(found.get("base"), key, None), getattr(found.get("variant"), key, None))


def _both(found: Mapping[str, object], key: str, text: Callable[[float | None], str]) -> str:
    """Return one figure of both sides' rows, once where they read the same."""
    one = text(getattr(found.get("base"), key, None))
    other = text(getattr(found.get("variant"), key, None))
    return one if one == other else f"{one} → {other}"


def ranks(comparison: Comparison) -> list[str]:
    """Return the categories of each rank, base → variant."""
    sides: dict[int, dict[str, RankRow]] = {}
    for row in comparison.ranks:
        sides.setdefault(row.rank, {})[row.side] = row
    keys = ("compute_alone", "overlapped", "exposed", "copy_only", "idle", "peer_wait", "lateness")
    lines = [
        (
            str(rank),
            *(_pair(found, key) for key in keys),
        )
        for rank, found in sorted(sides.items())[:MOST_ROWS]
    ]
    heads: tuple[str, ...] = ("Rank", "Compute alone", "Overlapped", "Exposed", "Copies", "Idle", "Peer wait")
    heads = (*heads, "Arrival after the first")
    whole = table(heads, lines) + left_out(len(sides))
    if not lines:
        return ["Unknown."]
    return fold(f"{len(sides)} ranks (base → variant)", whole) if len(sides) > FOLD_RANKS else whole


def path(comparison: Comparison) -> list[str]:
    """Return the dependency path, the milestones and the ideal of both sides."""
    sides = {row.side: row for row in comparison.path}
    base, variant = sides.get("base"), sides.get("variant")
    heads = ("On the path", "Base → variant", "Difference")
    lines = [
        (name, pair_text(*both), _change(*both))
        for name, key in (
            ("compute", "compute"),
            ("transport", "transport"),
            ("host", "host"),
            ("idle", "idle"),
        )
        if (both := (getattr(base, key, None), getattr(variant, key, None))) != (None, None)
    ]
    said = [_shares(row) for row in (base, variant) if row is not None and row.ranks]
    parts = table(heads, lines) or ["The dependency path is unknown."]
    parts += ["", " ".join(said)] if said else []
    names = {
        "first_launch": "first launch", "backward_end": "backward ends",
        "last_collective_end": "last collective ends",
        "update_end": "update ends", "tail": "tail: backward end to first optimizer span",
    }  # fmt: skip
    one, other = comparison.base.milestones, comparison.variant.milestones
    marks = [(name, getattr(one, key), getattr(other, key)) for key, name in names.items()]
    marks.append(
        (
            "ideal: compute and transport, as long as measured, started together",
            comparison.base.ideal,
            comparison.variant.ideal,
        )
    )
    replayed = "the step, replayed with every collective at its first valid launch"
    marks.append((replayed, comparison.base.bound, comparison.variant.bound))
    seen = [(name, pair_text(b, v), _change(b, v)) for name, b, v in marks if b is not None or v is not None]
    return [*parts, "", *table(("From the window's start", "Base → variant", "Difference"), seen)]


def _change(base: float | None, variant: float | None) -> str:
    return ABSENT if base is None or variant is None else time_text(variant - base, sign=True)


def _shares(row: PathRow) -> str:
    largest = sorted(row.ranks.items(), key=lambda item: (-item[1], item[0]))[:3]
    return f"{row.side.capitalize()}'s path runs over " + ", ".join(
        f"rank {rank} ({share_text(share)})" for rank, share in largest
    ) + "."  # fmt: skip


def comparability(comparison: Comparison) -> list[str]:
    """Return every check with both values, and what the runs themselves got wrong."""
    found = comparison.comparability
    lines = [wording.STATUS.get(found.status, plain(found.status)), ""]
    lines += table(
        ("Check", "Status", "Base", "Variant", "Remark"),
        [
            (
                plain(check.id), f"**{check.status}**" if check.status in BOLD else plain(check.status),
                plain(check.base, width=NAME), plain(check.variant, width=NAME), plain(check.message),
            )
            for check in found.checks
        ],
    )  # fmt: skip
    faults = [row for row in comparison.validity if row.status != "pass"]
    passed = sorted({row.id for row in comparison.validity} - {row.id for row in faults})
    if passed:
        lines += ["", f"Within each run, these hold: {', '.join(plain(name) for name in passed)}."]
    if faults:
        told = [
            (
                plain(row.id), row.side, plain(row.status), ABSENT if row.rank is None else str(row.rank),
                ABSENT if row.step is None else str(row.step), plain(row.collective or ABSENT, width=NAME),
                plain(row.message),
            )
            for row in faults[:MOST_ROWS]
        ]  # fmt: skip
        lines += [
            "",
            *table(("Within a run", "Side", "Status", "Rank", "Step", "Collective", "Remark"), told),
        ]
        lines += left_out(len(faults))
    return lines


def unmatched(comparison: Comparison) -> list[str]:
    """Return the compute that has no partner in the other run, folded; nothing when all has."""
    if not comparison.unmatched:
        return []
    keys = list(dict.fromkeys(key for row in comparison.unmatched for key in row))
    lines = [
        [plain(str(row.get(key, ABSENT)), width=NAME) for key in keys]
        for row in comparison.unmatched[:MOST_ROWS]
    ]
    whole = table([plain(key) for key in keys], lines) + left_out(len(comparison.unmatched))
    return [
        "",
        *fold(f"{len(comparison.unmatched)} kinds of collective without a partner on another rank", whole),
    ]


def windows(comparison: Comparison) -> list[str]:
    """Return the windows used and dropped, each with its reason, and the clocks."""
    lines, groups = [], []
    for name, side in comparison.sides:
        lines.append(f"- {name}: {plain(wording.windows_sentence(side, rows.ranges(side.steps_used)))}")
        groups += [
            (
                name, wording.REASONS.get(group.reason, plain(group.reason)), str(group.repeat),
                rows.ranges(group.ranks) or "all", rows.ranges(group.steps),
            )
            for group in rows.dropped(side)
        ]  # fmt: skip
    tail = comparison.tail
    if tail.delta is not None and (tail.windows_base or tail.windows_variant):
        of = f"{tail.windows_base} base and {tail.windows_variant} variant windows"
        tails = f"{pair_text(tail.base, tail.variant)} a step, difference {time_text(tail.delta, sign=True)}"
        lines.append(f"- tail: {of} are outliers; over all windows they add {tails}. It is not tested.")
    if groups:
        heads = ("Side", "Reason", "Repeat", "Ranks", "Steps")
        lines += ["", *fold("Windows dropped (repeats count from 0)", table(heads, groups[:MOST_ROWS]))]
    return lines + _clocks(comparison)


def _clocks(comparison: Comparison) -> list[str]:
    clocks = [(name, row) for name, side in comparison.sides for row in side.clock]
    lines = [
        (
            name, str(row.repeat), str(row.rank), time_text(row.offset, sign=True),
            ABSENT if row.drift_ppm is None else f"{row.drift_ppm:+.2f} ppm", time_text(row.spread),
            time_text(row.host_device_shift),
        )
        for name, row in clocks[:MOST_ROWS]
    ]  # fmt: skip
    heads = ("Side", "Repeat", "Rank", "Offset", "Drift", "Spread", "Host moved onto device")
    whole = [*table(heads, lines), *left_out(len(clocks)), "", CLOCKS]
    return ["", *fold("Clocks of the ranks against the lowest traced rank", whole)] if clocks else []
