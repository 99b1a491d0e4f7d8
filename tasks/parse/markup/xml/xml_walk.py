"""XML walk: draw an XML tree: sections, lists and tables of prose, and lines `name: value` of data."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from lxml import etree

from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.markup.html.html_table import table_rows
from docmill.tasks.parse.markup.html.hypertext import page_in, plain_words
from docmill.tasks.parse.markup.xml.xml_nodes import (
    CAPTIONED,
    CODES,
    GROUPS,
    HEADS,
    ITEMS,
    LISTS,
    PLAIN,
    PROSE,
    TABLES,
    TITLES,
    claim_of,
    first_title,
    has_blocks,
    has_twin,
    heading_level,
    is_around,
    is_fields,
    is_first_title,
    is_mixed,
    is_ordered,
    is_prose,
    is_record,
    is_title_of,
    links_in,
    name_of,
    part_of,
    parts_of,
    title_of,
    words_of,
)
from docmill.tasks.parse.passes.numbering import OpenLists
from docmill.tasks.parse.xml_trees import whole

_BREAK = "\ue00a"  # a line break in HTML cells; XML cells have spaces instead
_SILENT = frozenset(("schemaLocation", "noNamespaceSchemaLocation", "space", "version"))
_PAGE = re.compile(r"<(?:p|h[1-6]|ul|ol|pre|table|blockquote|div)\b[^<>]*>", re.IGNORECASE)
_SVG = "{http://www.w3.org/2000/svg}"  # its attributes are shapes and colours
_LABELS = {"label": " ", "term": ": "}  # the separator between a label and its subject
_MAX_NESTED = 20
"""Maximum nesting of mixed content. Each level takes a few frames of Python's stack of a thousand; deeper content is
drawn as one paragraph, without its lists and tables."""
_MANY = 2_000
"""Characters of lines after which a new element begins. Less would tear records apart; more would make elements too
large to show or cite if a file is a single record."""
_LONG_TEXT = 200
"""Characters from which a leaf of a prose document is a paragraph, whatever its name. Less would make paragraphs of
names and numbers, which mean nothing without their label; more would put a label before sentences."""
_LABEL_NAMES = 3
"""Names in a label, innermost last. One is often just `value` or `name`; more than three would repeat the record's
structure in every line."""
_ROWS = ("row", "strow", "sthead", "chrow", "chhead", "property", "prophead")
_CELL_WORDS = """
    entry stentry cell choption chdesc choptionhd chdeschd proptype propvalue propdesc proptypehd propvaluehd propdeschd
