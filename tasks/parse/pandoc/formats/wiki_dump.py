"""Dumps of MediaWiki: XML with many pages, each in the markup of wikis, read as sections of one document."""

from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.pandoc.document import read_document
from docmill.tasks.parse.pandoc.formats.wiki_headers import prepared_wiki
from docmill.tasks.parse.trees import xml_tree

_SPACE = b"http://www.mediawiki.org/xml/export-"
_BEGINNING = 2_000  # bytes, in which the root of a dump names its vocabulary
_WIKI_TEXT = "text/x-wiki"


def is_dump(data: bytes) -> bool:
    """Return whether a file is a dump, and not a page in the markup itself."""
    return data.lstrip()[:1] == b"<" and _SPACE in data[:_BEGINNING]


def parse_dump(data: bytes) -> Parsed:
    """Return the pages of a dump, each a section with its newest revision; raise Rejected `corrupt` if it is no XML."""
    try:
        root = xml_tree(data)
    except etree.XMLSyntaxError as error:
        raise Rejected("corrupt", f"not well-formed XML: {error}") from error
    canvas, titles = Canvas(), list[str]()
    for page in root.iter("{*}page"):
        titles.append(page.findtext("{*}title") or "")
        canvas.heading(titles[-1], 1)
        revisions = page.findall("{*}revision")
        if revisions:
            _draw(canvas, revisions[-1])
    title = titles[0] if len(titles) == 1 else root.findtext("{*}siteinfo/{*}sitename") or ""
    language = root.get("{http://www.w3.org/XML/1998/namespace}lang")
    return canvas.parsed(title, {"pages_of_dump": len(titles)} | ({"language": language} if language else {}))


def _draw(canvas: Canvas, revision: Any) -> None:
    text, form = revision.findtext("{*}text") or "", revision.findtext("{*}format") or _WIKI_TEXT
    if form != _WIKI_TEXT:
        canvas.code(text)
        return
    try:
        page = read_document(prepared_wiki(text).encode("utf-8", "replace"), "mediawiki")
    except Rejected as why:
        if why.reason == "not_installed":
            raise
        canvas.paragraph(text)
        return
    highest = min((one.level for one in page.elements if one.kind == "title"), default=1)
    for element in page.elements:
        if element.kind == "title":
            canvas.heading(element.attributes["text"], element.level - highest + 2)
        else:
            canvas.copy(element, page.text[element.start_char : element.end_char])
