"""Excel workbooks since 2007, read from XML: cached values, number formats, merged cells, notes, text boxes.

Nothing is evaluated. Cells are read row by row, and only existing ones, whatever size a sheet states.
"""

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from itertools import islice
from string import ascii_uppercase
from typing import Any

from lxml import etree

from docmill.tasks.parse.office.open_xml import addresses_of, links_of, read_part, reference
from docmill.tasks.parse.office.sheets.cells import format_kind, shown_number
from docmill.tasks.parse.office.sheets.chart import CHARTS, MOST_POINTS, Chart, chart_of
from docmill.tasks.parse.office.sheets.sheet import CellBudget, Range, Worksheet
from docmill.tasks.parse.xml_trees import whole

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_HEX = 16  # the base of an escaped character's number
_PEOPLE = ("xl/threadedComments/", "xl/persons/")
_OF_THREAD = "tc="  # start of the placeholder for a thread's author; the thread's id follows
_THREADED = re.compile(r"\[Threaded comment\].*?\n(?:Comment|Kommentar|Commentaire|Comentario):\s*", re.DOTALL)
_HYPERLINK = re.compile(
    r'\s*(?:_xlfn\.)?HYPERLINK\(\s*"((?:[^"]|"")*)"\s*(?:[,;]\s*"((?:[^"]|"")*)"\s*)?\)\s*\Z', re.IGNORECASE
)
_WORKBOOK = "xl/workbook.xml"
_DIGITS = "0123456789"
_MAX_RANGE, _MAX_CELL = 30, 20
"""Characters of a range and of a cell to read: "$XFD$1048576" is the last cell, and a damaged file may have endless
digits, which would make a number as long."""
_MAX_COLUMNS, _MAX_LETTERS = 16_384, 4
"""Columns of a sheet, the last of which is XFD; a damaged file may name others with any number of letters."""


def read_sheets(container: zipfile.ZipFile, budget: CellBudget) -> Iterator[Worksheet]:
    """Yield the sheets of a workbook in order."""
    links = links_of(container, _WORKBOOK)
    book = _Book(container, links)
    root = read_part(container, _WORKBOOK)
    for node in root.iter("{*}sheet"):
        target = links.get(reference(node), ("", ""))[1]
        sheet = Worksheet(node.get("name") or "", hidden=(node.get("state") or "visible") != "visible")
        if target:
            book.read(sheet, target, budget)
        yield sheet


class _Book:
    """The data that all sheets share: strings, kinds of number formats, and the epoch of dates."""

    def __init__(self, container: zipfile.ZipFile, links: dict[str, tuple[str, str]]) -> None:
        self._container = container
        self._writers = cache(partial(_writers, container))
        parts = dict(links.values())
        self._strings = list(_strings(container, parts.get("sharedStrings", "xl/sharedStrings.xml")))
        self._kinds = _number_kinds(container, parts.get("styles", "xl/styles.xml"))
        stated = next(read_part(container, _WORKBOOK).iter("{*}workbookPr"), None)
        self._from_1904 = stated is not None and stated.get("date1904") in ("1", "true")

    def read(self, sheet: Worksheet, part: str, budget: CellBudget) -> None:
        """Read a sheet's cells, merged ranges, links, notes and text boxes."""
        addresses = addresses_of(self._container, part)
        number = -1
        with self._container.open(part) as stream:
            for node in _nodes(stream, "{*}row", "{*}mergeCell", "{*}hyperlink"):
                if node.tag.endswith("mergeCell"):
                    sheet.merged += _range(node.get("ref") or "")
                elif node.tag.endswith("hyperlink"):
                    _link(sheet, node.get("ref") or "", addresses.get(reference(node), ""))
                else:
                    number = whole(node.get("r"), number + 2) - 1
                    self._read_row(sheet, number, node, budget)
        for kind, target in links_of(self._container, part).values():
            if kind == "comments":
                sheet.notes += _comments(self._container, target, self._writers)
            if kind == "drawing":
                sheet.notes += filter(None, _boxes(self._container, target))
                sheet.charts += _charts(self._container, target, sheet)

    def _read_row(self, sheet: Worksheet, number: int, row: Any, budget: CellBudget) -> None:
        column = -1
        for cell in row.iterchildren("{*}c"):
            letters = (cell.get("r") or "").rstrip(_DIGITS)
            column = _column(letters) if letters else column + 1
            text = self._text(cell) or _shown_link(sheet, (number, column), cell)
            if text:
                budget.put(sheet, number, column, text)

    def _text(self, cell: Any) -> str:
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            return _joined(cell)
        value = cell.findtext("{*}v") or ""
        if kind == "n":
            return self._number(value, whole(cell.get("s"), 0))
        if kind == "s":
            return self._string(whole(value, -1))
        return _SHOWN.get(kind, _unescaped)(value)

    def _string(self, at: int) -> str:
        return self._strings[at] if 0 <= at < len(self._strings) else ""

    def _number(self, value: str, style: int) -> str:
        kind = self._kinds[style] if 0 <= style < len(self._kinds) else ""
        try:
            return shown_number(float(value), kind, self._from_1904) if value else ""
        except ValueError:
            return value


def _shown_link(sheet: Worksheet, place: tuple[int, int], cell: Any) -> str:
    """Return the text of a link formula without a stored value; count any other such formula."""
    formula = cell.find("{*}f")
    if formula is None or cell.get("t") == "str":
        return ""
    link = _HYPERLINK.match(formula.text or "")
    if link is None:
        sheet.unvalued += 1
        return ""
    address, said = (one.replace('""', '"') if one else "" for one in link.groups())
    if "://" in address:
        sheet.links[place] = address
    return said or address


