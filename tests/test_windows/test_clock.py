"""One clock for all ranks, from collectives that complete together (SEMANTICS 4, common clock)."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from abstep.windows.clock import common_clock

ZERO = 1_712_195_495_000_000_000
MS = 1_000_000


def ends(*rows, repeat=0):
    """Rows of (instance, rank, end ns after zero)."""
    return pl.DataFrame(
        [(repeat, instance, rank, ZERO + round(end)) for instance, rank, end in rows],
        schema={"repeat": pl.Int32, "instance": pl.Int64, "rank": pl.Int32, "end_ns": pl.Int64},
        orient="row",
    )


def traced(*ranks, host=None, host_only=False, repeat=0):
    return pl.DataFrame(
        [(repeat, rank, host, host_only) for rank in ranks],
        schema={"repeat": pl.Int32, "rank": pl.Int32, "host": pl.String, "host_only": pl.Boolean},
        orient="row",
    )


def together(offsets, count=10, apart=10 * MS, noise=None):
    """Collectives that end at once on the true clock, seen by clocks that are off."""
    return ends(
        *(
            (k, rank, k * apart + offset + (noise[k][n] if noise is not None else 0))
            for k in range(count)
            for n, (rank, offset) in enumerate(offsets.items())
        )
    )


def found(clock):
    return {row["rank"]: row for row in clock.rows.to_dicts()}


def test_offsets_against_the_lowest_traced_rank():
    rows = found(common_clock(together({2: 500, 5: 3 * MS + 500, 7: -2 * MS}), traced(2, 5, 7)))
    assert {rank: row["offset_ns"] for rank, row in rows.items()} == {2: 0, 5: 3 * MS, 7: -2 * MS - 500}
    assert {row["method"] for row in rows.values()} == {"collectives"}
    assert {row["spread_ns"] for row in rows.values()} == {0}
    assert {row["instances"] for row in rows.values()} == {10}


def test_a_few_wild_ends_move_nothing():
    """Ranks of one collective need not end together: the median of many does not mind some that do not."""
    noise = [[0, 0] for _ in range(11)]
    for k in (1, 4, 8):
        noise[k] = [0, 40 * MS]
    rows = found(common_clock(together({0: 0, 1: 3 * MS}, count=11, noise=noise), traced(0, 1)))
    assert rows[1]["offset_ns"] == pytest.approx(3 * MS, abs=1)


def test_the_spread_is_that_of_the_residuals():
    random = np.random.default_rng(1)
    noise = random.normal(0, 2_000, (400, 2))
    rows = found(common_clock(together({0: 0, 1: 0}, count=400, noise=noise), traced(0, 1)))
    # with two ranks the middle takes half of each one's noise: residuals are (a - b) / 2, sigma 2 us / sqrt 2
    assert rows[1]["spread_ns"] == pytest.approx(2_000 / np.sqrt(2), rel=0.1)
    assert rows[1]["offset_ns"] == pytest.approx(0, abs=400)


@pytest.mark.parametrize(("count", "known"), [(4, False), (5, True)])
def test_fewer_than_five_instances_measure_no_clock(count, known):
    rows = found(common_clock(together({0: 0, 1: 3 * MS}, count=count), traced(0, 1)))
    assert (rows[1]["offset_ns"] is not None) is known
    assert rows[1]["method"] == ("collectives" if known else "none")
    assert known or rows[1]["spread_ns"] is None


def test_fewer_on_one_host_are_taken_for_one_clock_give_or_take_100_us():
    rows = found(common_clock(together({0: 0, 1: 7}, count=3), traced(0, 1, host="node1")))
    assert (rows[1]["offset_ns"], rows[1]["spread_ns"], rows[1]["method"]) == (0, 100_000, "one_host")


def test_enough_instances_are_trusted_over_one_hosts_name():
    rows = found(common_clock(together({0: 0, 1: 250_000}), traced(0, 1, host="node1")))
    assert rows[1]["offset_ns"] == 250_000


def test_hosts_of_a_cpu_run_share_their_clock_and_ends_only_check_it():
    """Its collectives are no barrier: one rank may finish 1.4 ms early, and is no clock for that."""
    rows = found(common_clock(together({0: 0, 1: 1.4 * MS}), traced(0, 1, host="node1", host_only=True)))
    assert (rows[1]["offset_ns"], rows[1]["method"]) == (0, "shared")


def test_hosts_of_a_cpu_run_on_several_machines_share_none():
    both = pl.concat([traced(0, host="a", host_only=True), traced(1, host="b", host_only=True)])
    rows = found(common_clock(together({0: 0, 1: 3 * MS}), both))
    assert (rows[1]["offset_ns"], rows[1]["method"]) == (3 * MS, "collectives")


def in_groups(truth, *groups, each=6):
    """Every group completes `each` collectives, one after another; its ranks' clocks are off by `truth`."""
    return ends(
        *(
            (100 * number + k, rank, (10 * number + k) * MS + truth[rank])
            for number, group in enumerate(groups)
            for k in range(each)
            for rank in group
        )
    )


