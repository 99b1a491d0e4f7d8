"""Word: documents read by pandoc, with headings by style, numbered lists, tables, notes, equations, links, pages.

`unstructured` reads pages, but no notes, equations, text boxes or item numbers. Pandoc reads those once they are
written in a form that it can read: it replaces a paragraph with the text box anchored to it; drops cells of short rows,
tabs in tables of contents, simple fields, words with ruby readings, charts and diagrams; keeps hidden text and deleted
rows; and ignores pages, comments, list levels set by style, and text raised by points.
"""

import io
import re
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.process.extras import command
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.metadata import with_iso_dates
from docmill.tasks.parse.office.open_xml import (
    core_properties,
    furniture,
    links_of,
    open_office,
    pictures_in,
    read_part,
    reference,
    rewritten,
)
from docmill.tasks.parse.office.sheets.chart import CHARTS, chart_of
from docmill.tasks.parse.office.slides.slide_text import diagram_of
from docmill.tasks.parse.pandoc.document import draw_tree
from docmill.tasks.parse.pandoc.inlines import DEEPER_MARK, NUMBER_END, NUMBER_MARK, PAGE_MARK
from docmill.tasks.parse.pandoc.word.imported_parts import IMPORTED_MARK, mark_imported, with_imported
from docmill.tasks.parse.pandoc.word.numbering_part import WordNumbering, read_numbering
from docmill.tasks.parse.pandoc.word.paragraph_numbers import write_numbers
from docmill.tasks.parse.pandoc.word.stated_roles import add_role_styles, state_roles
from docmill.tasks.parse.pandoc.word.used_styles import STYLES, read_styles
from docmill.tasks.parse.pandoc.word.word_comments import Comments, comments_in, write_comments
from docmill.tasks.parse.pandoc.word.word_fields import (
    OFF,
    SPACE,
    W,
    fields_in,
    mark_contents,
    paragraph_of,
    run_of,
    write_field_numbers,
    write_form_fields,
)
from docmill.tasks.parse.pandoc_program import read_tree
from docmill.tasks.parse.partition.unstructured_reader import draw_all, partition
from docmill.tasks.parse.xml_trees import whole, xml_tree

_RENDERED_BREAK = b"<w:lastRenderedPageBreak"
_PAGE_BREAK = re.compile(rb"<w:br\b[^<>]*w:type=\"page\"")
_BODY = "word/document.xml"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_SHOWN = {PAGE_MARK: "", DEEPER_MARK: "", NUMBER_MARK: "", NUMBER_END: " "}  # for readers that do not know the marks
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_INNER_LIST = re.compile(r"List(?:Bullet|Number)([2-5])")
_MAX_COLUMNS = 200
"""Maximum columns to which rows are filled: Word's own limit is 63, and a file may claim any number."""
_WRAPPERS = [W + name for name in ("fldSimple", "bdo", "dir", "customXml", "smartTag")]
_ABOUT_WRAPPERS = ("fldData", "customXmlPr", "smartTagPr")
_SIZE = f"{W}rPr/{W}sz"
_USUAL = {W + "cr": W + "br", W + "dstrike": W + "strike"}
_BODY_PART = "word/document.xml"
_RUN, _TEXT, _PROPERTIES = W + "r", W + "t", W + "rPr"
_LOOKS = frozenset(W + name for name in ("lang", "noProof", "sz", "szCs", "color", "kern", "spacing", "w"))
_KEPT = {
    W + "tcPr": frozenset(W + name for name in ("gridSpan", "vMerge", "hMerge", "cellIns", "cellDel")),
    W + "tblPr": frozenset(W + name for name in ("tblStyle", "tblLook", "tblCaption", "tblDescription")),
}
"""Properties of cells and tables that affect more than their appearance; column widths do not."""
_UNEVEN = [W + name for name in ("gridSpan", "vMerge", "gridBefore", "gridAfter", "sdt")]
_LAYOUT_NAMES = """
    spacing jc widowControl keepNext keepLines contextualSpacing tabs shd pBdr suppressAutoHyphens textAlignment
    snapToGrid bidi
"""
_LAYOUT = frozenset(W + name for name in _LAYOUT_NAMES.split())
"""Layout properties of paragraphs."""
_UNREAD_PARTS = re.compile(
    r"(?:docProps|customXml|word/theme|word/glossary)/.*|word/(?:stylesWithEffects|fontTable|webSettings)\.xml"
)
"""Parts that pandoc does not read: in Word's empty document, `stylesWithEffects.xml` is larger than all others."""

_ABOVE_TEXT = frozenset(("title", "subtitle", "author", "date", "abstract"))  # styles that pandoc treats as metadata
_Key = tuple[Any, ...]


