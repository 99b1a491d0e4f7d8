"""Query analysis: find in the query log what is asked most, and what the store has no good answer to."""

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
"""A query joins a group if its cosine with the group's mean is at least this. For 29 office queries about 7 subjects,
the pairs within a group share a subject in 83, 88 and 100 % of cases at .3, .4 and .5. Of all pairs that share a
subject, 78, 60 and 54 % are then in one group."""
_WORDS = 3  # words that name a group of queries: enough to know the subject

Vectors = Callable[[Sequence[str]], Sequence[npt.NDArray[np.float32]]]
Words = Callable[[str], Mapping[str, Sequence[str]]]
"""Returns the words of a text with their terms, without stop words."""
Ask = Callable[[Sequence[str]], Sequence[Sequence[Hit]]]


@dataclass(frozen=True, slots=True)
class AskingAgain:
    """How to ask queries again of an open snapshot, and how to group them."""

    ask: Ask
    vectors: Vectors
    words: Words
    snapshot: int


@dataclass(frozen=True, slots=True)
class FrequentQuery:
    """A query that was asked once or often, ignoring case and white space.

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
        words: The words, three at most, that most of them share and that other gaps lack.
        times: How often they were asked together.
        queries: The queries, most frequent first, with how the open snapshot answers them now.
    """

    words: tuple[str, ...]
    times: int
    queries: tuple[FrequentQuery, ...]


def frequent(rows: Iterable[LoggedQuery]) -> list[FrequentQuery]:
    """Return each query once, most frequent first, then latest first; `rows` are oldest first.

    Its hits are those of the last time that it was asked of all documents, if it ever was.
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
    """Ask up to `most` doubtful queries again; return the ones that still have no good answer, grouped by meaning."""
    found = asked_again(without_answer(asked, judged, most), again.ask, again.snapshot)
    absent = {same_query(one.judgement.query) for one in judged if one.state == "absent"}
    left = [one for one in found if is_doubtful(one) or same_query(one.query) in absent]
    return gaps_of(left, again.vectors, again.words)


def without_answer(asked: Sequence[FrequentQuery], judged: Iterable[JudgedPassage], most: int) -> list[FrequentQuery]:
    """Return up to `most` queries that may have no good answer, most frequent first.

    These had no hit or only hits of low confidence, or somebody judged that the store has no answer. Queries for which
    a passage was judged right are left out.
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
    """Return whether a query had no hit that is likely to answer it."""
    return one.confidence is None or one.confidence < DOUBTFUL


def asked_again(queries: Sequence[FrequentQuery], ask: Ask, snapshot: int) -> list[FrequentQuery]:
    """Return queries with how an open snapshot answers them."""
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
    """Group queries by meaning, most asked first, and name each group by its typical words."""
    groups = _alike(queries, vectors)
    spellings = [_spellings(own, words) for own in groups]
    in_groups = Counter(term for own in spellings for term in own)
    found = [
        ContentGap(_named(counts, in_groups), sum(one.times for one in own), tuple(own))
        for own, counts in zip(groups, spellings, strict=True)
    ]
    return sorted(found, key=lambda one: -one.times)


def _alike(queries: Sequence[FrequentQuery], vectors: Vectors) -> list[list[FrequentQuery]]:
    """Return groups of queries: each query joins the nearest group so far if it is near enough, or starts one."""
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
    """Return the spellings of each term, with the number of queries that have each spelling."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in queries:
        asked = one.query.casefold()
        for word, terms in sorted(words(asked).items(), key=lambda item: asked.find(item[0])):
            found[terms[0]][word] += 1
    return found


def _named(spellings: Mapping[str, Counter[str]], in_groups: Mapping[str, int]) -> tuple[str, ...]:
    # Ties keep the order of the words in the queries.
    terms = sorted(spellings, key=lambda term: -spellings[term].total() / in_groups[term])[:_WORDS]
    return tuple(spellings[term].most_common(1)[0][0] for term in terms)
