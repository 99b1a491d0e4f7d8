"""PDF drawing: the pages that were read become one canvas of elements."""

import re
from collections import defaultdict
from itertools import chain

from docmill.tasks.parse.canvas import Box, Canvas
from docmill.tasks.parse.pdf.blocks.headings import Outline, mark_headings
from docmill.tasks.parse.pdf.blocks.paragraph_flow import connect
from docmill.tasks.parse.pdf.blocks.text_blocks import PageBlock, blocks, marker_of
from docmill.tasks.parse.pdf.furniture import body_size, mark_furniture
from docmill.tasks.parse.pdf.layout.grid import Item, PageTable
from docmill.tasks.parse.pdf.layout.text_columns import columns, join_rows
from docmill.tasks.parse.pdf.page_sheet import Sheet
from docmill.tasks.parse.pdf.text.fonts import PLAIN
from docmill.tasks.parse.pdf.text.hyphens import Words, joined
from docmill.tasks.parse.pdf.text.letters import HYPHEN, LOWERED, RAISED
from docmill.tasks.parse.pdf.text.line import Line
from docmill.tasks.parse.pdf.text.links import Link

_RAISED = re.compile(f"{RAISED}(.*?){LOWERED}")
_NOTE = re.compile(f"(?:{RAISED}\\d+{LOWERED}|\\d+)\\s*")
_ALL = 0.97
_BAND, _LOWEST = 20, 20_000


def draw(sheets: list[Sheet], outline: Outline) -> Canvas:
    """Return the document; furniture comes first on each page."""
    code = not _is_mono(sheets)
    body = body_size(sheets, code)
    mark_furniture(sheets, body)
    pages = [_flows(sheet) for sheet in sheets]
    mark_headings([[item for item in chain(*page[1:]) if isinstance(item, Line)] for page in pages], outline, body)
    found: list[PageBlock] = []
    for page in pages:
        on_page = [block for flow in page for block in blocks(flow, body, code)]
        _check_notes(on_page)
        found += on_page
    return _Drawing(sheets, found).canvas


def _flows(sheet: Sheet) -> list[list[Item]]:
    """Return a page's furniture, then its flows in reading order."""
    furniture: list[Item] = [item for item in sheet.items if item.furniture]
    text: list[Item] = [item for item in sheet.items if not item.furniture] if furniture else sheet.items
    if sheet.paragraphs:
        return [furniture, *map(_text, sheet.paragraphs)]
    return [join_rows(furniture), *columns(text, sheet.level)]


def _text(lines: list[Line]) -> list[Item]:
    return [line for line in lines if not line.furniture]


def _is_mono(sheets: list[Sheet]) -> bool:
    """Return whether all plain text is set in a font of one width, which then says nothing of code."""
    lines = [item for sheet in sheets for item in sheet.items if isinstance(item, Line)]
    mono = sum(len(line.text) for line in lines if line.font.mono)
    return mono > _ALL * (mono + sum(len(line.text) for line in lines if line.font is PLAIN))


def _check_notes(found: list[PageBlock]) -> None:
    """Leave the numbers of footnotes only where the page's text refers to them."""
    noted = [block for block in found if block.note]
    text = "".join(line.text for block in found if not block.note for line in block.lines) if noted else ""
    marks = set(_RAISED.findall(text))
    for block in noted:
        if block.note not in marks:
            block.note = ""


class _Drawing:
    """Draws blocks on a canvas."""

    def __init__(self, sheets: list[Sheet], found: list[PageBlock]) -> None:
        self.canvas = Canvas()
        self._sheets = {sheet.number: sheet for sheet in sheets}
        self._notes: defaultdict[int, set[str]] = defaultdict(set)
        for block in found:
            if block.note:
                self._notes[block.page].add(block.note)
        self._words = Words("\n".join(line.text for block in found for line in block.lines))
        self._link(found)
        for block in connect(found):
            self._draw(block)

    def _draw(self, block: PageBlock) -> None:
        canvas, box = self.canvas, self._sheets[block.page].box(block.box)
        canvas.page = block.page
        first = block.items[0]
        if isinstance(first, PageTable):
            cells = [[_RAISED.sub(r"\1", cell) for cell in row] for row in first.cells]
            canvas.table(cells, first.header_rows, box, **block.attributes)
        elif block.kind == "code":
            canvas.code(_code(block.lines), box=box)
        elif block.kind == "title":
            canvas.heading(self._text(block), block.level, box)
        elif block.kind == "list_item":
            text = self._text(block)
            marker = marker_of(text)
            text = text[marker.end() :] if marker else text
            canvas.item(text, block.level, block.marker, box, **block.attributes)
        elif block.note:
            text = f"[^{block.note}]: {self._text(block, _NOTE)}"
            canvas.paragraph(text, box, **block.attributes, footnote=block.note)
        else:
            canvas.paragraph(self._text(block), box, block.kind, **block.attributes)

    def _text(self, block: PageBlock, prefix: re.Pattern[str] | None = None) -> str:
        text = joined([line.text for line in block.lines], self._words)
        text = prefix.sub("", text, count=1) if prefix else text
        if RAISED not in text:
            return text
        notes = self._notes[block.page]
        return _RAISED.sub(lambda found: f"[^{found[1]}]" if found[1] in notes else f"^{found[1]}^", text)

    def _link(self, found: list[PageBlock]) -> None:
        """Give each link to the block that it lies on."""
        linked = {number for number, sheet in self._sheets.items() if sheet.links}
        bands: defaultdict[tuple[int, int], list[tuple[Box, PageBlock]]] = defaultdict(list)
        for block in found if linked else ():
            if block.page in linked and block.kind not in ("title", "code"):
                box = block.box
                for band in range(max(int(box[1] - 2), 0) // _BAND, min(int(box[3] + 2), _LOWEST) // _BAND + 1):
                    bands[block.page, band].append((box, block))
        for number in linked:
            for link in self._sheets[number].links:
                near = bands[number, int((link.box[1] + link.box[3]) / 2) // _BAND]
                under = next((block for box, block in near if _lies_on(link, box)), None)
                if under is not None:
                    under.attributes.setdefault("links", []).append({"text": link.text, "url": link.url})


def _lies_on(link: Link, box: Box) -> bool:
    x, y = (link.box[0] + link.box[2]) / 2, (link.box[1] + link.box[3]) / 2
    return box[0] - 2 <= x <= box[2] + 2 and box[1] - 2 <= y <= box[3] + 2


def _code(lines: list[Line]) -> str:
    """Return lines with the indent and the blank lines that they were set with."""
    left = min(line.box[0] for line in lines)
    text: list[str] = []
    before: Line | None = None
    for line in lines:
        if before is not None and line.box[1] - before.box[3] > 0.8 * line.size:
            text.append("")
        text.append(" " * round((line.box[0] - left) / (0.6 * line.size)) + line.text.replace(HYPHEN, "-"))
        before = line
    return _RAISED.sub(r"\1", "\n".join(text))


def first_heading(canvas: Canvas) -> str:
    """Return the first of the highest headings on the first page that has any."""
    headings = [element for element in canvas.elements if element.kind == "title"]
    headings = [heading for heading in headings if heading.page == headings[0].page]
    highest = min((heading.level for heading in headings), default=0)
    return next((str(heading.attributes["text"]) for heading in headings if heading.level == highest), "")
