"""What the keys do, without an app around: places, state, filter, palette, copy, export, odd sizes."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from abstep.compare import comparison as c
from abstep.compare.statistics import Delta
from abstep.tui import keys
from abstep.tui.views import MODULES
from abstep.tui.widgets.lines import plain, width_of

from .desk import ASCII, FULL, Desk
from .pair import comparison

PLACES = ("verdict", "intervals", "intervals/7", "intervals/7/rank/2", "intervals/7/rank/2/timelines", "contention",
          "contention/1", "timelines", "checks", "windows")  # fmt: skip


def test_from_the_start_to_the_late_rank_in_three_keys():
    desk = Desk().press("enter", "last", "previous_match", "previous_match", "previous_match", "enter")
    assert "last in base" in desk.screen()
    named = Desk().press("enter", "enter")
    assert "last in base" in named.screen()


def test_going_back_restores_cursor_order_filter_and_zoom():
    desk = Desk("intervals").press("sort", "sort", "filter")
    desk.type("reduce<enter>").press("down", "enter")
    slot = desk.session.trail.here
    desk.press("enter", "enter", "zoom_in", "right")
    zoomed = desk.lines()
    desk.press("back", "back", "back")
    assert "/reduce 4 of 11" in desk.screen()
    assert desk.session.view.opens() == slot
    desk.press("enter", "enter", "enter")
    assert desk.lines() == zoomed


def test_siblings_follow_the_list_as_it_is_sorted_and_filtered():
    desk = Desk("intervals").press("filter")
    desk.type("reduce<enter>").press("enter")
    first = desk.session.trail.here.row
    desk.press("next")
    assert desk.session.trail.here.row != first
    assert "all_reduce" in desk.lines()[1]
    desk.press("previous", "previous")
    assert desk.session.trail.here.row == first
    assert "no other one" in desk.lines()[-1]
    desk.press("back")
    assert desk.session.view.opens().row == first


def test_filter_is_live_visible_and_cleared_by_escape():
    desk = Desk("intervals").press("filter").type("reduce")
    assert "/reduce 4 of 11" in desk.screen()
    assert desk.lines()[-1].startswith(" /reduce")
    desk.type("<backspace>")
    assert "/reduc 4 of 11" in desk.screen()
    desk.type("<escape>")
    assert "11 slots" in desk.screen()
    desk.press("filter").type("!reduce<enter>")
    assert "/!reduce 7 of 11" in desk.screen()


def test_keys_are_typed_while_a_text_is():
    desk = Desk("intervals").press("filter").type("q1?s")
    assert desk.left is None
    assert "/q1?s 0 of 11" in desk.screen()


def test_palette_goes_to_places_takes_looks_and_does_actions():
    desk = Desk().press("palette").type("slot 7:<enter>")
    assert desk.session.trail.here.kind == "slot"
    desk.press("palette").type("look: ascii<enter>")
    assert desk.screen().isascii()
    desk.press("palette").type("leave<enter>")
    assert desk.left == 0
    desk = Desk("checks").press("palette").type("<escape>")
    assert desk.session.trail.here.kind == "checks"


def test_help_opens_over_any_view_and_closes_by_its_own_key():
    for place in PLACES:
        desk = Desk(place).press("help")
        assert "keys" in desk.screen()
        desk.press("help")
        assert desk.session.trail.here.address == Desk(place).session.trail.here.address


def test_copy_writes_a_file_names_it_and_sends_it_to_the_clipboard(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for place in PLACES:
        desk = Desk(place).press("copy")
        said = "".join(line.strip() for line in desk.lines()[-3:])
        path = Path(said.split("clipboard and")[-1].strip())
        text = path.read_text()
        assert text.startswith(f"abstep --at {place}\n")
        assert len(text.splitlines()) > 3
        assert desk.written[-1].startswith("\x1b]52;c;")
        assert path.stat().st_mode & 0o077 == 0


def test_what_is_too_long_for_a_clipboard_is_in_the_file(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = comparison().intervals * 120
    desk = Desk("intervals", shown=replace(comparison(), intervals=rows)).press("copy")
    assert desk.written == []
    assert "clipboard" not in desk.lines()[-1]
    assert len(next(tmp_path.iterdir()).read_text().splitlines()) == len(rows) + 3


def test_export_writes_a_new_file_and_says_its_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    desk = Desk(export=lambda path: path.write_text("report"))
    for name in ("abstep-report.md", "abstep-report-2.md"):
        desk.session.do("export")
        assert (tmp_path / name).read_text() == "report"
        assert f"report written to {tmp_path / name}" in desk.screen(160, 24)
    failing = Desk(export=lambda path: (_ for _ in ()).throw(OSError("no space left")))
    failing.session.do("export")
    assert "not written: no space left" in failing.screen()
    assert "no report" in Desk().press("export").screen()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "size", [(60, 15), (80, 24), (300, 80), (20, 4), (61, 16), (100, 7), (1, 1), (30, 50)]
)
def test_every_view_draws_at_any_size(place, size):
    for look in (FULL, ASCII):
        desk = Desk(place, look=look)
        frame = desk.session.frame(*size)
        assert len(frame) == size[1]
        assert all(width_of(line) == size[0] for line in frame)


@pytest.mark.parametrize("seed", range(6))
def test_no_sequence_of_keys_breaks_it(seed):
    chance = random.Random(seed)
    desk = Desk()
    actions = [
        key.action for key in keys.KEYS if key.action not in ("quit", "export", "copy", "filter", "palette")
    ]
    for _ in range(250):
        size = chance.choice([(80, 24), (60, 15), (120, 40)])
        desk.press(chance.choice(actions), size=size)
        assert all(width_of(line) == size[0] for line in desk.session.frame(*size))


@pytest.mark.parametrize("place", PLACES)
def test_a_silent_key_says_so_and_a_key_in_the_help_does_something(place):
    view = Desk(place).session.view
    for key in keys.KEYS:
        if key.action in ("quit", "copy", "export", "palette", "filter"):
            continue
        desk = Desk(place).press(key.action)
        said = desk.lines()[-1]
        quiet = (
            "does nothing here" in said or "no list" in said or "no other" in said or "first screen" in said
        )
        if key.action in view.silent:
            assert quiet or key.action in ("previous", "next"), key.action
        else:
            assert "does nothing here" not in said or key.action in ("next_match", "previous_match"), (
                key.action
            )


def test_the_breadcrumbs_keep_the_figure_at_any_width():
    for width in (60, 70, 80, 120):
        top = Desk("intervals/7/rank/2/timelines").lines(width, 24)[0]
        assert "-1.08 ms" in top
        assert top.rstrip().endswith("shrank") or width < 60


def test_what_is_absent_prints_a_dash():
    shown = comparison()
    row = replace(
        shown.intervals[0],
        base_peer_wait=None,
        variant_peer_wait=None,
        base_transport=None,
        variant_transport=None,
        base_presence=None,
        variant_presence=None,
    )
    blank = Delta(base=None, variant=None, delta=None)
    desk = Desk("intervals/1", shown=replace(shown, intervals=(replace(row, delta=blank),)))
    facts = desk.lines()[2:8]
    assert all(line.split()[-1] == "-" for line in facts if "exposed" in line or "transport" in line)
    assert " 0 " not in "\n".join(facts)


def test_runs_that_are_not_comparable_get_no_word_and_no_colour():
    shown = comparison()
    none = replace(shown.step_time, verdict=None)
    rows = tuple(replace(row, delta=replace(row.delta, verdict=None)) for row in shown.intervals)
    status = replace(shown.comparability, status="not_comparable")
    desk = Desk(shown=replace(shown, step_time=none, intervals=rows, comparability=status))
    assert "not comparable" in desk.screen()
    desk.press("view_2")
    roles = {role for line in desk.session.frame(80, 24) for _, role in line}
    assert not roles & {"worse", "better"}


def test_a_comparison_with_nothing_in_it_draws_every_view():
    shown = replace(
        comparison(), intervals=(), contention=(), account=(), decomposition=(), collectives=(), ranks=(), path=(),
        validity=(), warnings=(), detail=None, no_communication=True,
        comparability=c.Comparability("comparable", (), ()),
    )  # fmt: skip
    desk = Desk(shown=shown)
    assert "No communication was found" in desk.screen()
    for number in range(1, 7):
        desk.press(f"view_{number}", "enter", "down", "filter", "help")
        desk.type("<escape>")
        assert len(desk.lines()) == 24


def test_evidence_that_cannot_be_read_says_why():
    class Broken:
        def __getattr__(self, name):
            raise OSError("the store is gone")

    shown = replace(comparison(), detail=Broken())
    for place in ("intervals/1", "intervals/1/rank/0", "timelines", "windows", "contention/1"):
        assert "could not be read: the store is gone" in Desk(place, shown=shown).screen()


def test_names_from_files_cannot_command_the_terminal():
    shown = comparison()
    evil = "gemm\x1b]52;c;aGk=\x07\x1b[2J\u202e\n" + "x" * 300
    rows = (replace(shown.intervals[0], label=evil, consumer=evil), *shown.intervals[1:])
    contention = (replace(shown.contention[0], compute=evil, note=evil), *shown.contention[1:])
    base = replace(shown.base, label=evil, device_name=evil)
    told = replace(shown.explanation, headline=evil, sentences=(evil,))
    desk = Desk(shown=replace(shown, intervals=rows, contention=contention, base=base, explanation=told))
    for action in ("view_1", "view_2", "enter", "enter", "enter", "view_3", "enter", "help", "palette"):
        desk.press(action)
        for line in desk.session.frame(80, 24):
            assert plain(line).isprintable()
            assert width_of(line) == 80


def test_every_kind_of_place_has_a_view():
    assert set(MODULES) >= {"verdict", "intervals", "slot", "collective", "timelines", "contention", "pair", "checks",
                            "windows", "help", "palette"}  # fmt: skip