"""
_CELLS = frozenset(_CELL_WORDS.split())
_HEADS = ("thead", "sthead", "chhead", "prophead")
_CAPTIONS = ("title", "head", "caption")


class XmlLeaf(NamedTuple):
    """The words of a node that are drawn as one block, and its links; `mixed` says that there is markup among them."""

    node: Any
    name: str
    mixed: bool
    text: str
    links: Iterable[dict[str, str]]


class XmlWalk:
    """A walk over a tree: the canvas, the current node's surroundings, and pending text.

    Lines of data are pending until they fill an element or their record ends; a label is pending until its subject
    comes.
    """

    def __init__(self, root: Any) -> None:
        self.canvas = Canvas()
        self.title = ""
        self._root = root
        self._prose = is_prose(root)
        self._path = NodePath(root)
        self._sections: list[NodePlace] = []  # the enclosing nodes with a title
        self._lists = OpenLists()
        self._in_item = False  # an item began, but none of its blocks is drawn yet
        self._label = ""
        self._record: NodePlace | None = None
        self._lines: list[str] = []
        self._size = 0

    def draw(self) -> None:
        """Draw the whole tree."""
        self._walk(self._root, 0)
        self._draw_label()

    def _walk(self, top: Any, nested: int) -> None:
        """Draw a tree inside `nested` levels of mixed content; the tree's own depth needs no recursion."""
        steps = etree.iterwalk(top, events=("start", "end"))
        for event, node in steps:
            if not isinstance(node.tag, str):
                continue
            if event == "end":
                self._leave(node)
            elif self._enter(node, nested):
                steps.skip_subtree()
        self._flush()

    def _enter(self, node: Any, nested: int) -> bool:
        """Begin a node; return whether it is completely drawn."""
        self._path.step_in(node)
        name = name_of(node).lower()
        if self._is_drawn_elsewhere(node, name) or (self._prose and self._is_own_block(node, name)):
            return True
        if is_record(node, self._prose):
            self._flush()
            self._record = NodePlace(node, str(self._path))
        if name in TABLES and (table := html_table(node)) is not None:
            self._table(node, table)
            return True
        self._begin_section(node, name)
        if name in LISTS:
            self._lists.begin(1 if is_ordered(node) else None)
        return self._content(node, name, nested)

    def _is_drawn_elsewhere(self, node: Any, name: str) -> bool:
        """Return whether a node is drawn with its section's heading, or not at all."""
        if (name in ("style", "script") and str(node.tag).startswith(_SVG)) or (self._prose and name in GROUPS):
            return True
        is_title = (name in TITLES and is_first_title(node)) or name == "label"
        return is_title and bool(self._sections) and is_title_of(node, self._sections[-1].node)

    def _is_own_block(self, node: Any, name: str) -> bool:
        """Draw a patent claim, or a heading among the paragraphs below it; return whether it was one."""
        if claim := claim_of(node):
            self._flush()
            self.canvas.item(claim[1], 1, claim[0], path=str(self._path), links=links_in(node.iter()))
            return True
        if name not in TITLES or not self._sections or not is_title_of(node, self._sections[-1].node):
            return False
        self._flush()
        self._draw_label()
        below = heading_level(node) - heading_level(first_title(self._sections[-1].node))
        self.canvas.heading(words_of(node), len(self._sections) + max(below, 0), path=str(self._path))
        return True

    def _content(self, node: Any, name: str, nested: int) -> bool:
        """Draw a node that is one block or mixed content; return False if the walk must enter it."""
        mixed = is_mixed(node)
        if not mixed and self._is_item_of_blocks(node, name):
            self._flush()
            self._in_item = True
            return False
        if mixed and nested < _MAX_NESTED and has_blocks(node):
            self._parts(node, name, nested)
            return True
        if mixed or _is_leaf(node, name):
            self._leaf(XmlLeaf(node, name, mixed, words_of(node), links_in(node.iter())))
            return True
        self._attributes(node)
        return False

    def _is_item_of_blocks(self, node: Any, name: str) -> bool:
        return name in ITEMS and len(node) > 0 and bool(self._lists)

    def _parts(self, node: Any, name: str, nested: int) -> None:
        """Draw the words of a node, and the lists, tables and paragraphs between them, in order."""
        path, begun = str(self._path), False
        for part in parts_of(node):
            if not isinstance(part, tuple):
                self._walk(part, nested + 1)
            elif part[0] and begun:
                self.canvas.paragraph(part[0], path=path, links=links_in(part[1]))
            elif part[0]:
                self._leaf(XmlLeaf(node, name, True, part[0], links_in(part[1])))
            begun = True

    def _leave(self, node: Any) -> None:
        if name_of(node).lower() in LISTS:
            self._lists.end()
        if self._is_record(node):
            self._flush()
            self._record = None
        if self._sections and node is self._sections[-1].node:
            self._flush()
            self._sections.pop()
        self._path.step_out()

    def _is_record(self, node: Any) -> bool:
        """Return whether a node is the current record."""
        return self._record is not None and node is self._record.node

    def _begin_section(self, node: Any, name: str) -> None:
        """Draw the heading of a node that has its own title."""
        # The title in a head is the document's, and already drawn; that of a figure is its caption.
        heading = "" if name in HEADS or name in CAPTIONED else title_of(node) or part_of(node)
        if not heading:
            return
        self._flush()
        self._draw_label()
        label = next((words_of(child) for child in node if name_of(child).lower() == "label"), "")
        heading = f"{label} {heading}" if label else heading
        path = str(self._path)
        self._sections.append(NodePlace(node, path))
        self.title = self.title or heading
        self.canvas.heading(heading, len(self._sections))
        self.canvas.blocks[-1].attributes["path"] = path

    def _leaf(self, leaf: XmlLeaf) -> None:
        """Draw the words of a node according to its kind."""
        if self._is_label(leaf):
            self._label += leaf.text + _LABELS[leaf.name]
        elif self._is_code(leaf):
            self._code(leaf.node)
        elif leaf.name in ITEMS and self._lists:
            self._item(leaf)
        elif self._is_paragraph(leaf):
            self._paragraph(leaf)
        elif (page := _page_in(leaf)) is not None:
            self._page(page)
        else:
            self._attributes(leaf.node)
            self._line(self._names(leaf.node), leaf.text)

    def _is_label(self, leaf: XmlLeaf) -> bool:
        """Return whether a leaf is a number or a term that belongs to what follows."""
        return self._prose and leaf.name in _LABELS and bool(leaf.text)

    def _is_code(self, leaf: XmlLeaf) -> bool:
        # In data, `code` is an identifier. In a sentence, it is part of the mixed content and does not get here.
        return leaf.name in CODES or (self._prose and leaf.name == "code")

    def _is_paragraph(self, leaf: XmlLeaf) -> bool:
        if leaf.mixed or leaf.name in PROSE:
            return True
        titled = leaf.name in TITLES and not is_around(leaf.node.getparent())
        return self._prose and (titled or leaf.name in PLAIN or len(leaf.text) > _LONG_TEXT)

    def _code(self, node: Any) -> None:
        self._flush()
        self._draw_label()
        language = node.get("language") or node.get("lang") or ""
        self.canvas.code("".join(node.itertext()), language.lower())
        self._in_item = False

    def _paragraph(self, leaf: XmlLeaf) -> None:
        if self._in_item:
            self._item(leaf)
            return
        self._flush()
        stated = leaf.node.get("Label") or leaf.node.get("label") or ""  # of a part of an abstract
        label = self._take_label() + (f"{stated}: " if stated and leaf.text else "")
        self.canvas.paragraph(label + leaf.text, path=str(self._path), links=leaf.links)

    def _item(self, leaf: XmlLeaf) -> None:
        """Draw an item with the label before it, or else with its number if its list is numbered."""
        self._flush()
        number = self._lists.marker()
        marker = "-" if self._label else number
        text = self._take_label() + leaf.text
        self.canvas.item(text, max(1, len(self._lists)), marker, path=str(self._path), links=leaf.links)
        self._in_item = False

    def _page(self, page: Parsed) -> None:
        """Draw an HTML page, with its headings below those of the current section."""
        self._flush()
        self.canvas.add(page, len(self._sections) + 1, path=str(self._path))

    def _table(self, node: Any, table: Any) -> None:
        self._flush()
        rows, header_rows, caption = table_rows(table, _BREAK)
        caption, links = self._take_label() + caption, links_in(node.iter())
        self.canvas.paragraph(caption)
        self.canvas.table(rows, header_rows, captioned=bool(caption), path=str(self._path), links=links)

    def _attributes(self, node: Any) -> None:
        if self._prose or not node.attrib or str(node.tag).startswith(_SVG):
            return
        within = "" if self._is_record(node) else self._names(node) + "."
        # XPath returns them in one pass; the mapping would search from the first for each value.
        for said in node.xpath("@*"):
            name = said.attrname.rpartition("}")[2]
            if name in _SILENT or not said.strip():
                continue
            if (page := _parted(str(said))) is not None:
                self._page(page)
            else:
                self._line(within + name, plain_words(str(said)))

    def _names(self, node: Any) -> str:
        """Return the names of a node and its ancestors, up to its record or section, joined by dots."""
        ends = [self._root]
        if self._record is not None:
            ends.append(self._record.node)
        if self._sections:
            ends.append(self._sections[-1].node)
        names = [name_of(node)]
        for parent in node.iterancestors():
            if len(names) >= _LABEL_NAMES or parent in ends:
                break
            names.append(name_of(parent))
        return ".".join(reversed(names))

    def _line(self, label: str, text: str) -> None:
        if not text:
            return
        self._lines.append(f"{label}: {text}")
        self._size += len(text)
        if self._size > _MANY:
            self._flush()

    def _take_label(self) -> str:
        label, self._label = self._label, ""
        return label

    def _draw_label(self) -> None:
        """Draw a label that has no subject."""
        self.canvas.paragraph(self._take_label())

    def _flush(self) -> None:
        """Draw the pending lines as one element of their record or, without one, of their section."""
        if not self._lines:
            return
        around = self._record or (self._sections[-1] if self._sections else None)
        path = around.path if around is not None else f"/{name_of(self._root)}"
        self.canvas.paragraph("\n".join(self._lines), kind="text", path=path)
        self._lines, self._size = [], 0


