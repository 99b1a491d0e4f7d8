"""PDF drawing: draw pages as elements on one canvas; recognise tables of contents by their leaders and pages."""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from typing import Any

from docmill.tasks.parse.canvas import Box, Canvas
from docmill.tasks.parse.passes.table_rows import header_depth, titles_above
from docmill.tasks.parse.pdf.furniture import body_size, mark_furniture
from docmill.tasks.parse.pdf.headings import Outline, mark_headings
from docmill.tasks.parse.pdf.layout.rows import Item, PageTable, lines_in, tables_in
from docmill.tasks.parse.pdf.layout.text_columns import columns, join_rows
from docmill.tasks.parse.pdf.list_marks import marker_of
from docmill.tasks.parse.pdf.page_content import PageContent
from docmill.tasks.parse.pdf.text.annotations import Link
from docmill.tasks.parse.pdf.text.characters import HYPHEN, LEVEL, MARKED, RAISED, squeeze, unmarked
from docmill.tasks.parse.pdf.text.line import TextLine, Vocabulary, joined, texts_to_join
from docmill.tasks.parse.pdf.text.pdfium_calls import grouped
from docmill.tasks.parse.pdf.text.right_to_left import is_right_to_left
from docmill.tasks.parse.pdf.text_blocks import PageBlock, blocks, connect, step_of_all, with_run_in_headings
from docmill.tasks.parse.superscripts import lowered, raised, with_fractions

_NOTE = re.compile(f"(?:{RAISED}\\d+{LEVEL}|\\d+)\\s*")
_CIRCLES = ("\u25e6", "\u2218")  # TeX raises these for degrees
_THANKS = re.compile(r"\s*(?:\^[*\u2217\u2020\u2021\u00a7]+\^|\ufffd)$")  # after a title: the mark of a note on it
_POWER = re.compile(
    r"(?<![^\W\d_])(?:[a-z\u03b1-\u03c9]|[kcdm]m)$"
)  # before an exponent: a letter alone, or a unit of length
_ALL = 0.97
"""Share of monospaced plain text that makes a document typewritten. Such a document may still have a few signs in other
fonts; a manual that is mostly listings keeps its code as long as a thirtieth of it is text."""
_BESIDE = 2  # points by which a link may be outside its block: annotations are drawn a little around their words
_BLANK_LINE = 0.8  # of the font size: gap for a blank line in code; less is wide leading, not a blank line
_COLUMN = 0.6  # of the font size: width of a letter in nearly all monospaced fonts, as in Courier
_UNLINKED = ("title", "code")  # drawn without attributes for links


def draw(sheets: list[PageContent], outline: Outline, stated: str = "") -> tuple[Canvas, str]:
    """Return the document and its title, "" if unknown; furniture comes first on each page.

    `stated` is the title in the file's metadata.
    """
    code = not _is_mono(sheets)
    body = body_size(sheets, code)
    mark_furniture(sheets, body)
    pages = [_flows(sheet, code) for sheet in sheets]
    texts = [[*chain(*flows)] for _, *flows in pages]
    mark_tables(texts)
    lines = [*map(lines_in, texts)]
    mark_contents(lines)
    title = mark_headings(lines, outline, body, stated)
    drawing = _drawn(sheets, [*_blocks(pages, body, code)])
    return drawing.canvas, stated or (drawing.heading(title) if title else "")


def _blocks(pages: list[list[list[Item]]], body: float, code: bool) -> Iterator[PageBlock]:
    """Yield the blocks of all pages."""
    usual_step = cache(partial(step_of_all, [flow for page in pages for flow in page[1:]]))
    for page in pages:
        on_page = [block for flow in page for block in blocks(flow, body, code, usual_step)]
        _check_notes(on_page)
        yield from on_page


