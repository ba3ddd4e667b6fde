"""The shared cases: simulated pairs whose truth is exact. Every figure of the result agrees with it."""

from __future__ import annotations

from collections import Counter

import pytest

from .truths import CASES, CATEGORIES, EXACT_US, ORIGIN_NS, SIDES, SPLIT_US, Case, instances, load, summed

CHANGED = {"faster", "slower", "disappeared", "shrank", "grew", "appeared"}
CLEAR_LEAD = 0.5


@pytest.fixture(scope="module", params=CASES)
def case(request, shared, measured, compared):
    folder = shared / "cases" / request.param
    places = {side: folder / side for side in SIDES}
    return Case(
        request.param,
        load(folder),
        {side: measured(place) for side, place in places.items()},
        compared(places["base"], places["variant"], warmup=0),
    )


@pytest.fixture(params=SIDES)
def side(request):
    return request.param


def test_only_the_last_window_of_the_cycle_is_dropped(case, side):
    found = case.result[side]
    last = max(row["step"] for row in case.truth[side]["windows"])
    assert found["dropped"] == [{"repeat": 0, "rank": None, "step": last, "reason": "last_in_cycle"}]
    assert found["windows_total"] == found["windows_used"] + 1
    assert found["steps_used"] == sorted({step for step, _ in case.windows(side)})


def test_step_time_and_its_decomposition(case, side):
    truth = case.truth[side]
    assert case.result["step_time"][f"{side}_us"] == pytest.approx(truth["step_us"], abs=EXACT_US)
    found = {row["category"]: row[f"{side}_us"] for row in case.result["decomposition"]}
    assert found == pytest.approx({name: truth[f"{name}_us"] for name in CATEGORIES}, abs=EXACT_US)


def test_overlap_has_two_denominators(case, side):
    """Both are ratios of means: of communication, and of compute."""
    truth = case.truth[side]
    talk = truth["overlapped_us"] + truth["exposed_us"]
    compute = truth["overlapped_us"] + truth["compute_alone_us"]
    found = case.result[side]
    assert found["overlap_of_communication_pct"] == pytest.approx(
        100 * truth["overlapped_us"] / talk, abs=0.05
    )
    assert found["overlap_of_compute_pct"] == pytest.approx(100 * truth["overlapped_us"] / compute, abs=0.05)


def test_every_window_of_every_rank(case, side):
    """A clock that drifts makes a window 0.4 us longer; where clocks are right it is true to the nanosecond."""
    found = {(row["step"], row["rank"]): row for row in case.runs[side].windows.to_dicts()}
    truths = case.windows(side)
    assert set(found) == set(truths)
    off = EXACT_US if case.split_us == SPLIT_US["late_rank_clocks"] else 0.0011
    for key, truth in truths.items():
        window = found[key]
        length = (window["end_ns"] - window["start_ns"]) / 1e3
        assert length == pytest.approx(truth["step_us"], abs=off), key
        for name in CATEGORIES:
            assert window[name] / 1e3 == pytest.approx(truth[f"{name}_us"], abs=off), (key, name)


def test_the_words_of_the_verdict(case):
    truth, result = case.truth, case.result
    assert result["step_time"]["verdict"] in truth["verdict"]
    assert result["comparability"]["status"] in truth["comparability"]
    assert set(truth["warnings"]) <= {row["id"] for row in result["warnings"]}
    changed = [row["key"] for row in result["comparability"]["settings_changed"]]
    assert changed == truth["settings_changed"]


def test_no_overlap_warning_where_none_is_due(case):
    given = {row["id"] for row in case.result["warnings"]}
    due = set(case.truth["warnings"])
    assert not ({"overlap_up_step_slower", "overlap_up_step_unmoved"} & given) - due - _unmoved(case)


def _unmoved(case):
    """Overlap may rise by a point where the step is unmoved: then it is due, though the truth names it not."""
    rose = case.result["variant"]["overlap_of_communication_pct"]
    fell = case.result["base"]["overlap_of_communication_pct"]
    unmoved = case.result["step_time"]["verdict"] in ("unchanged", "inconclusive")
    return {"overlap_up_step_unmoved"} if unmoved and rose - fell >= 1 else set()


