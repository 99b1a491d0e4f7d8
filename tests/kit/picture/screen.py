"""A screen: what a terminal shows after the bytes that a program has written to it."""

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import NamedTuple

_TOKEN = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b[=>]|\r|\n|[^\x1b\r\n]", re.DOTALL)
_UNFINISHED = re.compile(r"\x1b(\[[?\d;]*)?\Z")
_COLOURS = {str(start + number): bright + number for start, bright in ((30, 0), (90, 8)) for number in range(8)}
_FLAGS = {"1": "bold", "2": "dim", "3": "italic", "4": "underline"}


class Style(NamedTuple):
    """How characters look: a colour by its number in the table of 256, -1 for none, and flags such as `bold`."""

    colour: int = -1
    flags: frozenset[str] = frozenset()


Cell = tuple[str, Style]
Line = tuple[Cell, ...]


class Screen:
    """A terminal of so many columns that never scrolls: line by line, all that was written.

    It knows what `rich` writes: colours, line feeds, carriage returns, lines to clear, and moves of the cursor upwards.
    """

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self._lines: list[list[Cell]] = [[]]
        self._row = self._column = 0
        self._style = Style()
        self._decode = getincrementaldecoder("utf-8")().decode
        self._rest = ""

    def feed(self, data: bytes) -> None:
        """Take what a program has written.

        Raises:
            ValueError: A sequence that this terminal does not know.
        """
        text = self._rest + self._decode(data)
        unfinished = _UNFINISHED.search(text)
        self._rest = unfinished[0] if unfinished else ""
        for token in _TOKEN.finditer(text.removesuffix(self._rest) if self._rest else text):
            self._take(token)

    def lines(self) -> tuple[Line, ...]:
        """Return the lines, without blanks at their ends."""
        return tuple(map(_stripped, self._lines))

    def _take(self, token: re.Match[str]) -> None:
        if token[2]:
            _orders(self)[token[2]](token[1])
        elif token[0] == "\r":
            self._column = 0
        elif token[0] == "\n":
            self._go_to(self._row + 1)
        elif not token[0].startswith("\x1b"):
            self._put(token[0])

    def _put(self, char: str) -> None:
        if self._column == self.columns:
            self._go_to(self._row + 1)
            self._column = 0
        line = self._lines[self._row]
        line.extend([(" ", Style())] * (self._column + 1 - len(line)))
        line[self._column] = (char, self._style)
        self._column += 1

    def _go_to(self, row: int) -> None:
        self._row = max(row, 0)
        self._lines.extend([] for _ in range(self._row + 1 - len(self._lines)))

    def up(self, said: str) -> None:
        """Move the cursor up so many lines."""
        self._go_to(self._row - int(said or 1))

    def clear(self, said: str) -> None:
        """Clear the line (2), or what is right of the cursor."""
        del self._lines[self._row][0 if said == "2" else self._column :]

    def mode(self, said: str) -> None:
        """Turn a mode on or off. None that a program of ours uses, such as a hidden cursor, changes a line."""

    def style(self, said: str) -> None:
        """Change how the next characters look."""
        codes = said.split(";")
        while codes:
            self._style = _styled(self._style, codes)


def _orders(screen: Screen) -> dict[str, Callable[[str], None]]:
    """Return what to do for the last letter of a sequence."""
    return {"A": screen.up, "K": screen.clear, "m": screen.style, "h": screen.mode, "l": screen.mode}


def _styled(style: Style, codes: list[str]) -> Style:
    """Take the first code, or the three of a colour by number, from a list, and return the style after it."""
    code = codes.pop(0)
    if code in ("", "0"):
        return Style()
    if code in _FLAGS:
        return style._replace(flags=style.flags | {_FLAGS[code]})
    if code in _COLOURS:
        return style._replace(colour=_COLOURS[code])
    if code == "38" and codes[:1] == ["5"]:
        codes.pop(0)
        return style._replace(colour=int(codes.pop(0)))
    raise ValueError(f"this screen does not know the code {code} of a style")


def _stripped(line: Iterable[Cell]) -> Line:
    cells = list(line)
    while cells and cells[-1][0] == " ":
        cells.pop()
    return tuple(cells)


def runs(line: Line) -> list[tuple[int, str, Style]]:
    """Return the stretches of one style in a line: column, text, style."""
    found, column = [], 0
    for style, cells in groupby(line, key=lambda cell: cell[1]):
        text = "".join(char for char, _ in cells)
        found.append((column, text, style))
        column += len(text)
    return found


def plain(lines: Iterable[Line]) -> str:
    """Return lines as plain text."""
    return "\n".join("".join(char for char, _ in line) for line in lines)