def _flows(sheet: PageContent, code: bool) -> list[list[Item]]:
    """Return a page's furniture, then its flows in reading order."""
    furniture: list[Item] = [item for item in sheet.items if item.furniture]
    text: list[Item] = [item for item in sheet.items if not item.furniture]
    if sheet.paragraphs:
        texts: list[list[Item]] = [[line for line in lines if not line.furniture] for lines in sheet.paragraphs]
        return [furniture, *texts]
    return [join_rows(furniture), *columns(text, sheet.level, code)]


def _is_mono(sheets: list[PageContent]) -> bool:
    """Return whether nearly all plain text is monospaced, which then is no sign of code."""
    mono = plain = 0
    for sheet in sheets:
        for line in sheet.lines:
            if line.font.mono:
                mono += len(line.text)
            elif not line.font.bold:
                plain += len(line.text)
    return mono > _ALL * (mono + plain)


def _check_notes(found: list[PageBlock]) -> None:
    """Keep the numbers of footnotes only if the page's text refers to them."""
    noted = [block for block in found if block.note]
    said = "".join(chain.from_iterable(map(_said, found))) if noted else ""
    marks = {unmarked(text) for mark, text in MARKED.findall(said) if mark == RAISED}
    for block in noted:
        if block.note not in marks:
            block.note = ""


def _said(block: PageBlock) -> Iterator[str]:
    """Yield the texts of a block outside footnotes, also those in the cells of tables."""
    if isinstance(block.items[0], PageTable):
        yield from chain.from_iterable(block.items[0].cells)
    elif not block.note:
        yield from (line.text for line in block.lines)


def _drawn(sheets: list[PageContent], found: list[PageBlock]) -> "_PageDrawing":
    _link(sheets, found)
    words = Vocabulary("\n".join(line.text for block in found for line in block.lines))
    notes: defaultdict[int, set[str]] = defaultdict(set)
    for block in found:
        if block.note:
            notes[block.page].add(block.note)
    drawing = _PageDrawing({sheet.number: sheet for sheet in sheets}, notes, words)
    for block in with_run_in_headings(connect(found)):
        drawing.draw(block)
    return drawing


@dataclass(frozen=True, slots=True)
class _PageDrawing:
    """Draws blocks on a canvas; `notes` are each page's footnote numbers, `words` the words of the document."""

    sheets: dict[int, PageContent]
    notes: Mapping[int, set[str]]
    words: Vocabulary
    canvas: Canvas = field(default_factory=Canvas)

    def draw(self, block: PageBlock) -> None:
        """Draw a block according to its kind."""
        box = self.sheets[block.page].box(block.box)
        self.canvas.page = block.page
        first = block.items[0]
        if block.kind == "toc":
            rows = [" ".join(row) for row in first.cells] if isinstance(first, PageTable) else ()
            self.canvas.paragraph("\n".join(rows or [line.text for line in block.lines]), box, "toc")
        elif isinstance(first, PageTable) and first.form:
            self._draw_form(first, block.page)
        elif isinstance(first, PageTable):
            self._draw_table(first, block, box)
        elif block.kind == "code":
            self.canvas.code(_code(block.lines), box=box)
        else:
            self._draw_text(block, self._text(block), box)

    def _draw_table(self, table: PageTable, block: PageBlock, box: Box) -> None:
        cells = [[self._with_scripts(cell, block.page) for cell in row] for row in table.cells]
        spans = table.spans
        if self._is_leftward(cells, block.page):
            # Its first column is the rightmost; a table of figures only is read in the direction of its page.
            cells = [row[::-1] for row in cells]
            spans = [(row, len(cells[row]) - at - columns, rows, columns) for row, at, rows, columns in spans]
        more: dict[str, Any] = {"spans": [[*span] for span in spans]} if spans else {}
        self.canvas.table(cells, _below_titles(cells, table.header_rows), box, whole=True, **block.attributes, **more)

    def _is_leftward(self, cells: list[list[str]], page: int) -> bool:
        said = "".join(chain.from_iterable(cells))
        return is_right_to_left(
            said if any(map(str.isalpha, said)) else "".join(line.text for line in self.sheets[page].lines)
        )

    def _draw_form(self, form: PageTable, page: int) -> None:
        for entry, box in zip(form.cells, form.form, strict=True):
            self.canvas.paragraph(self._with_scripts(" ".join(entry), page), self.sheets[page].box(box))

    def _draw_text(self, block: PageBlock, text: str, box: Box) -> None:
        if block.kind == "title":
            self.canvas.heading(_THANKS.sub("", text), block.level, box)
        elif block.kind == "list_item":
            marker = marker_of(text)
            text = text[marker.end() :] if marker else text
            self.canvas.item(text, block.level, block.marker, box, **block.attributes)
        elif block.note:
            text = f"[^{block.note}]: {text}"
            self.canvas.paragraph(text, box, **block.attributes, footnote=block.note)
        else:
            self.canvas.paragraph(text, box, block.kind, **block.attributes)

    def heading(self, lines: list[TextLine]) -> str:
        """Return the text of a heading as it is drawn."""
        return _THANKS.sub("", self._text(PageBlock("title", [*lines], lines[0].page, lines=lines)))

    def _text(self, block: PageBlock) -> str:
        text = joined(texts_to_join(block.lines), self.words)
        if block.note:
            text = _NOTE.sub("", text, count=1)
        return self._with_scripts(text, block.page)

    def _with_scripts(self, text: str, page: int) -> str:
        """Return a text with its superscripts and subscripts as Markdown."""
        if LEVEL not in text:
            return text
        notes = self.notes.get(page, ())
        return with_fractions(MARKED.sub(lambda found: _script(found, notes), text))


