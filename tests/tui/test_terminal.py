"""In a real pseudo-terminal: what is written, how much of it, and how the terminal is given back."""

from __future__ import annotations

import random
import signal
import termios
import time

import pytest

from abstep.tui.look import Look

from .desk import Desk
from .screen import Screen

ON = {1049, 25, 7}
OFF_MODES = (1000, 1002, 1003, 1004, 1006, 1015, 2004, 2048)


@pytest.fixture
def opened():
    screens = []

    def open_(*arguments, **environ) -> Screen:
        screens.append(Screen(*arguments, **environ))
        return screens[-1]

    yield open_
    for screen in screens:
        screen.close()


def given_back(screen: Screen) -> None:
    """The main screen, a cursor, no reports, wrapping lines, echo: as before."""
    modes = screen.terminal.modes
    assert modes.get(1049) is False
    assert modes.get(25) is True
    assert modes.get(7) is not False
    assert not [mode for mode in OFF_MODES if modes.get(mode)]
    now = termios.tcgetattr(screen.fd)
    assert now[3] & termios.ECHO
    assert now[3] & termios.ICANON
    assert now == screen.modes_before


def test_what_is_seen_is_the_frame_after_any_keys(opened):
    screen = opened("pair", width=80, height=24)
    screen.until("where the step time went")
    desk = Desk(look=Look("full", "full")).press()
    chance = random.Random(5)
    pressed = {"down": "j", "up": "k", "last": "G", "first": "g", "view_2": "2", "view_5": "5", "view_6": "6",
               "page_down": "\x1b[6~", "sort": "s", "reverse": "S", "right": "l", "enter": "\r", "back": "\x7f",
               "pane": "\t", "next": "]", "next_match": "n", "view_4": "4", "zoom_in": "+", "help": "?"}  # fmt: skip
    for number in range(70):
        action = chance.choice(list(pressed)) if number % 3 else chance.choice(["down", "up", "down"])
        screen.press(pressed[action], quiet=0.05)
        desk.press(action)
        if number % 10 == 9:
            wanted = [line.replace("█", " ").rstrip() for line in desk.lines()]
            for _ in range(40):
                if screen.terminal.lines() == wanted:
                    break
                screen.read(quiet=0.1, most=0.3)
            assert screen.terminal.lines() == wanted, (number, action)


@pytest.mark.parametrize("what", ["pair", "big"])
def test_bytes(opened, what):
    """TERMINAL's budgets at 120x40, in true colour, which costs most."""
    screen = opened(what, "intervals")
    screen.until("what waits for what", most=40)
    for key in "jjjk":
        assert len(screen.press(key)) <= 500
    screen.press("g" + "j" * 33, quiet=0.4)  # to the last row in sight; the next ones move the list
    for key in "jjjjj":
        assert len(screen.press(key)) <= 500
    assert len(screen.press("G")) <= 8000
    assert len(screen.press("g")) <= 8000
    for _ in range(2):
        assert len(screen.press("pagedown")) <= 8000
    for key in ("enter", "backspace"):
        assert len(screen.press({"backspace": "\x7f"}.get(key, key), quiet=0.4)) <= 20_000


@pytest.mark.parametrize("what", ["pair", "big"])
def test_bytes_of_timelines(opened, what):
    screen = opened(what, "intervals/7/rank/2")
    screen.until("consumer starts", most=40)
    drill = screen.press("enter", quiet=0.6)
    while "variant" not in "\n".join(screen.terminal.lines()):
        drill += screen.read(quiet=0.3)
    drill += screen.read(quiet=1.0)
    assert len(drill) <= 20_000
    for key in "llhl":
        assert len(screen.press(key)) <= 8000
    for key in "++--":
        assert len(screen.press(key)) <= 8000
    for key in "nnN":
        assert len(screen.press(key)) <= 8000


def test_nothing_is_written_while_nothing_happens(opened):
    screen = opened("pair", "intervals/7/rank/2/timelines")
    screen.until("variant")
    screen.read(quiet=0.5)
    assert screen.read(quiet=1.0) == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_give_the_terminal_back_and_end_it(opened, number):
    screen = opened("pair", "intervals")
    screen.until("what waits for what")
    screen.kill(number)
    assert screen.ended() == -number
    given_back(screen)


