"""XML of any kind, drawn as text: articles and books as prose, data as records of lines `name: value`.

Nothing outside of the file is read: no document type, no external entity, no address; where entities
that a file defines itself grow beyond measure, the file is refused. Every element carries the `path`
of the node that it shows.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from lxml import etree

from storage.errors import Rejected
from storage.schema import Parsed
from tasks.parse.canvas import Canvas
from tasks.parse.decode import decode
from tasks.parse.format import ParseOptions
from tasks.parse.markup.html_table import table_rows

_TITLES = frozenset(("title", "head", "heading", "article-title", "invention-title", "headline", "doc-title"))
_PROSE = frozenset(("p", "para", "simpara", "paragraph", "ab", "claim-text", "abstract", "quote", "blockquote", "note"))
_ITEMS = frozenset(("li", "listitem", "list-item", "item"))
_CODES = frozenset(("code-block", "codeblock", "programlisting", "screen", "listing", "pre", "literallayout", "source"))
_LISTS = frozenset(("ul", "ol", "list", "itemizedlist", "orderedlist", "steps"))
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_ENTITY = re.compile(rb"<!ENTITY\b")
_TAG = re.compile(r"<[^<>]{1,1000}>")
_BREAK = "\ue00a"
_SILENT = frozenset(("schemaLocation", "noNamespaceSchemaLocation", "space", "version"))
_MAX_NESTED = 20
_MANY_NODES = 20_000
_MANY = 2_000  # characters of lines after which a new element begins
_NAMES = {"creator": "author", "author": "author", "language": "language", "lang": "language", "date": "created"}


def parse_xml(data: bytes, _: ParseOptions) -> Parsed:
    """Return a document drawn as Markdown; its title is that of the outermost part that has one."""
    root, encoding = _root(data)
    for line_break in root.iter("{*}br", "{*}lb"):
        line_break.tail = " " + (line_break.tail or "")
    drawing = _Drawing(root)
    drawing.walk(root)
    metadata = {"encoding": encoding, "root": _name(root)} | _stated(root)
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


def _name(node: Any) -> str:
    return str(node.tag).rpartition("}")[2] if isinstance(node.tag, str) else ""


def _stated(root: Any) -> dict[str, Any]:
    """Return what the children of the root, or of its head, say of the document."""
    found: dict[str, Any] = {}
    language = root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("lang")
    if language:
        found["language"] = language
    heads = [one for one in root if _name(one).lower() in ("channel", "info", "metadata", "head", "header")]
    for parent in (root, *heads[:1]):
        for node in parent:
            name, text = _NAMES.get(_name(node).lower()), " ".join((node.text or "").split())
            if name and text and not len(node):
                found.setdefault(name, text)
    return found


class _Drawing:
    """A walk over the tree; `lines` wait to become one element with the record that they belong to."""

    def __init__(self, root: Any) -> None:
        self.canvas = Canvas()
        self.title = ""
        self._root = root
        self._prose = _is_prose(root)
        self._lines: list[str] = []
        self._size = 0
        self._record: Any = None
        self._levels: list[Any] = []  # the nodes around this one that have a title
        self._lists = self._depth = 0
        self._marker = False
        self._steps: list[str] = []  # the path of the node at hand
        self._counts: list[Counter[str]] = [Counter()]
        self._record_path = "/" + _name(root)

    def walk(self, top: Any) -> None:
        """Draw a tree; depth costs no stack."""
        steps = etree.iterwalk(top, events=("start", "end"))
        skipped = None
        for event, node in steps:
            if not isinstance(node.tag, str):
                continue
            if event == "start":
                self._step_in(node)
                if self._enter(node):
                    skipped = node
                    steps.skip_subtree()
                continue
            if node is skipped:
                skipped = None
            else:
                self._leave(node)
            self._steps.pop()
            self._counts.pop()
        self._flush()

    def _step_in(self, node: Any) -> None:
        name = _name(node)
        self._counts[-1][name] += 1
        twin = any(one is not None and one.tag == node.tag for one in (node.getnext(), node.getprevious()))
        self._steps.append(f"{name}[{self._counts[-1][name]}]" if twin and node is not self._root else name)
        self._counts.append(Counter())

    def _path(self) -> str:
        return "/" + "/".join(self._steps)

    def _enter(self, node: Any) -> bool:
        """Begin a node; return whether it was drawn whole."""
        name = _name(node).lower()
        if name in _TITLES and self._levels and _is_title_of(node, self._levels[-1]):
            return True  # drawn when its parent began
        if _is_record(node, self._prose):
            self._flush()
            self._record, self._record_path = node, self._path()
        heading = _title_of(node)
        if heading:
            self._head(node, heading)
        if name in _LISTS:
            self._lists += 1
        mixed = _is_mixed(node)
        if name in _ITEMS and len(node) and not mixed and self._lists:
            self._flush()
            self._marker = True
            return False
        if name == "table" and next(node.iter("{*}tr"), None) is not None:
            return self._table(node)
        if mixed and self._depth < _MAX_NESTED and any(True for _ in _blocks_in(node)):
            return self._in_parts(node)
        if not len(node) or mixed or (name in _PROSE and not any(True for _ in _blocks_in(node))):
            self._block(node, name, mixed, _words(node))
            return True
        self._attributes(node)
        return False

    def _in_parts(self, node: Any) -> bool:
        """Draw the words of a node, then the lists, tables and paragraphs that stand between them."""
        blocks = list(_blocks_in(node))
        self._block(node, _name(node).lower(), True, _words(node, frozenset(map(id, blocks))))
        self._depth += 1
        for block in blocks:
            self.walk(block)
        self._depth -= 1
        return True

    def _leave(self, node: Any) -> None:
        if _name(node).lower() in _LISTS:
            self._lists -= 1
        if node is self._record:
            self._flush()
            self._record = None
        if self._levels and self._levels[-1] is node:
            self._flush()
            self._levels.pop()

    def _head(self, node: Any, heading: str) -> None:
        self._flush()
        self._levels.append(node)
        self.title = self.title or heading
        self.canvas.heading(heading, len(self._levels))
        self.canvas.elements[-1].attributes["path"] = self._path()

    def _block(self, node: Any, name: str, mixed: bool, text: str) -> None:
        """Draw the words of a node."""
        if name in _CODES:
            self._flush()
            language = node.get("language") or node.get("lang") or ""
            self.canvas.code("".join(node.itertext()), language.lower())
        elif name in _ITEMS and self._lists:
            self._flush()
            self.canvas.item(text, self._lists, path=self._path())
        elif name in _PROSE or mixed or (self._prose and len(text) > 200):
            self._flush()
            if self._marker:
                self.canvas.item(text, max(1, self._lists), path=self._path())
            else:
                self.canvas.paragraph(text, path=self._path())
        else:
            self._attributes(node)
            self._line(self._label(node), text)
            return
        self._marker = False

    def _attributes(self, node: Any) -> None:
        if self._prose:
            return
        within = "" if node is self._record else self._label(node) + "."
        # XPath gives them in one pass, where the mapping looks up each value from the first.
        for name, value in ((said.attrname, str(said)) for said in node.xpath("@*")):
            short = name.rpartition("}")[2]
            if short not in _SILENT and value.strip():
                self._line(within + short, value)

    def _label(self, node: Any) -> str:
        """Return the names of a node and of those around it, up to its record."""
        names = [_name(node)]
        for parent in node.iterancestors():
            if parent is self._record or parent is self._root or len(names) >= 3:
                break
            if self._levels and parent is self._levels[-1]:
                break
            names.append(_name(parent))
        return ".".join(reversed(names))

    def _line(self, label: str, text: str) -> None:
        if not text:
            return
        self._lines.append(f"{label}: {text}")
        self._size += len(text)
        if self._size > _MANY:
            self._flush()

    def _table(self, node: Any) -> bool:
        self._flush()
        plain = etree.fromstring(
            etree.tostring(node, with_tail=False), etree.HTMLParser(no_network=True, huge_tree=True)
        )
        rows, header_rows, caption = table_rows(plain.find(".//table"), _BREAK)
        self.canvas.paragraph(caption)
        self.canvas.table(rows, header_rows, path=self._path())
        return True

    def _flush(self) -> None:
        if self._lines:
            path = self._record_path if self._record is not None else "/" + _name(self._root)
            self.canvas.paragraph("\n".join(self._lines), kind="text", path=path)
            self._lines, self._size = [], 0


def _words(node: Any, left_out: frozenset[int] = frozenset()) -> str:
    """Return the text of a node in one line; pages inside of it, as feeds have them, lose their tags."""
    text = "".join(_pieces(node, left_out)) if len(node) else node.text or ""
    if "</" in text or "<br" in text or "<p" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    return " ".join(text.split())


def _pieces(top: Any, left_out: frozenset[int]) -> Iterator[str]:
    steps = etree.iterwalk(top, events=("start", "end"))
    skipped = None
    for event, node in steps:
        if event == "end":
            skipped = None if node is skipped else skipped
            yield (node.tail or "") if node is not top else ""
        elif id(node) in left_out:
            skipped = node
            steps.skip_subtree()
            yield " "
        elif isinstance(node.tag, str):
            yield node.text or ""
            if _name(node).lower() in _BLOCKS:
                yield " "
        elif node.tag is etree.Entity:
            yield html.unescape(node.text or "")


def _blocks_in(node: Any) -> Iterator[Any]:
    """Yield the outermost nodes inside of a node that are blocks of their own."""
    steps = etree.iterwalk(node, events=("start",))
    for _, inner in steps:
        if inner is not node and _name(inner).lower() in _BLOCKS - _TITLES:
            steps.skip_subtree()
            yield inner


def _is_mixed(node: Any) -> bool:
    if not len(node):
        return False
    return bool((node.text or "").strip()) or any((child.tail or "").strip() for child in node)


_BLOCKS = _PROSE | _ITEMS | _CODES | _LISTS | _TITLES | {"table"}


def _is_prose(root: Any) -> bool:
    """Return whether most of the words of a tree stand in paragraphs or around markup inside of sentences."""
    prose = others = 0
    steps = etree.iterwalk(root, events=("start",))
    for number, (_, node) in enumerate(steps):
        if number > _MANY_NODES:
            break
        if _name(node).lower() in _PROSE or _is_mixed(node):
            prose += len(_words(node))
            steps.skip_subtree()
        else:
            others += len((node.text or "").strip())
    return prose > others


def _is_record(node: Any, prose: bool) -> bool:
    """Return whether a node is one of several alike and holds more than words."""
    if not len(node) and (prose or not node.attrib):
        return False
    return any(one is not None and one.tag == node.tag for one in (node.getnext(), node.getprevious()))


def _title_of(node: Any) -> str:
    """Return the title of a node: the words of a child that is called so."""
    for child in node:
        name = _name(child).lower()
        if name in _TITLES and not (name == "head" and len(child) and not _is_mixed(child)):
            return _words(child)
        if name == "title-group":
            return _title_of(child)
    return ""


def _is_title_of(title: Any, node: Any) -> bool:
    parent = title.getparent()
    return parent is node or (parent is not None and _name(parent) == "title-group" and parent.getparent() is node)
