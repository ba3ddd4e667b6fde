"""How long the screens take, in a real pseudo-terminal at 120x40: run it on an idle machine.

    python -m tests.bench.tui.latency

Prints, for each key, the median and the slowest time from the key to the last byte it makes the screens write, and
the time from start to the first useful screen, against the budgets of the specification.
"""

from __future__ import annotations

import statistics
import sys
import time

from tests.tui.screen import Screen

CASES = (
    # place, what is on the screen first, then (what, key, times, budget in ms)
    ("intervals", "what waits for what",
     (("cursor", "j", 30, 15), ("page", "pagedown", 5, 30), ("drill", "enter", 1, 100), ("back", "\x7f", 1, 100))),
    ("intervals/7", "ranks", (("drill", "enter", 1, 100),)),
    ("intervals/7/rank/2/timelines", "variant",
     (("pan", "l", 4, 30), ("pan", "h", 4, 30), ("zoom", "+", 4, 30), ("next", "n", 4, 30), ("rank", "j", 2, 30))),
)  # fmt: skip
START = 1000.0


def start(what: str, place: str, text: str) -> tuple[Screen, float]:
    began = time.perf_counter()
    screen = Screen(what, place)
    while not any(text in line for line in screen.terminal.lines()):
        screen.read(quiet=0.005, most=0.01)
    took = (time.perf_counter() - began) * 1000
    screen.read(quiet=1.0)
    return screen, took


def main() -> int:
    late = 0
    for what in ("pair", "big"):
        for place, text, keys in CASES:
            screen, took = start(what, place, text)
            if what == "pair":
                late += _say(what, place, "start", [took], START)
            for name, key, times, budget in keys:
                taken = [screen.timed(key, quiet=0.4)[1] * 1000 for _ in range(times)]
                late += _say(what, place, name, taken, budget)
            screen.close()
    return 1 if late else 0


def _say(what: str, place: str, name: str, taken: list[float], budget: float) -> int:
    middle, most = statistics.median(taken), max(taken)
    word = "" if middle <= budget else "  LATE"
    print(
        f"{what:5}{place:32}{name:8}{middle:8.1f} ms, slowest {most:8.1f} ms, budget {budget:6.0f} ms{word}"
    )
    return middle > budget


if __name__ == "__main__":
    sys.exit(main())
