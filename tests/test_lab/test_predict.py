"""Predictions from measured runs: the shared cases, the recorded pairs, and planted pairs whose change is known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from synth import scenario, write_pair

from abstep.errors import AbstepError
from abstep.lab.against import against
from abstep.lab.costs import Costs, costs
from abstep.lab.measured import MeasuredBackward, RankWindow, Reduction, measured_backward
from abstep.lab.overlap_text import SLOT
from abstep.lab.predict import Change, predict, replay_error
from abstep.lab.predict_text import prediction_text
from abstep.lab.result import dumps, prediction_result
from abstep.pipeline import Reading, read_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from abstep.measure.run import MeasuredRun

US = 1000
QUICK = {"world": 3, "steps": 9}


def off(run: MeasuredRun, change: Change, delta_us: float) -> float:
    """How far a prediction is off, as a share of the true change."""
    return abs(predict(run, change).delta("step") / US - delta_us) / abs(delta_us)


def true_delta(case: Path) -> float:
    truth = json.loads((case / "truth.json").read_text())
    return truth["variant"]["step_us"] - truth["base"]["step_us"]


def test_ddp_tail_is_predicted_from_its_base(shared: Path, measured: Callable[[Path], MeasuredRun]):
    case = shared / "cases" / "ddp_tail"
    assert true_delta(case) == pytest.approx(-638, abs=1)
    assert off(measured(case / "base"), Change(bucket_mb=16), true_delta(case)) < 0.02  # asked: 0.20


def test_ddp_tail_is_predicted_backwards_too(shared: Path, measured: Callable[[Path], MeasuredRun]):
    case = shared / "cases" / "ddp_tail"
    assert off(measured(case / "variant"), Change(bucket_mb=40), -true_delta(case)) < 0.05


def test_ddp_tail_beside_what_was_measured(shared: Path, measured: Callable[[Path], MeasuredRun]):
    case = shared / "cases" / "ddp_tail"
    base, variant = measured(case / "base"), measured(case / "variant")
    change = Change(bucket_mb=16)
    prediction = predict(base, change)
    beside = against(prediction, base, variant)
    assert beside.error_pct is not None
    assert beside.error_pct < 2
    text = prediction_text(prediction, change, beside)
    assert "5 buckets of 16.8 MB" in text
    assert "The step is faster: 10.5 ms to 9.86 ms, -641 us" in text
    assert "Predicted -641 us, measured -638 us [-669, -607]" in text
    assert "The prediction lies inside the measured interval." in text
    assert "Assumptions" in text
    assert "Gradients arrive evenly" in text
    assert max(len(line) for line in text.splitlines()) <= 80
    ascii_text = prediction_text(prediction, change, beside, ascii=True)
    assert ascii_text.isascii()
    found = json.loads(dumps(prediction_result(prediction, change, beside, ())))
    assert found["delta"]["step_us"] == pytest.approx(-641, abs=2)
    assert found["step_us"] == pytest.approx(found["measured"]["step_us"] + found["delta"]["step_us"])
    assert found["against"]["error_pct"] < 2
    assert found["binding"] == "tail"


def test_contention_is_not_guessed_but_can_be_given(shared: Path, measured: Callable[[Path], MeasuredRun]):
    """Overlap switched on makes this step slower, which a run without overlap cannot know."""
    case = shared / "cases" / "contention"
    base, variant = measured(case / "base"), measured(case / "variant")
    blind = predict(base, Change(late_launch=False))
    assert blind.delta("step") < 0 < true_delta(case)
    assert any("this run cannot tell" in sentence for sentence in blind.assumptions)
    assert any("Contention grew by" in sentence for sentence in against(blind, base, variant).told())
    told = predict(base, Change(late_launch=False, compute_slowdown=1.9, transport_slowdown=2.38))
    assert told.binding == "contention"
    assert abs(told.delta("step") / US - true_delta(case)) < 0.02 * base_step(case)


def base_step(case: Path) -> float:
    return json.loads((case / "truth.json").read_text())["base"]["step_us"]


def test_a_recorded_pair_is_predicted(shared: Path, measured: Callable[[Path], MeasuredRun]):
    """gloo on a limited link, one bucket into nine: -95 ms [-103, -87] were measured."""
    run = shared / "recorded" / "bucket_100_to_4" / "base"
    if not run.is_dir():
        pytest.skip(f"NOT CHECKED: no recorded pair at {run}")
    prediction = predict(measured(run), Change(bucket_mb=4))
    assert len(prediction.buckets) == 9
    assert prediction.delta("step") / 1e6 == pytest.approx(-95, abs=10)


def test_a_sample_pair_is_predicted(samples: Path, measured: Callable[[Path], MeasuredRun]):
    """Two gloo ranks, one bucket of 100 MiB into nine of 4: the base alone tells the variant's step."""
    base, variant = (measured(samples / "bucket_tail_shrinks" / side) for side in ("base", "variant"))
    prediction = predict(base, Change(bucket_mb=4))
    beside = against(prediction, base, variant)
    assert beside.error_pct is not None
    assert beside.error_pct < 20


