"""Read or keep: a text as pandoc reads it, or as it is where pandoc cannot read it in time."""

from collections.abc import Callable
from dataclasses import replace

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.decode import Decoded
from docmill.tasks.parse.pandoc.document import read_document
from docmill.tasks.parse.pictures.addresses import Loader, nowhere
from docmill.tasks.parse.plain import paragraphs
from docmill.tasks.parse.titles.untitled import titled

Reread = Callable[[str, str, str], Parsed]  # by a text, pandoc's reader, and why it refused the text

_MAX_CHARACTERS = 3_000_000
"""Maximum characters for pandoc, whose time limit more would exceed: longer text is read as plain text at once."""


def read_or_keep(
    text: str, reader: str, found: Decoded, load: Loader = nowhere, otherwise: Reread | None = None
) -> Parsed:
    """Return the document as read by pandoc; if pandoc rejects it or is too slow, the plain text, with the reason.

    Text that pandoc takes for damaged is first read by `otherwise`. `load` finds the pictures that the text names.
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
        if why.reason != "corrupt" or otherwise is None:
            raise
        return otherwise(text, reader, why.message)


def as_text(found: Decoded, because: str) -> Parsed:
    """Return the text as it is, with titles by their looks, and why pandoc did not read it."""
    return Parsed(
        found.text,
        tuple(titled(found.text, paragraphs(found.text))),
        "",
        found.metadata | {"read_as": f"text; {because}"},
    )
