"""Whether the two runs are the same work, and whether each is sound: one row a check, its message below."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from abstep.tui.views import figures
from abstep.tui.views.base import Stage, View
from abstep.tui.widgets.lines import BLANK, Line, line, wrap
from abstep.tui.widgets.table import Column, Table

if TYPE_CHECKING:
    from abstep.tui.nav import Place

_ORDER = {"fail": 0, "warn": 1, "unknown": 2, "pass": 3, "changed": 1}
_ABOUT = 4  # lines for the message


class CheckRow(NamedTuple):
    """One check, whichever kind it is."""

    group: str
    id: str
    status: str
    base: str
    variant: str
    message: str


class ChecksView(View):
    """Comparability and validity."""

    kind: ClassVar[str] = "checks"
    footer: ClassVar[tuple[str, ...]] = ("down=move", "back", "filter", "sort", "views", "help")
    terms: ClassVar[tuple[str, ...]] = (
        "comparable",
        "qualified",
        "not comparable",
        "validity",
        "early consumption",
    )

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        self._table = Table(
            _columns(),
            self._rows(),
            words=" ".join,
            stands_out=lambda row: row.status in ("fail", "warn"),
        )

    def table(self) -> Table[object]:
        """Return the list."""
        return cast("Table[object]", self._table)

    def body(self, width: int, height: int) -> list[Line]:
        """Return the list, and the message of the row under the cursor."""
        found = self.comparison.comparability.status
        said = self._table.count_text() or f"the runs are {figures.COMPARABLE.get(found, found)}"
        about = min(_ABOUT, max(height - 6, 1))
        lines = [line((f" {said}", "dim")), *self._table.draw(width, max(height - 1 - about, 3), self.look)]
        lines += [BLANK] * (height - about - len(lines))
        current = self._table.current
        return [*lines[: height - about], *self._about(current, width)[:about]]

    def text(self) -> list[str]:
        """Return every row and its message as text."""
        rows = self._table.text(160, self.look)
        return [*rows, "", *(f"{row.group} {row.id}: {row.message}" for row in self._table.rows)]

    @staticmethod
    def _about(row: CheckRow | None, width: int) -> list[Line]:
        if row is None:
            return []
        both = "".join(
            f"; {side} {said}" for side, said in (("base", row.base), ("variant", row.variant)) if said
        )
        return [((" ", ""), *text) for text in wrap(row.message + both, width - 2, role="dim")]

    def _rows(self) -> list[CheckRow]:
        found = self.comparison.comparability
        checks = [CheckRow("same work", c.id, c.status, c.base, c.variant, c.message) for c in found.checks]
        checks += [
            CheckRow("setting", s.key, "changed", str(s.base), str(s.variant), f"the setting {s.key} differs")
            for s in found.settings_changed
        ]
        for row in self.comparison.validity:
            where = "" if row.rank is None else f"rank {row.rank}, step {row.step}"
            base, variant = (where, "") if row.side == "base" else ("", where)
            checks.append(CheckRow(f"{row.side} sound", row.id, row.status, base, variant, row.message))
        return sorted(checks, key=lambda check: _ORDER.get(check.status, 2))


def _columns() -> list[Column[CheckRow]]:
    def status(row: CheckRow) -> tuple[str, str]:
        return row.status, "warning" if row.status in (
            "fail",
            "warn",
        ) else "" if row.status != "pass" else "dim"

    return [
        Column("status", 8, status, lambda row: float(_ORDER.get(row.status, 2)), right=False),
        Column("about", 13, lambda row: (row.group, "dim"), lambda row: row.group, right=False),
        Column("check", 20, lambda row: (row.id, ""), lambda row: row.id, right=False),
        Column("base", 14, lambda row: (row.base, ""), right=False),
        Column("variant", 0, lambda row: (row.variant, ""), right=False),
    ]
