"""What is seen while traces are read: how far all of it is, and the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from abstep import units
from abstep.tui.widgets.lines import Line, line

if TYPE_CHECKING:
    from abstep.tui.background import Progress
    from abstep.tui.look import Look

BAR = 30


class LoadingView:
    """How far reading is."""

    footer: ClassVar[tuple[str, ...]] = ("quit=stop and leave",)

    def __init__(self, look: Look) -> None:
        self.look = look
        self._progress: Progress | None = None
        self._files: list[str] = []

    def read(self, progress: Progress) -> None:
        """Take how far reading is."""
        self._progress = progress
        if not self._files or self._files[-1] != progress.file:
            self._files.append(progress.file)

    def delta(self) -> None:
        """Return no figure: there is none yet."""

    def body(self, width: int, height: int) -> list[Line]:
        """Return a bar for all of it, and the files, the one being read first."""
        known = self._progress
        if known is None:
            return [(), line((f"  opening{self.look.glyphs.more}", "dim"))]
        share = min(known.bytes_done / known.bytes_total, 1.0) if known.bytes_total else 1.0
        filled = int(share * BAR)
        bar = self.look.glyphs.bar[-1] * filled + self.look.glyphs.rule * (BAR - filled)
        what = f"  {known.files_done} of {known.files_total} files, {units.bytes_text(known.bytes_done)}"
        lines = [(), line("  ", (bar, "compute"), what), ()]
        whole = known.files_done >= known.files_total
        if whole:
            lines.append(line((f"  measuring and comparing{self.look.glyphs.more}", "title")))
        for at, name in enumerate(reversed(self._files)):
            mark = ("  reading ", "title") if at == 0 and not whole else ("  read    ", "dim")
            lines.append(line(mark, units.name_text(name, width=max(width - 12, 8), ascii=self.look.ascii)))
        return lines[:height]
