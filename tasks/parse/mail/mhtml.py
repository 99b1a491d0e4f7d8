"""Web pages saved as one mail-like file (MHTML) by browsers, Word and Confluence."""

import re
from dataclasses import replace
from email import message_from_bytes

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.mail.mime import decoded
from docmill.tasks.parse.markup.html.saved_page import saved_pages

_HEAD = re.compile(r"\r?\n[ \t]*\r?\n")
_RELATED = re.compile(r"^Content-Type:\s*multipart/related|^Content-Type:\s*text/html", re.IGNORECASE | re.MULTILINE)
_PLACED = re.compile(r"^(?:Snapshot-)?Content-Location:", re.IGNORECASE | re.MULTILINE)
_SENT = re.compile(r"^(?:To|Cc|Received|Return-Path|Delivered-To):", re.IGNORECASE | re.MULTILINE)
_SAVED = re.compile(r"^From:\s*<?Saved by ", re.IGNORECASE | re.MULTILINE)


def is_saved_page(text: str) -> bool:
    """Return whether a text that begins with a mail header is a saved page, which has no recipient."""
    head = _HEAD.split(text, maxsplit=1)[0]
    if _SENT.search(head) or not _RELATED.search(head):
        return False
    return _PLACED.search(text) is not None or _SAVED.search(head) is not None


def parse_web_page(data: bytes, _: ParseOptions) -> Parsed:
    """Return the page, and below it further pages in the file, such as frames."""
    message = message_from_bytes(data.lstrip(b"\r\n"))
    pages = saved_pages(message)
    if not pages:
        raise Rejected("no_text", "a saved page without HTML that has words")
    title = next(filter(None, (page.title for page in pages)), "") or decoded(str(message.get("subject", "")))
    if len(pages) == 1:
        return replace(pages[0], title=title)
    canvas = Canvas()
    for page in pages:
        canvas.add(page)
    return canvas.parsed(title, pages[0].metadata)
