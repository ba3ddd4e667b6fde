"""Recorded gloo pairs: the conclusion that their truth.json demands, and figures near those measured by hand.

Those figures are medians over steps and ranks by another script; ours are means of typical windows. So times are
checked against the stated intervals, not against its last digit.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from abstep.report.result import result
from abstep.report.text import summary

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = {
    # what step_time may say; what its delta may be, in ms: the stated 95 % interval
    "aa_same_settings": ({"inconclusive", "unchanged"}, (-31, 15)),
    "bucket_100_to_4": ({"faster"}, (-103, -87)),
    "bucket_100_to_4_cpu_bound": ({"inconclusive", "unchanged"}, (-14, 17)),
    "net_contention": ({"slower"}, (55, 76)),
    "straggler_rank1": ({"slower"}, (46, 61)),
    "unfair_accum_2": ({None}, (160, 200)),
}
CHANGED = {"disappeared", "shrank", "grew", "appeared"}
OPTIMIZER = "optimizer Optimizer.step#SGD.step #1"


def blamed(said: str) -> list[str]:
    """Where a text names the network as a cause; "not the network" is no blame."""
    return re.findall(r"(?<!not the )network", said.lower())


@dataclass(frozen=True)
class Pair:
    name: str
    truth: dict[str, Any]
    comparison: Any

    @cached_property
    def found(self) -> dict[str, Any]:
        return result(self.comparison)

    def truth_ms(self, side: str, name: str) -> float:
        return self.truth["measured"]["medians_over_ranks_and_repeats_ms"][side][name]

    def category(self, name: str) -> dict[str, Any]:
        return next(row for row in self.found["decomposition"] if row["category"] == name)

    def tail(self) -> dict[str, Any]:
        return next(row for row in self.found["intervals"] if row["consumer"] == OPTIMIZER)

    def ranks(self, side: str) -> dict[int, dict[str, Any]]:
        return {row["rank"]: row for row in self.found["ranks"] if row["side"] == side}

    def collectives(self, side: str) -> list[dict[str, Any]]:
        return [row for row in self.found["collectives"] if row["side"] == side]


@pytest.fixture(scope="module")
def pair(shared, compared):
    held: dict[str, Pair] = {}

    def get(name: str) -> Pair:
        if name not in held:
            folder: Path = shared / "recorded" / name
            truth = json.loads((folder / "truth.json").read_text())
            held[name] = Pair(name, truth, compared(folder / "base", folder / "variant"))
        return held[name]

    return get


@pytest.mark.parametrize("name", PAIRS)
def test_the_step(pair, name):
    words, (low, high) = PAIRS[name]
    found = pair(name).found["step_time"]
    assert found["verdict"] in words
    assert low * 1e3 <= found["delta_us"] <= high * 1e3
    medians = pair(name).truth["measured"]["step_ms_median_per_repeat"]
    for side in ("base", "variant"):
        range_ms = pair(name).truth["measured"]["step_ms_range"][side]
        assert range_ms[0] <= found[f"{side}_us"] / 1e3 <= range_ms[1]
        middle = sum(medians[side]) / len(medians[side])
        assert found[f"{side}_us"] / 1e3 == pytest.approx(middle, rel=0.03)


@pytest.mark.parametrize("name", PAIRS)
def test_categories_lie_near_those_measured_by_hand(pair, name):
    """Compute, exposed and hidden; the hand's script bridges holes a little differently, hence 12 %."""
    for side in ("base", "variant"):
        alone, beside, bare = (
            pair(name).category(c)[f"{side}_us"] / 1e3 for c in ("compute_alone", "overlapped", "exposed")
        )
        assert alone + beside == pytest.approx(pair(name).truth_ms(side, "comp"), rel=0.05)
        assert bare == pytest.approx(pair(name).truth_ms(side, "exposed"), rel=0.15, abs=6)
        assert beside == pytest.approx(pair(name).truth_ms(side, "hidden"), rel=0.05, abs=2)


@pytest.mark.parametrize("name", PAIRS)
def test_collectives_a_step(pair, name):
    for side in ("base", "variant"):
        rows = pair(name).collectives(side)
        assert {row["collective"] for row in rows} == {"all_reduce"}
        assert sum(row["count"] for row in rows) == pytest.approx(pair(name).truth_ms(side, "ncoll"))
        assert sum(row["bytes"] for row in rows) == pytest.approx(33.7e6, rel=0.002)