def test_sharded_runs_are_refused_with_a_reason(shared: Path, measured: Callable[[Path], MeasuredRun]):
    with pytest.raises(AbstepError, match="gathers parameters") as caught:
        predict(measured(shared / "cases" / "fsdp_prefetch" / "base"), Change(bucket_mb=16))
    assert caught.value.exit_code == 2


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[MeasuredRun, MeasuredRun, float]]:
    """Both sides of a planted pair, measured, and the true change of the step in us."""

    def read(name: str, **overrides: object) -> tuple[MeasuredRun, MeasuredRun, float]:
        place = tmp_path_factory.mktemp(name)
        reading = Reading(store=place / "runs.duckdb")
        base, variant = write_pair(place, *scenario(name, **{**QUICK, **overrides}))
        runs = read_run(base, reading), read_run(variant, reading)
        means = [sum(run.windows["end_ns"] - run.windows["start_ns"]) / run.windows.height for run in runs]
        return (*runs, (means[1] - means[0]) / US)

    return read


def test_uneven_buckets_tell_latency_from_bandwidth(
    pair: Callable[..., tuple[MeasuredRun, MeasuredRun, float]],
):
    base, _, delta = pair(
        "buckets", base_buckets=4, base_uneven=True, link_latency_ns=90_000, variant_buckets=8
    )
    found = predict(base, Change(bucket_mb=8))
    assert found.costs.latency == pytest.approx(90_000, rel=0.25)
    assert len(found.buckets) == 8
    assert found.delta("step") / US == pytest.approx(delta, abs=60)


def test_overlap_switched_on_is_predicted_from_a_late_launch(
    pair: Callable[..., tuple[MeasuredRun, MeasuredRun, float]],
):
    base, _, delta = pair("overlap_on")
    found = predict(base, Change(late_launch=False))
    assert found.measured.late_launch
    assert found.delta("step") / US == pytest.approx(delta, rel=0.2)


def test_overlap_switched_off_is_predicted_from_an_early_launch(
    pair: Callable[..., tuple[MeasuredRun, MeasuredRun, float]],
):
    base, variant, delta = pair("overlap_on")
    del base
    found = predict(variant, Change(late_launch=True))
    assert not found.measured.late_launch
    assert found.delta("step") / US == pytest.approx(-delta, rel=0.2)


def test_the_run_as_it_was_is_replayed(pair: Callable[..., tuple[MeasuredRun, MeasuredRun, float]]):
    for side in pair("straggler")[:2]:
        prediction = predict(side, Change())
        assert abs(replay_error(prediction)) < 0.01 * prediction.measured.step
        assert prediction.delta("step") == 0
        assert len(prediction.measured.windows[0]) == QUICK["world"]


