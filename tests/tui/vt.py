"""A terminal in small: enough of one to see what the screens' bytes draw, and which modes they leave on."""

from __future__ import annotations

import re

from abstep import units

_TOKEN = re.compile(
    r"\x1b\[(?P<mark>[?<>=]?)(?P<numbers>[\d;]*)(?P<middle>[ !$]*)(?P<final>[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b(?P<single>[78=>c])|(?P<text>.)",
    re.DOTALL,
)

_WHOLE = re.compile(r"\x1b\[[?<>=]?[\d;]*[ !$]*[@-~]|\x1b\][^\x07\x1b]*\x07|\x1b[78=>c\\]")


class Terminal:
    """Rows of characters, a cursor, a scroll region and modes."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.rows = [[" "] * width for _ in range(height)]
        self.x = self.y = 0
        self.top, self.bottom = 0, height - 1
        self.modes: dict[int, bool] = {}
        self.attributes: set[str] = set()
        self.osc: list[str] = []
        self.colours = 0
        self._left = ""

    def resize(self, width: int, height: int) -> None:
        """Change size; what the program draws next counts."""
        rows = [[*row[:width], *" " * (width - len(row))] for row in self.rows[:height]]
        self.rows = rows + [[" "] * width for _ in range(height - len(rows))]
        self.width, self.height, self.top, self.bottom = width, height, 0, height - 1

    def feed(self, data: str) -> None:
        """Take what the program wrote."""
        data = self._left + data
        cut = data.rfind("\x1b")
        self._left = ""
        if cut >= 0 and not _WHOLE.match(data[cut:]):  # the rest of it comes with the next bytes
            data, self._left = data[:cut], data[cut:]
        for token in _TOKEN.finditer(data):
            if token["text"] is not None:
                self._put(token["text"])
            elif token["osc"] is not None:
                self.osc.append(token["osc"])
            elif token["final"]:
                numbers = (
                    [int(n) if n else 0 for n in token["numbers"].split(";")] if token["numbers"] else []
                )
                self._control(token["mark"], numbers, token["middle"], token["final"])

    def lines(self) -> list[str]:
        """Return the screen's text; a reversed blank counts as a blank."""
        return ["".join(row).rstrip() for row in self.rows]

    def _put(self, character: str) -> None:
        if character == "\n":
            self.y = min(self.y + 1, self.height - 1)
        elif character == "\r":
            self.x = 0
        elif character >= " ":
            columns = units.cells(character)
            if self.x + columns <= self.width and self.y < self.height:
                row = self.rows[self.y]
                if self.x and units.cells(row[self.x - 1]) == 2:
                    row[self.x - 1] = " "  # half of a wide character is overwritten
                row[self.x] = character
                if columns == 2:
                    row[self.x + 1] = " "
            self.x += columns

    def _control(self, mark: str, numbers: list[int], middle: str, final: str) -> None:
        first = numbers[0] if numbers else 0
        if mark == "?" and final in "hl" and not middle:
            self.modes.update(dict.fromkeys(numbers, final == "h"))
        elif mark or middle:
            return
        elif final == "H":
            self.y = max(first, 1) - 1
            self.x = max(numbers[1] if len(numbers) > 1 else 1, 1) - 1
        elif final == "K":
            self.rows[self.y][self.x :] = [" "] * (self.width - self.x)
        elif final in "P@":
            row, count = self.rows[self.y], max(first, 1)
            rest = row[self.x + count :] + [" "] * count if final == "P" else [" "] * count + row[self.x :]
            row[self.x :] = rest[: self.width - self.x]
        elif final == "J" and first == 2:
            self.rows = [[" "] * self.width for _ in range(self.height)]
        elif final == "r":
            self.top = max(first, 1) - 1
            self.bottom = (numbers[1] if len(numbers) > 1 else self.height) - 1
            self.x = self.y = 0
        elif final in "ST":
            for _ in range(max(first, 1)):
                gone, new = (self.top, self.bottom) if final == "S" else (self.bottom, self.top)
                del self.rows[gone]
                self.rows.insert(new, [" "] * self.width)
        elif final == "m":
            colour = [n for n in numbers if n in (38, 48) or 30 <= n <= 47 or 90 <= n <= 107]
            self.colours += bool(colour)