@pytest.mark.parametrize("name", PAIRS)
def test_resident_repeats_are_said_to_be_so(pair, name):
    """Windows of processes that stayed up do not cover what differs from launch to launch."""
    said = " ".join(pair(name).comparison.sentences)
    assert "launch-to-launch" in said
    assert "launch-to-launch" in " ".join(summary(pair(name).comparison).split())


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "unfair_accum_2"])
def test_fair_pairs_are_comparable(pair, name):
    assert pair(name).found["comparability"]["status"] == "comparable"
    assert pair(name).found["step_time"]["n_base"] == len(
        pair(name).truth["measured"]["step_ms_median_per_repeat"]["base"]
    ), "with repeats, the repeat is the unit"


def test_buckets_the_block_after_the_last_gradient_went(pair):
    found = pair("bucket_100_to_4")
    tail = found.tail()
    assert tail["verdict"] in ("shrank", "disappeared")
    assert tail["base_us"] / 1e3 == pytest.approx(136, abs=3)
    assert tail["variant_us"] / 1e3 == pytest.approx(20, abs=4)
    base = found.collectives("base")
    assert base[0]["exposed_us"] > 0.98 * base[0]["duration_us"], "all of it was exposed"
    assert found.category("exposed")["verdict"] == "shrank"


def test_buckets_contention_grew_and_ate_part_of_the_gain(pair):
    found = pair("bucket_100_to_4")
    grown = [row for row in found.found["contention"] if row["verdict"] in ("grew", "appeared")]
    assert grown
    assert any("mm" in row["compute"] for row in grown)
    growth = sum(row["delta_us"] for row in found.found["contention"]) / 1e3
    assert 15 < growth < 40, "backward 114 to 138 ms, beside matmuls that are faster alone (3.0 to 2.8)"
    fell = -found.category("exposed")["delta_us"]
    assert -found.found["step_time"]["delta_us"] < fell
    matmul = [row for row in grown if "mm" in row["compute"] and row["variant_stretch"] is not None]
    assert max(row["variant_stretch"] for row in matmul) == pytest.approx(3.8 / 2.8, abs=0.2)


def test_buckets_the_account_says_so(pair):
    found = pair("bucket_100_to_4").found
    parts: dict[str, float] = {}
    for row in found["account"]:
        parts[row["part"]] = parts.get(row["part"], 0.0) + row["delta_us"] / 1e3
    assert parts["exposed"] == pytest.approx(-115, abs=4)
    assert sum(parts.values()) == pytest.approx(found["step_time"]["delta_us"] / 1e3, abs=1e-6)
    assert sum(parts.get(part, 0.0) for part in ("contention", "speed", "added_work", "removed_work")) == (
        pytest.approx(21, abs=4)
    )


def test_cpu_bound_contention_eats_the_gain(pair):
    found = pair("bucket_100_to_4_cpu_bound")
    assert found.tail()["verdict"] in ("shrank", "disappeared")
    assert found.category("exposed")["base_us"] / 1e3 == pytest.approx(23, abs=3)
    assert found.category("exposed")["variant_us"] / 1e3 == pytest.approx(15, abs=3)
    grew = sum(found.category(name)["delta_us"] for name in ("compute_alone", "overlapped")) / 1e3
    assert grew == pytest.approx(10, abs=4)
    assert "overlap_up_step_unmoved" in {row["id"] for row in found.found["warnings"]}
    headline = found.found["explanation"]["headline"].lower()
    assert "faster" not in headline


def test_cpu_bound_the_contradiction_comes_first(pair):
    sentences = pair("bucket_100_to_4_cpu_bound").found["explanation"]["sentences"]
    assert "overlap" in sentences[0].lower()
    assert "end-to-end" in sentences[0].lower()