def test_a_late_rank_is_late_in_the_replay_too(pair: Callable[..., tuple[MeasuredRun, MeasuredRun, float]]):
    late = predict(pair("straggler")[1], Change())
    assert late.gap["readiness"] > 100 * US
    assert late.replay.peer_wait > 100 * US


def planted(durations: list[tuple[int, int, bool]], backward: int = 10_000 * US) -> MeasuredBackward:
    """One window of two ranks: a bucket a (bytes, ns, whether it runs beside compute)."""
    at, reductions = 0, []
    for size, length, beside in durations:
        at = at if beside else max(at, backward)
        reductions.append(Reduction(size, at, at, at + length, length))
        at += length
    window = tuple(RankWindow(rank, at + US, 0, backward, tuple(reductions)) for rank in range(2))
    return MeasuredBackward("run", "run", "all_reduce", (window,), (1.0,), float(at), {}, 1, False, 0)


class Bare:
    """A run without compute spans."""

    def __init__(self) -> None:
        import polars as pl

        sums = ("count", "ns", "alone_count", "alone_ns", "overlap_ns")
        self.signatures = pl.DataFrame(
            schema=dict.fromkeys(("rank", "operator", "base", "shape", *sums), pl.Int64)
        )


def cost_of(durations: list[tuple[int, int, bool]], latency: float | None = None) -> Costs:
    return costs(Bare(), planted(durations), latency)  # type: ignore[arg-type]


def test_two_sizes_give_latency_and_bandwidth_exactly():
    found = cost_of([(1_000_000, 120 * US, True), (4_000_000, 420 * US, True), (2_000_000, 220 * US, True)])
    assert found.latency == pytest.approx(20 * US)
    assert found.byte_ns == pytest.approx(0.1)


def test_one_size_is_proportional_unless_a_latency_is_given():
    same = [(4_000_000, 420 * US, True), (4_000_000, 420 * US, True)]
    assert cost_of(same).latency is None
    assert cost_of(same).byte_ns == pytest.approx(0.105)
    assert cost_of(same, 20 * US).latency == 20 * US
    assert cost_of(same, 20 * US).byte_ns == pytest.approx(0.1)


def test_sizes_that_deny_a_latency_go_through_the_origin():
    found = cost_of([(1_000_000, 90 * US, True), (4_000_000, 420 * US, True)])
    assert found.latency == 0
    assert found.byte_ns == pytest.approx((90 * 1 + 420 * 4) / 17 / 1000, rel=1e-6)


def test_transport_beside_compute_against_alone():
    found = cost_of([(4_000_000, 800 * US, True), (4_000_000, 400 * US, False)])
    assert found.transport_slowdown == pytest.approx(2)
    assert found.byte_ns == pytest.approx(0.1)
    assert found.compute_slowdown is None


def test_the_words_of_the_slot_are_the_comparison_s():
    from abstep.compare.slots import slot_label

    assert slot_label("all_reduce", "backward", "optimizer the optimizer") == SLOT


def test_a_changed_link_and_launch_cost(pair: Callable[..., tuple[MeasuredRun, MeasuredRun, float]]):
    base = pair("buckets")[0]
    plain = predict(base, Change())
    fast = predict(base, Change(bandwidth=1e6))
    slow = predict(base, Change(launch_us=500))
    two = predict(base, Change(streams=2))
    assert fast.delta("step") < -0.9 * float(plain.replay.transport)
    assert slow.delta("step") > 400 * US
    assert two.delta("step") <= 0


def test_a_backward_is_read_window_by_window(pair: Callable[..., tuple[MeasuredRun, MeasuredRun, float]]):
    found = measured_backward(pair("buckets")[0])
    assert found.collective == "all_reduce"
    assert sum(found.shares) == pytest.approx(1)
    assert found.left_out == 0
    assert replace(found, left_out=1) != found
    for window in found.windows:
        assert [ranked.rank for ranked in window] == [0, 1, 2]
        assert all(0 <= ranked.begins <= ranked.backward_end <= ranked.length for ranked in window)
