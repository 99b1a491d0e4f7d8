"""Hits: the results of a search, with their scores and what each step did with them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docmill.storage.search.keywords.keyword_search import KeywordHit, KeywordHits


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """The part of a chunk that hits show: the columns of `ChunkRow` that every search reads."""

    chunk_id: str
    document_id: str
    uri: str
    start_char: int
    end_char: int
    text: str
    context: str
    headings: tuple[str, ...]
    page: int | None
    line: int
    content_type: str
    strategy: str
    role: str
    parent_id: str


@dataclass(frozen=True, slots=True)
class StepNote:
    """What a step of a search did with a hit: `said` describes it, `score` is the score of the hit afterwards."""

    step: str
    score: float
    said: str


@dataclass(frozen=True, slots=True)
class OtherPlace:
    """The place of a chunk that repeats a hit, which the search left out.

    Attributes:
        chunk_id: The id of the chunk.
        uri: The document that contains it.
        start_char: Where it starts in the canonical text, in code points.
        end_char: Where it ends, exclusive.
        page: The page, from 1, or None if the format has no pages.
        line: The line on which it starts, from 1.
        source_url: The URL where a person opens the original of the document, or "" for a file on a disk.
    """

    chunk_id: str
    uri: str
    start_char: int
    end_char: int
    page: int | None
    line: int
    source_url: str = ""


@dataclass(frozen=True, slots=True)
class HitPassage:
    """The part of a hit that answers the query: whole sentences, `text` from `start_char` to `end_char`.

    Offsets are half-open, in code points of the canonical text, within those of the hit. Rows of tables, list
    items, headings and lines of code count as sentences.
    """

    text: str
    start_char: int
    end_char: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a search: a chunk with its rank, its text and its scores.

    Attributes:
        rank: The position among the hits, from 1.
        score: The score after the last step of the search; compare it only within one search.
        vector_score: The cosine similarity of chunk and query, or None if the vector index did not return the chunk.
        keyword_score: The BM25 score, or None if the keyword index did not return the chunk.
        chunk_id: The id of the chunk, 32 hex digits.
        uri: The document that contains the chunk.
        start_char: Where `text` starts in the canonical text, in code points.
        end_char: Where `text` ends, exclusive.
        text: The text of the chunk, or more of the document around it if the search widened the hit.
        context: The text that says where the chunk comes from, such as the title and the headings above it.
        headings: The headings above the chunk, outermost first.
        page: The page, from 1, or None if the format has no pages.
        content_type: What the chunk is, such as `code`, `table` or `narrative`.
        strategy: The strategy that made the chunk.
        role: The kind of chunk within its strategy, such as `section` or `summary`; "" if the strategy has one kind.
        matched: The id of the chunk that the query found, if this hit is its parent; the scores are then those of
            the found chunk. Else "".
        vector_rank: The rank in the vector index, from 1, or None.
        keyword_rank: The rank in the keyword index, from 1, or None.
        terms: The terms of the query that the chunk contains, each with its share of the BM25 score.
        fields: The fields of the chunk that contain each of these terms: `text`, `context`, `headings`, `title`,
            `path`, `phrasings`.
        steps: What each step of the search did with the hit, in order.
        relevance: The score as a share of the highest that this search could give, in [0, 1], never above that of a
            better-ranked hit. The highest is a cosine of 1 (`vector`), the best BM25 score of the query (`keyword`),
            the score of a chunk that is first in both rankings (`hybrid`), or 1 after `rerank`. Compare it only within
            one search.
        also_at: The places of candidates that repeat this chunk, which `distinct` left out.
        line: The line on which `text` starts, from 1, in the canonical text: for a format that is text, such as
            Markdown, that is the line of the file.
        source_url: The URL where a person opens the original of the document, or "" for a file on a disk.
        passage: The sentences of the hit that answer the query, if the search was asked for `passages`. None if it was
            not, or if the budget of tokens went to better sentences of other hits.
        confidence: How likely the hit answers the query, from 0 to 1, by what both indexes know of it. Unlike `score`
            and `relevance`, it can be compared between searches. null for a hit of `similar`.

    Examples:
        >>> hit = store.search("undo a commit", k=1)[0]
        >>> store.document(hit.uri).text[hit.start_char : hit.end_char] == hit.text
        True
    """

    rank: int
    score: float
    vector_score: float | None
    keyword_score: float | None
    chunk_id: str
    uri: str
    start_char: int
    end_char: int
    text: str
    context: str
    headings: tuple[str, ...]
    page: int | None
    content_type: str
    strategy: str
    role: str = ""
    matched: str = ""
    vector_rank: int | None = None
    keyword_rank: int | None = None
    terms: dict[str, float] = field(default_factory=dict)
    fields: dict[str, tuple[str, ...]] = field(default_factory=dict)
    steps: tuple[StepNote, ...] = ()
    relevance: float = 0.0
    also_at: tuple[OtherPlace, ...] = ()
    line: int = 1
    source_url: str = ""
    passage: HitPassage | None = None
    confidence: float | None = None