def _below_titles(cells: list[list[str]], header: int) -> int:
    """Return the number of header rows; if one is known, include rows of titles above the column names."""
    titles = titles_above(cells) if header == 1 else 0
    return titles + header_depth(cells[titles:], 1) if titles else header


def _script(found: re.Match[str], notes: Container[str]) -> str:
    mark, text = found[1], unmarked(found[2])
    if mark != RAISED:
        return lowered(text)
    if text in _CIRCLES:
        return "\u00b0"
    before = found.string[: found.start()]
    return f"[^{text}]" if text in notes and not _POWER.search(before) else raised(text, before)


def _link(sheets: list[PageContent], found: list[PageBlock]) -> None:
    """Assign each link to the first block that it is on."""
    on_page: defaultdict[int, list[tuple[Box, PageBlock]]] = defaultdict(list)
    for block in found:
        if block.kind not in _UNLINKED:
            on_page[block.page].append((block.box, block))
    for sheet in sheets:
        for link in sheet.links:
            under = next((block for box, block in on_page[sheet.number] if _lies_on(link, box)), None)
            if under is not None:
                under.attributes.setdefault("links", []).append({"text": link.text, "url": link.url})


def _lies_on(link: Link, box: Box) -> bool:
    x, y = (link.box[0] + link.box[2]) / 2, (link.box[1] + link.box[3]) / 2
    left, top, right, bottom = box
    return left - _BESIDE <= x <= right + _BESIDE and top - _BESIDE <= y <= bottom + _BESIDE


def _code(lines: list[TextLine]) -> str:
    """Return the text of code lines with their original indents and blank lines."""
    left = min(line.box[0] for line in lines)
    text: list[str] = []
    before: TextLine | None = None
    for line in lines:
        if before is not None and line.box[1] - before.box[3] > _BLANK_LINE * line.size:
            text.append("")
        indent = round((line.box[0] - left) / (_COLUMN * line.size))
        text.append(" " * indent + line.text.replace(HYPHEN, "-"))
        before = line
    return unmarked("\n".join(text))


