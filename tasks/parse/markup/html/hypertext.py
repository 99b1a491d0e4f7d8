"""HTML: one walk over lxml's tree, drawn as Markdown.

Scripts, styles, forms' controls and hidden parts are dropped; navigation and page footers are kept
as furniture. Inline markup is dropped but for code; links are attributes of their block.
"""

import re
from dataclasses import replace
from itertools import islice
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.markup.html.html_head import head_metadata
from docmill.tasks.parse.markup.html.html_inline import make_plain
from docmill.tasks.parse.markup.html.html_table import is_data_table, table_rows
from docmill.tasks.parse.markup.html.numbering import numbered
from docmill.tasks.parse.plain import is_prose, paragraphs

_DROPPED_WORDS = """
    script style noscript template svg iframe object embed applet canvas audio video head select option textarea
    button input datalist meter progress map noembed noframes rp
"""
_DROPPED = frozenset(_DROPPED_WORDS.split())
_BLOCK_WORDS = """
    html body p div section article main header footer nav aside address figure figcaption blockquote ul ol menu dir
    li dl dt dd h1 h2 h3 h4 h5 h6 pre table thead tbody tfoot tr td th caption form fieldset legend details summary
    hr center dialog hgroup search listing plaintext xmp title
"""
_BLOCKS = frozenset(_BLOCK_WORDS.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset(["ul", "ol", "menu", "dir"])
_CODES = frozenset(["code", "kbd", "samp", "tt"])
_PRE = frozenset(["pre", "listing", "plaintext", "xmp"])
_ARTICLES = frozenset(("article", "main"))
_FURNITURE_ROLES = frozenset(["navigation", "contentinfo", "search"])
_KEPT = re.compile(
    rb"<(?!/?(?:html|head|title|meta|body|p|h[1-6]|pre|table|tr|t[dh]|script|style)\b)/?[A-Za-z][^<>]*>", re.I
)
_LANGUAGE = re.compile(r"(?:^|[\s-])(?:language|lang|brush|highlight-source|highlight)[-:]\s?([A-Za-z0-9+#_-]+)")
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9+#_-]*)")
_DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w:.-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w:.-]+)", re.I)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_MAY_HIDE = etree.XPath(".//*[@style or @hidden or @aria-hidden]")
_BREAK = "\ue00a"  # stands for <br>; of private use, and dropped from the text before
_NUMBERS = re.compile(r"[\d\s]*")
_MARKER_WIDTH = 4
_MAX_LINKS = 200
_PERMALINKS = frozenset("¶#§🔗\uf0c1\u200b")  # what headings offer as a link to themselves
_BACK = frozenset(("¶", "\uf0c1", "^", "↑", "↩", "↩\ufe0e"))  # and notes, as one to where they are referred to


def parse_html(data: bytes, _: ParseOptions) -> Parsed:
    """Return a page drawn as Markdown, its title and what its head says.

    The encoding is the byte order mark's, else UTF-8 where it is that, else the one it declares.
    """
    declared = _DECLARED.search(data[:4096])
    found = decode(data, (declared[1] or declared[2]).decode("ascii") if declared else "")
    root = page_tree(found.text)
    if root is None:
        return Parsed("", ())
    drawn = draw_tree(root)
    return replace(drawn, metadata=found.metadata | drawn.metadata)


def page_tree(page: str) -> Any:
    """Return the root of a page's tree, or None for one without an element."""
    return _tree(page.replace(_BREAK, "").encode("utf-8", "replace"))


def draw_tree(root: Any) -> Parsed:
    """Return a page's tree, which this changes, drawn as Markdown."""
    for node in root.iter("br", "math", "rt"):
        if node.tag == "br":
            node.tail = _BREAK + (node.tail or "")
        else:
            make_plain(node)
    walker = Walker(Canvas())
    walker.walk(root)
    return walker.parsed(*head_metadata(root))


def _tree(data: bytes) -> Any:
    """Return the root, or None; a page nested deeper than libxml2 goes is tried again without its boxes."""
    for source in (data, _KEPT.sub(b" ", data)):
        parser = etree.HTMLParser(
            encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True
        )
        try:
            root = etree.fromstring(source, parser)
        except etree.XMLSyntaxError:
            return None
        if not any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
            return root
    raise Rejected("corrupt", "HTML nested deeper than 2,048 elements")


