"""What the views share: the comparison, the look, what was read for them, and the views themselves."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar, cast

from abstep.tui.views import view_class

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from abstep.compare.comparison import Comparison
    from abstep.tui.look import Look
    from abstep.tui.nav import Place
    from abstep.tui.views.base import View

T = TypeVar("T")

KEPT = 256  # what was read for so many drills stays at hand


class Gallery:
    """The stage of all views. Views stay, so going back finds cursor, order, filter and zoom as they were."""

    def __init__(
        self, comparison: Comparison, look: Look, start: Callable[[Hashable, Callable[[], Any]], None]
    ) -> None:
        self._comparison = comparison
        self.look = look
        self._start = start
        self._views: dict[Place, View] = {}
        self._made: OrderedDict[Hashable, Any] = OrderedDict()
        self._troubles: dict[Hashable, str] = {}
        self._asked: set[Hashable] = set()

    @property
    def comparison(self) -> Comparison:
        """Return what is shown."""
        return self._comparison

    def fetch(self, key: Hashable, make: Callable[[], T]) -> T | None:
        """Return what was made under a key, or None while it is being made."""
        if key in self._made:
            self._made.move_to_end(key)
            return cast("T", self._made[key])
        if key not in self._asked:
            self._asked.add(key)
            self._start(key, make)
            return cast("T | None", self._made.get(key))
        return None

    def trouble(self, key: Hashable) -> str:
        """Return why something could not be made, or ""."""
        return self._troubles.get(key, "")

    def put(self, key: Hashable, value: object, error: Exception | None) -> None:
        """Take what the background made."""
        if error is not None:
            self._troubles[key] = str(error) or type(error).__name__
            return
        self._asked.discard(key)
        self._made[key] = value
        while len(self._made) > KEPT:
            self._made.popitem(last=False)

    def view(self, place: Place) -> View:
        """Return the view of a place, the same one every time."""
        found = self._views.get(place)
        if found is None:
            found = self._views[place] = view_class(place.kind)(self, place)
        return found
