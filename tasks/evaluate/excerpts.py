"""Excerpts: how much of the answers to a question the first chunks of a ranking contain, in characters.

The measures of Chroma's chunking evaluation: `recall@5`, `precision@5`, `IoU@5` of the first chunks, and
`precision_omega` of a perfect retrieval. They use the position of a chunk. With `_first` (`IoU_first@5`) they use the
first occurrence of its text in the document, as does the reference implementation, which knows no positions.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from docmill.storage.errors import QueryError
from docmill.storage.reader.store import Store
from docmill.storage.retrieval.candidates.hit import Hit
from docmill.tasks.evaluate.overlap import Passage, overlap, precision_omega
from docmill.tasks.evaluate.questions import Question, Target

_AT_A_CUTOFF = re.compile(r"(recall|precision|IoU)(_first)?@([1-9]\d*)")
_OMEGA = re.compile(r"(precision_omega)(_first)?()")  # the empty group is the cutoff, which it lacks
_SHOWN = 60
"""Characters of a quotation to show in an error: enough to find it, short enough for one line."""


class ExcerptMeasure(NamedTuple):
    """A measure of excerpts: its name, the number of chunks, and whether by first occurrence."""

    name: str
    cutoff: int
    first: bool


def excerpt_measure(name: str) -> ExcerptMeasure | None:
    """Return the measure of excerpts with this name, or None."""
    found = _AT_A_CUTOFF.fullmatch(name) or _OMEGA.fullmatch(name)
    if found is None:
        return None
    which, first, cutoff = found.groups()
    return ExcerptMeasure(which, int(cutoff or 0), bool(first))


@dataclass
class Excerpts:
    """The passages of a store that answer questions. Raises `QueryError` if one is not found."""

    store: Store
    questions: Sequence[Question]
    _texts: dict[str, str] = field(default_factory=dict)

    def measure(self, found: Mapping[str, Sequence[Hit]], name: str) -> dict[str, float]:
        """Return the value of a measure of excerpts for each question, given its hits."""
        chosen = excerpt_measure(name)
        assert chosen is not None
        if chosen.name == "precision_omega":
            chunks = self._first_chunks if chosen.first else self._chunks
            return {key: precision_omega(_around(chunks, wanted), wanted) for key, wanted in self._references.items()}
        return {
            key: getattr(
                overlap(self._passages(found[key][: chosen.cutoff], chosen.first), wanted), chosen.name.lower()
            )
            for key, wanted in self._references.items()
        }

    def _passages(self, hits: Iterable[Hit], first: bool) -> list[Passage]:
        found = [Passage(hit.uri, hit.start_char, hit.end_char) for hit in hits]
        return [self._first(one) for one in found] if first else found

    def _first(self, one: Passage) -> Passage:
        """Return the first occurrence of a passage's text."""
        start = self._text(one.document).find(self._text(one.document)[one.start : one.end])
        return Passage(one.document, start, start + one.end - one.start)

    @cached_property
    def _chunks(self) -> list[Passage]:
        rows = self.store.sql("SELECT uri, start_char, end_char FROM chunks")
        wanted = {one.document for references in self._references.values() for one in references}
        found = zip(*(column.to_pylist() for column in rows.columns), strict=True)
        return [Passage(*row) for row in found if row[0] in wanted]

    @cached_property
    def _first_chunks(self) -> list[Passage]:
        return [self._first(one) for one in self._chunks]

    @cached_property
    def _references(self) -> dict[str, list[Passage]]:
        return {question.id: [self._place(question, one) for one in question.targets] for question in self.questions}

    def _place(self, question: Question, target: Target) -> Passage:
        uri = self._uris.get(target.document)
        if not uri or not target.quotation:
            said = f"document {target.document!r} is not in the store" if target.document else "it names no document"
            raise QueryError(
                f"question {question.id}: {said if not uri else 'it has no quotation'};"
                " recall@5, IoU@5 and the like need a quoted passage of a document"
            )
        found = locate(self._text(uri), target)
        if found is None:
            raise QueryError(f"question {question.id}: {uri} does not contain {target.quotation[:_SHOWN]!r}")
        return Passage(uri, *found)

    @cached_property
    def _uris(self) -> dict[str, str]:
        uris = self.store.sql("SELECT uri FROM documents ORDER BY uri DESC").column(0).to_pylist()
        names = {name: uri for uri in uris for name in (PurePosixPath(uri).stem, PurePosixPath(uri).name)}
        return names | {uri: uri for uri in uris}

    def _text(self, uri: str) -> str:
        if uri not in self._texts:
            self._texts[uri] = self.store.document(uri).text
        return self._texts[uri]


def locate(text: str, target: Target) -> tuple[int, int] | None:
    """Return the span of a quotation: the target's position, else the first occurrence, ignoring white space."""
    if target.start >= 0 and text[target.start : target.start + len(target.quotation)] == target.quotation:
        return target.start, target.start + len(target.quotation)
    words = map(re.escape, target.quotation.split())
    found = re.search(r"\s+".join(words), text)
    return found.span() if found else None


def _around(chunks: Sequence[Passage], wanted: Sequence[Passage]) -> list[Passage]:
    """Return the chunks of the documents that contain these passages."""
    documents = {one.document for one in wanted}
    return [one for one in chunks if one.document in documents]