class Walker:
    """Where the walk is: the text of the block at hand, and the lists, quotes and links around it."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas
        self._text: list[str] = []
        self._links: list[dict[str, str]] = []
        self._open_links: list[tuple[int, str]] = []
        self._lists: list[tuple[int, str]] = []  # the number of a list's next item, 0 where unordered, and its style
        self._marker = ""
        self._level = self._quotes = self._furniture = self._articles = self._headers = 0

    def parsed(self, title: str, metadata: dict[str, Any]) -> Parsed:
        """Return the document; where all is furniture, nothing is."""
        elements = self.canvas.elements
        tops = (index for index, one in enumerate(elements) if one.kind == "title" and one.level == 1)
        top = next(tops, 0)
        # Above a page's heading stand its menus, whatever they are made of.
        elements[:top] = [replace(one, kind="furniture") if _is_links(one) else one for one in elements[:top]]
        if all(one.kind == "furniture" for one in elements):
            elements[:] = [replace(one, kind="paragraph") for one in elements]
        drawn = self.canvas.parsed(title, metadata)
        heading = elements[top].attributes.get("text", "") if elements else ""
        return replace(drawn, title=drawn.title or heading)

    def walk(self, root: Any) -> None:
        """Draw a tree; depth costs no stack."""
        steps = etree.iterwalk(root, events=("start", "end"))
        skipped = None
        for event, node in steps:
            tag = node.tag
            if event == "start":
                if (tag in _DROPPED and not self._is_heading_in(tag)) or (
                    (tag in _BLOCKS or tag == "span") and _is_hidden(node)
                ):
                    skipped = node
                elif tag in _BLOCKS:
                    skipped = node if self._enter(node, tag) else None
                elif tag == "a":
                    self._open_links.append((len(self._text), node.get("href") or ""))
                elif tag in _CODES:
                    self._text.append("`")
                elif tag == "img" and " " in (node.get("alt") or ""):
                    self._text.append(f" {node.get('alt')} ")
                if skipped is not None:
                    steps.skip_subtree()
                elif node.text:
                    self._text.append(node.text)
                continue
            if node is skipped:
                skipped = None
            elif tag in _BLOCKS:
                self._leave(node, tag)
            elif tag == "a":
                self._close_link()
            elif tag in _CODES:
                self._text.append("`")
            if node.tail:
                self._text.append(node.tail)
        self._flush()

    def _is_heading_in(self, tag: str) -> bool:
        return tag == "button" and self._level > 0  # it folds what is below

    def _enter(self, node: Any, tag: str) -> bool:
        """Begin a block; return whether it was drawn whole."""
        self._flush()
        if tag in _HEADINGS:
            self._level = _HEADINGS[tag]
        elif tag in _LISTS:
            self._lists.append((_number(node, "start"), node.get("type") or "") if tag == "ol" else (0, ""))
        elif tag == "li":
            self._marker = self._next_marker(_number(node, "value", 0))
        elif tag == "blockquote":
            self._quotes += 1
        elif tag in _ARTICLES:
            self._articles += 1
        elif tag == "header":
            self._headers += 1
        elif tag in _PRE:
            return self._code(node)
        elif tag == "table":
            return self._table(node)
        if self._is_furniture(node, tag):
            self._furniture += 1
        return False

    def _leave(self, node: Any, tag: str) -> None:
        self._flush()
        if tag in _HEADINGS:
            self._level = 0
        elif tag in _LISTS:
            if self._lists:
                self._lists.pop()
        elif tag == "li":
            self._marker = ""
        elif tag == "blockquote":
            self._quotes -= 1
        if self._is_furniture(node, tag):
            self._furniture -= 1
        if tag in _ARTICLES:
            self._articles -= 1
        elif tag == "header":
            self._headers -= 1

    def _is_furniture(self, node: Any, tag: str) -> bool:
        # An article's own footer says something about the article.
        return tag == "nav" or node.get("role") in _FURNITURE_ROLES or (tag == "footer" and not self._articles)

    def _next_marker(self, stated: int) -> str:
        number, style = self._lists[-1] if self._lists else (0, "")
        if not number:
            return "-"
        number = stated or number
        self._lists[-1] = (number + 1, style)
        return f"{numbered(number, style)}."

    def _flush(self) -> None:
        """Draw the block at hand, if it holds any text."""
        if not self._text:
            return
        text = _collapse("".join(self._text))
        links = {"links": self._links} if self._links else {}
        if text:
            self._draw(text, links)
        self._text = []
        self._links = []
        self._open_links = [(0, url) for _, url in self._open_links]

    def _draw(self, text: str, links: dict[str, Any]) -> None:
        menu = self._headers and self._marker and sum(len(link["text"]) for link in self._links) >= len(text)
        if self._furniture or menu:
            self.canvas.paragraph(text, kind="furniture")
        elif self._level:
            self.canvas.heading(text, self._level, **links)
        elif self._marker:
            self.canvas.item(text, max(1, len(self._lists)), self._marker, **links)
            self._marker = ""
        elif self._quotes:
            self.canvas.quote(text, self._quotes, **links)
        else:
            self.canvas.paragraph(text, **links)

    def _close_link(self) -> None:
        if not self._open_links:
            return
        at, url = self._open_links.pop()
        text = " ".join("".join(self._text[at:]).replace(_BREAK, " ").split())
        if "#" in url and (text in _BACK or (self._level and text in _PERMALINKS)):
            del self._text[at:]
        elif text and url and not url.startswith(("#", "javascript:", "data:")) and len(self._links) < _MAX_LINKS:
            self._links.append({"text": text, "url": url})

    def _code(self, node: Any) -> bool:
        text = "".join(node.itertext()).replace(_BREAK, "\n").replace("\r\n", "\n")
        if _NUMBERS.fullmatch(text):
            return True  # a gutter of line numbers
        if self._furniture:
            return False
        self._marker = ""
        language = _code_language(node)
        if not language and node.find(".//code") is None and is_prose(text):
            self._typed(text)
        else:
            self.canvas.code(text, language)
        return True

    def _typed(self, text: str) -> None:
        """Draw a text as it was typed."""
        for element in paragraphs(text):
            if element.kind == "title":
                self.canvas.heading(element.attributes["text"], element.level)
            else:
                self.canvas.paragraph(text[element.start : element.end])

    def _table(self, node: Any) -> bool:
        if self._furniture or not is_data_table(node):
            return False
        for one in [*node.iter(*_DROPPED), *filter(_is_hidden, _MAY_HIDE(node))]:
            _drop(one)
        rows, header_rows, caption = table_rows(node, _BREAK)
        for anchor in islice(node.iter("a"), _MAX_LINKS):
            self._open_links.append((len(self._text), anchor.get("href") or ""))
            self._text.append("".join(anchor.itertext()))
            self._close_link()
        links: dict[str, Any] = {"links": self._links} if self._links else {}
        self._text, self._links, self._marker = [], [], ""
        self.canvas.paragraph(caption)
        self.canvas.table(rows, header_rows, **links)
        return True


def _is_links(element: Element) -> bool:
    """Return whether a block has no words but those of its links."""
    words = sum(len(link["text"]) for link in element.attributes.get("links", ()))
    return element.kind in ("paragraph", "list_item") and words >= element.end - element.start - _MARKER_WIDTH > 0


def _collapse(text: str) -> str:
    text = text.replace("``", "")
    if _BREAK not in text:
        return " ".join(text.split())
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split(_BREAK))))


def _is_hidden(node: Any) -> bool:
    if not node.attrib:
        return False
    return (
        node.get("hidden") is not None
        or node.get("aria-hidden") == "true"
        or (node.get("style") is not None and _HIDDEN.search(node.get("style")) is not None)
    )


def _number(node: Any, name: str, default: int = 1) -> int:
    stated = (node.get(name) or "").strip()
    return int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 9 and int(stated) else default


def _drop(node: Any) -> None:
    """Take a node out of its tree, but for what follows it."""
    parent, before = node.getparent(), node.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (node.tail or "")
    elif parent is not None:
        parent.text = (parent.text or "") + (node.tail or "")
    if parent is not None:
        parent.remove(node)


def _code_language(node: Any) -> str:
    child = node.find(".//code")
    parents = [node.getparent(), None if node.getparent() is None else node.getparent().getparent()]
    for one in (child, node, *parents):
        if one is None:
            continue
        stated = one.get("data-lang") or one.get("data-language") or ""
        match = _NAME.fullmatch(stated.strip()) or _LANGUAGE.search(one.get("class") or "")
        if match:
            return str(match[1]).lower()
    return ""
