"""Elements: those of `unstructured`, drawn on a canvas."""

import re
from typing import Any

from lxml import etree

from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.markup.html.html_table import table_rows
from docmill.tasks.parse.pandoc.markdown_writer import reads_as_heading

_MARKER = re.compile(r"(\(?(?:\d{1,3}|[A-Za-z]|[ivxlcIVXLC]{1,5})[.)])\s+(?=\S)")
_FURNITURE = ("Header", "Footer", "PageNumber", "PageBreak")
_BOLD_LEVEL = 2  # of headings in bold: level 1 is the title's


def draw_all(elements: list[Any], canvas: Canvas) -> None:
    """Draw elements of `unstructured` as Markdown; headers and footers are furniture.

    In a document without titles, short paragraphs in bold are headings of level 2.
    """
    styled = any(element.category == "Title" for element in elements)
    for element in elements:
        canvas.page = max(canvas.page, element.metadata.page_number or 0)
        _draw(canvas, element, styled)


def _draw(canvas: Canvas, element: Any, styled: bool) -> None:
    category, text, facts = element.category, element.text or "", element.metadata
    if category in _FURNITURE:
        canvas.paragraph(text, kind="furniture")
    elif category == "Title":
        canvas.heading(text, _depth(facts))
    elif category == "ListItem":
        _draw_item(canvas, text, facts)
    elif category == "Table" and facts.text_as_html:
        _draw_table(canvas, facts.text_as_html)
    elif category == "CodeSnippet":
        canvas.code(text)
    elif not styled and _is_bold(text, facts):
        canvas.heading(text, _BOLD_LEVEL)
    else:
        canvas.paragraph(text, links=_links(facts))


def _draw_item(canvas: Canvas, text: str, facts: Any) -> None:
    marker = _MARKER.match(text)
    text, sign = (text[marker.end() :], marker[1]) if marker else (text, "-")
    canvas.item(text, _depth(facts), sign, links=_links(facts))


def _draw_table(canvas: Canvas, html: str) -> None:
    page = etree.fromstring(html, etree.HTMLParser(no_network=True, huge_tree=True))
    table = page.find(".//table")
    rows, header_rows, _ = table_rows(page if table is None else table, "\n")
    canvas.table(rows, header_rows)


def _depth(facts: Any) -> int:
    depth: int = facts.category_depth or 0
    return depth + 1


def _links(facts: Any) -> list[dict[str, str]]:
    return [{"text": link["text"], "url": link["url"]} for link in facts.links or [] if link.get("url")]


def _is_bold(text: str, facts: Any) -> bool:
    parts = zip(facts.emphasized_text_contents or [], facts.emphasized_text_tags or [], strict=False)
    bold = [part for part, tag in parts if tag == "b"]
    text = "".join(text.split())
    return reads_as_heading(text) and "".join("".join(bold).split()) == text