def parse_docx(data: bytes, options: ParseOptions) -> Parsed:
    """Return a Word document drawn as Markdown; headers and footers are furniture.

    Pages are those of the last save in Word, or else those of hard page breaks. The title is the document property, or
    else the title in the text. Comments follow their paragraphs if `options` request them. In a document without
    heading styles, short bold paragraphs are headings of level 2.
    """
    with open_office(data, options.max_unpacked_bytes) as container:
        metadata = with_iso_dates(core_properties(container))
        comments = comments_in(container) if options.comments else {}
        styles = read_styles(container)
        if styles is not None:
            add_role_styles(styles)
        changes = _BodyChanges(partial(graphics_in, container), read_numbering(container, styles), comments, styles)
        prepared = rewritten(container, changes.prepared, _UNREAD_PARTS)
        canvas, title, said = _drawn(container, prepared, metadata.get("title", ""))
    return canvas.parsed(metadata.pop("title", "") or title, said | metadata)


def _drawn(container: zipfile.ZipFile, prepared: bytes, stated: str) -> tuple[Canvas, str, dict[str, Any]]:
    """Return the canvas and the text's own title and metadata; `unstructured` reads files that pandoc rejects."""
    try:
        tree = read_tree(prepared, "docx")
    except Rejected as why:
        if why.reason == "timeout":
            raise
        canvas = Canvas()
        draw_elements(prepared, canvas, container)
        return canvas, canvas.first_heading(), {"read_as": f"by unstructured; {why.message}"}
    canvas = Canvas()
    unread: list[str] = []
    if IMPORTED_MARK.encode() in prepared:  # its members are not compressed, so the mark can be found
        tree["blocks"], unread = with_imported(tree["blocks"], container, _BODY)
    body = container.read(_BODY)
    canvas.page = int(_RENDERED_BREAK in body or _PAGE_BREAK.search(body) is not None)
    for text in furniture(container, "header"):
        canvas.paragraph(text, kind="furniture")
    title, said = draw_tree(tree, canvas, True, stated, pictures_in(container, "word"))
    for text in furniture(container, "footer"):
        canvas.paragraph(text, kind="furniture")
    return canvas, title, said | ({"read_as": f"Word without {'; '.join(unread)}"} if unread else {})


def draw_elements(data: bytes, canvas: Canvas, origin: zipfile.ZipFile) -> None:
    """Draw a Word document prepared for pandoc as Markdown; parts that pandoc does not read come from its origin.

    Raise Rejected if `unstructured` or its dependency python-docx is not installed.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        plain = rewritten(container, lambda name, content: _without_marks(content or origin.read(name)))
    try:
        elements = partition("docx", file=io.BytesIO(plain), include_page_breaks=False)
    except ModuleNotFoundError:
        said = f"pandoc cannot read it; a second reader may: {command('unstructured')}"
        raise Rejected("not_installed", said) from None
    draw_all(elements, canvas)


def _without_marks(content: bytes) -> bytes:
    for mark, text in _SHOWN.items():
        content = content.replace(mark.encode(), text.encode())
    return content


class _BodyChanges(NamedTuple):
    """Content from other parts of the file that is written into a document's text."""

    graphics: Callable[[], dict[str, list[Any]]]
    numbering: WordNumbering
    comments: Comments
    styles: Any

    def prepared(self, name: str, content: bytes) -> bytes:
        """Return the content of a part of the file as pandoc will read it."""
        if name == STYLES and self.styles is not None:
            return bytes(etree.tostring(self.styles, encoding="utf-8", xml_declaration=True))
        if name not in (_BODY, *_NOTES):
            return content
        graphics = self.graphics if name == _BODY else dict
        return prepare_body(content, graphics, self.numbering, self.comments, self.styles)