CandidateNote = tuple[str, float, str, tuple[float, ...]]
"""The step, the score after it, a text about what it did, and the numbers that fill the placeholders of the text."""
_SCORE, _KEY = attrgetter("score"), attrgetter("key")


@dataclass(slots=True)
class Candidate:
    """A chunk on its way through the steps of a search; a step that widens it sets `span` and `text`.

    `copies` are chunks that repeat it and were left out in its favour. `held` are the keyword hits that include it.
    `fused` returns the note of the fusion for a key; all candidates share it, because few of them become hits.
    """

    key: str
    score: float = 0.0
    vector_score: float | None = None
    keyword_score: float | None = None
    vector_rank: int | None = None
    keyword_rank: int | None = None
    held: "KeywordHits | None" = None
    matched: str = ""
    span: tuple[int, int] | None = None
    text: str = ""
    fused: "Callable[[str], CandidateNote] | None" = None
    notes: "list[CandidateNote] | None" = None
    copies: tuple[ShownChunk, ...] = ()

    @property
    def terms(self) -> dict[str, float]:
        """The terms of the query in the chunk, each with its share of the keyword score."""
        return self._match.terms if self._match else {}

    @property
    def fields(self) -> dict[str, tuple[str, ...]]:
        """The fields of the chunk that have each of these terms."""
        return self._match.fields if self._match else {}

    @property
    def _match(self) -> "KeywordHit | None":
        return self.held[self.keyword_rank - 1] if self.held is not None and self.keyword_rank else None

    def note(self, step: str, said: str, *numbers: float) -> None:
        """Record what a step did; `numbers` fill the placeholders of `said` only if the candidate becomes a hit."""
        if self.notes is None:
            self.notes = []
        self.notes.append((step, self.score, said, numbers))

    def steps(self) -> tuple[StepNote, ...]:
        """Return what each step did, in order."""
        notes = [*([self.fused(self.key)] if self.fused else []), *(self.notes or [])]
        return tuple(StepNote(step, score, said.format(*of) if of else said) for step, score, said, of in notes)


def in_order(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates by score, best first; equal scores by id."""
    # Sort without key tuples, of which a search would make over a thousand; equal scores are rare.
    ordered = sorted(candidates, key=_SCORE, reverse=True)
    if all(one.score > after.score for one, after in pairwise(ordered)):
        return ordered
    return sorted(sorted(candidates, key=_KEY), key=_SCORE, reverse=True)


def as_hit(
    rank: int,
    found: Candidate,
    row: ShownChunk,
    relevance: float,
    urls: Mapping[str, str],
    confidence: float | None = None,
) -> Hit:
    """Return a candidate as a hit; `urls` has the URLs of its document and of the documents of its copies."""
    start, end = found.span or (row.start_char, row.end_char)
    return Hit(
        rank=rank,
        score=found.score,
        vector_score=found.vector_score,
        keyword_score=found.keyword_score,
        chunk_id=row.chunk_id,
        uri=row.uri,
        start_char=start,
        end_char=end,
        text=found.text if found.span else row.text,
        context=row.context,
        headings=row.headings,
        page=row.page,
        content_type=row.content_type,
        strategy=row.strategy,
        role=row.role,
        matched=found.matched,
        vector_rank=found.vector_rank,
        keyword_rank=found.keyword_rank,
        terms=found.terms,
        fields=found.fields,
        steps=found.steps(),
        relevance=relevance,
        also_at=tuple(_place(copy, urls) for copy in found.copies),
        line=_line(found, row),
        source_url=urls.get(row.document_id, ""),
        confidence=confidence,
    )


def _place(row: ShownChunk, urls: Mapping[str, str]) -> OtherPlace:
    url = urls.get(row.document_id, "")
    return OtherPlace(row.chunk_id, row.uri, row.start_char, row.end_char, row.page, row.line, url)


def _line(found: Candidate, row: ShownChunk) -> int:
    """Return the line on which a hit starts; a widened hit may start before its chunk."""
    return row.line - found.text.count("\n", 0, row.start_char - found.span[0]) if found.span else row.line
