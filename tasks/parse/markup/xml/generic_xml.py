"""XML of any kind, drawn as text: articles and books as prose, data as records of lines `name: value`.

Nothing outside of the file is read: no document type, no external entity, no address; where entities
that a file defines itself grow beyond measure, the file is refused. Every element carries the `path`
of the node that it shows.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.dates import iso_date
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.markup.html.html_inline import make_formula
from docmill.tasks.parse.markup.html.html_table import table_rows
from docmill.tasks.parse.markup.html.hypertext import draw_tree, page_tree
from docmill.tasks.parse.markup.xml.xml_nodes import (
    CAPTIONED,
    CODES,
    HEADS,
    ITEMS,
    LISTS,
    PROSE,
    TABLES,
    TITLES,
    blocks_in,
    is_mixed,
    is_ordered,
    is_prose,
    is_record,
    is_title_of,
    links_in,
    name_of,
    parts_of,
    title_of,
    words_of,
)
from docmill.tasks.parse.markup.xml.xml_table import html_table

_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_ENTITY = re.compile(rb"<!ENTITY\b")
_BREAK = "\ue00a"
_SILENT = frozenset(("schemaLocation", "noNamespaceSchemaLocation", "space", "version"))
_PAGE = re.compile(r"<(?:p|h[1-6]|ul|ol|pre|table|blockquote|div)\b[^<>]*>", re.IGNORECASE)
_DRAWING = "{http://www.w3.org/2000/svg}"  # whose attributes are shapes and colours
_LABELS = {"label": " ", "term": ": "}
_MAX_NESTED = 20
_MANY = 2_000  # characters of lines after which a new element begins
_ABOUT = frozenset(("channel", "metadata", "head", "header"))
_NAMES = {"creator": "author", "author": "author", "language": "language", "lang": "language", "date": "created"}
_NAMES |= {"pubdate": "created", "published": "created", "updated": "modified", "lastbuilddate": "modified"}
_MAX_HEADS, _MAX_AUTHOR = 20, 200


def parse_xml(data: bytes, _: ParseOptions) -> Parsed:
    """Return a document drawn as Markdown; its title is that of the outermost part that has one."""
    root, encoding = _root(data)
    for line_break in root.iter("{*}br", "{*}lb"):
        line_break.tail = " " + (line_break.tail or "")
    for formula in [*root.iter("{*}tex-math", "{*}math")]:
        make_formula(formula)
    drawing = _Drawing(root)
    drawing.walk(root)
    metadata = {"encoding": encoding, "root": name_of(root)} | _stated(root)
    return drawing.canvas.parsed(drawing.title, metadata)


def _root(data: bytes) -> tuple[Any, str]:
    """Return the root and the encoding: what the file declares, or where that is wrong, what it is."""
    try:
        root = _parsed(data)
        return root, (root.getroottree().docinfo.encoding or "utf-8").lower()
    except (etree.XMLSyntaxError, LookupError) as error:
        first = error
    found = decode(data)
    text = _DECLARATION.sub("", found.text).lstrip()
    try:
        return _parsed(text.encode("utf-8", "replace")), found.encoding
    except etree.XMLSyntaxError:
        raise Rejected("corrupt", f"not well-formed XML: {first}") from first


def _parsed(data: bytes) -> Any:
    """Return the root, with the file's own entities put in; those defined elsewhere stay as they are written."""
    # Without limits of its own only where no entity is defined, of which a few lines can make gigabytes.
    huge = _ENTITY.search(data) is None and b"\0" not in data[:1000]
    options = {"no_network": True, "load_dtd": False, "remove_comments": True, "remove_pis": True, "huge_tree": huge}
    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities="internal", **options))
    except etree.XMLSyntaxError as error:
        if "not defined" not in str(error):
            raise
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, **options))


def _stated(root: Any) -> dict[str, Any]:
    """Return what the children of the root, or of its head, say of the document."""
    found: dict[str, Any] = {}
    language = root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("lang")
    if language:
        found["language"] = language
    for parent in (root, *islice(_heads(root), _MAX_HEADS)):
        for node in parent:
            name = _NAMES.get(name_of(node).lower(), "")
            text = words_of(node) if name else ""
            if name == "author" and text and len(text) < _MAX_AUTHOR:
                found[name] = f"{found[name]}, {text}" if name in found else text
            elif text and not len(node):
                found.setdefault(name, iso_date(text) if name in ("created", "modified") else text)
    return found


