"""Search options: the options of a search, which are checked on creation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, TypedDict, get_args

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS
from docmill.storage.errors import QueryError
from docmill.storage.search.keywords.analysis.language_tags import READ_AS, primary_tag

Mode = Literal["hybrid", "vector", "keyword"]
Fusion = Literal["linear", "rrf", "weighted_rrf"]
FUSION_NAMES: tuple[str, ...] = get_args(Fusion)
Expansion = Literal["", "feedback", "model"]
Rewrite = Callable[[str], Sequence[str]]
"""Returns other wordings of a query; raises `NoWordings` with the reason if there are none."""

CANDIDATES = 200
"""Candidates that each index returns. A chunk beyond them has no score from that index, and a linear fusion scales
scores over them."""
CHUNKS_PER_HIT = 4
"""Chunks considered per hit if several become one: chunks of one parent, and neighbours that widen a hit."""
LONGEST_QUERY = 20_000
"""The most characters of a query. A longer text is a document, not a question, and the analyser would process all of
it."""


class SearchArguments(TypedDict, total=False):
    """The options of a search by name; `SearchOptions` describes them."""

    weight: float
    fusion: Fusion
    cover: float
    spread: float
    lift: float
    candidates: int
    distinct: bool
    diversity: float
    rerank: str
    rerank_depth: int
    expand: Expansion
    widen: int
    parents: bool
    passages: int
    min_confidence: float
    language: str


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How a search ranks and presents its hits.

    Attributes:
        k: How many hits to return at most, from 1.
        mode: `"hybrid"` fuses the rankings of both indexes; `"vector"` and `"keyword"` use one of them.
        where: An SQL predicate over the columns of chunks and documents, or None.
        weight: The weight of the vectors in a weighted fusion, from 0 to 1; the keywords get the rest.
        fusion: `"linear"` fuses normalised scores, `"rrf"` ranks, `"weighted_rrf"` ranks by `weight`.
        cover: The share of the highest score that a chunk of a hybrid search gets if the cover of its document has all
            words of the query, from 0 to 1; fewer words count less. Documents with a title are not affected.
        spread: The share of its gap to the better neighbour's score that a chunk of a hybrid search gains, from 0 to 1.
        lift: The share of its gap to the best score in its document that a chunk of a hybrid search gains, if the
            document has no title; from 0 to 1.
        candidates: How many candidates each index returns, from 1. There are never fewer than `k`, or than four
            times as many if hits are widened or replaced by their parents. If `distinct` leaves fewer than `k` hits,
            they become four and sixteen times as many, up to 3,200.
        distinct: Whether to drop hits that repeat a better hit.
        diversity: The weight of difference from better hits against the score, from 0 to 1 (maximal marginal
            relevance).
        rerank: `"late"`, a plugin, or the path or hub name of a CrossEncoder, to score the candidates again; `""`
            is none.
        rerank_depth: How many candidates are scored again, from 1.
        expand: `"feedback"` searches again with words of the first hits, `"model"` with a language model's wordings.
        widen: Tokens up to which a hit grows by whole neighbouring chunks; 0 is off.
        parents: Whether to return the parent of each chunk found, once.
        passages: Tokens of the passages that are chosen in all hits together, see `Hit.passage`; 0 is off.
        min_confidence: The least `Hit.confidence`, from 0 to 1: of the `k` best hits, those below are left out.
        language: The language of the query as a BCP 47 tag, such as `"de"`; `""` detects it.

    Raises:
        docmill.errors.QueryError: A value is wrong.
    """

    k: int = 5
    mode: Mode = "hybrid"
    where: str | None = None
    weight: float = 0.4
    fusion: Fusion = "linear"
    cover: float = 1.0
    spread: float = 0.4
    lift: float = 0.3
    candidates: int = CANDIDATES
    distinct: bool = True
    diversity: float = 0.0
    rerank: str = ""
    rerank_depth: int = 20
    expand: Expansion = ""
    widen: int = 0
    parents: bool = False
    passages: int = 0
    min_confidence: float = 0.0
    language: str = ""

    def __post_init__(self) -> None:
        for name, value, least in (
            ("k", self.k, 1),
            ("candidates", self.candidates, 1),
            ("rerank_depth", self.rerank_depth, 1),
            ("widen", self.widen, 0),
            ("passages", self.passages, 0),
        ):
            check_count(value, name, least)
        for name, chosen, known in (
            ("mode", self.mode, get_args(Mode)),
            ("fusion", self.fusion, FUSION_NAMES),
            ("expand", self.expand, get_args(Expansion)),
            ("language", primary_tag(str(self.language)), ("", *sorted(READ_AS))),
        ):
            if chosen not in known:
                raise QueryError(f"{name} must be one of {', '.join(filter(None, known))}, got {chosen!r}")
        for name, share in (
            ("weight", self.weight),
            ("cover", self.cover),
            ("spread", self.spread),
            ("lift", self.lift),
            ("diversity", self.diversity),
            ("min_confidence", self.min_confidence),
        ):
            if not isinstance(share, Real) or not 0 <= share <= 1:
                raise QueryError(f"{name} must be in [0, 1], got {share!r}")

        check_where(self.where)

    @property
    def wanted(self) -> int:
        """Return how many chunks are considered for `k` hits."""
        return self.k * (CHUNKS_PER_HIT if self.parents or self.widen else 1)

    @property
    def breadth(self) -> int:
        """Return how many candidates each index returns, enough for all hits."""
        return max(self.candidates, self.wanted)


