"""Chunk fields: the texts of a chunk that the keyword index counts separately, each with its own weight and length."""

from typing import NamedTuple


class ChunkFields(NamedTuple):
    """The texts of one chunk by field; a field without words is empty.

    `context` leaves out the title and the headings. `path` is the uri of the document. `path` and `phrasings` do not
    affect the detected language of the chunk.
    """

    text: str
    context: str = ""
    headings: str = ""
    title: str = ""
    path: str = ""
    phrasings: str = ""


FIELDS = ChunkFields._fields
"""The names of the fields in the order of their numbers; field 0, the text, has most of the words."""
SIDE_FIELDS = len(FIELDS) - 1
"""The number of fields besides the text. Few terms of a chunk occur in them, so their frequencies are stored
separately."""


def fields_of(chunk: str | ChunkFields) -> ChunkFields:
    """Return the fields of a chunk; a plain string is a text without other fields."""
    return ChunkFields(chunk) if isinstance(chunk, str) else chunk