def _heads(node: Any) -> Iterator[Any]:
    for one in node:
        if name_of(one).lower() in HEADS | _ABOUT:
            yield one
            yield from _heads(one)


class _Drawing:
    """A walk over the tree; `lines` wait to become one element with the record that they belong to."""

    def __init__(self, root: Any) -> None:
        self.canvas = Canvas()
        self.title = ""
        self._root = root
        self._prose = is_prose(root)
        self._lines: list[str] = []
        self._size = 0
        self._record: Any = None
        self._levels: list[Any] = []  # the nodes around this one that have a title
        self._level_paths = ["/" + name_of(root)]
        self._lists = self._depth = 0
        self._numbers: list[int] = []  # of the next item of each list, 0 for those without numbers
        self._marker = False
        self._pending = ""  # of what follows
        self._steps: list[str] = []  # the path of the node at hand
        self._counts: list[Counter[str]] = [Counter()]
        self._record_path = "/" + name_of(root)

    def walk(self, top: Any) -> None:
        """Draw a tree; depth costs no stack."""
        steps = etree.iterwalk(top, events=("start", "end"))
        for event, node in steps:
            if not isinstance(node.tag, str):
                continue
            if event == "start":
                self._step_in(node)
                if self._enter(node):
                    steps.skip_subtree()
                continue
            self._leave(node)
            self._steps.pop()
            self._counts.pop()
        self._flush()
        if not self._depth:
            self._say_label()

    def _step_in(self, node: Any) -> None:
        name = name_of(node)
        self._counts[-1][name] += 1
        twin = any(one is not None and one.tag == node.tag for one in (node.getnext(), node.getprevious()))
        self._steps.append(f"{name}[{self._counts[-1][name]}]" if twin and node is not self._root else name)
        self._counts.append(Counter())

    def _path(self) -> str:
        return "/" + "/".join(self._steps)

    def _enter(self, node: Any) -> bool:
        """Begin a node; return whether it was drawn whole."""
        name = name_of(node).lower()
        if name in ("style", "script") and str(node.tag).startswith(_DRAWING):
            return True
        if self._levels and (name == "label" or name in TITLES) and is_title_of(node, self._levels[-1]):
            return True  # drawn when its parent began
        if is_record(node, self._prose):
            self._flush()
            self._record, self._record_path = node, self._path()
        if name in TABLES and (table := html_table(node)) is not None:
            return self._table(node, table)
        heading = "" if name in HEADS or name in CAPTIONED else title_of(node)
        if heading:
            self._head(node, heading)
        if name in LISTS:
            self._lists += 1
            self._numbers.append(int(is_ordered(node)))
        mixed = is_mixed(node)
        if name in ITEMS and len(node) and not mixed and self._lists:
            self._flush()
            self._marker = True
            return False
        if mixed and self._depth < _MAX_NESTED and any(True for _ in blocks_in(node)):
            return self._in_parts(node)
        if not len(node) or mixed or (name in PROSE and not any(True for _ in blocks_in(node))):
            self._block(node, name, mixed, words_of(node), links_in(node))
            return True
        self._attributes(node)
        return False

    def _in_parts(self, node: Any) -> bool:
        """Draw the words of a node and the lists, tables and paragraphs that stand between them, in order."""
        path, begun = self._path(), False
        self._depth += 1
        for part in parts_of(node):
            if not isinstance(part, tuple):
                self.walk(part)
            elif part[0] and begun:
                self.canvas.paragraph(part[0], path=path, **part[1])
            elif part[0]:
                self._block(node, name_of(node).lower(), True, part[0], part[1])
            begun = True
        self._depth -= 1
        return True

    def _leave(self, node: Any) -> None:
        if name_of(node).lower() in LISTS:
            self._lists -= 1
            self._numbers.pop()
        if node is self._record:
            self._flush()
            self._record = None
        if self._levels and self._levels[-1] is node:
            self._flush()
            self._levels.pop()
            self._level_paths.pop()

    def _head(self, node: Any, heading: str) -> None:
        self._flush()
        self._say_label()
        label = next((words_of(child) for child in node if name_of(child).lower() == "label"), "")
        heading = f"{label} {heading}" if label else heading
        self._levels.append(node)
        self._level_paths.append(self._path())
        self.title = self.title or heading
        self.canvas.heading(heading, len(self._levels))
        self.canvas.elements[-1].attributes["path"] = self._path()

    def _block(self, node: Any, name: str, mixed: bool, text: str, links: dict[str, Any]) -> None:
        """Draw the words of a node."""
        if name in _LABELS and self._prose and text:  # a number or the like, of what follows
            self._pending += text + _LABELS[name]
            return
        if name in CODES or (name == "code" and self._prose):  # in a line it is part of that
            self._flush()
            self._say_label()
            language = node.get("language") or node.get("lang") or ""
            self.canvas.code("".join(node.itertext()), language.lower())
        elif name in ITEMS and self._lists:
            self._flush()
            self._item(text, links)
        elif name in PROSE or (name in TITLES and self._prose) or mixed or (self._prose and len(text) > 200):
            self._flush()
            if self._marker:
                self._item(text, links)
            else:
                self.canvas.paragraph(self._pending + text, path=self._path(), **links)
                self._pending = ""
        elif self._page(node):
            return
        else:
            self._attributes(node)
            self._line(self._label(node), text)
            return
        self._marker = False

    def _item(self, text: str, links: dict[str, Any]) -> None:
        """Draw an item: with the label that stands before it, else the number that its list gives it."""
        number = self._numbers[-1] if self._numbers else 0
        if number:
            self._numbers[-1] += 1
        marker = "-" if self._pending or not number else f"{number}."
        text, self._pending = self._pending + text, ""
        self.canvas.item(text, max(1, self._lists), marker, path=self._path(), **links)

    def _page(self, node: Any) -> bool:
        """Draw what a leaf holds as HTML, as feeds do, if that is more than a paragraph; return whether it was."""
        root = page_tree(node.text) if not len(node) and _PAGE.search(node.text or "") else None
        drawn = None if root is None else draw_tree(root)
        if drawn is None or len(drawn.elements) < 2:
            return False
        self._flush()
        below = len(self._levels) + 1 - min((one.level for one in drawn.elements if one.kind == "title"), default=0)
        for element in drawn.elements:
            text = drawn.text[element.start : element.end]
            if element.kind == "title":
                self.canvas.heading(element.attributes["text"], element.level + below)
            else:
                self.canvas.copy(element, text)
            self.canvas.elements[-1].attributes["path"] = self._path()
        return True

    def _attributes(self, node: Any) -> None:
        if self._prose or str(node.tag).startswith(_DRAWING):
            return
        within = "" if node is self._record else self._label(node) + "."
        # XPath gives them in one pass, where the mapping looks up each value from the first.
        for name, value in ((said.attrname, str(said)) for said in node.xpath("@*")):
            short = name.rpartition("}")[2]
            if short not in _SILENT and value.strip():
                self._line(within + short, value)

    def _label(self, node: Any) -> str:
        """Return the names of a node and of those around it, up to its record."""
        names = [name_of(node)]
        for parent in node.iterancestors():
            if parent is self._record or parent is self._root or len(names) >= 3:
                break
            if self._levels and parent is self._levels[-1]:
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

    def _say_label(self) -> None:
        """Draw a label that nothing followed which it could stand before."""
        self.canvas.paragraph(self._pending)
        self._pending = ""

    def _table(self, node: Any, table: Any) -> bool:
        self._flush()
        rows, header_rows, caption = table_rows(table, _BREAK)
        self.canvas.paragraph(self._pending + caption)
        self._pending = ""
        self.canvas.table(rows, header_rows, path=self._path(), **links_in(node))
        return True

    def _flush(self) -> None:
        if self._lines:
            path = self._record_path if self._record is not None else self._level_paths[-1]
            self.canvas.paragraph("\n".join(self._lines), kind="text", path=path)
            self._lines, self._size = [], 0
