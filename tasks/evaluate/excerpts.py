"""Excerpts: how much of a question's answers the first chunks of a ranking contain, in characters.

The measures are those of Chroma's chunking evaluation: `recall@5`, `precision@5` and `IoU@5` of the first chunks, and
`precision_omega` of a perfect retrieval. `half@5` is 1 if the chunks contain at least half of a question's answer. A
cutoff such as `@500tokens` reads what fits into so many tokens of the embedding model, cutting the last chunk. All
measures use the position of a chunk. With `_first` (`IoU_first@5`) they use the first occurrence of its text in the
document, like the reference implementation, which knows no positions. If a search chooses passages, these are measured
instead of the chunks.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from tokenizers import Tokenizer

from docmill.storage.search.encode.model_spaces import tokenizer_dir
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.evaluate.answer_ranks import Answers
from docmill.tasks.evaluate.overlap import Overlap, Passage, overlap, precision_omega
from docmill.tasks.evaluate.questions import Question, Target

_AT_A_CUTOFF = re.compile(r"(recall|precision|IoU|half)(_first)?@([1-9]\d*)(tokens)?")
_OMEGA = re.compile(r"(precision_omega)(_first)?()()")  # the empty groups take the place of the cutoff, which it lacks
_HALF = 0.5
_NOWHERE = ""
"""The document of a quotation that is in none: no chunk can be from it."""


class ExcerptMeasure(NamedTuple):
    """A measure of excerpts: its name, the number of chunks or of `tokens`, and whether by first occurrence."""

    name: str
    cutoff: int
    first: bool
    tokens: bool = False

    def of(self, found: Overlap) -> float:
        """Return the value for one question."""
        return float(found.recall >= _HALF) if self.name == "half" else float(getattr(found, self.name.lower()))


def only_passages(hits: Iterable[Hit]) -> list[Hit]:
    """Return the passages of hits as hits; hits without one are left out."""
    return [
        replace(hit, text=hit.passage.text, start_char=hit.passage.start_char, end_char=hit.passage.end_char)
        for hit in hits
        if hit.passage
    ]


def excerpt_measure(name: str) -> ExcerptMeasure | None:
    """Return the measure of excerpts with this name, or None."""
    found = _AT_A_CUTOFF.fullmatch(name) or _OMEGA.fullmatch(name)
    if found is None:
        return None
    which, first, cutoff, tokens = found.groups()
    return ExcerptMeasure(which, int(cutoff or 0), bool(first), bool(tokens))


@dataclass
class Excerpts:
    """The passages of a snapshot that answer questions. Questions that quote none have no value."""

    answers: Answers
    questions: Sequence[Question]
    _spans: dict[str, list[int]] = field(default_factory=dict)

    def measure(self, found: Mapping[str, Sequence[Hit]], name: str) -> dict[str, float]:
        """Return the value of a measure of excerpts for each question that quotes a passage, given its hits."""
        chosen = excerpt_measure(name)
        assert chosen is not None
        if chosen.name == "precision_omega":
            chunks = self._first_chunks if chosen.first else self._chunks
            return {key: precision_omega(_around(chunks, wanted), wanted) for key, wanted in self._references.items()}
        return {
            key: chosen.of(overlap(self._passages(self._read(found[key], chosen), chosen.first), wanted))
            for key, wanted in self._references.items()
        }

    def _read(self, hits: Sequence[Hit], chosen: ExcerptMeasure) -> list[Hit]:
        """Return the first hits, or the hits that fit the token limit, cutting the last one."""
        if not chosen.tokens:
            return list(hits[: chosen.cutoff])
        read, left = [], chosen.cutoff
        for hit in hits:
            ends = self._ends(hit.text)
            if left > 0 and ends:
                kept = ends[min(left, len(ends)) - 1]
                read.append(hit if len(ends) <= left else replace(hit, end_char=hit.start_char + kept))
            left -= len(ends)
        return read

    def _ends(self, text: str) -> list[int]:
        """Return where each token of a text ends."""
        if text not in self._spans:
            encoded = self._tokenizer.encode(text, add_special_tokens=False)
            self._spans[text] = [end for _, end in encoded.offsets]
        return self._spans[text]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        space = self.answers.store.snapshot.space
        return load_tokenizer(str(tokenizer_dir(space.model, space.revision)))

    def _passages(self, hits: Iterable[Hit], first: bool) -> list[Passage]:
        found = [Passage(hit.uri, hit.start_char, hit.end_char) for hit in hits]
        return [self._first(one) for one in found] if first else found

    def _first(self, one: Passage) -> Passage:
        """Return the first occurrence of a passage's text."""
        text = self.answers.text(one.document)
        start = text.find(text[one.start : one.end])
        return Passage(one.document, start, start + one.end - one.start)

    @cached_property
    def _chunks(self) -> list[Passage]:
        wanted = {one.document for references in self._references.values() for one in references} - {_NOWHERE}
        return [Passage(uri, *span) for uri in sorted(wanted) for span in self.answers.chunks_of(uri)]

    @cached_property
    def _first_chunks(self) -> list[Passage]:
        return [self._first(one) for one in self._chunks]

    @cached_property
    def _references(self) -> dict[str, list[Passage]]:
        quoting = {one.id: [target for target in one.targets if target.quotation] for one in self.questions}
        return {key: [*self._places(targets)] for key, targets in quoting.items() if targets}

    def _places(self, targets: Sequence[Target]) -> Iterator[Passage]:
        """Yield where quotations are; one that is nowhere counts in full, and no chunk contains any of it."""
        missed = 0
        for target in targets:
            place, size = self.answers.place(target), len(target.quotation)
            yield place or Passage(_NOWHERE, missed, missed + size)
            missed += 0 if place else size


def _around(chunks: Sequence[Passage], wanted: Sequence[Passage]) -> list[Passage]:
    """Return the chunks of the documents that contain these passages."""
    documents = {one.document for one in wanted}
    return [one for one in chunks if one.document in documents]
