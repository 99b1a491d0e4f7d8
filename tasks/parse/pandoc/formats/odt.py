"""OpenDocument text, prepared for pandoc, which would otherwise lose some of its text and all of its numbers.

Pandoc drops text boxes, picture descriptions, fields such as dates, bibliographies, words with ruby readings, and
formulas whose folder name ends with a slash. It ignores pages and the paragraph style of titles. Numbers of headings
and items are computed as in OpenDocument 1.3 (16.30, 16.34, 19.880); where the standard does not say what continues a
list, or what a missing level above counts as, this follows LibreOffice.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from itertools import chain
from typing import Any
from urllib.parse import quote

from lxml import etree

from docmill.storage.schema import Parsed
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.metadata import with_iso_dates
from docmill.tasks.parse.office.flat_document import open_container
from docmill.tasks.parse.office.open_xml import member, pictures_in, read_member, rewritten
from docmill.tasks.parse.office.properties import open_document_properties
from docmill.tasks.parse.office.sheets.chart import Chart
from docmill.tasks.parse.office.sheets.open_objects import BOXES, OBJECT, open_charts
from docmill.tasks.parse.pandoc.document import drawn_document
from docmill.tasks.parse.pandoc.inlines import CONTENTS_MARK, NUMBER_END, NUMBER_MARK, PAGE_MARK, SAID
from docmill.tasks.parse.pandoc_program import read_tree
from docmill.tasks.parse.passes.numbering import LevelNumbers, numbered
from docmill.tasks.parse.passes.table_rows import MOST_SPANNED
from docmill.tasks.parse.pictures.addresses import Loader, nowhere
from docmill.tasks.parse.xml_trees import drop, whole, words_in, xml_tree

_OF = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TEXT, _DRAW, _STYLE, _SVG, _TABLE = (_OF % name for name in ("text", "drawing", "style", "svg-compatible", "table"))
_COVERED = _TABLE + "covered-table-cell"
_CELLS = (_TABLE + "table-cell", _COVERED)
_FIELD_WORDS = """
    date time page-count author-name author-initials creator initial-creator file-name title subject keywords
    description creation-date modification-date print-date user-defined chapter user-field-get user-field-input
    variable-get variable-set variable-input text-input expression placeholder drop-down conditional-text
    database-display sender-firstname sender-lastname sender-company sender-email meta-field ruby ruby-base