def _nodes(stream: Any, *tags: str) -> Iterator[Any]:
    """Yield elements as they end; each is freed when the next one is requested."""
    # Emptied elements are removed as well, because a million of them would fill the memory.
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
    """Return the text of a string without its phonetic readings."""
    parts = (one.text or "" for one in node.iter("{*}t") if not one.getparent().tag.endswith("}rPh"))
    return _unescaped("".join(parts))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], base=_HEX)), text) if "_x" in text else text


def _shown_truth(value: str) -> str:
    if not value:
        return ""
    return "TRUE" if value.strip() == "1" else "FALSE"


def _shown_day(value: str) -> str:
    return value.replace("T", " ").removesuffix(" 00:00:00")


_SHOWN = {"b": _shown_truth, "d": _shown_day}
"""How to show values by cell type; values of other types, such as texts of formulas, are escaped."""


def _number_kinds(container: zipfile.ZipFile, part: str) -> list[str]:
    """Return the kind of number format of each cell style."""
    if part not in container.NameToInfo:
        return []
    root = read_part(container, part)
    codes = {whole(node.get("numFmtId"), -1): node.get("formatCode") or "" for node in root.iter("{*}numFmt")}
    styles = root.find("{*}cellXfs")
    numbers = [whole(node.get("numFmtId"), 0) for node in ([] if styles is None else styles)]
    return [format_kind(number, codes.get(number, "")) for number in numbers]


def _comments(container: zipfile.ZipFile, part: str, writers: Callable[[], Mapping[str, str]]) -> Iterator[str]:
    """Yield the comments of cells: the cell, the author unless the comment begins with the name, and the text."""
    if part not in container.NameToInfo:
        return
    root, people = read_part(container, part), writers()
    authors = [people.get(name, name) for name in ("".join(one.itertext()).strip() for one in root.iter("{*}author"))]
    for node in root.iter("{*}comment"):
        text = _THREADED.sub("", _joined(node)).strip()
        author = "".join(authors[whole(node.get("authorId"), len(authors)) :][:1])
        if text:
            yield f"{node.get('ref') or ''}{_by(author, text)}: {text}"


def _by(author: str, text: str) -> str:
    """Return the author of a comment in parentheses, unless unknown or repeated at the start of the text."""
    known = author and not author.startswith(_OF_THREAD) and not text.startswith(author)
    return f" ({author})" if known else ""


def _writers(container: zipfile.ZipFile) -> dict[str, str]:
    """Return the names of people who began comment threads, by their placeholders in the list of authors."""
    parts = [read_part(container, name) for name in container.NameToInfo if name.startswith(_PEOPLE)]
    names = {one.get("id"): one.get("displayName") or "" for root in parts for one in root.iter("{*}person")}
    threads = (one for root in parts for one in root.iter("{*}threadedComment"))
    return {f"{_OF_THREAD}{one.get('id')}": names.get(one.get("personId"), "") for one in threads}


def _boxes(container: zipfile.ZipFile, part: str) -> Iterator[str]:
    if part in container.NameToInfo:
        for box in read_part(container, part).iter("{*}txBody"):
            yield "\n".join("".join(line.itertext("{*}t")) for line in box.iter("{*}p"))


def _charts(container: zipfile.ZipFile, part: str, sheet: Worksheet) -> Iterator[Chart]:
    """Yield the charts of a sheet's drawing, leaving out damaged ones."""

    def cells(place: str) -> Sequence[str]:
        name, _, places = place.rpartition("!")
        return _texts(sheet, places) if name.strip("'").replace("''", "'") == sheet.name else ()

    for kind, target in links_of(container, part).values() if part in container.NameToInfo else ():
        if kind in CHARTS:
            with suppress(etree.XMLSyntaxError):
                yield chart_of(read_part(container, target), cells)


def _texts(sheet: Worksheet, places: str) -> Sequence[str]:
    """Return the texts of a sheet's range, such as "$B$2:$B$9", row by row."""
    first, _, last = places.replace("$", "").partition(":")
    found = _range(f"{first}:{last or first}")
    top, left, bottom, right = found[0] if found else (0, 0, -1, -1)
    places_in = ((row, column) for row in range(top, bottom + 1) for column in range(left, right + 1))
    return [sheet.rows.get(row, {}).get(column, "") for row, column in islice(places_in, MOST_POINTS)]


def _range(stated: str) -> list[Range]:
    """Return the range in a text such as "A1:B2", or [] if it is invalid."""
    ends = [_cell(end) for end in stated[:_MAX_RANGE].split(":")]
    if len(ends) != 2 or not all(ends):
        return []
    return [(*ends[0], *ends[1])]


def _link(sheet: Worksheet, cells: str, url: str) -> None:
    """Link the first cell of a range."""
    place = _cell(cells.partition(":")[0][:_MAX_CELL])
    if place and url:
        sheet.links[place] = url


def _cell(stated: str) -> tuple[int, int] | tuple[()]:
    """Return the row and column, from 0, in a text such as "B3", or () if it is invalid."""
    letters, digits = re.sub(r"\d", "", stated), re.sub(r"\D", "", stated)
    return (int(digits) - 1, _column(letters)) if letters.isalpha() and digits else ()


@lru_cache(_MAX_COLUMNS)
def _column(letters: str) -> int:
    number = 0
    for letter in letters[:_MAX_LETTERS].upper():
        number = number * len(ascii_uppercase) + ord(letter) - ord("A") + 1
    return number - 1
