"""Query analysis: what the log of queries says: what is asked most, and what the store has no good answer to."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from docmill.storage.search.rank.candidates.confidence import DOUBTFUL
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.snapshots.history.judgements import same_query
from docmill.storage.snapshots.history.query_log import LoggedQuery
from docmill.storage.snapshots.read.judging import JudgedPassage

_ALIKE = 0.4
"""Cosine of a query and the middle of a group from which it belongs there. Of 29 queries about 7 subjects of an office,
88 % of the pairs in a group are of one subject at .4, 83 % at .3 and 100 % at .5; 60, 78 and 54 % of such pairs are in
a group."""
_WORDS = 3  # that name a group of queries: enough to know the subject

Vectors = Callable[[Sequence[str]], Sequence[npt.NDArray[np.float32]]]
Words = Callable[[str], Mapping[str, Sequence[str]]]
"""Returns the words of a text with their terms, without stop words."""
Ask = Callable[[Sequence[str]], Sequence[Sequence[Hit]]]


@dataclass(frozen=True, slots=True)
class AskingAgain:
    """How queries are asked again of an open snapshot, and grouped."""

    ask: Ask
    vectors: Vectors
    words: Words
    snapshot: int


@dataclass(frozen=True, slots=True)
class FrequentQuery:
    """A query that was asked, whatever its case and white space, once or often.

    Attributes:
        query: The query, as it was written last.
        times: How often it was asked.
        first: When it was asked first, ISO 8601 in UTC.
        last: When it was asked last.
        snapshot: The number of the snapshot that answered last.
        hits: How many hits it had then.
        relevance: The relevance of the best hit then, or None without a hit.
        confidence: The confidence of the best hit then, or None without a hit.
    """

    query: str
    times: int
    first: str
    last: str
    snapshot: int
    hits: int
    relevance: float | None
    confidence: float | None


@dataclass(frozen=True, slots=True)
class ContentGap:
    """Queries about one subject to which the store has no good answer.

    Attributes:
        words: The words that most of them share and other gaps do not have, three at most.
        times: How often they were asked together.
        queries: The queries, most frequent first, each as an open snapshot answers it now.
    """

    words: tuple[str, ...]
    times: int
    queries: tuple[FrequentQuery, ...]


def frequent(rows: Iterable[LoggedQuery]) -> list[FrequentQuery]:
    """Return each query once, most frequent first, then by time; `rows` are oldest first.

    Whether it was answered is told by the last time that it was asked without a condition, if there was one.
    """
    grouped: dict[str, list[LoggedQuery]] = defaultdict(list)
    for row in rows:
        grouped[same_query(row.query)].append(row)
    found = [_frequent(own) for own in grouped.values()]
    return sorted(found, key=lambda one: (one.times, one.last), reverse=True)


def _frequent(own: Sequence[LoggedQuery]) -> FrequentQuery:
    last = max(own, key=lambda row: (not (row.filtered or row.restricted), row.created))
    return FrequentQuery(
        own[-1].query, len(own), own[0].created, own[-1].created, last.snapshot, last.hits, last.relevance,
        last.confidence,
    )  # fmt: skip


def content_gaps(
    asked: Sequence[FrequentQuery], judged: Sequence[JudgedPassage], most: int, again: AskingAgain
) -> list[ContentGap]:
    """Ask `most` of the queries that may have no good answer again; return those that have none, grouped by meaning."""
    found = asked_again(without_answer(asked, judged, most), again.ask, again.snapshot)
    absent = {same_query(one.judgement.query) for one in judged if one.state == "absent"}
    left = [one for one in found if is_doubtful(one) or same_query(one.query) in absent]
    return gaps_of(left, again.vectors, again.words)


def without_answer(asked: Sequence[FrequentQuery], judged: Iterable[JudgedPassage], most: int) -> list[FrequentQuery]:
    """Return the queries that may have no good answer, most frequent first, `most` of them.

    These have no hit, one of little confidence, or somebody judged that the store has no answer. Queries for which a
    passage was judged right have one, whatever a search says.
    """
    right, absent = set[str](), dict[str, JudgedPassage]()
    for one in judged:
        key = same_query(one.judgement.query)
        if one.relevant and one.uri:
            right.add(key)
        elif one.state == "absent":
            absent[key] = one
    found = {same_query(one.query): one for one in asked if is_doubtful(one) or same_query(one.query) in absent}
    for key, one in absent.items():
        own = one.judgement
        found.setdefault(key, FrequentQuery(own.query, 1, own.created, own.created, own.snapshot, 0, None, None))
    left = [one for key, one in found.items() if key not in right]
    return sorted(left, key=lambda one: (one.times, one.last), reverse=True)[:most]


def is_doubtful(one: FrequentQuery) -> bool:
    """Return whether a query had no hit, or none that is likely to answer it."""
    return one.confidence is None or one.confidence < DOUBTFUL


def asked_again(queries: Sequence[FrequentQuery], ask: Ask, snapshot: int) -> list[FrequentQuery]:
    """Return queries as an open snapshot answers them."""
    hits = ask([one.query for one in queries]) if queries else []
    return [_answered(one, own, snapshot) for one, own in zip(queries, hits, strict=True)]


def _answered(one: FrequentQuery, hits: Sequence[Hit], snapshot: int) -> FrequentQuery:
    relevance, confidence = best_of(hits)
    return replace(one, snapshot=snapshot, hits=len(hits), relevance=relevance, confidence=confidence)


def _best(hits: Sequence[Hit], name: str) -> float | None:
    found = [value for one in hits if (value := getattr(one, name)) is not None]
    return max(found, default=None)


def best_of(hits: Sequence[Hit]) -> tuple[float | None, float | None]:
    """Return the relevance and the confidence of the best hit, each None without a hit."""
    return _best(hits, "relevance"), _best(hits, "confidence")


def gaps_of(queries: Sequence[FrequentQuery], vectors: Vectors, words: Words) -> list[ContentGap]:
    """Group queries by meaning, most asked first, and name each group by its words."""
    groups = _alike(queries, vectors)
    spellings = [_spellings(own, words) for own in groups]
    in_groups = Counter(term for own in spellings for term in own)
    found = [
        ContentGap(_named(counts, in_groups), sum(one.times for one in own), tuple(own))
        for own, counts in zip(groups, spellings, strict=True)
    ]
    return sorted(found, key=lambda one: -one.times)


def _alike(queries: Sequence[FrequentQuery], vectors: Vectors) -> list[list[FrequentQuery]]:
    """Return groups of queries: each joins the nearest group before it, or begins one."""
    groups: list[list[FrequentQuery]] = []
    middles: list[npt.NDArray[np.float32]] = []
    for one, windows in zip(queries, vectors([one.query for one in queries]) if queries else (), strict=True):
        own = windows.sum(axis=0)
        near = [float(own @ middle / (np.linalg.norm(own) * np.linalg.norm(middle) or 1.0)) for middle in middles]
        best = max(range(len(near)), key=near.__getitem__, default=None)
        if best is not None and near[best] >= _ALIKE:
            groups[best].append(one)
            middles[best] = middles[best] + own
        else:
            groups.append([one])
            middles.append(own)
    return groups


def _spellings(queries: Sequence[FrequentQuery], words: Words) -> dict[str, Counter[str]]:
    """Return the spellings of each term of queries, each with the number of queries that have it."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in queries:
        asked = one.query.casefold()
        for word, terms in sorted(words(asked).items(), key=lambda item: asked.find(item[0])):
            found[terms[0]][word] += 1
    return found


def _named(spellings: Mapping[str, Counter[str]], in_groups: Mapping[str, int]) -> tuple[str, ...]:
    # The order of the queries decides a tie: their words are counted in it.
    terms = sorted(spellings, key=lambda term: -spellings[term].total() / in_groups[term])[:_WORDS]
    return tuple(spellings[term].most_common(1)[0][0] for term in terms)
