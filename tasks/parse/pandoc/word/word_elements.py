"""Word documents by `unstructured`: the second reader, for those that pandoc refuses."""

import io
import logging
import re
import warnings
from typing import Any

from lxml import etree

from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.markup.html.html_table import table_rows
from docmill.tasks.parse.sentence_words import install

_MARKER = re.compile(r"(\(?(?:\d{1,3}|[A-Za-z]|[ivxlcIVXLC]{1,5})[.)])\s+(?=\S)")
_MAX_BOLD_HEADING = 100


def draw_elements(data: bytes, canvas: Canvas) -> None:
    """Draw a Word document as Markdown; headers and footers are furniture.

    In a document without heading styles, short paragraphs in bold are headings of level 2.
    """
    elements = _partition(data)
    styled = any(element.category == "Title" for element in elements)
    for element in elements:
        canvas.page = max(canvas.page, element.metadata.page_number or 0)
        _draw(canvas, element, styled)


def _partition(data: bytes) -> list[Any]:
    install()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from unstructured.partition.docx import partition_docx

        logging.getLogger("unstructured").setLevel(logging.ERROR)
        elements: list[Any] = partition_docx(
            file=io.BytesIO(data), languages=[""], detect_language_per_element=False, include_page_breaks=False
        )
    return elements


def _draw(canvas: Canvas, element: Any, styled: bool) -> None:
    category, text, facts = element.category, element.text or "", element.metadata
    depth = (facts.category_depth or 0) + 1
    links = [{"text": link["text"], "url": link["url"]} for link in facts.links or [] if link.get("url")]
    attributes: dict[str, Any] = {"links": links} if links else {}
    if category in ("Header", "Footer"):
        canvas.paragraph(text, kind="furniture")
    elif category == "Title":
        canvas.heading(text, depth)
    elif category == "ListItem":
        marker = _MARKER.match(text)
        canvas.item(text[marker.end() :] if marker else text, depth, marker[1] if marker else "-", **attributes)
    elif category == "Table" and facts.text_as_html:
        table = etree.fromstring(facts.text_as_html, etree.HTMLParser(no_network=True, huge_tree=True))
        rows, header_rows, _ = table_rows(table, "\n")
        canvas.table(rows, header_rows or int(bool(rows) and all(rows[0])))
    elif not styled and _is_bold(text, facts):
        canvas.heading(text, 2)
    else:
        canvas.paragraph(text, **attributes)


def _is_bold(text: str, facts: Any) -> bool:
    parts = zip(facts.emphasized_text_contents or [], facts.emphasized_text_tags or [], strict=False)
    bold = [part for part, tag in parts if tag == "b"]
    text = "".join(text.split())
    return 0 < len(text) <= _MAX_BOLD_HEADING and "".join("".join(bold).split()) == text and text[-1] not in ".,;"