def test_straggler_only_because_rank_1_starts_late(pair):
    found = pair("straggler_rank1")
    base, variant = found.collectives("base")[0], found.collectives("variant")[0]
    assert variant["late_rank"] == 1
    assert variant["late_share"] >= 0.9
    assert variant["late_reason"] == "host"
    assert variant["duration_us"] > 1.3 * base["duration_us"]
    assert variant["transport_us"] == pytest.approx(base["transport_us"], rel=0.03), "the link is the same"
    assert variant["peer_wait_us"] - base["peer_wait_us"] == pytest.approx(
        variant["duration_us"] - base["duration_us"], rel=0.02
    )


def test_straggler_who_waits_and_who_sleeps(pair):
    found = pair("straggler_rank1")
    base, variant = found.ranks("base"), found.ranks("variant")
    assert 20 <= base[0]["exposed_us"] / 1e3 <= 32, "a mean; the medians a repeat are 21 and 28"
    assert 88 <= variant[0]["exposed_us"] / 1e3 <= 105
    assert 20 <= base[1]["exposed_us"] / 1e3 <= 24
    assert 20 <= variant[1]["exposed_us"] / 1e3 <= 27
    assert base[1]["idle_us"] / 1e3 == pytest.approx(1.5, abs=0.5)
    assert variant[1]["idle_us"] / 1e3 == pytest.approx(62, abs=2)
    assert variant[0]["idle_us"] / 1e3 < 4
    parts = {row["part"]: row["delta_us"] / 1e3 for row in found.found["account"] if row["part"] != "exposed"}
    assert parts["idle_host_late"] == pytest.approx(30.5, abs=2), "half a sleep of 60 ms: mean over two ranks"


def test_straggler_is_named_and_neither_network_nor_contention_blamed(pair):
    found = pair("straggler_rank1").found
    said = " ".join(found["explanation"]["sentences"])
    assert "In the variant, rank 1 arrives last" in said
    assert blamed(said) == []
    assert not [row for row in found["contention"] if row["verdict"] in ("grew", "appeared")]


def test_network_transport_grew_and_compute_did_not(pair):
    found = pair("net_contention")
    base, variant = found.collectives("base")[0], found.collectives("variant")[0]
    assert variant["transport_us"] > 1.4 * base["transport_us"]
    assert variant["busbw_gb_s"] < 0.7 * base["busbw_gb_s"]
    tail = found.tail()
    assert tail["verdict"] == "grew"
    waited = tail["variant_peer_wait_us"] - tail["base_peer_wait_us"]
    carried = tail["variant_transport_us"] - tail["base_transport_us"]
    assert carried > 0.9 * tail["delta_us"]
    assert abs(waited) < 0.1 * tail["delta_us"]
    for rank in (0, 1):
        assert found.ranks("variant")[rank]["exposed_us"] > 2.5 * found.ranks("base")[rank]["exposed_us"]
    compute = [
        sum(found.category(name)[f"{side}_us"] for name in ("compute_alone", "overlapped"))
        for side in ("base", "variant")
    ]
    assert compute[1] / compute[0] < 1.06


def test_network_no_rank_is_called_late_for_it(pair):
    """In the base rank 0 is last in 70 %, which may be said; in the variant each rank is in about half."""
    said = " ".join(pair("net_contention").found["explanation"]["sentences"])
    assert "In the variant, rank" not in said
    assert "transport" in said


def test_same_settings_nothing_changed(pair):
    found = pair("aa_same_settings").found
    step = found["step_time"]
    assert step["ci_low_us"] < 0 < step["ci_high_us"]
    for family in ("decomposition", "intervals", "contention"):
        assert not {row["verdict"] for row in found[family]} & CHANGED, family
    assert found["comparability"]["settings_changed"] == []


def test_accumulation_is_refused(pair):
    found = pair("unfair_accum_2").found
    checks = {row["id"]: row for row in found["comparability"]["checks"]}
    assert found["comparability"]["status"] == "not_comparable"
    assert checks["accumulation"]["status"] == "fail"
    assert "1" in checks["accumulation"]["base"]
    assert "2" in checks["accumulation"]["variant"]
    assert [row["key"] for row in found["comparability"]["settings_changed"]] == ["accumulation"]
    for family in ("decomposition", "intervals", "contention"):
        assert {row["verdict"] for row in found[family]} <= {None}
    assert "not comparable" in found["explanation"]["headline"].lower()
    text = summary(pair("unfair_accum_2").comparison).lower()
    assert "accumulation" in text
    assert "slower" not in text
