"""Write plain PDF 1.4 without clock, compression or randomness, so that the same calls give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 595, 842  # A4, in points
FONTS = {"regular": "Helvetica", "bold": "Helvetica-Bold", "italic": "Helvetica-Oblique", "mono": "Courier"}
MORE_FONTS = {  # only in files that use them
    "mono-bold": "Courier-Bold",
    "mono-italic": "Courier-Oblique",
    "bold-italic": "Helvetica-BoldOblique",
}

# Advance widths of Helvetica for the characters 32 to 126, in thousandths of the size (Adobe's AFM file).
ADVANCES = (
    278,
    278,
    355,
    556,
    556,
    889,
    667,
    191,
    333,
    333,
    389,
    584,
    278,
    333,
    278,
    278,
    556,
    556,
    556,
    556,
    556,
    556,
    556,
    556,
    556,
    556,
    278,
    278,
    584,
    584,
    584,
    556,
    1015,
    667,
    667,
    722,
    722,
    667,
    611,
    778,
    722,
    278,
    500,
    667,
    556,
    833,
    722,
    778,
    667,
    778,
    722,
    667,
    611,
    722,
    667,
    944,
    667,
    667,
    611,
    278,
    278,
    278,
    469,
    556,
    333,
    556,
    556,
    500,
    556,
    556,
    278,
    556,
    556,
    222,
    222,
    500,
    222,
    833,
    556,
    556,
    556,
    556,
    333,
    500,
    278,
    556,
    500,
    722,
    500,
    500,
    500,
    334,
    260,
    334,
    584,
)


def text_width(text: str, size: float, font: str = "regular") -> float:
    """Return the width of `text` in points; bold is taken as 6 % wider than regular."""
    if font.startswith("mono"):
        return 0.6 * size * len(text)
    units = sum(ADVANCES[ord(c) - 32] if 32 <= ord(c) < 127 else 556 for c in text)
    return units * size / 1000 * (1.06 if font == "bold" else 1.0)


def wrap(text: str, size: float, width: float, font: str = "regular") -> list[str]:
    """Break `text` at spaces into lines of at most `width` points."""
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size, font) > width:
            lines.append(line)
            longer = word
        line = longer
    return [*lines, line]


def literal(text: str) -> str:
    """Return `text` as an ASCII string literal in WinAnsi encoding; raises UnicodeEncodeError outside of it."""
    codes = text.encode("cp1252")
    return "(" + "".join(chr(c) if 32 <= c < 127 and c not in b"()\\" else f"\\{c:03o}" for c in codes) + ")"


@dataclass(slots=True)
class Pdf:
    """Pages of positioned text and rules, an outline of two levels, and document information."""

    info: dict[str, str]
    pages: list[list[str]] = field(default_factory=list)
    outline: list[tuple[int, str, int, float]] = field(default_factory=list)  # level, title, page from 0, y
    turns: dict[int, int] = field(default_factory=dict)  # degrees that a page, from 0, is shown turned by
    links: list[tuple[int, str, str]] = field(default_factory=list)  # page from 0, rectangle, address
    fields: list[tuple[int, str]] = field(default_factory=list)  # page from 0, annotation
    fonts: dict[str, str] = field(default_factory=FONTS.copy)
    resources: str = ""  # what pages name besides fonts

    def add_page(self, turn: int = 0) -> None:
        self.turns[len(self.pages)] = turn
        self.pages.append([])

    def text(self, x: float, y: float, text: str, size: float = 10, font: str = "regular", up: bool = False) -> None:
        if font in MORE_FONTS:
            self.fonts[font] = MORE_FONTS[font]
        name = list(self.fonts).index(font)
        place = f"0 1 -1 0 {x:.2f} {y:.2f} Tm" if up else f"{x:.2f} {y:.2f} Td"
        self.pages[-1].append(f"BT /F{name} {size:g} Tf {place} {literal(text)} Tj ET")

    def lines(self, x: float, y: float, lines: Sequence[str], size: float = 10, font: str = "regular") -> float:
        """Write lines below one another; return where the next would stand."""
        for line in lines:
            self.text(x, y, line, size, font)
            y -= 1.25 * size
        return y

    def rule(self, x: float, y: float, width: float, weight: float = 0.5) -> None:
        self.pages[-1].append(f"{weight:g} w {x:.2f} {y:.2f} m {x + width:.2f} {y:.2f} l S")

    def box(self, x: float, y: float, width: float, height: float) -> None:
        """Draw the sides of a rectangle."""
        self.pages[-1].append(f"0.5 w {x:.2f} {y:.2f} {width:.2f} {height:.2f} re S")

    def table(self, x: float, y: float, widths: Sequence[float], rows: Sequence[Sequence[str]]) -> None:
        """Draw a ruled table whose top left corner is given; rows are 16 points high."""
        for number, row in enumerate(rows):
            left = x
            for width, cell in zip(widths, row, strict=True):
                self.box(left, y - 16 * (number + 1), width, 16)
                self.text(left + 3, y - 16 * number - 11.5, cell)
                left += width

    def link(self, x: float, y: float, width: float, address: str) -> None:
        """Lay a link over the text at a place."""
        self.links.append((len(self.pages) - 1, f"{x:.2f} {y - 2:.2f} {x + width:.2f} {y + 9:.2f}", address))

    def field(self, x: float, y: float, width: float, says: str) -> None:
        """Lay a field of a form, or other text, over a place; `says` is what its dictionary holds besides."""
        rectangle = f"{x:.2f} {y - 3:.2f} {x + width:.2f} {y + 9:.2f}"
        self.fields.append((len(self.pages) - 1, f"<< /Type /Annot /Rect [{rectangle}] {says} >>"))

    def to_bytes(self) -> bytes:
        """Return the file; object 1 is the catalog, 2 the page tree, 3 the information, then fonts and pages."""
        fonts_at, pages_at = 4, 4 + len(self.fonts)
        outline_at = pages_at + 2 * len(self.pages)
        fields_at = outline_at + 1 + len(self.outline)
        form = f"/AcroForm << /Fields [{self.field_references(fields_at)}] >> " if self.fields else ""
        fonts = " ".join(f"/F{i} {fonts_at + i} 0 R" for i in range(len(self.fonts)))
        kids = " ".join(f"{pages_at + 2 * i} 0 R" for i in range(len(self.pages)))
        objects = [
            f"<< /Type /Catalog /Pages 2 0 R /Outlines {outline_at} 0 R {form}/Lang (en) >>",
            f"<< /Type /Pages /Kids [{kids}] /Count {len(self.pages)} >>",
            "<< " + " ".join(f"/{key} {literal(value)}" for key, value in self.info.items()) + " >>",
        ]
        objects += [
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"
            for name in self.fonts.values()
        ]
        for number, operators in enumerate(self.pages):
            stream = "\n".join(operators)
            objects.append(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] {self.more_of(number, fields_at)}"
                f"/Resources << /Font << {fonts} >> {self.resources}>> /Contents {pages_at + 2 * number + 1} 0 R >>"
            )
            objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        return file_bytes(objects + self.outline_objects(outline_at, pages_at) + [says for _, says in self.fields])

    def field_references(self, fields_at: int, number: int | None = None) -> str:
        """Return references to the fields of a page, or to all."""
        pages = [page for page, _ in self.fields]
        return " ".join(f"{fields_at + i} 0 R" for i, page in enumerate(pages) if number is None or page == number)

    def more_of(self, number: int, fields_at: int) -> str:
        """Return what else a page says: how it is turned, its links and its fields."""
        turn = f"/Rotate {self.turns[number]} " if self.turns.get(number) else ""
        links = "".join(
            f"<< /Type /Annot /Subtype /Link /Rect [{place}] /A << /S /URI /URI {literal(address)} >> >> "
            for page, place, address in self.links
            if page == number
        )
        over = links + self.field_references(fields_at, number)
        return turn + (f"/Annots [ {over}] " if over else "")

    def outline_objects(self, first: int, pages_at: int) -> list[str]:
        """Return the outline: a root and one object for each entry, numbered from `first`."""
        number = {index: first + 1 + index for index in range(len(self.outline))}
        parent = {index: self.parent_of(index) for index in number}

        def children(of: int) -> list[int]:
            return [index for index in number if parent[index] == of]

        def ends(of: int) -> str:
            inside = children(of)
            if not inside:
                return ""
            return f" /First {number[inside[0]]} 0 R /Last {number[inside[-1]]} 0 R /Count {len(inside)}"

        objects = [f"<< /Type /Outlines{ends(-1)} >>"]
        for index, (_, title, page, y) in enumerate(self.outline):
            siblings = children(parent[index])
            place = siblings.index(index)
            links = f" /Prev {number[siblings[place - 1]]} 0 R" if place else ""
            links += f" /Next {number[siblings[place + 1]]} 0 R" if place + 1 < len(siblings) else ""
            up = number.get(parent[index], first)
            target = f"[{pages_at + 2 * page} 0 R /XYZ 0 {y:.2f} 0]"
            objects.append(f"<< /Title {literal(title)} /Parent {up} 0 R{links}{ends(index)} /Dest {target} >>")
        return objects

    def parent_of(self, index: int) -> int:
        """Return the nearest earlier entry of a lower level, or -1."""
        level = self.outline[index][0]
        return next((i for i in range(index - 1, -1, -1) if self.outline[i][0] < level), -1)


def file_bytes(objects: Sequence[str]) -> bytes:
    """Return header, numbered objects, cross-reference table and trailer."""
    out = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("ascii")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 3 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode("ascii")