def options_of(k: int, mode: Mode, where: str | None, how: Mapping[str, Any]) -> SearchOptions:
    """Return the options of a search; raise `QueryError` for an unknown name in `how`."""
    known = SearchArguments.__annotations__
    for name in how.keys() - known.keys():
        raise QueryError(f"a search has no option {name!r}; it takes k, mode, where, {', '.join(known)}")
    return SearchOptions(k, mode, where, **how)


def check_where(where: object) -> None:
    """Raise `QueryError` for a condition that is not SQL, such as the dict that other search engines accept."""
    if where is not None and not isinstance(where, str):
        raise QueryError(f"where takes an SQL condition as a string{_in_sql(where)}, got {where!r}")
    check_text(where or "", "where")


def _in_sql(where: object) -> str:
    """Return how to write a dict of plain values as an SQL condition."""
    if not isinstance(where, dict) or not all(isinstance(value, str | int | float) for value in where.values()):
        return ""
    columns = {*CHUNKS.names, *DOCUMENTS.names}
    parts = (f"{name if name in columns else f'metadata->>{name!r}'} = {value!r}" for name, value in where.items())
    return f', such as "{" AND ".join(parts)}"' if where else ""


def check_query(text: str) -> None:
    """Raise `QueryError` for a query that no index can answer."""
    check_text(text, "the query")
    if not text.strip():
        raise QueryError("the query is empty; type a question")
    # Such a text has a vector, too, and some chunk would be nearest to it by chance.
    if not any(map(str.isalnum, text)):
        raise QueryError(f"the query {text.strip()[:40]!r} contains no word; ask in words")
    if len(text) > LONGEST_QUERY:
        raise QueryError(f"the query has {len(text):,} characters, the limit is {LONGEST_QUERY:,}; shorten it")


def check_count(value: object, what: str, least: int) -> None:
    """Raise `QueryError` unless `value` is a whole number of at least `least`; numpy integers are accepted."""
    if not isinstance(value, Integral) or int(value) < least:
        raise QueryError(f"{what} must be a whole number of at least {least}, got {value!r}")


def check_text(text: str, what: str) -> None:
    """Raise `QueryError` for what is not a string, or cannot be encoded in UTF-8, which indexes and databases need."""
    if not isinstance(text, str):
        raise QueryError(f"{what} must be a string, got {text!r}")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise QueryError(f"{what} is not valid text: it has a lone surrogate, as from bytes that are not UTF-8")