def test_a_signal_while_reading(opened):
    screen = opened("deaf")
    screen.until("rank0.json.gz")
    screen.kill(signal.SIGTERM)
    assert screen.ended() == -signal.SIGTERM
    given_back(screen)


@pytest.mark.parametrize(("key", "status"), [("q", 0), ("ctrl+c", 130)])
def test_keys_that_leave(opened, key, status):
    screen = opened("pair")
    screen.until("where the step time went")
    screen.press(key)
    assert screen.ended() == status
    given_back(screen)


@pytest.mark.parametrize("what", ["slowly", "deaf"])
def test_leaving_while_reading_does_not_wait_for_it(opened, what):
    screen = opened(what)
    screen.until("rank0.json.gz")
    start = time.monotonic()
    screen.press("q", quiet=0.05)
    assert screen.ended() == 130
    assert time.monotonic() - start < 4
    given_back(screen)


def test_a_failed_read_is_one_line_on_the_main_screen(opened):
    screen = opened("failing", width=80, height=24)
    found = screen.read(quiet=1.5)
    assert screen.ended() == 2
    given_back(screen)
    last = found.decode().rpartition("\x1b[?1049l")[2]
    assert "abstep: rank0.json.gz: not a trace; record it again" in last
    assert "Traceback" not in found.decode()


def test_a_crash_gives_the_terminal_back_before_it_speaks(opened):
    screen = opened("crash")
    screen.until("where the step time went")
    found = screen.press("2", quiet=1.0)
    assert screen.ended() == 1
    given_back(screen)
    assert "ZeroDivisionError: planted" in found.decode().rpartition("\x1b[?1049l")[2]


def test_resizes_draw_right_down_to_60x15(opened):
    screen = opened("pair", "intervals", width=120, height=40)
    screen.until("what waits for what")
    for width, height in ((100, 30), (60, 15), (150, 50), (61, 16), (80, 24), (60, 15)):
        screen.size(width, height)
    wanted = Desk("intervals").lines(60, 15)
    for _ in range(50):
        screen.read(quiet=0.1, most=0.3)
        if screen.terminal.lines() == wanted:
            break
    assert screen.terminal.lines() == wanted
    screen.press("j")
    assert screen.terminal.lines() == Desk("intervals").press("down", size=(60, 15)).lines(60, 15)


def test_no_color_gives_no_colour_code_at_all(opened):
    screen = opened("pair", NO_COLOR="1")
    screen.until("where the step time went")
    for key in "2j\r4n5":
        screen.press(key)
    assert screen.terminal.colours == 0


def test_the_mouse_stays_off(opened):
    screen = opened("pair")
    screen.until("where the step time went")
    assert not screen.terminal.modes.get(1000)
    assert not screen.terminal.modes.get(1003)


def test_copy_reaches_the_terminals_clipboard(opened):
    screen = opened("pair", "intervals/7")
    screen.until("ranks")
    screen.press("y")
    assert [code for code in screen.terminal.osc if code.startswith("52;c;")]


@pytest.mark.parametrize("look", ["full", "256", "16", "mono", "ascii"])
def test_every_look_starts(opened, look):
    screen = opened("pair", "intervals", ABSTEP_LOOK=look)
    screen.until("what waits for what")
    text = "\n".join(screen.terminal.lines())
    assert text.isascii() is (look == "ascii")
    assert (screen.terminal.colours == 0) is (look == "mono")


def test_a_stop_gives_the_terminal_back_and_going_on_draws_again(opened):
    screen = opened("pair", "intervals", width=80, height=24)
    screen.until("what waits for what")
    screen.press("j")
    before = screen.terminal.lines()
    screen.kill(signal.SIGTSTP)
    screen.read(quiet=0.5)
    assert screen.terminal.modes[1049] is False
    screen.terminal.feed("\x1b[2J")
    screen.kill(signal.SIGCONT)
    screen.until("what waits for what")
    assert screen.terminal.modes[1049] is True
    assert screen.terminal.lines() == before
    screen.press("q")
    assert screen.ended() == 0
    given_back(screen)