"""
_FIELDS = [_TEXT + word for word in _FIELD_WORDS.split()]
_CONTENTS = [_TEXT + word for word in ("table-of-content", "illustration-index", "table-index", "object-index")]
_BLOCKS = [*_CONTENTS, *(_TEXT + word for word in ("numbered-paragraph", "bibliography", "alphabetical-index"))]
_COMMENT, _AUTHOR = _OF % "office" + "annotation", "{http://purl.org/dc/elements/1.1/}creator"
_HREF = "{http://www.w3.org/1999/xlink}href"
_SHOWN = _STYLE + "text-properties"
_NAMED = (_STYLE + "style", _TEXT + "list-style", _STYLE + "font-face")
_VALUE = re.compile(rb'="([^"]*)"')
_PAGE_BREAK = b"<text:soft-page-break"
_MAX_PARENTS = 10
"""Maximum length of a chain of parent styles, as a file may name a style as its own ancestor."""
_UNCOUNTED = "none"  # a level without a number, only with the text around it
_FORMS = {"1": "", "a": "a", "A": "A", "i": "i", "I": "I", "": _UNCOUNTED}
_ITEMS = (_TEXT + "list-item", _TEXT + "list-header")
_PARAGRAPHS = (_TEXT + "p", _TEXT + "h")
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_DEEPEST = 10  # number of levels of a list style
_OUTLINE = ""  # the name of the document's own outline among its lists


def parse_odt(data: bytes, options: ParseOptions) -> Parsed:
    """Return an OpenDocument text drawn as Markdown, with its title, authors, dates and language.

    Pages are those of the last save. Headings begin with the numbers from their outline.
    """
    with open_container(data, options.max_unpacked_bytes) as container:
        metadata = with_iso_dates(open_document_properties(container))
        body = member(container, "content.xml")
        load = pictures_in(container)
        styles = read_member(container, "styles.xml")
        prepared, heading = prepare_body(body, styles, options.comments, container.NameToInfo, load)
        changed = {"content.xml": prepared}
        if styles is not None:
            keep_used_styles(styles, prepared)
            changed["styles.xml"] = etree.tostring(styles, encoding="utf-8", xml_declaration=True)
        data = rewritten(container, lambda name, content: changed.get(name, content))
        tree, page = read_tree(data, "odt"), int(_PAGE_BREAK in body)
        return drawn_document(tree, metadata, page, heading, load)


def prepare_body(
    content: bytes,
    styles: Any = None,
    comments: bool = False,
    pictures: Collection[str] = (),
    load: Loader = nowhere,
) -> tuple[bytes, str]:
    """Return `content.xml` with all text where pandoc reads it, and the text of the paragraph styled as title.

    `styles` is the root of `styles.xml`, or None; it determines how headings and items are numbered. With `comments`,
    each comment is placed below its paragraph. `pictures` are members of the file; any other picture is replaced by its
    description. `load` finds the charts, each of which becomes a table below its paragraph."""
    root = xml_tree(content)
    for changes in list(root.iter(_TEXT + "tracked-changes")):
        changes.getparent().remove(changes)
    _leave_out_hidden(root)
    if comments:
        _write_comments(root)
    write_numbers(root, styles)
    for mark in root.iter(_TEXT + "soft-page-break"):
        _make_span(mark, PAGE_MARK)
    for frame in list(root.iter(_DRAW + "frame")):
        _say_picture(frame, pictures)
    _name_formulas(root)
    _write_charts(root, load)
    for box in reversed(list(root.iter(*BOXES))):
        _move_below(box)
    _complete_tables(root)
    for reading in root.iter(_TEXT + "ruby-text"):
        _make_span(reading, f"({''.join(reading.itertext())})")
    for field in root.iter(*_FIELDS):
        field.tag = _TEXT + "span"
        field.attrib.clear()
    _mark_entries(root)
    for block in root.iter(*_BLOCKS):
        block.tag = _TEXT + "section"
        for part in list(block):
            _unfold(part)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True)), _title(root)


def _leave_out_hidden(root: Any) -> None:
    """Remove sections and words that are not shown."""
    styles = (one for one in root.iter(_STYLE + "style") if one.find(_SHOWN) is not None)
    hidden = {style.get(_STYLE + "name") for style in styles if style.find(_SHOWN).get(_TEXT + "display") == "none"}
    for node in list(root.iter(_TEXT + "section", _TEXT + "span", _TEXT + "p")):
        if node.get(_TEXT + "display") == "none" or node.get(_TEXT + "style-name") in hidden:
            drop(node)


def keep_used_styles(styles: Any, content: bytes) -> None:
    """Remove styles, lists and fonts that `content.xml` does not name; `styles` is the root of `styles.xml`.

    Office programs write about a hundred of them, which takes pandoc longer to read than the text of a small document.
    """
    named: dict[str, list[Any]] = {}
    for node in styles.iter(*_NAMED):
        named.setdefault(node.get(_STYLE + "name") or "", []).append(node)
    others = (node for group in styles for node in group if node.tag not in _NAMED)
    # Not only names: any attribute value equal to a style's name keeps that style.
    said = [unescape(one.decode()) for one in _VALUE.findall(content)] + _values(others)
    while said:
        said += _values(named.pop(said.pop(), ()))
    for unused in chain.from_iterable(named.values()):
        unused.getparent().remove(unused)


def _values(nodes: Iterable[Any]) -> list[str]:
    """Return the attribute values of nodes and of all their descendants."""
    return [value for node in nodes for inner in node.iter() for value in inner.attrib.values()]


def _make_span(node: Any, text: str) -> None:
    """Replace a node's content with a text; what follows the node stays."""
    del node[:]
    node.tag, node.text = _TEXT + "span", text
    node.attrib.clear()