_ENTRY = re.compile(
    r"(?:\.{4,}|(?:\s\.){3,}|\u2026{2,}|(?:\s?\u00b7){4,}|_{5,})[\s.]*(?:(?P<page>\d{1,4})|[ivxlc]{1,6})\s*$"
)
_NAME = re.compile(
    r"(?:table of )?contents|list of (?:tables|figures)|inhalt(?:sverzeichnis|sübersicht)?|sommaire|table des matières"
    r"|índice|indice|sommario|innehåll|inhoud(?:sopgave)?|содержание|оглавление",
    re.IGNORECASE,
)
_ROMAN = "ivxlc"  # an entry ends with one of these or a digit: a quick check, because the pattern is slow
_LEADERS = re.compile("[._\u2026\u00b7]")  # characters of leaders
_LEAST = 3  # entries: two rows with leaders may be prices on a menu
_LEAST_ROWS, _MOST_ROWS = 4, 0.8
"""Minimum rows of a table of contents with a page number, and their share: some rows name a part without a number."""
_WRAPPED = 2  # lines from one entry to the next: a title may run over two lines


def mark_contents(pages: list[list[TextLine]]) -> None:
    """Mark the entries of tables of contents; their page numbers never decrease, as prices and scores do."""
    for page in pages:
        for row in _rows(page):
            if len(row) >= _LEAST and _counts(page, row):
                first = row[0] - (row[0] > 0 and _NAME.fullmatch(page[row[0] - 1].text) is not None)
                for line in page[first : row[-1] + 1]:
                    line.contents = True


def _rows(page: list[TextLine]) -> list[list[int]]:
    """Return the indexes of entries, grouped by sequence."""
    entries = (at for at, line in enumerate(page) if _may_be_entry(line.text) and _ENTRY.search(line.text))
    return grouped(entries, lambda row, at: at - row[-1] <= _WRAPPED)


def _may_be_entry(text: str) -> bool:
    last = text.rstrip()[-1:]
    return (last.isdecimal() or last in _ROMAN) and _LEADERS.search(text) is not None


def _counts(page: list[TextLine], row: list[int]) -> bool:
    numbers = [int(match["page"]) for at in row if (match := _ENTRY.search(page[at].text)) and match["page"]]
    return numbers == sorted(numbers)


def mark_tables(pages: list[list[Item]]) -> None:
    """Mark the tables of contents.

    A line of their page names them, their titles are lines of the document, or they are just texts and page numbers.
    """
    said = cache(lambda: {squeeze(line.text) for items in pages for line in lines_in(items)})
    for items in pages:
        tables = tables_in(items)
        named = bool(tables) and any(_NAME.fullmatch(line.text) for line in lines_in(items))
        parts = named and _are_parts(tables)
        for table in tables:
            table.contents = parts or _is_of_contents(table, named, said)


def _are_parts(tables: list[PageTable]) -> bool:
    """Return whether the last columns of tables together are one list of page numbers."""
    return _lists_pages([row[-1] for table in tables for row in table.cells])


def _is_of_contents(table: PageTable, named: bool, said: Callable[[], set[str]]) -> bool:
    first, last = ([row[side] for row in table.cells] for side in (0, -1))
    if named:
        return _lists_pages(first) or _lists_pages(last)
    bare = len(table.cells[0]) == 2 and not table.header_rows and not _numbers(first)
    return _lists_pages(last) if bare else _rises(last) and _are_titles(table, said())


def _are_titles(table: PageTable, said: set[str]) -> bool:
    """Return whether most rows' titles, with or without their own number, also occur elsewhere in the document."""
    rows = [(squeeze("".join(row[:-1])), squeeze("".join(row[1:-1]))) for row in table.cells]
    return sum(bool(said.intersection(filter(None, row))) for row in rows) >= _MOST_ROWS * len(rows)


def _lists_pages(column: list[str]) -> bool:
    """Return whether a column, the first or the last of a table, lists page numbers."""
    # Numbers that count from one number the rows, not pages.
    return _rises(column) and _numbers(column) != [*range(1, len(_numbers(column)) + 1)]


def _rises(column: list[str]) -> bool:
    """Return whether most cells of a column are numbers that never decrease."""
    numbers = _numbers(column)
    return numbers == sorted(numbers) and len(numbers) >= max(_LEAST_ROWS, _MOST_ROWS * len(column))


def _numbers(column: list[str]) -> list[int]:
    return [int(cell) for cell in column if cell.isascii() and cell.isdecimal()]
