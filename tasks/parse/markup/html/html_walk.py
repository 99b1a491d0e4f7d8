"""HTML walk: draw an HTML tree by actions at the start and end of each tag."""

import re
from collections.abc import Callable
from itertools import islice
from typing import Any

from lxml import etree

from docmill.storage.schema import KeptPicture
from docmill.tasks.parse.canvas import MOST_LINKS, Canvas
from docmill.tasks.parse.markup.html.formulas_and_ruby import without_own_mark
from docmill.tasks.parse.markup.html.html_nodes import (
    DEPTH,
    MARKER,
    caption_of,
    code_language,
    is_chrome,
    is_contents,
    is_hidden,
    is_named_footer,
    is_said_beside,
    is_site_header,
    leads_back,
    says_chrome,
    stated_number,
)
from docmill.tasks.parse.markup.html.html_table import is_data_table, table_rows
from docmill.tasks.parse.passes.numbering import OpenLists
from docmill.tasks.parse.pictures.addresses import Loader, of_data_uri
from docmill.tasks.parse.plain_text import drawn_tables, is_prose, paragraphs
from docmill.tasks.parse.superscripts import shown_formula, with_fractions
from docmill.tasks.parse.titles.inferred_headings import titled
from docmill.tasks.parse.xml_trees import drop, words_in

LINE_BREAK = "\ue00a"  # represents <br>; a private-use character, removed from the text before
_APART = "\n\n"  # between paragraphs that only line breaks separate
_EMPTY_LINES = re.compile("\n{2,}")
_DROPPED_WORDS = """
    script style noscript template svg iframe object applet canvas audio video head select option textarea
    button input datalist meter progress noembed noframes rp
"""
_DROPPED = frozenset(_DROPPED_WORDS.split())
_BLOCK_WORDS = """
    html body p div section article main header footer nav aside address figure figcaption blockquote ul ol menu dir
    li dl dt dd h1 h2 h3 h4 h5 h6 pre table thead tbody tfoot tr td th caption form fieldset legend details summary
    hr center dialog hgroup search listing plaintext xmp title
"""
_BLOCKS = frozenset(_BLOCK_WORDS.split())
_BOXES = frozenset(
    ["div", "section", "aside", "nav", "ul", "ol", "p", "header", "form", "dialog"]
)  # elements that contain chrome
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset(["ul", "ol", "menu", "dir"])
_CODES = frozenset(["code", "kbd", "samp", "tt"])
_STRONG = ("b", "strong", "em", "i")
_NAMELESS = ("table", "li", "dd", "blockquote", "nav", "header", "footer", "aside", "form")  # in these, no lead is used
_PRE = frozenset(["pre", "listing", "plaintext", "xmp"])
_COUNTED = ("blockquote", "article", "main", "header")  # the walk counts how many of these enclose a block
_FURNITURE_ROLES = frozenset(["navigation", "contentinfo", "search"])
_MAY_HIDE = etree.XPath(".//*[@style or @hidden or @aria-hidden]")
_NUMBERS = re.compile(r"[\d\s]*")
_NO_ADDRESSES = ("#", "javascript:", "data:")  # links within the page, scripts, and embedded data
_PERMALINKS = frozenset("¶#§🔗\uf0c1\u200b")  # the text of headings' links to themselves
_BACK = frozenset(("¶", "\uf0c1", "^", "↑", "↩", "↩\ufe0e"))  # and of notes' links back to their references
_MAX_LABELS = 200  # of one drawing: charts may label each of thousands of points