def test_slots_change_as_planted(case):
    for planted in case.truth["slots"]:
        rows = [
            row
            for row in case.result["intervals"]
            if row["collective"] == planted["collective"] and row["kind"] == planted["kind"]
            if not planted["consumer_contains"]
            or any(text in row["consumer"] for text in planted["consumer_contains"])
        ]
        assert rows, planted["name"]
        kept = [row for row in rows if row["verdict"] not in planted["accept"]]
        if planted["name"] == "gathers":  # prefetch hides every gather but the first of the step
            assert [case.place(row["consumer"]) for row in kept] == ["m0/fwd0/gemm"]
            assert kept[0]["verdict"] in ("unchanged", "inconclusive")
        else:
            assert not kept
            assert len(rows) == 1


def test_nothing_is_called_changed_where_nothing_changed(case):
    if not case.truth["nothing_changed"]:
        return
    words = [case.result["step_time"]["verdict"]]
    for family in ("decomposition", "intervals", "contention"):
        words += [row["verdict"] for row in case.result[family]]
    assert not CHANGED & set(words)


def test_exposed_slots(case, side):
    truth = case.slots(side, "exposed_us")
    found = case.measured_slots(side, f"{side}_us")
    assert set(found) == set(truth), "a slot without its like in the other run, or under another name"
    for key, row in truth.items():
        assert found[key][f"{side}_us"] == pytest.approx(row["exposed_us"], abs=EXACT_US), key


def test_exposed_slots_divide_into_peer_wait_and_transport(case, side):
    truth = case.slots(side, "peer_wait_us", "transport_us")
    fields = f"{side}_peer_wait_us", f"{side}_transport_us"
    found = case.measured_slots(side, *fields)
    for key, row in truth.items():
        assert found[key][fields[0]] == pytest.approx(row["peer_wait_us"], abs=case.split_us), key
        assert found[key][fields[1]] == pytest.approx(row["transport_us"], abs=case.split_us), key


def test_presence_is_the_share_of_windows_with_any_of_it(case, side):
    truth = case.slots(side, "presence")
    found = case.measured_slots(side, f"presence_{side}")
    for key, row in truth.items():
        assert found[key][f"presence_{side}"] == pytest.approx(row["presence"], abs=0.051), key


def test_blocking_slots_rest_on_recorded_edges(case):
    assert [row["inferred"] for row in case.result["intervals"] if row["kind"] == "blocking"].count(True) == 0
    assert "no_wait_edges" not in {row["id"] for row in case.result["warnings"]}


def test_collectives(case, side):
    rows = [row for row in case.result["collectives"] if row["side"] == side]
    found = summed(rows, "collective")
    truth = summed(case.truth[side]["collectives"], "collective")
    assert set(found) == set(truth)
    for key, row in truth.items():
        for field in ("count", "bytes"):
            assert found[key][field] == pytest.approx(row[field], rel=1e-9), (key, field)
        for field in ("duration_us", "queue_us", "exposed_us", "hidden_us", "slack_us"):
            assert found[key][field] == pytest.approx(row[field], abs=EXACT_US), (key, field)
        for field in ("peer_wait_us", "transport_us"):
            assert found[key][field] == pytest.approx(row[field], abs=case.split_us), (key, field)


def test_who_arrives_last(case, side):
    """Ties exist, so shares may differ by a little; a name is only checked where the truth has a clear one."""
    run = case.runs[side]
    once = run.across.instances.unique("instance")
    for row in case.truth[side]["collectives"]:
        last = Counter(once.filter(once["collective"] == row["collective"])["late_rank"].to_list())
        share = last[row["late_rank"]] / sum(last.values())
        assert share == pytest.approx(row["late_share"], abs=0.03), row["collective"]
        rows = [
            each
            for each in case.result["collectives"]
            if each["side"] == side and each["collective"] == row["collective"]
        ]
        if row["late_share"] > CLEAR_LEAD:
            assert [each["late_rank"] for each in rows] == [row["late_rank"]] * len(rows)
            assert [each["late_share"] for each in rows] == pytest.approx(
                [row["late_share"]] * len(rows), abs=0.03
            )


