"""Hits: what a search gives, and what it says about how it came to that."""

from dataclasses import dataclass, field

from docmill.storage.schema import ChunkRow


@dataclass(frozen=True, slots=True)
class StepNote:
    """What a step of a search did with a hit, in words, and the hit's score after it."""

    step: str
    score: float
    said: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that answers a query.

    `vector_score` is the cosine similarity, `keyword_score` the BM25 score, the ranks are those of the two
    indexes, from 1; None where the chunk was no candidate of that index. `terms` are the query's terms that
    it holds with what each adds to its BM25 score; `steps` say the rest. `page` is None where the format has
    no pages. `matched` is the id of the chunk that was found where its parent stands for it, whose scores
    these are. A hit that was widened has more of the document in `text` than its chunk.
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
    steps: tuple[StepNote, ...] = ()


@dataclass(slots=True)
class Candidate:
    """A chunk on its way through the steps; `span` and `text` are set where they are no longer the chunk's own."""

    key: str
    score: float = 0.0
    vector_score: float | None = None
    keyword_score: float | None = None
    vector_rank: int | None = None
    keyword_rank: int | None = None
    terms: dict[str, float] = field(default_factory=dict)
    matched: str = ""
    span: tuple[int, int] | None = None
    text: str = ""
    notes: list[StepNote] = field(default_factory=list)

    def note(self, step: str, said: str) -> None:
        """Remember what a step did."""
        self.notes.append(StepNote(step, self.score, said))


def in_order(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates by score, best first; equal scores by id."""
    return sorted(candidates, key=lambda one: (-one.score, one.key))


def as_hit(rank: int, found: Candidate, row: ChunkRow) -> Hit:
    """Return a candidate with its row as a hit."""
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
        steps=tuple(found.notes),
    )
