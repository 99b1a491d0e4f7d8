"""Mail bodies: drawn with new text separate from quoted history."""

import re
from itertools import pairwise
from typing import Any

from lxml import etree

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.drawn_tables import drawn_tables
from docmill.tasks.parse.mail.letter import Body
from docmill.tasks.parse.mail.mail_lines import HEAD_LINES, begins_history, introduces, read_lines
from docmill.tasks.parse.markup.html.hypertext import draw_tree, page_tree
from docmill.tasks.parse.pictures.addresses import Loader, of_data_uri

_ITEM = re.compile(r"[ \t]*([-*•·–]|\(?\d{1,3}[.)])[ \t]+(?=\S)")
_BULLET = re.compile(r"[•·]\s*(?=\S)")
_BEGIN, _END = "\ue00c", "\ue00d"  # private-use characters: paragraphs inserted where history begins and ends
_QUOTING = etree.XPath(
    "//blockquote[@type='cite'] | //*[contains(@class, 'gmail_quote')] | //*[contains(@class, 'yahoo_quoted')]"
    " | //*[contains(@class, 'moz-cite-prefix')]"
)
_DIVIDING = etree.XPath("//*[@id='divRplyFwdMsg' or @id='appendonsend' or @class='OutlookMessageHeader']")
_MIN_SHARE = 0.5
"""Share of plain text's words that HTML must exceed: below it, the HTML is taken for a note that points to the text."""
_MIN_ITEMS = 2  # a single dash or number in a text is not a list
_MAX_CUT = 1_000
"""Characters of an element below that may be lines of a head: a head's lines are short, an article is not."""


def draw_body(canvas: Canvas, options: tuple[Body, ...], load: Loader = of_data_uri) -> None:
    """Draw one of several alternative bodies: HTML, unless it has far fewer words than the plain text.

    `load` finds the pictures that it shows; those of quoted history are left out, as the quoted mail has them.
    """
    plain = next((body.text for body in options if not body.html), "")
    page = next((body.text for body in options if body.html), "")
    drawn = _page(page, load) if page.strip() else Parsed("", ())
    words = sum(len(drawn.text[one.start_char : one.end_char].split()) for one in drawn.elements)
    if words > _MIN_SHARE * len(plain.split()):
        _draw_page(canvas, drawn)
    else:
        _draw_plain(canvas, plain)


def _draw_plain(canvas: Canvas, text: str) -> None:
    for role, depth, lines in read_lines(text):
        if role == "quote":
            canvas.quote("\n".join(lines), depth)
        elif role == "signature":
            canvas.paragraph("\n".join(lines), kind="furniture", role="signature")
        else:
            _draw_new_lines(canvas, lines)


def _draw_new_lines(canvas: Canvas, lines: list[str]) -> None:
    """Draw a run of lines, and the tables drawn in it."""
    at = 0
    for table in drawn_tables(lines):
        _draw_lines(canvas, lines[at : table.first])
        canvas.table(table.rows, int(table.headed))
        at = table.last
    _draw_lines(canvas, lines[at:])


def _draw_lines(canvas: Canvas, lines: list[str]) -> None:
    """Draw a run of lines as paragraphs and the items of lists."""
    if not lines:
        return
    marks = [_ITEM.match(line) for line in lines]
    if sum(map(bool, marks)) < _MIN_ITEMS and not (marks and marks[0]):
        canvas.paragraph("\n".join(lines))
        return
    starts = [0, *(at for at in range(1, len(lines)) if marks[at]), len(lines)]
    for start, end in pairwise(starts):
        _draw_piece(canvas, marks[start], lines[start:end])


def _draw_piece(canvas: Canvas, mark: re.Match[str] | None, lines: list[str]) -> None:
    """Draw lines as one item, whose mark begins the first of them, or as a paragraph."""
    if mark is None:
        canvas.paragraph("\n".join(lines))
        return
    marker = mark[1] if mark[1][-1] in ".)" else "-"
    canvas.item("\n".join([lines[0][mark.end() :], *lines[1:]]), 1, marker)


def _page(page: str, load: Loader) -> Parsed:
    """Return an HTML body with marker paragraphs where quoted history begins and ends."""
    root = page_tree(page.replace(_BEGIN, "").replace(_END, ""))
    if root is None:
        return Parsed("", ())
    seen = set[Any]()
    for node in _QUOTING(root):  # in document order, so that inner nodes come after outer ones
        if seen.isdisjoint(node.iterancestors()):
            seen.add(node)
            node.addprevious(_mark(_BEGIN))
            after = _mark(_END)
            after.tail, node.tail = node.tail, None
            node.addnext(after)
    for node in _DIVIDING(root)[:1]:
        node.addprevious(_mark(_BEGIN))
    return draw_tree(root, load=load)


def _mark(sign: str) -> Any:
    mark = etree.Element("p")
    mark.text = sign
    return mark


def _draw_page(canvas: Canvas, drawn: Parsed) -> None:
    """Draw an HTML body: history between the marks, and everything after the header of an enclosed mail, as quotes."""
    canvas.album.take(drawn)
    texts = [drawn.text[one.start_char : one.end_char] for one in drawn.elements]
    history = below = False
    for number, (element, text) in enumerate(zip(drawn.elements, texts, strict=True)):
        if text in (_BEGIN, _END):
            history = text == _BEGIN
            continue
        if not below:
            above, text, below = _cut(text, texts[number + 1 : number + HEAD_LINES])
            canvas.paragraph(above)
        if element.kind == "figure":
            if not history and not below:
                canvas.copy(element, text)
        elif history or below or _introduces_next(drawn.elements, texts, number):
            _quote(canvas, element, text)
        else:
            _draw_new(canvas, element, text)


def _introduces_next(elements: tuple[Element, ...], texts: list[str], number: int) -> bool:
    """Return whether an element names the author of the history directly below it."""
    below = number + 1
    quoted = below < len(texts) and (texts[below] == _BEGIN or elements[below].kind == "quote")
    return quoted and introduces(texts[number])


def _draw_new(canvas: Canvas, element: Element, text: str) -> None:
    """Draw new text: headings are below the mail's subject, and a typed bullet makes an item."""
    if element.kind == "title":
        canvas.heading(element.attributes["text"], element.level + 1)
    elif element.kind == "paragraph" and _BULLET.match(text):
        canvas.item(_BULLET.sub("", text, count=1), 1, **element.attributes)
    else:
        canvas.copy(element, text)


def _cut(text: str, below: list[str]) -> tuple[str, str, bool]:
    """Return the text above an enclosed mail's head, the head with the rest, and whether there is a head."""
    lines = text.splitlines()
    following = [line for one in below for line in one[:_MAX_CUT].splitlines()]
    for number in range(len(lines)):
        if begins_history([*lines[number : number + HEAD_LINES], *following[:HEAD_LINES]]):
            return "\n".join(lines[:number]), "\n".join(lines[number:]), True
    return "", text, False


def _quote(canvas: Canvas, element: Element, text: str) -> None:
    depth = 1
    if element.kind == "quote":  # whose text has its signs already
        text = "\n".join(line.lstrip("> ") for line in text.splitlines())
        depth = max(1, element.level)
    canvas.quote(text, depth, links=element.attributes.get("links", ()))