def _write_comments(root: Any) -> None:
    """Insert each comment as a paragraph below the one that contains it: `Comment by Ann: Too short.`"""
    for comment in reversed(list(root.iter(_COMMENT))):
        lines = ("".join(line.itertext()).strip() for line in comment.iter(_TEXT + "p"))
        author, said = (comment.findtext(_AUTHOR) or "").strip(), " ".join(filter(None, lines))
        anchor = next(comment.iterancestors(_TEXT + "p", _TEXT + "h"), None)
        if said and anchor is not None:
            below = etree.Element(_TEXT + "p")
            below.text = f"Comment{f' by {author}' if author else ''}: {said}"
            below.tail, anchor.tail = anchor.tail, None
            anchor.addnext(below)


def _mark_entries(root: Any) -> None:
    """Mark the paragraphs of tables of contents, including their titles."""
    for entry in [one for listed in root.iter(*_CONTENTS) for one in listed.iter(_TEXT + "p", _TEXT + "h")]:
        entry.tag = _TEXT + "p"
        mark = etree.Element(_TEXT + "span")
        mark.text, mark.tail, entry.text = CONTENTS_MARK, entry.text, None
        entry.insert(0, mark)
        for tab in entry.iter(_TEXT + "tab"):
            _make_span(tab, " ")


def _say_picture(frame: Any, pictures: Collection[str]) -> None:
    """Move a picture's description, if it has more than one word, to its address, or put it in the picture's place."""
    about = frame.find(_SVG + "desc")
    about = frame.find(_SVG + "title") if about is None else about
    said = "" if about is None else words_in(about)
    image = frame.find(_DRAW + "image")
    if " " not in said or image is None:
        return
    if (address := image.get(_HREF) or "").removeprefix("./") in pictures:
        image.set(_HREF, f"{address}{SAID}{quote(said)}")
    else:
        _make_span(frame, f" {said} ")


def _name_formulas(root: Any) -> None:
    """Write the folder names of formulas as pandoc expects them."""
    for formula in root.iter(_DRAW + "object"):
        formula.set(_HREF, (formula.get(_HREF) or "").rstrip("/"))


def _write_charts(root: Any, load: Loader) -> None:
    """Write the charts of objects below the paragraphs that contain them, as titles and tables."""
    for held in list(root.iter(OBJECT)):
        anchor = next(held.iterancestors(*_PARAGRAPHS), None)
        charts = [*open_charts(held, load)] if anchor is not None else []
        _insert_charts(anchor, charts)
        if charts:
            del held[:]


def _insert_charts(anchor: Any, charts: Iterable[Chart]) -> None:
    for chart in charts:
        table = etree.Element(_TABLE + "table")
        parents = [etree.SubElement(table, _TABLE + "table-header-rows"), *([table] * len(chart.rows))]
        for parent, cells in zip(parents, chart.rows, strict=False):
            row = etree.SubElement(parent, _TABLE + "table-row")
            for cell in cells:
                row.append(_holding(_TABLE + "table-cell", cell))
        for shown in (_holding(_TEXT + "section", chart.title), *([table] if chart.rows else [])):
            anchor.addnext(shown)
            anchor = shown


def _holding(tag: str, text: str) -> Any:
    """Return an element that contains a paragraph."""
    holder = etree.Element(tag)
    etree.SubElement(holder, _TEXT + "p").text = text
    return holder


def _complete_tables(root: Any) -> None:
    """Rewrite tables so that pandoc keeps all their text.

    Pandoc drops tables within cells, so each of their rows becomes a list item. It gives a table as many columns as the
    longest row has cells, without covered ones; an empty row as wide as the table sets the right number.
    """
    for table in reversed(list(root.iter(_TABLE + "table"))):
        rows = [row for row in table.iter(_TABLE + "table-row") if next(row.iterancestors(_TABLE + "table")) is table]
        _complete(table, rows)


