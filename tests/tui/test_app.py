"""The app itself, driven by textual's Pilot: every key of the table, loading, cancelling, failing."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from abstep.errors import AbstepError
from abstep.tui import keys
from abstep.tui.app import STOPPED, Screens, run_screens
from abstep.tui.look import Look
from abstep.tui.widgets.lines import plain

from .child import Progress
from .pair import comparison

LOOK = Look("full", "full")

# Where each key is pressed, and what is then on the screen (or what the status says).
EXPECTED = {
    "down": ("intervals", "▶ 2"),
    "up": ("intervals", "▶ 1"),
    "first": ("intervals", "▶ 1"),
    "last": ("intervals", "▶11"),
    "page_down": ("windows", "base       0      6"),
    "page_up": ("windows", "▶base       0      2      0"),
    "left": ("intervals", "what waits for what"),
    "right": ("intervals", "what waits for what"),
    "zoom_in": ("timelines", "time from the window's start"),
    "zoom_out": ("timelines", "time from the window's start"),
    "enter": ("intervals", "windows that have it"),
    "back": ("intervals/7", "slots: 6 disappeared"),
    "view_1": ("checks", "where the step time went"),
    "view_2": ("verdict", "what waits for what"),
    "view_3": ("verdict", "3 pairs, together"),
    "view_4": ("verdict", "time from the window's start"),
    "view_5": ("verdict", "the runs are comparable, with a caution"),
    "view_6": ("verdict", "15 of 20 windows used; dropped"),
    "previous": ("intervals/7", "#6 backward all_reduce"),
    "next": ("intervals/7", "#8 forward all_gather"),
    "pane": ("intervals/7", "on rank"),
    "filter": ("intervals", "Esc clear"),
    "next_match": ("timelines", "exposed, "),
    "previous_match": ("timelines", "exposed, "),
    "sort": ("intervals", "#▾"),
    "reverse": ("intervals", "▶ 1"),
    "export": ("verdict", "report written to"),
    "copy": ("verdict", "copied to"),
    "help": ("intervals", " keys"),
    "palette": ("intervals", "Esc close"),
    "quit": ("verdict", ""),
}


def seen(app: Screens, width: int = 120, height: int = 40) -> str:
    return "\n".join(plain(line) for line in app.session.frame(width, height))


async def settled(app: Screens, pilot, text: str) -> None:
    for _ in range(200):
        await pilot.pause(0.01)
        if text in seen(app):
            return
    raise AssertionError(f"{text!r} is not in\n{seen(app)}")


def drive(app: Screens, script, size=(120, 40)):
    async def run():
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(app, pilot)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("action", "name"), [(key.action, name) for key in keys.KEYS for name in key.keys], ids=str
)
def test_every_key_of_the_table(action, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place, text = EXPECTED[action]
    app = Screens(comparison(), look=LOOK, at=place, export=lambda path: path.write_text("report"))

    async def script(app, pilot):
        if place == "timelines":
            await settled(app, pilot, "time from")
        elif place == "windows":
            await settled(app, pilot, "▶base")
        if action == "up":
            await pilot.press("j")
        before = seen(app)
        await pilot.press(name)
        if action == "quit":
            return
        await settled(app, pilot, text)
        if action in ("down", "last", "page_down", "zoom_in", "enter", "help", "sort", "reverse", "next"):
            assert seen(app) != before

    drive(app, script)
    if action == "quit":
        assert app.return_value == 0


def test_expected_covers_the_table():
    assert set(EXPECTED) == {key.action for key in keys.KEYS}


def test_typing_a_filter_and_leaving_it():
    async def script(app, pilot):
        await pilot.press("/", "r", "e", "d", "u", "c", "e")
        assert "/reduce 4 of 11" in seen(app)
        await pilot.press("enter", "j", "enter")
        await settled(app, pilot, "last in base")
        await pilot.press("escape")
        assert "/reduce 4 of 11" in seen(app)

    drive(Screens(comparison(), look=LOOK, at="intervals"), script)


def test_the_canvas_shows_the_frame():
    async def script(app, pilot):
        await pilot.press("2")
        strips = app._canvas.render_lines(app._canvas.region)
        assert [strip.text for strip in strips] == [plain(line) for line in app.session.frame(80, 24)]

    drive(Screens(comparison(), look=LOOK), script, size=(80, 24))


def test_resizing_draws_at_the_new_size():
    async def script(app, pilot):
        for size in ((60, 15), (300, 80), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            strips = app._canvas.render_lines(app._canvas.region)
            assert (len(strips), strips[0].cell_length) == (size[1], size[0])

    drive(Screens(comparison(), look=LOOK, at="intervals"), script)


def test_reading_shows_its_progress_and_then_the_comparison():
    go = threading.Event()

    def load(progress):
        progress(Progress("rank0.json.gz", 50, 200, 0, 2))
        go.wait(5)
        progress(Progress("rank1.json.gz", 200, 200, 2, 2))
        progress.show(comparison())
        return comparison()

    async def script(app, pilot):
        await settled(app, pilot, "rank0.json.gz")
        assert "0 of 2 files" in seen(app)
        await pilot.press("2", "j", "enter")  # nothing to go to yet, and nothing breaks
        go.set()
        await settled(app, pilot, "where the step time went")

    drive(Screens(load, look=LOOK), script)


def test_a_second_comparison_takes_the_first_ones_place_where_the_user_is():
    go = threading.Event()

    def load(progress):
        progress.show(comparison())
        go.wait(5)
        return comparison()

    async def script(app, pilot):
        await settled(app, pilot, "where the step time went")
        await pilot.press("2")
        before = app.session.gallery
        go.set()
        for _ in range(100):
            await pilot.pause(0.01)
            if app.session.gallery is not before:
                break
        assert app.session.gallery is not before
        assert "what waits for what" in seen(app)

    drive(Screens(load, look=LOOK), script)


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+c"])
def test_leaving_while_reading_stops_it(key):
    stopped = threading.Event()

    def load(progress):
        try:
            while True:
                progress(Progress("rank0.json.gz", 1, 2, 0, 1))
                time.sleep(0.005)
        except AbstepError:
            stopped.set()
            raise

    async def script(app, pilot):
        await settled(app, pilot, "rank0.json.gz")
        await pilot.press(key)

    app = Screens(load, look=LOOK)
    drive(app, script)
    app.stop_reading()
    assert stopped.wait(2)
    assert app.return_value == STOPPED
    assert app.failure is None


def test_what_reading_ends_with_is_handed_on():
    def load(progress):
        raise AbstepError("rank0.json.gz: not a trace", "record it again")

    async def script(app, pilot):
        await pilot.pause(0.2)

    app = Screens(load, look=LOOK)
    drive(app, script)
    assert str(app.failure) == "rank0.json.gz: not a trace; record it again"


def test_a_place_that_is_not_there_ends_it():
    async def script(app, pilot):
        await pilot.pause(0.2)

    app = Screens(lambda _progress: comparison(), look=LOOK, at="intervals/99")
    drive(app, script)
    assert "no row 99" in str(app.failure)
    with pytest.raises(AbstepError, match="no row 99"):
        run_screens(comparison(), at="intervals/99")


def test_the_mouse_wheel_moves():
    async def script(app, pilot):
        app._canvas.post_message(app._canvas.Wheel("down"))
        await settled(app, pilot, "▶ 2")

    drive(Screens(comparison(), look=LOOK, at="intervals"), script)
