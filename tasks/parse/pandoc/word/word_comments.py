"""Word comments: drawn as paragraphs below the text that they refer to.

Source: ISO/IEC 29500-1, 17.13.4 "Comments".
"""

import zipfile
from collections.abc import Iterator
from typing import Any

from docmill.tasks.parse.office.open_xml import read_member
from docmill.tasks.parse.pandoc.word.word_fields import W, paragraph_of

_PART = "word/comments.xml"
_LONGEST_QUOTE = 80  # characters of the text that a comment refers to; whole paragraphs are just above it anyway
Comments = dict[str, tuple[str, str]]
"""Comments by id: the author, such as "Comment by Ann", and the text."""


def comments_in(container: zipfile.ZipFile) -> Comments:
    """Return the comments of a document; empty if it has none or their part is damaged."""
    root = read_member(container, _PART)
    found = ((node.get(W + "id") or "", _said(node)) for node in (() if root is None else root.iter(W + "comment")))
    return {name: said for name, said in found if said[1]}


def _said(comment: Any) -> tuple[str, str]:
    lines = ("".join(line.itertext(W + "t")).strip() for line in comment.iter(W + "p"))
    text, author = " ".join(filter(None, lines)), " ".join((comment.get(W + "author") or "").split())
    return f"Comment by {author}" if author else "Comment", text


def write_comments(root: Any, comments: Comments) -> None:
    """Insert each comment as a paragraph below the one that refers to it."""
    quotes = dict(_quotes(root)) if comments else {}
    for mark in reversed(list(root.iter(W + "commentReference")) if comments else []):
        name = mark.get(W + "id") or ""
        below = next(mark.iterancestors(W + "p"), None)
        if name in comments and below is not None and below.getparent() is not None:
            who, text = comments[name]
            below.addnext(paragraph_of(f"{who}{quotes.get(name, '')}: {text}"))


def _quotes(root: Any) -> Iterator[tuple[str, str]]:
    """Yield the text that each comment refers to if it is a few words."""
    open_: dict[str, str] = {}
    for node in root.iter(W + "commentRangeStart", W + "commentRangeEnd", W + "t"):
        name = node.get(W + "id") or ""
        if node.tag == W + "t":
            open_ = {one: text + (node.text or "") for one, text in open_.items()}
        elif node.tag == W + "commentRangeStart":
            open_[name] = ""
        elif 0 < len(words := " ".join(open_.pop(name, "").split())) <= _LONGEST_QUOTE:
            yield name, f" on \u201c{words}\u201d"