class PageWalk:
    """A walk over a page: the canvas, the text of the current block, and the enclosing lists, quotes and links."""

    def __init__(self, notes: dict[Any, str], load: Loader = of_data_uri) -> None:
        self.canvas = Canvas()
        self._load = load
        self._said = set[str]()  # the alternative texts of pictures so far
        self._shown: list[tuple[KeptPicture, str, str]] = []  # pictures of the current block, each with alt and caption
        self.places: list[Any] = []  # the node that contains each block of the canvas
        self._notes = notes  # the nodes of footnotes, each with its mark
        self._note = ""  # the mark of the current footnote, until its first block
        self._text: list[str] = []
        self._links: list[dict[str, str]] = []
        self._open_links: list[tuple[int, str]] = []  # start in `_text` and address of each
        self._lists = OpenLists()
        self._marker = ""  # of the current item, until its first block
        self._depth = 0  # stated by the current item
        self._level = 0  # of the current heading
        self._strong: Any = None  # the emphasised start of the current paragraph, while it is open
        self._lead = ""  # and its words
        self._furniture: list[Any] = []  # furniture boxes around the current block
        self._contents: list[Any] = []  # and lists of contents
        self._inner = 0  # characters of the current block in links within the page
        self._around = dict.fromkeys(_COUNTED, 0)

    def draw(self, root: Any) -> None:
        """Draw a tree without recursion, however deep it is."""
        steps = etree.iterwalk(root, events=("start", "end"))
        skipped = None
        for event, node in steps:
            if event == "end":
                if node is not skipped and (end := _ENDS.get(node.tag)):
                    end(self, node)
                if node.tail:
                    self._text.append(node.tail)
            elif (begin := _BEGINS.get(node.tag)) and begin(self, node):
                skipped = node
                steps.skip_subtree()
            elif node.text:
                self._text.append(node.text)
            if len(self.canvas.blocks) > len(self.places):
                self._note_places(node if event == "end" else node.getparent())
        self._flush()
        self._note_places(root)

    def _note_places(self, node: Any) -> None:
        self.places += [node] * (len(self.canvas.blocks) - len(self.places))

    # Actions at the start of a tag. They return True if the node is completely drawn or skipped; it is then not walked
    # into.

    def _drop(self, _: Any) -> bool:
        return True

    def _begin_button(self, _: Any) -> bool:
        return self._level == 0  # in a heading, it is a collapsible section and contains the heading's words

    def _begin_drawing(self, node: Any) -> bool:
        """Draw the words of a drawing as a paragraph; a drawing without words is an icon."""
        if self._level or self._furniture or is_hidden(node):
            return True
        if said := _labels(node):
            self._flush()
            title = " ".join((node.findtext("title") or "").split())
            self.canvas.paragraph(f"{title}: {said}" if title else said)
        return True

    def _begin_span(self, node: Any) -> bool:
        # "[edit]" within a heading is not one of its words.
        return is_hidden(node) or leads_back(node) or (self._level > 0 and is_chrome(node))

    def _begin_link(self, node: Any) -> bool:
        before = node.getprevious()
        if before is not None and before.tag == "a" and not before.tail:
            self._text.append(" ")  # style sheets separate the links of a row
        self._open_links.append((len(self._text), node.get("href") or ""))
        return False

    def _begin_code(self, _: Any) -> bool:
        self._text.append("`")
        return False

    def _begin_strong(self, node: Any) -> bool:
        paragraph = node.getparent()
        if paragraph.tag == "p" and paragraph[0] is node and not "".join(self._text).strip():
            self._strong = None if next(paragraph.iterancestors(*_NAMELESS), None) is not None else node
        return False

    def _begin_picture(self, node: Any) -> bool:
        said = node.get("alt") or ""
        if not is_hidden(node) and self._takes(node, said):
            return True
        if (formula := shown_formula(said)) != said:
            self._text.append(formula)
        elif " " in said and said not in self._said:  # a single word is a file name or an icon
            self._said.add(said)
            self._text.append("" if is_said_beside(node, said) else f" {said} ")
        return False

    def _begin_block(self, node: Any) -> bool:
        if is_hidden(node):
            return True
        self._flush()
        tag = node.tag
        if tag in _HEADINGS:
            self._level = _HEADINGS[tag]
        elif tag in _LISTS:
            self._begin_list(node)
        elif tag == "li":
            self._begin_item(node)
        elif tag in self._around:
            self._around[tag] += 1
        self._note = self._notes.get(node, self._note)
        if self._is_furniture(node, tag):
            self._furniture.append(node)
        if tag in _BOXES and is_contents(node):
            self._contents.append(node)
        return False

    def _begin_list(self, node: Any) -> None:
        step = 1 if node.get("reversed") is None else -1
        first = stated_number(node, "start", 1 if step > 0 else len(node.findall("li"))) if node.tag == "ol" else None
        self._lists.begin(first, node.get("type") or "", step=step)

    def _begin_item(self, node: Any) -> None:
        stated = node.get(DEPTH)
        self._depth = int(stated) if stated else 0
        self._marker = node.get(MARKER) or self._lists.marker(stated_number(node, "value", 0))

    def _begin_pre(self, node: Any) -> bool:
        if is_hidden(node):
            return True
        self._flush()
        text = _typed(node).replace(LINE_BREAK, "\n").replace("\r\n", "\n")
        if _NUMBERS.fullmatch(text):
            return True  # a gutter of line numbers
        if self._furniture:
            return False
        self._draw_pre(node, text)
        return True

    def _begin_table(self, node: Any) -> bool:
        if is_hidden(node):
            return True
        self._flush()
        if self._furniture or not is_data_table(node):
            return False
        self._draw_table(node)
        return True

    # Actions at the end of a tag.

    def _end_block(self, node: Any) -> None:
        self._flush()
        tag = node.tag
        if node in self._notes:
            self._note = ""
        if tag in _HEADINGS:
            self._level = 0
        elif tag in _LISTS:
            self._lists.end()
        elif tag == "li":
            self._marker, self._depth = "", 0
        for boxes in (self._furniture, self._contents):
            if boxes and boxes[-1] is node:
                boxes.pop()
        if tag in self._around:
            self._around[tag] -= 1

    def _end_code(self, _: Any) -> None:
        self._text.append("`")

    def _end_strong(self, node: Any) -> None:
        if node is self._strong:
            self._lead = _collapse("".join(self._text))

    def _end_link(self, _: Any) -> None:
        if not self._open_links:
            return
        at, url = self._open_links.pop()
        text = " ".join("".join(self._text[at:]).replace(LINE_BREAK, " ").split())
        if self._leads_nowhere(text, url, at):
            del self._text[at:]
        elif text and url and not url.startswith(_NO_ADDRESSES):
            self._links.append({"text": text, "url": url})
        elif url.startswith("#"):
            self._inner += len(text)

    def _leads_nowhere(self, text: str, url: str, at: int) -> bool:
        """Return whether a link is only a sign next to a heading or a note, and none of its words."""
        if "#" not in url or (text not in _BACK and text not in _PERMALINKS):
            return False
        return text in _BACK or self._level > 0 or not "".join(self._text[:at]).strip()

    def _is_furniture(self, node: Any, tag: str) -> bool:
        if tag == "nav" or node.get("role") in _FURNITURE_ROLES or (tag in _BOXES and is_chrome(node)):
            return True
        # An article's own header and footer describe the article, and a quotation's footer names its source.
        own = _SITE.get(tag)
        return own is not None and not any(self._around[one] for one in ("article", "main", "blockquote")) and own(node)

    # Drawing.

    def _flush(self) -> None:
        """Draw the current block if it has text, with its pictures below."""
        if not self._text and not self._shown:
            return
        text = _collapse("".join(self._text))
        if text:
            self._draw_block(text)
        self._draw_pictures()
        self._text, self._links, self._inner, self._lead = [], [], 0, ""
        if self._open_links:
            self._open_links = [(0, url) for _, url in self._open_links]

    def _takes(self, node: Any, alt: str) -> bool:
        """Return whether a picture is a figure, which is drawn below the current block; furniture has no figures."""
        data = self._load(node.get("src") or "")
        if data is None:
            return False
        if self._furniture:
            self.canvas.album.left_out["decoration"] += 1
            return False
        picture = self.canvas.album.add(data)
        if picture is not None:
            self._shown.append((picture, alt, caption_of(node)))
        return picture is not None

    def _draw_pictures(self) -> None:
        for picture, alt, caption in self._shown:
            self.canvas.show(picture, alt, caption)
        self._shown = []

    def _draw_block(self, text: str) -> None:
        named = (self._marker, self._level, self._furniture, self._contents, self._note)
        if any(named) or _APART not in text:
            self._draw_one(text.replace(_APART, "\n"), self._links)
            return
        self._inner = 0  # of all parts, so it says nothing about one of them
        for part in text.split(_APART):
            self._draw_one(part, [link for link in self._links if link["text"] in part])
            self._lead = ""

    def _draw_one(self, text: str, links: list[dict[str, str]]) -> None:
        if self._note:
            mark = self._note[2:-1]
            self.canvas.paragraph(f"{self._note}: {without_own_mark(text, mark)}", footnote=mark, links=links)
            self._note = self._marker = ""
        elif self._contents:
            self.canvas.paragraph(text, kind="toc")
        elif self._furniture or self._is_menu_item(text) or says_chrome(text, links):
            self.canvas.paragraph(text, kind="furniture")
        elif self._level:
            self.canvas.heading(text, self._level, links=links)
        elif self._marker:
            self.canvas.item(text, max(1, len(self._lists), self._depth), self._marker, links=links)
            self._marker = ""
            self.canvas.note_inner_links(text, self._inner)
        elif self._around["blockquote"]:
            self.canvas.quote(text, self._around["blockquote"], links=links)
        else:
            self.canvas.paragraph(text, lead=self._lead, links=links)
            self.canvas.note_inner_links(text, self._inner)

    def _is_menu_item(self, text: str) -> bool:
        """Return whether an item of a list in a header has no words outside its links."""
        if not self._marker or not self._around["header"]:
            return False
        return sum(len(link["text"]) for link in self._links) >= len(text)

    def _draw_pre(self, node: Any, text: str) -> None:
        """Draw preformatted text with its line breaks, as code, or as paragraphs if it reads like typed prose."""
        self._marker = ""
        language, lines = code_language(node), text.strip("\n").split("\n")
        drawn = next(drawn_tables(lines), None)
        if drawn is not None and drawn.first == 0 and not any(map(str.strip, lines[drawn.last :])):
            self.canvas.table(drawn.rows, int(drawn.headed))
            return
        if language or node.find(".//code") is not None or not is_prose(text):
            self.canvas.code(text, language)
            return
        for element in titled(text, paragraphs(text)):
            if element.kind == "title":
                self.canvas.heading(element.attributes["text"], element.level)
            else:
                self.canvas.paragraph(text[element.start_char : element.end_char])

    def _draw_table(self, node: Any) -> None:
        for one in [*node.iter(*_DROPPED), *filter(is_hidden, _MAY_HIDE(node))]:
            drop(one)
        rows, header_rows, caption = table_rows(node, LINE_BREAK)
        for anchor in islice(node.iter("a"), MOST_LINKS):
            self._begin_link(anchor)
            self._text.append("".join(anchor.itertext()))
            self._end_link(anchor)
        links = self._links
        self._text, self._links, self._marker, self._inner = [], [], "", 0
        self.canvas.paragraph(caption)
        self.canvas.table(rows, header_rows, captioned=bool(caption), links=links)
        for picture in node.iter("img"):
            self._takes(picture, picture.get("alt") or "")
        self._draw_pictures()