def prepare_body(
    content: bytes,
    graphics: Callable[[], dict[str, list[Any]]],
    numbering: WordNumbering,
    comments: Comments,
    styles: Any = None,
) -> bytes:
    """Return `word/document.xml` with boxes below their paragraphs, complete lines and rows, and marks.

    Each paragraph that `numbering` numbers begins with its number. `graphics` returns the text of charts and diagrams
    by id; it is inserted below them, and `comments` likewise. Marks show where pages begin and what belongs to a table
    of contents. Pages are those of the last save in Word, or else those of hard page breaks.
    """
    root = xml_tree(content)
    for copy in list(root.iter(_FALLBACK)):  # the same drawing again, for old readers
        copy.getparent().remove(copy)
    if styles is not None:
        _keep_titles(root, styles)
    write_numbers(root, numbering)
    if styles is not None:
        state_roles(root, styles)
    fields = list(fields_in(root))
    write_field_numbers(fields)
    write_form_fields(root)
    mark_contents(root, fields)
    write_comments(root, comments)
    draw_graphics(root, graphics)
    mark_imported(root)
    for box in reversed(list(root.iter(W + "txbxContent"))):  # so that the boxes of one paragraph keep their order
        _move_below(box)
    for names, change in _CHANGES:
        for node in list(root.iter(*names)):
            change(node)
    for mark in _page_breaks(root):
        _make_text(mark, PAGE_MARK)
    make_lean(root)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def _keep_titles(root: Any, styles: Any) -> None:
    """Keep one paragraph per title style at the top: of several, pandoc uses the last, even if it is empty."""
    names = {one.get(W + "styleId"): one.find(W + "name") for one in styles.iter(W + "style")}
    seen = set[str]()
    for paragraph in root.iterfind(f"{W}body/{W}p"):
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        named = None if style is None else names.get(style.get(W + "val"))
        name, said = "" if named is None else named.get(W + "val", "").lower(), "".join(paragraph.itertext()).strip()
        if said and name not in _ABOVE_TEXT:
            break
        if name in _ABOVE_TEXT and (name in seen or not said):
            style.getparent().remove(style)
        seen.add(name)


def _page_breaks(root: Any) -> list[Any]:
    rendered = list(root.iter(W + "lastRenderedPageBreak"))
    return rendered or [one for one in root.iter(W + "br") if one.get(W + "type") == "page"]


def _leave_out(mark: Any) -> None:
    """Remove the hidden run or deleted row marked by this property."""
    properties = mark.getparent()
    owner = None if properties is None else properties.getparent()
    if owner is None or owner.getparent() is None or mark.get(W + "val") in OFF:
        return
    if (mark.tag, owner.tag) in ((W + "vanish", W + "r"), (W + "del", W + "tr")):
        owner.getparent().remove(owner)


def _write_out(ruby: Any) -> None:
    """Replace a ruby node with its word, followed by the reading in brackets."""
    base, reading = ("".join(ruby.xpath(f"./*[local-name()='{name}']//text()")).strip() for name in ("rubyBase", "rt"))
    del ruby[:]
    _make_text(ruby, f"{base}({reading})" if reading else base)


def _unwrap(node: Any) -> None:
    """Replace a node with its children."""
    for child in node:
        if child.tag.rpartition("}")[2] not in _ABOUT_WRAPPERS:
            node.addprevious(child)
    node.getparent().remove(node)


def _leave_out_prompt(mark: Any) -> None:
    """Remove the words that ask a reader to fill in a content control, which has no content yet."""
    control = mark.getparent().getparent()
    if mark.get(W + "val") not in OFF and control is not None and control.tag == W + "sdt":
        for text in list(control.iter(W + "t")):
            text.getparent().remove(text)


def _name_as_usual(node: Any) -> None:
    """Give a rarer mark the name of the usual one that looks the same."""
    node.tag = _USUAL[node.tag]


def _mark_depth(style: Any) -> None:
    """Mark an item of an inner list, whose depth is given only by the name of its style."""
    inner = _INNER_LIST.fullmatch(style.get(W + "val") or "")
    properties = style.getparent()
    if inner and properties.find(W + "numPr") is None:
        properties.addnext(run_of(DEEPER_MARK * (int(inner[1]) - 1)))


def _keep_tab(tab: Any) -> None:
    """Replace a tab between words with a space; a tab with attributes declares a tab stop."""
    if not tab.attrib:
        _make_text(tab, " ")


def _name_place(position: Any) -> None:
    """Mark a run above or below its line in smaller letters, as LibreOffice writes it, as superscript or subscript."""
    properties, place = position.getparent(), position.get(W + "val") or ""
    run = properties.getparent()
    if place.strip("-0") and run.tag == W + "r" and properties.find(W + "vertAlign") is None and _is_smaller(run):
        name = "subscript" if place.startswith("-") else "superscript"
        etree.SubElement(properties, W + "vertAlign").set(W + "val", name)


def _is_smaller(run: Any) -> bool:
    """Return whether a run has a font size smaller than that of a neighbouring run."""
    size = run.find(_SIZE)
    beside = [one.find(_SIZE) for one in (run.getprevious(), run.getnext()) if one is not None]
    return size is not None and any(one is None or _value(size, 0) < _value(one, 0) for one in beside)


def _make_text(node: Any, text: str) -> None:
    node.tag, node.text = W + "t", text
    for name in node.attrib:
        del node.attrib[name]
    node.set(SPACE, "preserve")


def _move_below(box: Any) -> None:
    """Move a box's paragraphs below its anchor paragraph, and drop its drawing."""
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
    """Give every row of a table, and its grid, as many columns as its widest row has."""
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
    _widen_grid(table, widest)