def _complete(table: Any, rows: list[Any]) -> None:
    if next(table.iterancestors(_TABLE + "table-cell"), None) is not None:
        for row in rows:
            cells = [words_in(cell) for cell in row.iterchildren(_TABLE + "table-cell")]
            row[:] = [_holding(_TEXT + "list-item", ", ".join(filter(None, cells)))]
        table[:] = [row[0] for row in rows if "".join(row.itertext())]
        table.tag = _TEXT + "list"
        table.attrib.clear()
    elif next(table.iter(_COVERED), None) is not None:
        width = max(sum(map(_columns, row)) for row in rows)
        row = etree.SubElement(table, _TABLE + "table-row")
        row[:] = [etree.Element(_TABLE + "table-cell") for _ in range(min(width, MOST_SPANNED))]


def _columns(cell: Any) -> int:
    """Return how many columns an element of a row covers."""
    return max(1, whole(cell.get(_TABLE + "number-columns-repeated"), 1)) if cell.tag in _CELLS else 0


def _move_below(box: Any) -> None:
    """Move a box's paragraphs below its anchor paragraph; a box anchored to a page stays in place."""
    anchor = next(box.iterancestors(_TEXT + "p", _TEXT + "h"), None)
    frame = box.getparent() if box.tag == BOXES[0] else box
    if anchor is None:
        frame.tag = box.tag = _TEXT + "section"
        return
    below = anchor
    for paragraph in list(box.iterchildren(_TEXT + "p", _TEXT + "h", _TEXT + "list")):
        paragraph.tail = None
        below.addnext(paragraph)
        below = paragraph
    _make_span(frame, "")


def _unfold(part: Any) -> None:
    """Keep only the body of an index, not its definition."""
    if part.tag == _TEXT + "index-body":
        part.tag = _TEXT + "section"
        for name in part.iter(_TEXT + "index-title"):
            name.tag = _TEXT + "section"
    elif part.tag not in (_TEXT + "p", _TEXT + "h"):
        part.getparent().remove(part)


def _title(root: Any) -> str:
    """Return the first paragraph with text if its style is "Title" or derived from it."""
    parents = {
        node.get(_STYLE + "name"): node.get(_STYLE + "parent-style-name") for node in root.iter(_STYLE + "style")
    }
    for node in root.iter(_TEXT + "p", _TEXT + "h"):
        text = words_in(node)
        if text:
            return text if "Title" in _styles(node.get(_TEXT + "style-name"), parents) else ""
    return ""


def _styles(name: str | None, parents: dict[str, str | None]) -> Iterator[str]:
    """Yield a style and its ancestors."""
    for _ in range(_MAX_PARENTS):
        if name is None:
            return
        yield name
        name = parents.get(name)


@dataclass(frozen=True, slots=True)
class _NumberedLevel:
    """How a level is numbered: the numeral format, the text around the number, and how many levels are shown."""

    form: str
    prefix: str
    suffix: str
    shown: int
    start: int


_Levels = Mapping[int, _NumberedLevel]


def write_numbers(root: Any, styles: Any) -> None:
    """Insert each heading's and item's number, between marks, before its text; `styles` is the root of `styles.xml`."""
    lists = dict(_lists(root, styles))
    plain = set(_unnumbered(root))
    listed = set(_number_lists(root, lists))
    outline = lists.get(_OUTLINE, {})
    last = LevelNumbers()
    for heading in root.iter(_TEXT + "h"):
        level = whole(heading.get(_TEXT + "outline-level"), 1)
        counts = level in outline and heading.get(_TEXT + "is-list-header") != "true"
        if counts and heading not in listed and heading.get(_TEXT + "style-name") not in plain:
            first = whole(heading.get(_TEXT + "start-value"), outline[level].start)
            last.count(level, first, heading.get(_TEXT + "restart-numbering") == "true")
            _insert(heading, _label(level, outline, last))


