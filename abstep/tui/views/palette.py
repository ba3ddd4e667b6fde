"""Every command by name: what `:` shows, filtered while one types."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from abstep.tui import keys, look
from abstep.tui.views.base import Stage, View
from abstep.tui.widgets.table import Column, Table

if TYPE_CHECKING:
    from abstep.tui.nav import Place
    from abstep.tui.widgets.lines import Line

_LISTED = 2000  # slots and pairs offered by name


class Command(NamedTuple):
    """Something the palette can do: an action of the key table, a place to go, or a look to take."""

    name: str
    key: str = ""
    action: str = ""
    place: str | None = None
    look: str = ""


class PaletteView(View):
    """The list of commands."""

    kind: ClassVar[str] = "palette"
    silent: ClassVar[frozenset[str]] = View.silent | {"previous", "next"}
    footer: ClassVar[tuple[str, ...]] = ("enter", "back")

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        self._table = Table(_columns(), self._commands(), words=lambda row: row.name)

    def title(self) -> str:
        """Return the breadcrumb."""
        return "commands"

    @property
    def command(self) -> Command | None:
        """Return the command under the cursor."""
        return self._table.current

    def table(self) -> Table[object]:
        """Return the list."""
        return cast("Table[object]", self._table)

    def body(self, width: int, height: int) -> list[Line]:
        """Return the commands."""
        return self._table.draw(width, height, self.look)

    def _commands(self) -> list[Command]:
        skipped = {"palette", "enter", "back"}
        found = [
            Command(key.meaning, key.shown, key.action) for key in keys.KEYS if key.action not in skipped
        ]
        found += [Command(f"look: {name}", look=name) for name in look.NAMES]
        found += [
            Command(f"slot {at}: {row.label}", place=f"intervals/{at}")
            for at, row in enumerate(self.comparison.intervals[:_LISTED], 1)
        ]
        found += [
            Command(f"contention {at}: {row.compute} with {row.collective}", place=f"contention/{at}")
            for at, row in enumerate(self.comparison.contention[:_LISTED], 1)
        ]
        return found


def _columns() -> list[Column[Command]]:
    return [
        Column("key", 10, lambda row: (row.key, "strong"), right=False),
        Column("command", 0, lambda row: (row.name, ""), right=False),
    ]
