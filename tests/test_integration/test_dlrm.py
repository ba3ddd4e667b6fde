"""Published traces of a recommendation model on four ranks: a straggler removed, and nothing changed."""

from __future__ import annotations

import pytest

from abstep.report.result import result

from .figures import CHANGED, dropped, launched_a_step, milliseconds, steps_of, tiles


@pytest.fixture(scope="module")
def data(shared):
    return shared / "data"


@pytest.fixture(scope="module")
def straggler(data, with_spans, compared):
    places = [data / "dlrm_straggler_removed" / side for side in ("base", "variant")]
    return *map(with_spans, places), compared(*places, warmup=0)


@pytest.fixture(scope="module")
def twice(data, measured, compared):
    places = [data / "dlrm_same_config_twice" / side for side in ("base", "variant")]
    return *map(measured, places), compared(*places, warmup=0)


# dlrm_straggler_removed -------------------------------------------------------------------------------------
def test_straggler_windows(straggler):
    for run, lengths in zip(straggler[:2], ((1347, 1108), (356, 139)), strict=True):
        assert steps_of(run) == [4, 5]
        assert dropped(run) == [(6, "last_in_cycle")]
        assert tiles(run)
        found = milliseconds(run, "length")
        assert [found[step, 0][0] for step in (4, 5)] == pytest.approx(lengths, abs=0.5)


def test_straggler_exposed_and_compute(straggler):
    base = milliseconds(straggler[0], "exposed", "compute")
    variant = milliseconds(straggler[1], "exposed", "compute")
    others = (0, 1, 3)
    assert [base[4, rank][0] for rank in others] == pytest.approx([1033] * 3, abs=1)
    assert all(1004.5 < base[5, rank][0] < 1007.5 for rank in others)
    assert all(47.5 < variant[4, rank][0] < 49.5 for rank in others)
    assert [variant[5, rank][0] for rank in others] == pytest.approx([34] * 3, abs=0.5)
    assert [base[4, 2][0], base[5, 2][0]] == pytest.approx([25, 24], abs=0.5)
    assert [variant[4, 2][0], variant[5, 2][0]] == pytest.approx([24, 25], abs=0.6)
    for figures, step, low, high in ((base, 4, 119, 124), (base, 5, 91, 96), (variant, 4, 118, 120)):
        assert all(low - 0.5 <= figures[step, rank][1] <= high + 0.5 for rank in range(4)), (step, low)
    assert all(95.4 <= variant[5, rank][1] <= 98.5 for rank in range(4))


def test_straggler_collectives_and_what_was_launched_before(straggler):
    for run in straggler[:2]:
        assert launched_a_step(run) == {"all_reduce": [4], "all_to_all": [5]}
        spans = run.cut.tables.spans
        outside = spans.filter(spans["window"].is_null())
        assert all(73 <= count <= 94 for count in outside.group_by("rank").len()["len"])
        assert set(run.across.clock.rows["method"]) == {"collectives"}
    assert "unattributed" in {note.id for note in straggler[2].warnings}


def test_straggler_is_a_description_and_no_verdict(straggler, data, compared):
    places = [data / "dlrm_straggler_removed" / side for side in ("base", "variant")]
    for comparison in (straggler[2], compared(*places)):
        found = result(comparison)
        assert found["step_time"]["verdict"] == "too_few"
        assert found["step_time"]["p_value"] is None
        assert {row["verdict"] for row in found["decomposition"]} == {"too_few"}
        words = {row["verdict"] for row in [*found["intervals"], *found["contention"]]}
        assert words <= {"too_few", "below_floor"}
        assert "too_few_windows" in {row["id"] for row in found["warnings"]}
        assert "too few" in found["explanation"]["headline"].lower()


def test_straggler_what_vanished_is_waiting_for_rank_2(straggler):
    """Of 755 ms a window and rank that are no longer exposed, the links gave back next to nothing."""
    found = result(straggler[2])
    rows = [row for row in found["intervals"] if row["base_us"] - row["variant_us"] > 100_000]
    assert rows
    assert {row["collective"] for row in rows} == {"all_to_all"}
    for row in rows:
        fell = row["base_us"] - row["variant_us"]
        waited = row["base_peer_wait_us"] - row["variant_peer_wait_us"]
        carried = row["base_transport_us"] - row["variant_transport_us"]
        assert waited == pytest.approx(fell, rel=0.03)
        assert abs(carried) < 0.03 * fell
    forward = [
        row for row in found["collectives"] if row["side"] == "base" and row["collective"] == "all_to_all"
    ]
    heaviest = max(forward, key=lambda row: row["peer_wait_us"])
    assert heaviest["late_rank"] == 2
    assert heaviest["late_reason"] == "host"
    transport = {
        side: sum(row["transport_us"] for row in found["collectives"] if row["side"] == side)
        for side in ("base", "variant")
    }
    assert transport["variant"] == pytest.approx(transport["base"], rel=0.1)


def test_straggler_contention_did_not_grow(straggler):
    comparison = straggler[2]
    growth = sum(row.delta.delta or 0.0 for row in comparison.contention)
    assert abs(growth) < 3e6


def test_straggler_is_named_in_words_and_the_network_is_not_blamed(straggler):
    said = " ".join(straggler[2].explanation.sentences)
    assert "rank 2" in said
    assert "network" not in said.lower().replace("not the network", "")
    assert "wait" in said.lower()


def test_straggler_lateness_per_rank(straggler):
    found = result(straggler[2])
    base = {row["rank"]: row for row in found["ranks"] if row["side"] == "base"}
    variant = {row["rank"]: row for row in found["ranks"] if row["side"] == "variant"}
    assert max(base, key=lambda rank: base[rank]["lateness_us"]) == 2
    assert base[2]["lateness_us"] > 10 * variant[2]["lateness_us"]
    assert all(base[rank]["peer_wait_us"] > 900_000 for rank in (0, 1, 3))
    assert base[2]["peer_wait_us"] < 20_000


# dlrm_same_config_twice -------------------------------------------------------------------------------------
def test_twice_windows(twice):
    for run, lengths in zip(twice[:2], ((1056.4, 1172.8), (1056.7, 1172.5)), strict=True):
        assert steps_of(run) == [4, 5]
        found = milliseconds(run, "length", "exposed")
        assert [found[step, 0][0] for step in (4, 5)] == pytest.approx(lengths, abs=0.05)
        assert all(989.5 < found[step, rank][1] < 1029.5 for step in (4, 5) for rank in (0, 1, 3))
        assert all(9.5 < found[step, 2][1] < 12.5 for step in (4, 5))


def test_twice_nothing_changed(twice):
    found = result(twice[2])
    words = {found["step_time"]["verdict"]}
    words |= {row["verdict"] for part in ("decomposition", "intervals", "contention") for row in found[part]}
    assert not words & CHANGED
    assert found["comparability"]["status"] == "comparable"
    assert abs(found["step_time"]["delta_us"]) < 1_000


def test_twice_rank_2_is_late_here_too(twice):
    found = result(twice[2])
    for side in ("base", "variant"):
        rows = [row for row in found["collectives"] if row["side"] == side]
        assert max(rows, key=lambda row: row["peer_wait_us"])["late_rank"] == 2