def _number_lists(root: Any, lists: Mapping[str, _Levels]) -> Iterator[Any]:
    """Number the items of lists, and yield the paragraphs that have a number.

    A list continues the list that it names, or the previous one if it says so and has the same style.
    """
    named: dict[str, LevelNumbers] = {}
    before, last = "", LevelNumbers()
    for one in root.iter(_TEXT + "list"):
        if one.getparent().tag in _ITEMS:
            continue
        style = one.get(_TEXT + "style-name") or ""
        goes_on = one.get(_TEXT + "continue-numbering") == "true" and style == before
        last = named.get(one.get(_TEXT + "continue-list") or "", last if goes_on else LevelNumbers())
        before, named[one.get(_ID) or "?"] = style, last
        yield from _number_items(one, 1, style, lists, last)


def _number_items(node: Any, level: int, style: str, lists: Mapping[str, _Levels], last: LevelNumbers) -> Iterator[Any]:
    """Number the items of a list and of its nested lists, which share the last number of each level."""
    style = node.get(_TEXT + "style-name") or style
    levels = lists.get(style, {})
    for item in node.iterchildren(*_ITEMS):
        first = next(item.iterchildren(*_PARAGRAPHS), None)
        # An item without a paragraph of its own only contains a list at a deeper level.
        if first is not None and item.tag == _ITEMS[0]:
            for above in range(1, level):
                last.setdefault(above, _start(levels, above))
            stated = item.get(_TEXT + "start-value")
            last.count(level, whole(stated, _start(levels, level)), stated is not None)
            if level in levels:
                _insert(first, _label(level, levels, last))
                yield first
        elif first is not None and level in levels:
            _insert(first, "")  # pandoc counts it
        for inner in item.iterchildren(_TEXT + "list") if level < _DEEPEST else ():
            yield from _number_items(inner, level + 1, style, lists, last)


def _lists(root: Any, styles: Any) -> Iterator[tuple[str, _Levels]]:
    """Yield the levels of the outline, and the levels of lists by their names."""
    for part in (one for one in (styles, root) if one is not None):
        for outline in part.iter(_TEXT + "outline-style"):
            yield _OUTLINE, dict(_levels(outline, "outline-level-style"))
        for one in part.iter(_TEXT + "list-style"):
            yield one.get(_STYLE + "name") or "?", dict(_levels(one, "list-level-style-number"))


def _levels(style: Any, name: str) -> Iterator[tuple[int, _NumberedLevel]]:
    for node in style.iterchildren(_TEXT + name):
        form = node.get(_STYLE + "num-format") or ""
        if form in _FORMS:
            prefix, suffix = (node.get(_STYLE + side) or "" for side in ("num-prefix", "num-suffix"))
            shown, start = (whole(node.get(_TEXT + one), 1) for one in ("display-levels", "start-value"))
            yield whole(node.get(_TEXT + "level"), 1), _NumberedLevel(_FORMS[form], prefix, suffix, shown, start)


def _unnumbered(root: Any) -> Iterator[str]:
    """Yield the paragraph styles that remove headings from every list."""
    for style in root.iter(_STYLE + "style"):
        if style.get(_STYLE + "list-style-name") == "":
            yield style.get(_STYLE + "name") or ""


def _start(levels: _Levels, level: int) -> int:
    return levels[level].start if level in levels else 1


def _label(level: int, levels: _Levels, last: Mapping[int, int]) -> str:
    """Return the number of the last heading or item at a level."""
    own = levels[level]
    above = range(max(1, level - own.shown + 1), level + 1) if own.form != _UNCOUNTED else ()
    counted = [one for one in above if one in levels and levels[one].form != _UNCOUNTED]
    shown = (numbered(last.get(one, levels[one].start), levels[one].form) for one in counted)
    return f"{own.prefix}{'.'.join(shown)}{own.suffix}".strip()


def _insert(paragraph: Any, label: str) -> None:
    """Insert a number, between marks, before a paragraph's text if it has any; a heading without a number gets none."""
    if not "".join(paragraph.itertext()).strip() or (not label and paragraph.tag == _TEXT + "h"):
        return
    number = etree.Element(_TEXT + "span")
    number.text, number.tail, paragraph.text = f"{NUMBER_MARK}{label}{NUMBER_END}", paragraph.text, None
    paragraph.insert(0, number)
