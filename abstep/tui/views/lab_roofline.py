"""The roofline lab's screen: two controls, the ceilings, and the point that Play pushes up to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from abstep.lab.roofline import ROOF_GFLOPS, WORK_GFLOP, Roofline, figure, playback, told
from abstep.lab.roofline_plot import ASCII, UNICODE, plot
from abstep.lab.table import ROOFLINE_LEAVES_OUT
from abstep.tui.views.lab_base import FRAMES, GUESS, LabView, Setting
from abstep.tui.widgets.lines import Line, line

if TYPE_CHECKING:
    from abstep.lab.roofline import Moment
    from abstep.tui.look import Look

_TEXT = 7  # lines of text below the plot, where there is room for more than the smallest one
_LEAST = 8


class RooflineView(LabView):
    """Attainable = min(1000, I x B)."""

    kind: ClassVar[str] = "roofline"
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting(
            "intensity", "I  arithmetic intensity", "FLOP/byte",
            (0.1, 0.2, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000), "FLOP per byte of device memory moved",
        ),
        Setting(
            "bandwidth", "B  device-memory bandwidth", "GB/s",
            (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000), "of a synthetic device memory, decimal GB/s",
        ),
        Setting(GUESS, "your prediction", "GFLOP/s", (), "what you expect before it is played"),
    )  # fmt: skip
    guess_unit: ClassVar[str] = "GFLOP/s"
    leaves_out: ClassVar[tuple[str, ...]] = ROOFLINE_LEAVES_OUT
    about: ClassVar[str] = (
        "One ceiling on memory traffic, one on arithmetic: attainable = min(1000, I x B) GFLOP/s."
    )

    def __init__(self, look: Look, controls: Roofline | None = None) -> None:
        super().__init__(look, controls or Roofline())
        self._moments: list[Moment] = []
        self._of: Roofline | None = None

    def play(self) -> None:
        """Push the work through the ceilings."""
        self._moments, self._of, self.moment = playback(self.controls, FRAMES), self.controls, 0

    def forget(self) -> None:
        """Drop what was played."""
        self._moments, self._of = [], None

    @property
    def _fresh(self) -> bool:
        """Whether what was played is what the controls say now."""
        return bool(self._of == self.controls)

    def said(self) -> list[str]:
        """Return how far the work is, or what was achieved against what was predicted."""
        if self.moment is None or not self._fresh:
            return ["Type your prediction on the last row (Enter); then p plays."]
        at = self._moments[self.moment]
        achieved = f"{figure(at.achieved_gflops)} GFLOP/s"
        if self.playing:
            done = (
                f"{figure(at.done_gflop)} of {figure(WORK_GFLOP)} GFLOP done, {figure(at.moved_gb)} GB moved"
            )
            return [f"{done}: {achieved} so far"]
        product = f"{figure(self.controls.intensity)} x {figure(self.controls.bandwidth)}"
        predicted = f"min({figure(ROOF_GFLOPS)}, {product}) = {figure(self.controls.attainable_gflops)}"
        judgement = [] if self.guess is None else told(self.controls, self.guess)[-1:]
        return [f"Achieved {achieved}, predicted {predicted}: bound by {self.controls.bound}.", *judgement]

    def more(self) -> list[str]:
        """Return what the ceiling that limits means."""
        if self.moment is None or self.playing or not self._fresh:
            return [self.about]
        return told(self.controls)[1:]

    def body(self, width: int, height: int) -> list[Line]:
        """Return controls, plot and text."""
        rows = self.rows(min(width, 60), len(self.settings))
        tall = max(min(height - len(rows) - _TEXT, height * 2 // 3), min(_LEAST, height - len(rows)))
        share = 1.0
        if self.moment is not None and self._fresh:
            share = self._moments[self.moment].share
        drawn = plot(self.controls, width - 2, tall, ascii=self.look.ascii, share=share)
        lines = [*rows, *(self._inked(text) for text in drawn)]
        left = height - len(lines)
        return lines + (self.below(width, left) if left > 0 else [])

    def _inked(self, text: str) -> Line:
        """Return a line of the plot with its point in the role of what stands out."""
        point = (ASCII if self.look.ascii else UNICODE).point
        axis = (ASCII if self.look.ascii else UNICODE).axis
        before, found, after = text.partition(point)
        if not found or axis in after or text.lstrip().startswith("GFLOP"):
            return line(f" {text}")
        return line(f" {before}", (point, "strong"), after)