@pytest.mark.parametrize("ranks", [4, 8])
def test_overlapping_groups_are_chained(ranks):
    """Neighbours talk in pairs, as stages of a pipeline might; no group spans all. The ends are exact."""
    truth = {rank: (rank % 3 - 1) * 3 * MS if rank else 0 for rank in range(ranks)}
    pairs = [(rank, rank + 1) for rank in range(ranks - 1)]
    clock = found(common_clock(in_groups(truth, *pairs), traced(*truth)))
    for rank, offset in truth.items():
        assert clock[rank]["offset_ns"] == pytest.approx(offset, abs=1_000), rank


def test_tensor_and_data_parallel_groups_make_one_clock():
    truth = {rank: (rank * 7 % 5 - 2) * MS if rank else 0 for rank in range(8)}
    tensor = [(rank, rank + 1) for rank in range(0, 8, 2)]
    clock = found(common_clock(in_groups(truth, *tensor, (0, 2, 4, 6), (1, 3, 5, 7)), traced(*truth)))
    for rank, offset in truth.items():
        assert clock[rank]["offset_ns"] == pytest.approx(offset, abs=1_000), rank


def test_groups_that_never_meet_cannot_be_put_on_one_clock():
    """Ranks 2 and 3 agree among themselves and with nobody else: unknown, not 0."""
    rows = [(k, rank, k * MS) for k in range(8) for rank in (0, 1)]
    rows += [(100 + k, rank, k * MS) for k in range(8) for rank in (2, 3)]
    clock = found(common_clock(ends(*rows), traced(0, 1, 2, 3)))
    assert [clock[rank]["offset_ns"] for rank in range(4)] == [0, 0, None, None]
    assert clock[2]["method"] == "none"


def test_no_collective_at_all():
    clock = found(common_clock(ends(), traced(0, 1)))
    assert (clock[1]["offset_ns"], clock[1]["method"]) == (None, "none")


def drifting(ppm, count, seconds, noise_ns=500.0):
    random = np.random.default_rng(2)
    rows = []
    for k in range(count):
        at = k * seconds * 1e9 / (count - 1)
        rows.append((k, 0, at + random.normal(0, noise_ns)))
        rows.append((k, 1, at + at * ppm * 1e-6 + random.normal(0, noise_ns)))
    return common_clock(ends(*rows), traced(0, 1))


def test_drift_over_enough_time_is_fitted():
    clock = drifting(8.0, count=60, seconds=10)
    rank = found(clock)[1]
    slopes = [row["drift_ppm"] or 0.0 for row in found(clock).values()]
    assert rank["drift_ppm"] is not None
    assert slopes[1] - slopes[0] == pytest.approx(8.0, rel=0.05)
    assert rank["spread_ns"] < 1_500
    frame = pl.DataFrame(
        {"repeat": [0, 0], "rank": [0, 1], "t": [ZERO + 9_000_000_000, ZERO + 9_000_000_000 + 72_000]},
        schema_overrides={"repeat": pl.Int32, "rank": pl.Int32},
    )
    moved = clock.on_common(frame, "t")["t_common"].to_list()
    assert moved[1] - moved[0] == pytest.approx(0, abs=2_000), "72 us of drift after nine seconds"


@pytest.mark.parametrize(("count", "seconds"), [(19, 10), (60, 4)])
def test_drift_needs_twenty_instances_and_five_seconds(count, seconds):
    assert found(drifting(8.0, count=count, seconds=seconds))[1]["drift_ppm"] is None


def test_drift_that_explains_little_is_not_fitted():
    assert found(drifting(0.01, count=60, seconds=10, noise_ns=5_000.0))[1]["drift_ppm"] is None


def test_offset_is_that_at_mid_trace():
    """8 ppm over ten seconds: 40 us in the middle."""
    assert found(drifting(8.0, count=61, seconds=10))[1]["offset_ns"] == pytest.approx(40_000, abs=1_000)


@pytest.mark.parametrize("offset", [0, 3 * MS + 123, -7])
def test_times_are_moved_to_the_nanosecond(offset):
    """An absolute time has more digits than a float: 256 ns would be lost."""
    clock = common_clock(together({0: 0, 1: offset}), traced(0, 1))
    times = [ZERO + 17, ZERO + 1_234_567]
    frame = pl.DataFrame(
        {"repeat": [0, 0], "rank": [0, 1], "t": times},
        schema_overrides={"repeat": pl.Int32, "rank": pl.Int32},
    )
    moved = clock.on_common(frame, "t")["t_common"].to_list()
    assert moved[0] - ZERO == 17
    assert moved[1] - ZERO == 1_234_567 - offset


def test_repeats_have_clocks_of_their_own():
    both = pl.concat(
        [together({0: 0, 1: 3 * MS}), together({0: 0, 1: -MS}).with_columns(repeat=pl.lit(1, pl.Int32))]
    )
    clock = common_clock(both, pl.concat([traced(0, 1), traced(0, 1, repeat=1)]))
    assert clock.rows.select("repeat", "rank", "offset_ns").rows() == [
        (0, 0, 0.0),
        (0, 1, 3.0 * MS),
        (1, 0, 0.0),
        (1, 1, -1.0 * MS),
    ]
