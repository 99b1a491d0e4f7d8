"""The bodies of mail, drawn: what was written now apart from the history that it quotes."""

import re
from itertools import pairwise
from typing import Any

from lxml import etree

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.mail.letter import Body
from docmill.tasks.parse.mail.mail_lines import begins_history, introduces, read_lines
from docmill.tasks.parse.markup.html.hypertext import draw_tree, page_tree

_ITEM = re.compile(r"[ \t]*([-*•·–]|\(?\d{1,3}[.)])[ \t]+(?=\S)")
_BULLET = re.compile(r"[•·]\s*(?=\S)")
_BEGIN, _END = "\ue00c", "\ue00d"  # paragraphs that stand where history begins and ends; of private use
_QUOTING = etree.XPath(
    "//blockquote[@type='cite'] | //*[contains(@class, 'gmail_quote')] | //*[contains(@class, 'yahoo_quoted')]"
    " | //*[contains(@class, 'moz-cite-prefix')]"
)
_DIVIDING = etree.XPath("//*[@id='divRplyFwdMsg' or @id='appendonsend' or @class='OutlookMessageHeader']")
_MIN_SHARE = 0.5
_HEAD_LINES = 7


def draw_body(canvas: Canvas, options: tuple[Body, ...]) -> None:
    """Draw one of several bodies that say the same: HTML, unless it says much less than plain text."""
    plain = next((body.text for body in options if not body.html), "")
    page = next((body.text for body in options if body.html), "")
    drawn = _page(page) if page.strip() else Parsed("", ())
    words = sum(len(drawn.text[one.start : one.end].split()) for one in drawn.elements)
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
            _draw_lines(canvas, lines)


def _draw_lines(canvas: Canvas, lines: list[str]) -> None:
    """Draw a run of lines as paragraphs and the items of lists."""
    marks = [_ITEM.match(line) for line in lines]
    if sum(map(bool, marks)) < 2 and not (marks and marks[0]):
        canvas.paragraph("\n".join(lines))
        return
    starts = [0, *(at for at in range(1, len(lines)) if marks[at]), len(lines)]
    for start, end in pairwise(starts):
        mark = marks[start]
        if mark:
            first = lines[start][mark.end() :]
            marker = mark[1] if mark[1][-1] in ".)" else "-"
            canvas.item("\n".join([first, *lines[start + 1 : end]]), 1, marker)
        else:
            canvas.paragraph("\n".join(lines[start:end]))


def _page(page: str) -> Parsed:
    """Return an HTML body with paragraphs that stand where quoted history begins and ends."""
    root = page_tree(page.replace(_BEGIN, "").replace(_END, ""))
    if root is None:
        return Parsed("", ())
    seen = set[Any]()
    for node in _QUOTING(root):
        if seen.isdisjoint(node.iterancestors()):
            seen.add(node)
            node.addprevious(_mark(_BEGIN))
            after = _mark(_END)
            after.tail, node.tail = node.tail, None
            node.addnext(after)
    for node in _DIVIDING(root)[:1]:
        node.addprevious(_mark(_BEGIN))
    return draw_tree(root)


def _mark(sign: str) -> Any:
    mark = etree.Element("p")
    mark.text = sign
    return mark


def _draw_page(canvas: Canvas, drawn: Parsed) -> None:
    elements = drawn.elements
    texts = [drawn.text[one.start : one.end] for one in elements]
    history = below = False
    for number, (element, text) in enumerate(zip(elements, texts, strict=True)):
        if text in (_BEGIN, _END):
            history = text == _BEGIN
            continue
        if not below:
            above, text, below = _cut(text, texts[number + 1 : number + _HEAD_LINES])
            if below:
                canvas.paragraph(above)
        next_quoted = number + 1 < len(texts) and (texts[number + 1] == _BEGIN or elements[number + 1].kind == "quote")
        if history or below or (next_quoted and introduces(text)):
            _quote(canvas, element, text)
        elif element.kind == "title":
            canvas.heading(element.attributes["text"], element.level + 1)
        elif element.kind == "paragraph" and _BULLET.match(text):
            canvas.item(_BULLET.sub("", text, count=1), 1, **element.attributes)
        else:
            canvas.copy(element, text)


def _cut(text: str, below: list[str]) -> tuple[str, str, bool]:
    """Return what stands above an enclosed mail's head, that head with the rest, and whether there is one."""
    lines = text.splitlines()
    following = [line for one in below for line in one[:1_000].splitlines()]
    for number in range(len(lines)):
        if begins_history([*lines[number : number + _HEAD_LINES], *following[:_HEAD_LINES]]):
            return "\n".join(lines[:number]), "\n".join(lines[number:]), True
    return "", text, False


def _quote(canvas: Canvas, element: Element, text: str) -> None:
    links = element.attributes.get("links")
    if element.kind == "quote":
        text = "\n".join(line.lstrip("> ") for line in text.splitlines())
    canvas.quote(text, max(1, element.level if element.kind == "quote" else 1), **({"links": links} if links else {}))