def _is_leaf(node: Any, name: str) -> bool:
    """Return whether a node has words and no blocks: it has no children, or is a paragraph with inline markup."""
    return not len(node) or (name in PROSE and not has_blocks(node) and not is_fields(node))


def _page_in(leaf: XmlLeaf) -> Parsed | None:
    """Return the HTML page in a leaf's text, as in feeds, if it is more than a paragraph."""
    return None if leaf.mixed or len(leaf.node) else _parted(leaf.node.text or "")


def _parted(text: str) -> Parsed | None:
    """Return the HTML page in a text, if it is more than a paragraph."""
    page = page_in(text) if _PAGE.search(text) else None
    return page if page is not None and len(page.elements) > 1 else None


class NodePlace(NamedTuple):
    """A node and its path."""

    node: Any
    path: str


class NodePath:
    """The path of the current node of a walk; names shared by siblings are numbered."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._steps: list[str] = []
        # For each ancestor, how often each name has occurred among its children so far.
        self._counts: list[Counter[str]] = [Counter()]

    def __str__(self) -> str:
        return "/" + "/".join(self._steps)

    def step_in(self, node: Any) -> None:
        """Move from a node to one of its children."""
        name = name_of(node)
        counts = self._counts[-1]
        counts[name] += 1
        self._steps.append(f"{name}[{counts[name]}]" if self._is_numbered(node, counts[name]) else name)
        self._counts.append(Counter())

    def step_out(self) -> None:
        """Move back to the parent."""
        self._steps.pop()
        self._counts.pop()

    def _is_numbered(self, node: Any, count: int) -> bool:
        """Return whether a node has siblings of the same name, adjacent or earlier."""
        return node is not self._root and (count > 1 or has_twin(node))


def html_table(node: Any) -> Any:
    """Return a table as the `table` element of an HTML tree, or None if it has no known rows."""
    if next(node.iter("{*}tr"), None) is not None:
        written = etree.tostring(node, with_tail=False)
        return etree.fromstring(written, etree.HTMLParser(no_network=True, huge_tree=True)).find(".//table")
    rows = [one for one in node.iter() if name_of(one).lower() in _ROWS]
    if not rows:
        return None
    table = etree.Element("table")
    _add_caption(table, node)
    columns = [one.get("colname") or "" for one in node.iter() if name_of(one) == "colspec"]
    for row in rows:
        _add_row(table, row, columns)
    return table


def _add_caption(table: Any, node: Any) -> None:
    title = next((one for one in node if name_of(one).lower() in _CAPTIONS), None)
    if title is not None:
        etree.SubElement(table, "caption").text = words_of(title)


def _add_row(table: Any, row: Any, columns: list[str]) -> None:
    tag = "th" if _is_header(row) else "td"
    line = etree.SubElement(table, "tr")
    for cell in row:
        if name_of(cell).lower() in _CELLS:
            made = etree.SubElement(line, tag, rowspan=_rowspan(cell))
            made.text = words_of(cell)
            colspan = _colspan(cell, columns)
            if colspan:
                made.set("colspan", colspan)


def _is_header(row: Any) -> bool:
    inside = name_of(row).lower() in _HEADS or name_of(row.getparent()).lower() in _HEADS
    return inside or row.get("role") == "label"  # in TEI


def _colspan(cell: Any, columns: list[str]) -> str:
    """Return a cell's column span; CALS names the first and last columns, TEI gives the number."""
    first, last = cell.get("namest"), cell.get("nameend")
    if first in columns and last in columns:
        return str(columns.index(last) - columns.index(first) + 1)
    return cell.get("cols") or ""


def _rowspan(cell: Any) -> str:
    """Return a cell's row span; CALS gives the additional rows, TEI the total."""
    more = whole(cell.get("morerows"), -1)
    return cell.get("rows") or "1" if more < 0 else str(more + 1)
