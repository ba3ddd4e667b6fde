"""What is seen while traces are read: a line a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from abstep import units
from abstep.tui.widgets.lines import Line, line

if TYPE_CHECKING:
    from abstep.tui.look import Look

BAR = 20


class LoadingView:
    """Files, and how far each of them is."""

    footer: ClassVar[tuple[str, ...]] = ("quit=stop and leave",)

    def __init__(self, look: Look) -> None:
        self.look = look
        self.files: dict[str, tuple[float, float | None]] = {}

    def read(self, file: str, done: float, total: float | None) -> None:
        """Take one file's progress."""
        self.files[file] = (done, total)

    def title(self) -> str:
        """Return the breadcrumb."""
        return "abstep"

    def delta(self) -> None:
        """Return no figure: there is none yet."""

    def body(self, width: int, height: int) -> list[Line]:
        """Return a line a file, those still read first."""
        if not self.files:
            return [line((f" starting{self.look.glyphs.more}", "dim"))]
        whole = [name for name, (done, total) in self.files.items() if total is not None and done >= total]
        lines = [line((f" reading: {len(whole)} of {len(self.files)} done", "title")), ()]
        open_ones = [name for name in self.files if name not in set(whole)]
        shown = [*open_ones, *reversed(whole)][: max(height - 2, 1)]
        return [*lines, *(self._file(name, width) for name in shown)]

    def _file(self, name: str, width: int) -> Line:
        done, total = self.files[name]
        share = None if not total else min(done / total, 1.0)
        filled = 0 if share is None else int(share * BAR)
        bar = self.look.glyphs.bar[-1] * filled + self.look.glyphs.rule * (BAR - filled)
        label = units.name_text(name, width=max(width - BAR - 14, 8), ascii=self.look.ascii)
        return line(" ", (bar, "compute"), f"{units.share_text(share):>9}  ", label)