def _widen_grid(table: Any, columns: int) -> None:
    """Declare as many columns as a table has; pandoc drops the cells of others."""
    grid = table.find(W + "tblGrid")
    if grid is None:
        grid = etree.Element(W + "tblGrid")
        table.insert(len(table.findall(W + "tblPr")), grid)
    for _ in range(columns - len(grid)):
        etree.SubElement(grid, W + "gridCol").set(W + "w", "1")


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
    ([W + "vanish", W + "del"], _leave_out), ([W + "ruby"], _write_out), (_WRAPPERS, _unwrap),
    ([*_USUAL], _name_as_usual),
    ([W + "showingPlcHdr"], _leave_out_prompt), ([W + "ptab"], partial(_make_text, text=" ")),
    ([W + "tbl"], _fill_rows), ([W + "pStyle"], _mark_depth), ([W + "tab"], _keep_tab), ([W + "position"], _name_place),
)  # fmt: skip


def graphics_in(container: zipfile.ZipFile) -> dict[str, list[Any]]:
    """Return the paragraphs and tables of each chart and diagram by its id; empty for a damaged one."""
    found: dict[str, list[Any]] = {}
    for name, (kind, part) in links_of(container, _BODY_PART).items():
        try:
            if kind in CHARTS:
                title, rows = chart_of(read_part(container, part))
                found[name] = [paragraph_of(title)] * bool(title) + [_table(rows)] * bool(rows)
            elif kind == "diagramData":
                found[name] = [paragraph_of(text) for text in diagram_of(read_part(container, part))]
        except (etree.XMLSyntaxError, ValueError, KeyError):
            continue
    return found


def draw_graphics(root: Any, graphics: Callable[[], dict[str, list[Any]]]) -> None:
    """Insert the text of charts and diagrams below the paragraphs that anchor them."""
    nodes = list(root.iter("{*}chart", "{*}relIds"))
    found = graphics() if nodes else {}
    for node in nodes:
        below = next(node.iterancestors(W + "p"), None)
        for shown in found.pop(reference(node) or reference(node, "dm"), ()):
            if below is not None and below.getparent() is not None:
                below.addnext(shown)
                below = shown


def _table(rows: list[list[str]]) -> Any:
    table = etree.Element(W + "tbl")
    for number, cells in enumerate(rows):
        row = etree.SubElement(table, W + "tr")
        if not number:
            etree.SubElement(etree.SubElement(row, W + "trPr"), W + "tblHeader")
        for cell in cells:
            etree.SubElement(row, W + "tc").append(paragraph_of(cell))
    return table


def make_lean(root: Any) -> None:
    """Remove unread properties of runs and tables, and merge identical neighbouring runs; the text is unchanged."""
    for mark in list(root.iter(W + "proofErr")):
        mark.getparent().remove(mark)
    for grid in list(root.iter(W + "tblGrid")):
        if _is_plain(grid.getparent(), len(grid)):
            grid.getparent().remove(grid)
    for properties in root.iter(W + "pPr", *_KEPT):
        for one in [one for one in properties if _is_unread(one.tag, properties.tag)]:
            properties.remove(one)
    for paragraph in root.iter(W + "p"):
        _join_runs(paragraph)


def _is_unread(name: str, owner: str) -> bool:
    return name not in _KEPT[owner] if owner in _KEPT else name in _LAYOUT


def _is_plain(table: Any, columns: int) -> bool:
    """Return whether every row of a table has one cell for each column, so that its grid gives only widths."""
    if next(table.iter(*_UNEVEN), None) is not None:
        return False
    return all(len(row.findall(W + "tc")) == columns for row in table.iterchildren(W + "tr"))


def _join_runs(paragraph: Any) -> None:
    """Merge neighbouring runs of a paragraph that contain only text and have the same properties."""
    last, before = None, None
    for run in list(paragraph):
        key = _key(run) if run.tag == _RUN and not run.tail else None
        if key is None:
            last = None
        elif last is not None and key == before:
            text = last[-1]
            text.text = (text.text or "") + (run[-1].text or "")
            text.set(SPACE, "preserve")
            paragraph.remove(run)
        else:
            last, before = run, key


def _key(run: Any) -> _Key | None:
    """Return the properties of a run with a single text, without its appearance; None for any other run."""
    names = [one.tag for one in run]
    if names == [_TEXT]:
        return ()
    return _properties(run[0]) if names == [_PROPERTIES, _TEXT] else None


def _properties(properties: Any) -> _Key:
    """Return the properties of a run after removing those of its appearance."""
    for look in [one for one in properties if one.tag in _LOOKS]:
        properties.remove(look)
    return tuple((one.tag, *one.attrib.items()) if not len(one) else id(one) for one in properties)
