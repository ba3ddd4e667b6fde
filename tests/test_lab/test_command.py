"""`abstep lab` without a terminal: text, JSON, errors in one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from abstep import cli

if TYPE_CHECKING:
    from pathlib import Path


def lab(*arguments: str) -> int:
    return cli.run(["lab", *arguments])


def test_roofline_in_text(capsys: pytest.CaptureFixture[str]):
    assert lab("roofline", "--intensity", "8", "--bandwidth", "100") == 0
    out, err = capsys.readouterr()
    assert "Attainable: 800 GFLOP/s, bound by memory: min(1000, 8 x 100)." in out
    assert "not a network's" in out
    assert not err
    assert max(len(line) for line in out.splitlines()) <= 80


def test_roofline_in_json_alone_on_standard_output(capsys: pytest.CaptureFixture[str]):
    assert lab("roofline", "--intensity", "16", "--bandwidth", "100", "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["attainable_gflops"] == 1000
    assert found["bound"] == "compute"
    assert found["inputs"] == {"intensity": 16, "bandwidth": 100, "roof_gflops": 1000}


def test_roofline_starts_where_reset_does(capsys: pytest.CaptureFixture[str]):
    assert lab("roofline", "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["attainable_gflops"] == 200


def test_overlap_in_json(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    place = tmp_path / "lab.json"
    assert lab("overlap", "--bucket-mb", "40", "--late", "100", "--launch", "late", "--json", str(place)) == 0
    assert "Binding: tail" in capsys.readouterr().out
    found = json.loads(place.read_text())
    parts = sum(found[f"{name}_us"] for name in ("compute_alone", "overlapped", "exposed", "idle"))
    assert found["step_us"] == pytest.approx(parts)
    assert sum(found["gap"].values()) == pytest.approx(found["step_us"] - found["ideal_us"])
    assert found["binding"] == "tail"
    assert [bucket["bytes"] for bucket in found["buckets"]] == [40 << 20] * 2
    assert found["inputs"]["late_launch"] is True


def test_overlap_takes_own_groups_and_judges_a_prediction(capsys: pytest.CaptureFixture[str]):
    arguments = ["--ready", "100,400,1000", "--sizes", "1,2,3", "--backward", "1000", "--bucket-mb", "1"]
    assert lab("overlap", *arguments, "--predict", "1100", "--ascii") == 0
    out = capsys.readouterr().out
    assert "You predicted 1100 us, it is " in out
    assert out.isascii()


def test_no_lab_named_shows_both(capsys: pytest.CaptureFixture[str]):
    assert lab() == 0
    out = capsys.readouterr().out
    assert "Attainable: 200 GFLOP/s" in out
    assert "The step takes" in out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["roofline", "--intensity", "0.05"], "--intensity"),
        (["roofline", "--bandwidth", "nan"], "--bandwidth"),
        (["roofline", "--json", "/nowhere/at/all.json"], "--json"),
        (["overlap", "--ranks", "0"], "--ranks"),
        (["overlap", "--ready", "3,1"], "--ready"),
        (["overlap", "--against", "x"], "--against"),
        (["overlap", "--from", "x", "--late", "5"], "--late"),
        (["overlap", "--from", "x", "--bandwidth", "0"], "--bandwidth"),
        (["overlap", "--from", "no such run"], "no such run"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_2(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
):
    assert lab(*arguments) == 2
    out, err = capsys.readouterr()
    assert not out
    assert len(err.splitlines()) == 1
    assert named in err


@pytest.mark.parametrize("text", ["eight", "1,x", ""])
def test_what_is_no_number_is_refused(text: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        lab("overlap", "--ready", text)
    assert caught.value.code == 2
    assert "is not a number" in capsys.readouterr().err


def test_a_prediction_from_a_run(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    case = shared / "cases" / "ddp_tail"
    arguments = ["--from", str(case / "base"), "--against", str(case / "variant"), "--bucket-mb", "16"]
    assert lab("overlap", *arguments, "--store", str(tmp_path / "runs.duckdb"), "--json", "-") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert not err
    assert found["delta"]["step_us"] == pytest.approx(-638, rel=0.2)
    assert found["against"]["delta_us"] == pytest.approx(-638, abs=1)
    assert found["assumptions"]
