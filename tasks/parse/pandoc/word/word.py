"""Word: documents read by pandoc, with headings by style, numbered lists, tables, notes, equations, links, pages.

`unstructured` reads pages, but neither notes, equations, text boxes nor the numbers of items; pandoc
reads those, and pages where they are marked for it.
"""

import io
import re
import zipfile
from typing import Any, NamedTuple

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.process.extras import command
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.dates import with_iso_dates
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.office.open_xml import core_properties, furniture, pictures_in, read_member, rewritten
from docmill.tasks.parse.office.usual_names import with_usual_names
from docmill.tasks.parse.pandoc.document import draw_tree
from docmill.tasks.parse.pandoc.inlines import DEEPER_MARK, NUMBER_END, NUMBER_MARK, PAGE_MARK
from docmill.tasks.parse.pandoc.process.program import read_tree
from docmill.tasks.parse.pandoc.word.comments import Comments, comments_in
from docmill.tasks.parse.pandoc.word.lean_word import keep_used_styles, used_styles
from docmill.tasks.parse.pandoc.word.numbering_part import WordNumbering, read_numbering
from docmill.tasks.parse.pandoc.word.word_body import prepare_body
from docmill.tasks.parse.pandoc.word.word_graphics import graphics_in
from docmill.tasks.parse.partition.elements import draw_all
from docmill.tasks.parse.partition.partitioned import partition
from docmill.tasks.parse.zip_limits import check_container

_RENDERED_BREAK = b"<w:lastRenderedPageBreak"
_PAGE_BREAK = re.compile(rb"<w:br\b[^<>]*w:type=\"page\"")
_BODY = "word/document.xml"
_STYLES = "word/styles.xml"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_SHOWN = {PAGE_MARK: "", DEEPER_MARK: "", NUMBER_MARK: "", NUMBER_END: " "}  # marks to those who do not know them


def parse_docx(data: bytes, options: ParseOptions) -> Parsed:
    """Return a Word document drawn as Markdown; headers and footers are furniture.

    Pages are those of the last save in Word, else those of hard page breaks. The title is the document property, else
    the title in the text. Comments stand below their paragraphs if `options` ask for them. In a document without
    heading styles, short paragraphs in bold are headings of level 2.
    """
    with check_container(with_usual_names(data), options.max_unpacked_bytes) as container:
        metadata = with_iso_dates(core_properties(container))
        comments = comments_in(container) if options.comments else {}
        styles = read_member(container, _STYLES)
        if styles is not None:
            keep_used_styles(styles, used_styles(container))
        changes = _BodyChanges(graphics_in(container), read_numbering(container, styles), comments, styles)
        prepared = rewritten(container, changes.prepared)
        canvas, title, said = _drawn(container, prepared, metadata.get("title", ""))
    return canvas.parsed(metadata.pop("title", "") or title, said | metadata)


def _drawn(container: zipfile.ZipFile, prepared: bytes, stated: str) -> tuple[Canvas, str, dict[str, Any]]:
    """Return the canvas, and the text's own title and metadata; `unstructured` reads files that pandoc rejects."""
    try:
        tree = read_tree(prepared, "docx")
    except Rejected as why:
        if why.reason == "timeout":
            raise
        canvas = Canvas()
        draw_elements(prepared, canvas)
        return canvas, canvas.first_heading(), {"read_as": f"by unstructured; {why.message}"}
    canvas = Canvas()
    body = container.read(_BODY)
    canvas.page = int(_RENDERED_BREAK in body or _PAGE_BREAK.search(body) is not None)
    for text in furniture(container, "header"):
        canvas.paragraph(text, kind="furniture")
    title, said = draw_tree(tree, canvas, True, stated, pictures_in(container, "word"))
    for text in furniture(container, "footer"):
        canvas.paragraph(text, kind="furniture")
    return canvas, title, said


def draw_elements(data: bytes, canvas: Canvas) -> None:
    """Draw a Word document that is prepared for pandoc as Markdown.

    Raise Rejected if `unstructured`, or python-docx below it, is not installed.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        plain = rewritten(container, lambda _, content: _without_marks(content))
    try:
        elements = partition("docx", file=io.BytesIO(plain), include_page_breaks=False)
    except ModuleNotFoundError:
        said = f"pandoc cannot read it; a second reader may: {command('unstructured')}"
        raise Rejected("not_installed", said) from None
    draw_all(elements, canvas)


def _without_marks(content: bytes) -> bytes:
    for mark, text in _SHOWN.items():
        content = content.replace(mark.encode(), text.encode())
    return content


class _BodyChanges(NamedTuple):
    """What is written into the text of a document that other parts of the file hold."""

    graphics: dict[str, list[Any]]
    numbering: WordNumbering
    comments: Comments
    styles: Any

    def prepared(self, name: str, content: bytes) -> bytes:
        """Return the content of a part of the file as pandoc is to read it."""
        if name == _STYLES and self.styles is not None:
            return bytes(etree.tostring(self.styles, encoding="utf-8", xml_declaration=True))
        if name not in (_BODY, *_NOTES):
            return content
        return prepare_body(content, self.graphics if name == _BODY else {}, self.numbering, self.comments)
