"""The summary: it fits, it is safe, and its figures are the result file's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstep.report.result import result
from abstep.report.text import runs_table, summary
from abstep.store.store import RunRow
from abstep.units import cells, name_text

from . import odd, sample

NUMBER = r"[+-]?\d+(?:\.\d+)?"
INTERVAL = rf"(?:\[({NUMBER}), ({NUMBER})\] )?"
DELTA = re.compile(
    rf"^  [▲▼~=·] ({NUMBER}) (ns|us|ms|s) {INTERVAL}n=([^\s;]+) ?([^;\n]*); (.*)$", re.MULTILINE
)
US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
WORDS = "faster slower disappeared shrank grew appeared unchanged inconclusive".split()  # noqa: SIM905
GOLDEN = Path(__file__).with_name("summary.txt")


def section(text: str, title: str) -> str:
    return next(part for part in text.split("\n\n") if part.startswith(title))


def test_golden() -> None:
    """After a wanted change: write what this prints to summary.txt, and read it before you do."""
    assert summary(sample.comparison()) == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", odd.VARIANTS)
@pytest.mark.parametrize("width", [40, 60, 80, 132])
@pytest.mark.parametrize("unicode", [True, False])
def test_every_line_fits(name: str, width: int, unicode: bool) -> None:
    text = summary(odd.VARIANTS[name](), width=width, unicode=unicode)
    assert [line for line in text.split("\n") if cells(line) > max(width, 60)] == []
    assert unicode or text.isascii()
    assert "\x1b" not in text
    assert "None" not in text.replace("None was measured", "")
    assert "nan" not in text


def test_colour_is_never_the_only_sign() -> None:
    c = sample.comparison()
    plain, coloured = summary(c), summary(c, colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    codes = set(re.findall(r"\x1b\[[0-9;]*m", coloured))
    assert codes == {"\x1b[1m", "\x1b[0m", "\x1b[38;5;74m", "\x1b[38;5;166m"}
    assert "\x1b[38;5;166m  ▲ +1.30 ms" in coloured
    assert "\x1b[38;5;74m  ▼ -7.00 ms" in coloured


def test_deltas_are_the_result_files() -> None:
    found = result(sample.comparison())
    text = summary(sample.comparison())
    called = [r for r in found["intervals"] if r["verdict"] in WORDS[2:6]]
    pairs = sorted(found["contention"], key=lambda r: -abs(r["delta_us"]))
    lines = DELTA.findall(text)
    assert len(lines) == len(called) + len(pairs)
    for (value, unit, low, high, n, word, _), row in zip(lines, [*called, *pairs], strict=True):
        for printed, key in ((value, "delta_us"), (low, "ci_low_us"), (high, "ci_high_us")):
            assert float(printed) * US[unit] == pytest.approx(
                row[key], abs=0.00501 * abs(row["delta_us"]) + 0.5
            )
        assert word == row["verdict"]
        assert n == str(row["n_base"])


def test_step_time_is_the_result_files() -> None:
    found = result(sample.comparison())["step_time"]
    printed = re.search(
        rf"step time ▼ ({NUMBER}) ms \[({NUMBER}), ({NUMBER})\] n=38 faster \(({NUMBER}) %\)",
        summary(sample.comparison()),
    )
    assert printed is not None
    keys = ("delta_us", "ci_low_us", "ci_high_us")
    assert [float(p) * 1e3 for p in printed.groups()[:3]] == pytest.approx([found[k] for k in keys], abs=5)
    assert float(printed[4]) == pytest.approx(found["delta_pct"], abs=0.05)


def test_account_adds_up_as_printed() -> None:
    part = section(summary(sample.comparison()), "Where the difference comes from (ms")
    numbers = [float(n) for n in re.findall(rf"  ({NUMBER})$", part, re.MULTILINE)]
    assert len(numbers) > 5
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=1e-9)
    assert numbers[-1] == -5.10


def test_categories_add_up_as_printed() -> None:
    part = section(summary(sample.comparison()), "What fills a step")
    lines = [
        [float(n) for n in row]
        for row in re.findall(rf"({NUMBER}) +({NUMBER}) +({NUMBER})$", part, re.MULTILINE)
    ]
    assert len(lines) == 6
    for column in zip(*lines, strict=True):
        assert sum(column[:-1]) == pytest.approx(column[-1], abs=1e-9)


def test_no_verdict_anywhere_when_not_comparable() -> None:
    text = summary(odd.not_comparable())
    assert not re.search(rf"\b({'|'.join(WORDS)})\b", text)
    assert {found[6] for found in DELTA.finditer(text)} == {""}
    assert "[" not in text
    assert "fail    world_size: 2 | 4 (the runs have 2 and 4 ranks)" in text
    assert "-5.10 ms" in text


def test_too_few_is_description() -> None:
    text = summary(odd.too_few())
    assert "n=3/4 too few" in text
    assert "[" not in text
    assert not re.search(rf"\b({'|'.join(WORDS)})\b", text)


def test_no_communication_is_a_sentence() -> None:
    text = summary(odd.no_communication())
    assert "No communication was found in these traces" in text.replace("\n  ", " ")
    assert "Contention" not in text
    assert "Overlap:" not in text


def test_only_what_does_not_pass_is_listed() -> None:
    part = section(summary(sample.comparison()), "Can they be compared?")
    assert "software: torch 2.7.1 | torch 2.8.0" in part
    assert "world_size" not in part
    assert "collective_order" not in part
    faulty = summary(odd.hostile("x"))
    assert "fault   complete_set, base: rank 0, step 3, x. x" in faulty


def test_the_list_of_runs_gives_whole_safe_names(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    name = "/data/" + "long/" * 40 + "base\x1b[2J"
    text = runs_table([RunRow(name, "a\nb", 2, 1, 4, 25_000_000, 0)], store)
    assert text.split("\n")[0].startswith("1 run in ")
    assert name_text(name) in text.split("\n")
    assert "  a b: 2 repeats, 1 rank, 4 files of 25.0 MB, read 1970-01-01 00:00 UTC" in text
    assert "\x1b" not in text
    assert runs_table([], store).startswith("0 runs in ")
    assert "(-)" in runs_table([], store)
    store.write_bytes(b"x" * 1500)
    assert "(1.50 kB)" in runs_table([], store)


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=60), st.booleans())
def test_no_name_reaches_the_terminal_as_a_control(text: str, unicode: bool) -> None:
    printed = summary(odd.hostile(text + "\x1b[2J\x9b\r\u202e"), unicode=unicode)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\ud800-\udfff]", printed)
    assert all(cells(line) <= 80 for line in printed.split("\n"))
