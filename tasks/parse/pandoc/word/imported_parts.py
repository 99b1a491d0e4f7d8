"""Imported parts: HTML, saved pages, rich text and plain text that a Word document includes by reference.

Some programs write nothing else into a document. Source: ISO/IEC 29500-1, 17.17.2.1 "altChunk".
"""

import posixpath
import re
import zipfile
from email import message_from_bytes
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.hypertext import read_page
from docmill.tasks.parse.markup.html.saved_page import saved_pages
from docmill.tasks.parse.office.open_xml import links_of, pictures_in, reference
from docmill.tasks.parse.pandoc.formats.rtf import parse_rtf
from docmill.tasks.parse.pandoc.inlines import Node, plain_text
from docmill.tasks.parse.pandoc.word.word_fields import W, paragraph_of
from docmill.tasks.parse.plain_text import parse_text

_KIND = "aFChunk"  # of the relationship to such a part
IMPORTED_MARK = "\ue010"  # a private-use character around the id of a part, in a paragraph of its own
_MARKED = re.compile(f"{IMPORTED_MARK}([^{IMPORTED_MARK}]*){IMPORTED_MARK}")


def mark_imported(root: Any) -> None:
    """Replace each reference to an imported part with a marked paragraph, below the table that contains it."""
    body = root.find(W + "body")
    for chunk in reversed(list(root.iter(W + "altChunk")) if body is not None else []):
        top = next(one for one in (chunk, *chunk.iterancestors()) if one.getparent() is body)
        top.addnext(paragraph_of(f"{IMPORTED_MARK}{reference(chunk)}{IMPORTED_MARK}"))
        chunk.getparent().remove(chunk)


def with_imported(blocks: list[Node], container: zipfile.ZipFile, body: str) -> tuple[list[Node], list[str]]:
    """Return pandoc's blocks with imported parts in place of their marks, and why some parts could not be read."""
    links = links_of(container, body)
    drawn, unread = list[Node](), list[str]()
    for block in blocks:
        marked = _MARKED.fullmatch(plain_text(block["c"])) if block["t"] == "Para" else None
        if marked is None:
            drawn.append(block)
            continue
        kind, part = links.get(marked[1], ("", ""))
        try:
            drawn += [{"t": "Drawn", "c": one} for one in (_read(container, part) if kind == _KIND else ())]
        except (Rejected, ValueError, zipfile.BadZipFile) as why:
            unread.append(f"{posixpath.basename(part)}: {why}")
    return drawn, unread


def _read(container: zipfile.ZipFile, part: str) -> list[Parsed]:
    """Return the documents in an imported part."""
    suffix, data = posixpath.splitext(part)[1].lower(), container.read(part)
    if suffix in (".htm", ".html", ".xhtml"):
        return [read_page(data, pictures_in(container, posixpath.dirname(part)))]
    if suffix in (".mht", ".mhtml"):
        return saved_pages(message_from_bytes(data))
    if suffix == ".rtf":
        return [parse_rtf(data, ParseOptions())]
    if suffix == ".txt":
        return [parse_text(data, ParseOptions())]
    raise Rejected("unsupported", f"parts of the kind {suffix or 'without a suffix'} are not read")
