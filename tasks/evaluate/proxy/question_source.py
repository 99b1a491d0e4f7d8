"""Question source: a document that questions are made from, and how a made question is named."""

from collections.abc import Iterator
from dataclasses import dataclass

from docmill.storage.keys import key_of
from docmill.storage.schema import Element, Parsed
from docmill.storage.snapshots.artifacts.packs import Packs, decode_parsed
from docmill.storage.snapshots.read.store import Store
from docmill.storage.snapshots.tables.tables import read_table
from docmill.tasks.evaluate.overlap import Passage
from docmill.tasks.evaluate.questions import Question, Target

_QUOTED = 80
"""Characters of the passage that answers: a chunk that holds its beginning has found it.

A longer quotation might be cut by chunks, and none would hold it.
"""
_MOST = 2_000
"""Documents to make questions from: some seconds of reading, and links need the pages that they lead to."""
_AT_ONCE = 64
"""Documents whose texts are read at once: a few megabytes."""


@dataclass(frozen=True, slots=True)
class QuestionSource:
    """A document to make questions from."""

    uri: str
    parsed: Parsed


def read_sources(store: Store, most: int = _MOST) -> list[QuestionSource]:
    """Return at most `most` documents of a snapshot, chosen by their ids."""
    table = read_table(store.stored, "documents", ["document_id", "uri", "text_key"]).sort_by("document_id")
    rows = table.slice(0, most).to_pylist()
    packs = Packs(store.stored.ensure_packs("texts"))
    return [one for start in range(0, len(rows), _AT_ONCE) for one in _read(packs, rows[start : start + _AT_ONCE])]


def _read(packs: Packs, rows: list[dict[str, str]]) -> Iterator[QuestionSource]:
    texts = packs.take([row["text_key"] for row in rows]).to_pylist()
    for row, text in zip(rows, texts, strict=True):
        yield QuestionSource(row["uri"], decode_parsed(text))


def made(text: str, target: Target, *hidden: Passage) -> Question:
    """Return a question whose id is made from its content; `hidden` is where it was taken from."""
    text = " ".join(text.split())
    return Question(key_of("proxy", text, target.document, target.quotation), text, (target,), hidden=hidden)


def quoted(text: str, element: Element) -> str:
    """Return the first words of an element, as many as are on its first line."""
    line = text[element.start_char : element.end_char].strip().split("\n", 1)[0]
    return line if len(line) <= _QUOTED else line[:_QUOTED].rsplit(" ", 1)[0]