def test_the_late_rank_is_named(case):
    for side, collective, rank in case.truth["late"]:
        rows = [
            row
            for row in case.result["collectives"]
            if row["side"] == side and row["collective"] == collective
        ]
        assert [row["late_rank"] for row in rows] == [rank]
        assert rows[0]["late_share"] >= 0.6
        assert rows[0]["late_reason"] == "compute"
        said = " ".join(case.result["explanation"]["sentences"])
        assert f"rank {rank}" in said


def test_ranks(case, side):
    found = {row["rank"]: row for row in case.result["ranks"] if row["side"] == side}
    assert set(found) == {int(rank) for rank in case.truth[side]["ranks"]}
    for rank, row in case.truth[side]["ranks"].items():
        for name in CATEGORIES:
            assert found[int(rank)][f"{name}_us"] == pytest.approx(row[f"{name}_us"], abs=EXACT_US), name
        for name in ("peer_wait_us", "lateness_us"):
            assert found[int(rank)][name] == pytest.approx(row[name], abs=case.split_us), name


def test_instances(case, side):
    for truth, found in instances(case, side):
        where = truth["step"], truth["rank"], truth["call"]
        start = (found["start_ns_common"] - ORIGIN_NS) / 1e3
        off = EXACT_US if case.split_us < 20 else case.split_us
        assert start == pytest.approx(truth["start_us"], abs=off), where
        for field in ("queue", "hidden", "exposed", "slack"):
            value = (found[f"{field}_ns"] or 0) / 1e3
            assert value == pytest.approx(truth[f"{field}_us"], abs=EXACT_US), (where, field)
        for field in ("peer_wait", "transport"):
            value = found[f"{field}_ns"] / 1e3
            assert value == pytest.approx(truth[f"{field}_us"], abs=case.split_us), (where, field)
        assert found["bytes"] == truth["bytes"], where
        assert truth["consumer"] in case.anchor(found["consumer"]), where


def test_the_rank_said_to_be_last_waited_for_none(case, side):
    """Of several that arrive together any may be named: the truth's wait of the named one is then 0."""
    pairs = instances(case, side)
    waits = {(row["step"], row["call"], row["rank"]): row["peer_wait_us"] for row, _ in pairs}
    for truth, found in pairs:
        wait = waits[truth["step"], truth["call"], found["late_rank"]]
        assert wait == pytest.approx(0, abs=EXACT_US if case.split_us < 20 else case.split_us)


def test_clocks(case, side):
    off = EXACT_US if case.split_us < 20 else case.split_us
    truth = {int(rank): offset for rank, offset in case.truth[side]["clock_us"].items()}
    found = {row["rank"]: row for row in case.result[side]["clock"]}
    assert set(found) == set(truth)
    for rank, offset in truth.items():
        assert found[rank]["offset_us"] == pytest.approx(offset - truth[0], abs=off)
        assert found[rank]["spread_us"] <= off
        assert found[rank]["host_device_shift_us"] is None


def test_path(case, side):
    truth = case.truth[side]
    rows = [row for row in case.result["path"] if row["side"] == side]
    assert len(rows) == 1
    for kind in ("compute_us", "transport_us", "host_us", "idle_us"):
        assert rows[0][kind] == pytest.approx(truth["path"][kind], abs=truth["step_us"] / 100), kind
    found = {rank: share for rank, share in rows[0]["ranks"].items() if share}
    wanted = {rank: share for rank, share in truth["path"]["ranks"].items() if share}
    assert sum(found.values()) == pytest.approx(1)
    if max(wanted.values()) > CLEAR_LEAD:
        assert found == pytest.approx(wanted, abs=0.05)


def test_contention_growth(case):
    planted = case.truth["contention_growth_us"]
    if planted is None:
        return
    assert case.result["contention"]
    growth = sum(row["delta_us"] for row in case.result["contention"])
    assert growth == pytest.approx(planted, rel=0.05)


def test_the_account_adds_up(case):
    step = case.result["step_time"]["delta_us"]
    for rows in (case.result["decomposition"], case.result["account"]):
        assert sum(row["delta_us"] for row in rows) == pytest.approx(step, abs=0.001)
    assert case.result["explanation"]["unassigned_us"] == pytest.approx(0, abs=0.01 * abs(step) + EXACT_US)
