"""Pandoc document: metadata, title and blocks of a document that pandoc reads, drawn on a canvas."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import Decoded
from docmill.tasks.parse.metadata import iso_date
from docmill.tasks.parse.pandoc.inlines import Node, plain_text
from docmill.tasks.parse.pandoc.markdown_writer import PandocWalker, block_lines
from docmill.tasks.parse.pandoc_program import read_tree
from docmill.tasks.parse.pictures.addresses import Loader, nowhere
from docmill.tasks.parse.plain_text import paragraphs
from docmill.tasks.parse.titles.inferred_headings import titled

_SAME = "author institute created language keywords description subtitle publisher version status organization modified"
_OTHER = (
    "authors=author creator=author date=created lang=language tags=keywords subject=keywords last-modified=modified"
)
_NAMES = {name: name for name in _SAME.split()} | dict(pair.split("=") for pair in _OTHER.split())
_SINGLE = ("created", "modified", "language")
_DRAWN = ("subtitle", "abstract", "dedication")
Reread = Callable[[str, str, Rejected], Parsed]  # by a text, pandoc's reader, and why it refused the text

_MAX_CHARACTERS = 3_000_000
"""Maximum characters for pandoc, which would exceed its time limit with more; longer text is read as plain text."""


def draw_tree(
    tree: dict[str, Any], canvas: Canvas, office: bool = False, title: str = "", load: Loader = nowhere
) -> tuple[str, dict[str, Any]]:
    """Draw a syntax tree as Markdown; return its title and its metadata.

    `title` is the file's title outside its text: if the first paragraph has the same words, it is treated as a heading.
    A title outside the text becomes a heading of level 1, and all other headings move one level down. Notes follow the
    paragraph that refers to them. In `office` documents, indented text is not a quote, and short bold paragraphs are
    headings if there are no others. `load` finds the pictures that the document names.
    """
    meta, blocks = tree["meta"], tree["blocks"]
    stated = _text(meta.get("title"))
    if _begins_with(blocks, stated or title):
        stated, blocks = stated or title, blocks[1:]
    headings = list(headings_in(blocks))
    apart = bool(stated) and stated != _words_of(headings[:1])
    if apart:
        canvas.heading(stated, 1)
    walker = PandocWalker(canvas, int(apart and _reach_top(headings)), not office, office and not headings, load)
    for name in _DRAWN:
        walker.blocks(_blocks(meta.get(name), name))
    walker.blocks(blocks)
    return stated or canvas.first_heading(), _metadata(meta)


def read_document(data: bytes, reader: str, load: Loader = nowhere) -> Parsed:
    """Return a document that pandoc reads from its bytes; `load` finds the pictures that it names."""
    return drawn_document(read_tree(data, reader), load=load)


def drawn_document(
    tree: dict[str, Any],
    stated: dict[str, Any] | None = None,
    page: int = 0,
    heading: str = "",
    load: Loader = nowhere,
) -> Parsed:
    """Return the document of a syntax tree.

    For a word processor's document, `stated` has the container's metadata, such as title, author and dates, and
    overrides the metadata in the text. `page` is the number of the first page, 0 if pages are unknown; `heading` is the
    first paragraph if it is styled as a title. `load` finds the pictures that the document names.
    """
    canvas = Canvas()
    canvas.page = page
    known = stated or {}
    title, metadata = draw_tree(tree, canvas, stated is not None, heading or known.get("title", ""), load)
    return canvas.parsed(known.pop("title", "") or title, metadata | known)


def _begins_with(blocks: list[Node], title: str) -> bool:
    """Return whether the first paragraph is the title."""
    return bool(title and blocks) and blocks[0]["t"] == "Para" and plain_text(blocks[0]["c"]) == title


def _words_of(headings: list[Node]) -> str:
    return " ".join(plain_text(one["c"][2]) for one in headings)


def _reach_top(headings: list[Node]) -> bool:
    return min((one["c"][0] for one in headings), default=0) == 1


def headings_in(blocks: list[Node]) -> Iterator[Node]:
    """Yield the headings among blocks, at any depth of boxes."""
    for node in blocks:
        if node["t"] == "Header":
            yield node
        elif node["t"] == "Div":
            yield from headings_in(node["c"][1])


def _metadata(meta: dict[str, Node]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in meta.items():
        ours = _NAMES.get(name.lower())
        said = _text(_first(value) if ours in _SINGLE else value)
        if ours and said:
            found.setdefault(ours, iso_date(said) if ours in ("created", "modified") else said)
    return found


def _first(value: Node) -> Node | None:
    return next(iter(value["c"]), None) if value["t"] == "MetaList" else value


def _text(value: Node | None) -> str:
    """Return a metadata value as one line; several values are joined by commas."""
    if value is None or value["t"] not in _TEXTS:
        return ""
    return _TEXTS[value["t"]](value["c"])


def _single_spaced(text: Any) -> str:
    return re.sub(r"\s+", " ", str(text)).strip()


# The text of each kind of value; a boolean has no text.
_TEXTS: dict[str, Callable[[Any], str]] = {
    "MetaList": lambda values: ", ".join(filter(None, map(_text, values))),
    "MetaMap": lambda values: _text(values.get("text") or values.get("name")),
    "MetaBlocks": lambda blocks: " ".join(map(plain_text, block_lines(blocks))),
    "MetaInlines": lambda inlines: _single_spaced(plain_text(inlines)),
    "MetaString": _single_spaced,
}


def _blocks(value: Node | None, name: str) -> list[Node]:
    if value is None:
        return []
    content: Any = value.get("c")
    if not isinstance(content, list) or not content:
        return []
    blocks: list[Node] = content if value["t"] == "MetaBlocks" else [{"t": "Para", "c": content}]
    if name == "abstract" and not any(node["t"] == "Header" for node in blocks):
        return [{"t": "Header", "c": [1, ["", [], []], [{"t": "Str", "c": "Abstract"}]]}, *blocks]
    return blocks


def read_or_keep(
    text: str, reader: str, found: Decoded, load: Loader = nowhere, otherwise: Reread | None = None
) -> Parsed:
    """Return the document as read by pandoc; if pandoc rejects it or is too slow, the plain text with the reason.

    Text that pandoc takes for damaged, or is too slow for, is first read by `otherwise`. `load` finds the pictures that
    the text names.
    """
    if len(text) > _MAX_CHARACTERS:
        return as_text(found, f"pandoc is too slow for more than {_MAX_CHARACTERS} characters")
    try:
        parsed = _read_or_reread(text, reader, load, otherwise)
    except Rejected as why:
        if why.reason == "not_installed":
            raise
        return as_text(found, why.message)
    if not parsed.text.strip():
        return as_text(found, "pandoc finds no words in it")
    return replace(parsed, metadata=found.metadata | parsed.metadata)


def _read_or_reread(text: str, reader: str, load: Loader, otherwise: Reread | None) -> Parsed:
    try:
        return read_document(text.encode("utf-8", "replace"), reader, load)
    except Rejected as why:
        if why.reason not in ("corrupt", "timeout") or otherwise is None:
            raise
        return otherwise(text, reader, why)


def as_text(found: Decoded, because: str) -> Parsed:
    """Return the text as it is, with headings guessed from its layout and the reason why pandoc did not read it."""
    return Parsed(
        found.text,
        tuple(titled(found.text, paragraphs(found.text))),
        "",
        found.metadata | {"read_as": f"text; {because}"},
    )
