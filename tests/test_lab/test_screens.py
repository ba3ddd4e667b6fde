"""The labs' screens: driven by textual's Pilot, and as text at 80x24 and 120x40 (ABSTEP_GOLDEN=write writes anew)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from abstep.lab.controls import Controls
from abstep.lab.roofline import Roofline
from abstep.tui.look import Look
from abstep.tui.views.lab_app import Labs
from abstep.tui.views.lab_base import FRAMES
from abstep.tui.views.lab_keys import LAB_KEYS, footer
from abstep.tui.views.lab_overlap import OverlapView
from abstep.tui.views.lab_session import LabSession
from abstep.tui.widgets.lines import plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot

FULL, ASCII = Look("full", "full"), Look("ascii", "none", ascii=True)
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "lab"
SIZES = ((80, 24), (120, 40), (60, 15))


def screen(session: LabSession, width: int = 80, height: int = 24) -> str:
    return "\n".join(plain(line).rstrip() for line in session.frame(width, height))


def seen(app: Labs, width: int = 80, height: int = 24) -> str:
    return screen(app.session, width, height)


def drive(
    app: Labs, script: Callable[[Pilot[int]], Awaitable[None]], size: tuple[int, int] = (80, 24)
) -> None:
    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(run())


async def finished(app: Labs, pilot: Pilot[int]) -> None:
    """Wait for a play to end by itself."""
    for _ in range(200):
        await pilot.pause(0.05)
        if not app.session.playing:
            return
    raise AssertionError("it plays for ever")


async def type_value(pilot: Pilot[int], text: str) -> None:
    await pilot.press("enter", *("full_stop" if c == "." else c for c in text), "enter")


def test_predict_then_play_the_roofline():
    app = Labs(look=FULL)

    async def script(pilot: Pilot[int]) -> None:
        assert "4 FLOP/byte" in seen(app)
        assert "50 GB/s" in seen(app)
        await type_value(pilot, "8")
        await pilot.press("j")
        await type_value(pilot, "100")
        await pilot.press("j")
        await type_value(pilot, "700")
        assert "700 GFLOP/s" in seen(app)
        assert "Achieved" not in seen(app)
        await pilot.press("p")
        assert app.session.playing
        await finished(app, pilot)
        assert "Achieved 800 GFLOP/s, predicted min(1000, 8 x 100) = 800: bound by memory." in seen(app)
        assert "You predicted 700 GFLOP/s, it is 800: 100 (12.5 %) too low." in seen(app)
        assert app.session.labs["roofline"].controls == Roofline(8, 100)  # playback changed neither
        assert app._clock is None
        await pilot.press("k", "k", "l", "p", "p")
        assert "Achieved 1000 GFLOP/s, predicted min(1000, 16 x 100) = 1000: bound by compute." in seen(app)
        await pilot.press("r")
        assert app.session.labs["roofline"].controls == Roofline(4, 50)
        assert "your prediction                                 - GFLOP/s" in seen(app)
        await pilot.press("q")

    drive(app, script)
    assert app.return_value == 0


def test_predict_change_one_control_and_compare():
    app = Labs(look=FULL, lab="overlap")

    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("G")
        await type_value(pilot, "5000")
        await pilot.press("p")
        await finished(app, pilot)
        assert "step 5.24 ms, bound by tail" in seen(app)
        assert "You predicted 5000 us, it is 5244" in seen(app)
        await pilot.press("g", "h", "h", "h")  # 20 -> 5 MiB
        assert "Not played yet: bucket size 20 → 5 MiB." in seen(app)
        assert "(before the change)" in seen(app)
        await pilot.press("space", "space")
        assert "Changed: bucket size 20 → 5 MiB." in seen(app)
        assert "The step is faster: 5.24 ms to " in seen(app)
        assert "Exposed all_reduce of backward before the optimizer shrank" in seen(app)
        await pilot.press("pagedown")
        assert "Binding" in seen(app)
        await pilot.press("j", "j", "l")  # launch: late
        await pilot.press("j", "l", "p", "p")
        assert "(more than one: no effect is attributed to one of them)" in seen(app, 120, 40)
        await pilot.press("r")
        assert app.session.labs["overlap"].controls == Controls()
        assert "not played yet" in seen(app)

    drive(app, script)


@pytest.mark.parametrize("name", [name for key in LAB_KEYS for name in key.keys])
def test_every_key_is_answered(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    action = next(key.action for key in LAB_KEYS if name in key.keys)
    app = Labs(look=FULL, lab="overlap" if action != "lab_2" else "roofline")

    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("j")
        before = seen(app)
        await pilot.press(name)
        if action != "quit":
            assert seen(app) != before or action in ("page_up", "reset")

    drive(app, script)
    assert app.failure is None


def test_wrong_values_are_said_and_change_nothing():
    session = LabSession(FULL)

    def typed(text: str) -> None:
        session.do("enter")
        for character in text:
            session.typed(character, character)
        session.typed("enter", None)

    typed("0.01")
    assert "outside the lab's range" in screen(session)
    typed("eight")
    assert "'eight' is not a number" in screen(session)
    assert session.view.controls == Roofline()
    session.do("pane")
    session.view.cursor = [s.name for s in session.view.settings].index("ranks")
    typed("2.5")
    assert "not a whole number" in screen(session)
    session.view.cursor = 0
    typed("2.5")
    assert session.view.controls == Controls(bucket_mb=2.5)
    session.do("reset")
    session.view.cursor = [s.name for s in session.view.settings].index("ranks")
    typed("nan")
    assert session.view.controls == Controls()
    typed("8")
    assert session.view.controls == Controls(ranks=8)
    session.do("down")
    session.do("enter")
    session.typed("9", "9")
    session.typed("escape", None)
    assert session.prompt is None
    assert session.view.controls == Controls(ranks=8)


def test_steps_reach_the_ends_and_say_so():
    session = LabSession(FULL)
    for _ in range(20):
        session.do("right")
    assert session.view.controls.intensity == 1000
    assert "that is the last step" in screen(session)
    for _ in range(20):
        session.do("left")
    assert session.view.controls.intensity == 0.1
    session.do("last")
    session.do("right")
    assert "Enter types your prediction" in screen(session)


def test_changing_a_control_stops_the_play_it_no_longer_is():
    session = LabSession(FULL)
    session.do("play")
    session.tick()
    session.do("right")
    assert not session.playing
    assert "Achieved" not in screen(session)


def test_own_groups_give_way_when_the_even_ones_are_asked_for():
    view = OverlapView(FULL, Controls(ready_us=(100, 200), sizes_mb=(1, 2), bucket_mb=1))
    view.act("play")
    view.cursor = [setting.name for setting in view.settings].index("groups")
    view.act("left")
    assert view.controls.ready_us == ()


def test_what_the_labs_leave_out_is_on_the_screen_and_in_help():
    session = LabSession(FULL)
    assert "B is a synthetic device-memory bandwidth, not a network's." in screen(session)
    session.do("pane")
    assert "no sharding, no pipeline" in screen(session)
    session.do("help")
    assert "put every control back" in screen(session)
    session.do("last")
    assert "Nothing varies: no noise" in screen(session)
    session.do("back")
    assert "bucket size" in screen(session)


@pytest.mark.parametrize("size", [*SIZES, (300, 80), (20, 4), (10, 2)])
@pytest.mark.parametrize("lab", ["roofline", "overlap"])
def test_every_size_draws_right(lab: str, size: tuple[int, int]):
    session = LabSession(FULL, lab, overlap=Controls(ranks=16, late_us=300))
    for action in ("", "play", "play", "help"):
        if action:
            session.do(action)
        drawn = session.frame(*size)
        assert len(drawn) == size[1]
        assert all(sum(len(text) for text, _ in line) == size[0] for line in drawn)


@pytest.mark.parametrize("width", [80, 60, 40])
def test_the_footer_never_clips(width: int):
    shown = plain(footer(width))
    assert len(shown) <= width
    assert shown.count("   ") <= 5


def scene(name: str, look: Look) -> LabSession:
    """What the goldens show."""
    if name == "roofline":
        return LabSession(look)
    if name == "roofline_played":
        session = LabSession(look, roofline=Roofline(8, 100))
        session.view.guess = 700
    else:
        session = LabSession(look, "overlap")
    if name in ("overlap_changed", "overlap_late"):
        session.do("play")
        session.do("play")
        session.do("left")
        if name == "overlap_late":
            session.view.controls = Controls(late_us=400, streams=2, compute_slowdown=1.2)
    session.do("play")
    for _ in range(FRAMES // 2 if name == "overlap_playing" else FRAMES):
        session.tick()
    return session


SCENES = ("roofline", "roofline_played", "overlap_playing", "overlap_changed", "overlap_late")


@pytest.mark.parametrize("look", [FULL, ASCII], ids=["full", "ascii"])
@pytest.mark.parametrize("size", SIZES, ids=[f"{w}x{h}" for w, h in SIZES])
@pytest.mark.parametrize("name", SCENES)
def test_golden(name: str, size: tuple[int, int], look: Look):
    drawn = screen(scene(name, look), *size) + "\n"
    path = GOLDEN / f"{name}_{size[0]}x{size[1]}_{look.name}.txt"
    if os.environ.get("ABSTEP_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn, encoding="utf-8")
    assert drawn == path.read_text(encoding="utf-8")
    assert drawn.isascii() or look is FULL


def test_the_canvas_shows_the_frame():
    app = Labs(look=FULL, lab="overlap")

    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("p", "p")
        strips = app._canvas.render_lines(app._canvas.region)
        assert [strip.text for strip in strips] == [plain(line) for line in app.session.frame(80, 24)]

    drive(app, script)
