"""Word body: prepare a document for pandoc, which would lose some of its text.

Pandoc replaces a paragraph by the text box anchored to it. It drops cells of rows shorter than their table, tabs in
tables of contents, simple fields such as numbers of captions, and words with ruby readings above. It keeps hidden text
and deleted rows, and ignores pages, list levels set by style, and text that is raised by points.
"""

import re
from collections.abc import Callable
from typing import Any

from lxml import etree

from docmill.tasks.parse.pandoc.inlines import DEEPER_MARK, PAGE_MARK
from docmill.tasks.parse.pandoc.word.comments import Comments, write_comments
from docmill.tasks.parse.pandoc.word.contents_field import mark_contents
from docmill.tasks.parse.pandoc.word.form_fields import write_form_fields
from docmill.tasks.parse.pandoc.word.lean_word import make_lean
from docmill.tasks.parse.pandoc.word.number_fields import write_field_numbers
from docmill.tasks.parse.pandoc.word.numbering_part import WordNumbering
from docmill.tasks.parse.pandoc.word.paragraph_numbers import write_numbers
from docmill.tasks.parse.pandoc.word.word_graphics import draw_graphics
from docmill.tasks.parse.pandoc.word.word_runs import OFF, SPACE, W, fields_in, run_of
from docmill.tasks.parse.trees import whole, xml_tree

_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_INNER_LIST = re.compile(r"List(?:Bullet|Number)([2-5])")
_MAX_COLUMNS = 200
"""Columns up to which rows are filled: Word's own limit is 63, and a file may claim any number."""
_WRAPPERS = [W + name for name in ("fldSimple", "bdo", "dir", "customXml", "smartTag")]
_ABOUT_WRAPPERS = ("fldData", "customXmlPr", "smartTagPr")
_SIZE = f"{W}rPr/{W}sz"


def prepare_body(content: bytes, graphics: dict[str, list[Any]], numbering: WordNumbering, comments: Comments) -> bytes:
    """Return `word/document.xml` with boxes below their paragraphs, complete lines and rows, and marks.

    Each paragraph that `numbering` numbers begins with its number. `graphics` is the text of charts and diagrams by id;
    it is inserted below them, as `comments` are. Marks say where pages begin, and what is a list of contents. Pages are
    those of the last save in Word, else those of hard page breaks.
    """
    root = xml_tree(content)
    for copy in list(root.iter(_FALLBACK)):  # the same drawing again, for old readers
        copy.getparent().remove(copy)
    write_numbers(root, numbering)
    fields = list(fields_in(root))
    write_field_numbers(fields)
    write_form_fields(root)
    mark_contents(root, fields)
    write_comments(root, comments)
    draw_graphics(root, graphics)
    for box in reversed(list(root.iter(W + "txbxContent"))):  # so that those of one paragraph keep their order
        _move_below(box)
    for names, change in _CHANGES:
        for node in list(root.iter(*names)):
            change(node)
    for mark in _page_breaks(root):
        _make_text(mark, PAGE_MARK)
    make_lean(root)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def _page_breaks(root: Any) -> list[Any]:
    rendered = list(root.iter(W + "lastRenderedPageBreak"))
    return rendered or [one for one in root.iter(W + "br") if one.get(W + "type") == "page"]


def _leave_out(mark: Any) -> None:
    """Remove the hidden run or the deleted row marked by this property."""
    properties = mark.getparent()
    owner = None if properties is None else properties.getparent()
    if owner is None or owner.getparent() is None or mark.get(W + "val") in OFF:
        return
    if (mark.tag, owner.tag) in ((W + "vanish", W + "r"), (W + "del", W + "tr")):
        owner.getparent().remove(owner)


def _write_out(ruby: Any) -> None:
    """Replace a ruby node by its word, followed by the reading in brackets."""
    base, reading = ("".join(ruby.xpath(f"./*[local-name()='{name}']//text()")).strip() for name in ("rubyBase", "rt"))
    for child in list(ruby):
        ruby.remove(child)
    _make_text(ruby, f"{base}({reading})" if reading else base)


def _unwrap(node: Any) -> None:
    """Replace a node by its children."""
    for child in node:
        if child.tag.rpartition("}")[2] not in _ABOUT_WRAPPERS:
            node.addprevious(child)
    node.getparent().remove(node)