_BEGINS: dict[str, Callable[[PageWalk, Any], bool]] = {
    **dict.fromkeys(_DROPPED, PageWalk._drop),
    "svg": PageWalk._begin_drawing,
    "button": PageWalk._begin_button,
    **dict.fromkeys(_BLOCKS, PageWalk._begin_block),
    **dict.fromkeys(_PRE, PageWalk._begin_pre),
    "table": PageWalk._begin_table,
    "span": PageWalk._begin_span,
    **dict.fromkeys(_CODES, PageWalk._begin_code),
    **dict.fromkeys(_STRONG, PageWalk._begin_strong),
    "a": PageWalk._begin_link,
    "img": PageWalk._begin_picture,
}
_ENDS: dict[str, Callable[[PageWalk, Any], None]] = {
    **dict.fromkeys(_BLOCKS, PageWalk._end_block),
    **dict.fromkeys(_CODES, PageWalk._end_code),
    **dict.fromkeys(_STRONG, PageWalk._end_strong),
    "a": PageWalk._end_link,
}


_SITE: dict[str, Callable[[Any], bool]] = {
    "footer": lambda _: True,
    "div": is_named_footer,
    "header": is_site_header,
}
"""Boxes outside an article that are furniture, each with its test."""


_LINES = ("div", "li", "p", "tr")  # elements that begin and end a line, as programs that colour code write them
_EDGE = f"{LINE_BREAK}\ue00b"  # represents where a line begins and ends; private-use characters
_EDGES = re.compile(f"\n?(?:{_EDGE})+(?:\n(?:{_EDGE})+)*")


def _typed(node: Any) -> str:
    """Return the text of an element whose line ends count; the tree is modified."""
    for line in node.iter(*_LINES):
        line.text, line.tail = f"{_EDGE}{line.text or ''}", f"{_EDGE}{line.tail or ''}"
    return _EDGES.sub("\n", "".join(node.itertext())).removeprefix("\n")


def _labels(drawing: Any) -> str:
    """Return the texts of a drawing that have letters, in order."""
    words = (words_in(one) for one in islice(drawing.iter("text"), _MAX_LABELS))
    return "; ".join(one for one in words if any(map(str.isalpha, one)))


def _collapse(text: str) -> str:
    """Return a block's text with single spaces, its line breaks, and `_APART` where lines are empty.

    Code marks around nothing are left out.
    """
    text = with_fractions(text.replace("``", ""))
    if LINE_BREAK not in text:
        return " ".join(text.split())
    lines = "\n".join(" ".join(line.split()) for line in text.split(LINE_BREAK)).strip("\n")
    return _EMPTY_LINES.sub(_APART, lines)
