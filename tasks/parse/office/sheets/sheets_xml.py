"""Excel's workbooks of today, read from their XML: cached values, number formats, merged cells, notes, text boxes.

Nothing is evaluated. Cells are read row by row, and only those that exist, however far a sheet is said to reach.
"""

import re
import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree

from docmill.tasks.parse.office.parts import addresses_of, links_of, read_part, reference, whole
from docmill.tasks.parse.office.sheets.cells import format_kind, shown_number
from docmill.tasks.parse.office.sheets.sheet import Budget, Sheet

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_THREADED = re.compile(r"\[Threaded comment\].*?\n(?:Comment|Kommentar|Commentaire|Comentario):\s*", re.DOTALL)
_WORKBOOK = "xl/workbook.xml"
_DIGITS = "0123456789"


def read_sheets(container: zipfile.ZipFile, budget: Budget) -> Iterator[Sheet]:
    """Yield the sheets of a workbook in order."""
    links = links_of(container, _WORKBOOK)
    book = _Book(container, links)
    root = read_part(container, _WORKBOOK)
    for node in root.iter("{*}sheet"):
        target = links.get(reference(node), ("", ""))[1]
        sheet = Sheet(node.get("name") or "", hidden=(node.get("state") or "visible") != "visible")
        if target:
            book.read(sheet, target, budget)
        yield sheet


class _Book:
    """What all sheets share: their strings, the kinds of their number formats, the first day."""

    def __init__(self, container: zipfile.ZipFile, links: dict[str, tuple[str, str]]) -> None:
        self._container = container
        parts = dict(links.values())
        self._strings = list(_strings(container, parts.get("sharedStrings", "xl/sharedStrings.xml")))
        self._kinds = _number_kinds(container, parts.get("styles", "xl/styles.xml"))
        stated = next(read_part(container, _WORKBOOK).iter("{*}workbookPr"), None)
        self._from_1904 = stated is not None and stated.get("date1904") in ("1", "true")

    def read(self, sheet: Sheet, part: str, budget: Budget) -> None:
        """Read a sheet's cells, merged ranges, links, notes and text boxes."""
        columns = dict[str, int]()
        number = -1
        addresses = addresses_of(self._container, part)
        with self._container.open(part) as stream:
            for node in _nodes(stream, "{*}row", "{*}mergeCell", "{*}hyperlink"):
                if node.tag.endswith("mergeCell"):
                    sheet.merged += _range(node.get("ref") or "")
                    continue
                if node.tag.endswith("hyperlink"):
                    _link(sheet, node.get("ref") or "", addresses.get(reference(node), ""))
                    continue
                number = whole(node.get("r"), number + 2) - 1
                column = -1
                for cell in node.iterchildren("{*}c"):
                    letters = (cell.get("r") or "").rstrip(_DIGITS)
                    column = columns.setdefault(letters, _column(letters)) if letters else column + 1
                    text = self._text(cell)
                    if text:
                        budget.put(sheet, number, column, text)
        for kind, target in links_of(self._container, part).values():
            if kind in ("comments", "drawing"):
                sheet.notes += (_comments if kind == "comments" else _boxes)(self._container, target)

    def _text(self, cell: Any) -> str:
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            return _joined(cell)
        value = cell.findtext("{*}v") or ""
        if kind == "s":
            at = whole(value, -1)
            return self._strings[at] if 0 <= at < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if value.strip() == "1" else "FALSE" if value else ""
        if kind == "d":
            return value.replace("T", " ").removesuffix(" 00:00:00")
        if kind != "n":
            return _unescaped(value)
        style = whole(cell.get("s"), 0)
        return self._number(value, self._kinds[style] if 0 <= style < len(self._kinds) else "")

    def _number(self, value: str, kind: str) -> str:
        try:
            return shown_number(float(value), kind, self._from_1904) if value else ""
        except ValueError:
            return value


def _nodes(stream: Any, *tags: str) -> Iterator[Any]:
    """Yield elements as they end, each forgotten once the next is asked for."""
    for _, node in etree.iterparse(stream, tag=tags, resolve_entities=False, no_network=True, remove_comments=True):
        yield node
        node.clear()
        while node.getprevious() is not None:
            del node.getparent()[0]


def _strings(container: zipfile.ZipFile, part: str) -> Iterator[str]:
    if part in container.NameToInfo:
        with container.open(part) as stream:
            yield from map(_joined, _nodes(stream, "{*}si"))


def _joined(node: Any) -> str:
    """Return the text of a string without the readings that stand above its characters."""
    parts = (one.text or "" for one in node.iter("{*}t") if not one.getparent().tag.endswith("}rPh"))
    return _unescaped("".join(parts))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _number_kinds(container: zipfile.ZipFile, part: str) -> list[str]:
    """Return the kind of number format of each cell style."""
    if part not in container.NameToInfo:
        return []
    root = read_part(container, part)
    codes = {whole(node.get("numFmtId"), -1): node.get("formatCode") or "" for node in root.iter("{*}numFmt")}
    styles = root.find("{*}cellXfs")
    numbers = [whole(node.get("numFmtId"), 0) for node in ([] if styles is None else styles)]
    return [format_kind(number, codes.get(number, "")) for number in numbers]


def _comments(container: zipfile.ZipFile, part: str) -> Iterator[str]:
    if part in container.NameToInfo:
        for node in read_part(container, part).iter("{*}comment"):
            text = _THREADED.sub("", _joined(node)).strip()
            if text:
                yield f"{node.get('ref') or ''}: {text}"


def _boxes(container: zipfile.ZipFile, part: str) -> Iterator[str]:
    if part in container.NameToInfo:
        for box in read_part(container, part).iter("{*}txBody"):
            yield "\n".join("".join(line.itertext("{*}t")) for line in box.iter("{*}p"))


def _range(reference: str) -> list[tuple[int, int, int, int]]:
    ends = [(re.sub(r"\d", "", end), re.sub(r"\D", "", end)) for end in reference[:30].split(":")]
    if len(ends) != 2 or not all(letters.isalpha() and digits for letters, digits in ends):
        return []
    (left, top), (right, bottom) = ends
    return [(int(top) - 1, _column(left), int(bottom) - 1, _column(right))]


def _link(sheet: Sheet, cells: str, url: str) -> None:
    """Link the first of a range of cells."""
    first = cells.partition(":")[0][:20]
    place = _range(f"{first}:{first}")
    if place and url:
        sheet.links[place[0][:2]] = url


def _column(letters: str) -> int:
    number = 0
    for letter in letters[:4].upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