def _mark_depth(style: Any) -> None:
    """Mark an item of an inner list: only the name of its style tells its depth."""
    inner = _INNER_LIST.fullmatch(style.get(W + "val") or "")
    properties = style.getparent()
    if inner and properties.find(W + "numPr") is None:
        properties.addnext(run_of(DEEPER_MARK * (int(inner[1]) - 1)))


def _keep_tab(tab: Any) -> None:
    """Replace a tab between words by a space; a tab with attributes declares a tab stop."""
    if not tab.attrib:
        _make_text(tab, " ")


def _name_place(position: Any) -> None:
    """Call a run raised or lowered that stands above or below its line in smaller letters, as LibreOffice writes it."""
    properties, place = position.getparent(), position.get(W + "val") or ""
    run = properties.getparent()
    if place.strip("-0") and run.tag == W + "r" and properties.find(W + "vertAlign") is None and _is_smaller(run):
        name = "subscript" if place.startswith("-") else "superscript"
        etree.SubElement(properties, W + "vertAlign").set(W + "val", name)


def _is_smaller(run: Any) -> bool:
    """Return whether a run states a size of letters below that of a run beside it."""
    size = run.find(_SIZE)
    beside = [one.find(_SIZE) for one in (run.getprevious(), run.getnext()) if one is not None]
    return size is not None and any(one is None or _value(size, 0) < _value(one, 0) for one in beside)


def _make_text(node: Any, text: str) -> None:
    node.tag, node.text = W + "t", text
    for name in node.attrib:
        del node.attrib[name]
    node.set(SPACE, "preserve")


def _move_below(box: Any) -> None:
    """Put a box's paragraphs after its anchor paragraph, and drop its drawing."""
    anchor = next(box.iterancestors(W + "p"), None)
    if anchor is None or anchor.getparent() is None:
        return
    below = anchor
    for paragraph in list(box):
        below.addnext(paragraph)
        below = paragraph
    drawing = box
    while drawing.getparent() is not None and drawing.getparent().tag not in (W + "r", W + "p"):
        drawing = drawing.getparent()
    if drawing.getparent() is not None and next(drawing.iter(W + "t"), None) is None:
        drawing.getparent().remove(drawing)


def _fill_rows(table: Any) -> None:
    """Give every row of a table as many columns as its widest has."""
    rows = [(row, *_gaps(row), _width(row)) for row in table.iterchildren(W + "tr")]
    widest = min(max((before + width for _, before, _, width in rows), default=0), _MAX_COLUMNS)
    for row, before, gaps, width in rows:
        for gap in gaps:
            gap.getparent().remove(gap)
        cells = row.findall(W + "tc")
        for _ in range(min(before, _MAX_COLUMNS) if cells else 0):
            cells[0].addprevious(_empty_cell())
        for _ in range(widest - before - width):
            row.append(_empty_cell())


def _gaps(row: Any) -> tuple[int, list[Any]]:
    """Return how many columns a row leaves empty at its left, and the elements that declare empty columns."""
    left = row.find(f"{W}trPr/{W}gridBefore")
    gaps = [left, row.find(f"{W}trPr/{W}gridAfter")]
    return _value(left, 0), [gap for gap in gaps if gap is not None]


def _width(row: Any) -> int:
    return sum(_value(cell.find(f"{W}tcPr/{W}gridSpan"), 1) for cell in row.iterchildren(W + "tc"))


def _value(node: Any, default: int) -> int:
    return default if node is None else whole(node.get(W + "val"), default)


def _empty_cell() -> Any:
    cell = etree.Element(W + "tc")
    cell.append(etree.Element(W + "p"))
    return cell


# The changes to the document, in order, by the names of the nodes.
_CHANGES: tuple[tuple[list[str], Callable[[Any], None]], ...] = (
    ([W + "vanish", W + "del"], _leave_out),
    ([W + "ruby"], _write_out),
    (_WRAPPERS, _unwrap),
    ([W + "tbl"], _fill_rows),
    ([W + "pStyle"], _mark_depth),
    ([W + "tab"], _keep_tab),
    ([W + "position"], _name_place),
)
