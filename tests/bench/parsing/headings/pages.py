"""Pages set line by line: how documents look that a program draws without a layout of its own."""

from typing import Protocol

from tests.bench.parsing.headings.marked import Marked, Piece

WIDTH, HEIGHT, MARGIN = 595.0, 842.0, 70.0
_LEADING = 1.3  # of the size, from line to line
_BODY = ("10", "regular")
_ROW, _COLUMN = 16.0, 130.0  # points, of tables and of drawings


class Paper(Protocol):
    """What a program must do: begin a page, measure and write text from the top left, and draw a box."""

    def page(self) -> None:
        """Begin a page."""

    def width(self, text: str, size: float, font: str) -> float:
        """Return how wide a text is, in points."""

    def text(self, x: float, y: float, text: str, size: float, font: str) -> None:
        """Write a text; `y` is its baseline from the top of the page."""

    def box(self, x: float, y: float, width: float, height: float) -> None:
        """Draw a frame."""


class Setting:
    """Sets a document on paper."""

    def __init__(self, document: Marked, paper: Paper) -> None:
        self._paper = paper
        self._looks = {one.split()[0]: one.split()[1:] for one in document.look.split(";")}
        self._y = HEIGHT
        if document.brand:
            self._cover(document)
        self._next_page()
        self._line(document.title, "h1", 2)
        for piece in document.pieces():
            self._piece(piece)

    def _cover(self, document: Marked) -> None:
        self._paper.page()
        self._paper.text(MARGIN, 220, document.brand, 44, self._look("bold")[1])
        self._paper.text(MARGIN, 300, "Published by the board", *self._look("body"))

    def _look(self, name: str) -> tuple[float, str]:
        size, font = self._looks.get(name, (_BODY[0], "bold") if name == "bold" else _BODY)
        return float(size), font

    def _next_page(self) -> None:
        self._paper.page()
        self._y = MARGIN

    def _line(self, text: str, look: str, above: float = 0.0, indent: float = 0.0) -> None:
        size, font = self._look(look)
        self._y += (_LEADING + above) * size
        if self._y > HEIGHT - MARGIN:
            self._next_page()
            self._y += size
        self._paper.text(MARGIN + indent, self._y, text, size, font)

    def _text(self, text: str, look: str = "body", indent: float = 0.0) -> None:
        size, font = self._look(look)
        line = ""
        first = 0.6
        for word in text.split():
            longer = f"{line} {word}".strip()
            if line and self._paper.width(longer, size, font) > WIDTH - 2 * MARGIN - indent:
                self._line(line, look, first, indent)
                line, first = word, 0.0
            else:
                line = longer
        self._line(line, look, first, indent)

    def _piece(self, piece: Piece) -> None:
        if piece.kind == "heading":
            self._line(piece.text, f"h{piece.level + 1}", 1.0)
        elif piece.kind in ("table", "drawing"):
            (self._table if piece.kind == "table" else self._drawing)(piece)
        elif piece.lines:
            for mark, line in zip(_marks(piece), piece.lines, strict=True):
                self._line(mark + line, "bold" if piece.kind != "contents" else "body", 0.3, 0.0 if not mark else 12.0)
        elif piece.kind == "quote":
            self._line(piece.text, "quote" if "quote" in self._looks else "h2", 1.0, 40.0)
        else:
            self._text(piece.text, "body" if piece.kind == "paragraph" else "bold")

    def _table(self, piece: Piece) -> None:
        for number, row in enumerate(piece.lines):
            size, font = self._look("body" if number else "bold")
            self._y += _ROW
            for column, cell in enumerate(row.split("|")):
                self._paper.text(MARGIN + column * _COLUMN, self._y, cell, size, font)

    def _drawing(self, piece: Piece) -> None:
        if self._y > HEIGHT - 4 * MARGIN:
            self._next_page()
        size, font = self._look("bold")
        for number, label in enumerate(piece.lines):
            x, y = MARGIN + (number % 2) * 200, self._y + 30 + (number // 2) * 60
            self._paper.box(x, y, 120, 34)
            self._paper.text(x + 14, y + 21, label, size + 3, font)
        self._y += 160


def _marks(piece: Piece) -> list[str]:
    """Return what stands before each line of a list."""
    numbers = range(len(piece.lines))
    return {
        "steps": [f"{at + 1}. " for at in numbers],
        "lettered": [f"({chr(97 + at)}) " for at in numbers],
        "list": ["\u2022 " for _ in numbers],
    }.get(piece.kind, ["" for _ in numbers])
