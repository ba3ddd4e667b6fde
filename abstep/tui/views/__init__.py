"""One module a view; `view_class` finds the one that shows a kind of place, importing it only then."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from abstep.tui.views.base import View

MODULES = {
    "verdict": ("verdict", "VerdictView"),
    "intervals": ("slots", "SlotsView"),
    "slot": ("slot", "SlotView"),
    "collective": ("collective", "CollectiveView"),
    "timelines": ("timelines", "TimelinesView"),
    "contention": ("contention", "ContentionView"),
    "pair": ("pair", "PairView"),
    "checks": ("checks", "ChecksView"),
    "windows": ("windows", "WindowsView"),
    "help": ("help", "HelpView"),
    "palette": ("palette", "PaletteView"),
}
"""Kind of place -> module and class. A lab adds its row here and its place in `nav.TOP`."""


def view_class(kind: str) -> type[View]:
    """Return the class that shows a kind of place."""
    module, name = MODULES[kind]
    return cast("type[View]", getattr(import_module(f"abstep.tui.views.{module}"), name))
