"""Search pipeline: run the steps of a search, in order."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

from docmill.storage.errors import QueryError
from docmill.storage.search.rank.candidates import confidence
from docmill.storage.search.rank.candidates.confidence import highest_score, relevances
from docmill.storage.search.rank.candidates.hit import Candidate, Hit, as_hit
from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.rank.candidates.search_options import Rewrite, SearchOptions, check_query
from docmill.storage.search.rank.candidates.snapshot_sources import SnapshotReader
from docmill.storage.search.rank.steps.cover_words import add_cover
from docmill.storage.search.rank.steps.mmr import diversify
from docmill.storage.search.rank.steps.near_duplicates import distinct
from docmill.storage.search.rank.steps.parents import climb, widen
from docmill.storage.search.rank.steps.rerankers import rerank
from docmill.storage.search.rank.steps.smoothing import lift, spread


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a function over the candidates of a query, best first, which runs if the options ask for it."""

    wanted: Callable[[SearchOptions], bool]
    take: Callable[[list[Candidate], Query], list[Candidate]]


STEPS: Mapping[str, Step] = {
    "cover": Step(lambda options: options.mode == "hybrid" and options.cover > 0, add_cover),
    "spread": Step(lambda options: options.mode == "hybrid" and options.spread > 0, spread),
    "lift": Step(lambda options: options.mode == "hybrid" and options.lift > 0, lift),
    "rerank": Step(lambda options: bool(options.rerank), rerank),
    "diverse": Step(lambda options: options.diversity > 0, diversify),
    "distinct": Step(lambda options: options.distinct, distinct),
    "parents": Step(lambda options: options.parents, climb),
    "widen": Step(lambda options: options.widen > 0, widen),
}
"""The steps after the ranking, by the names that the notes of a hit use."""


_WIDER, _WIDEST = 4, 3200
"""If copies leave fewer than `k` hits, the candidates are multiplied by the first number, up to the second per index.

This is enough to skip a page that is in a thousand documents. More would take a second of CPU time.
"""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Candidates after all steps, best first, and the highest score that one can have.

    `crowded` says that repeated texts leave fewer than `k` of them, and that an index may have more.
    """

    found: list[Candidate]
    highest: float
    crowded: bool


def search(query: Query, rewrite: Rewrite | None = None) -> list[Hit]:
    """Return the hits of a query, best first.

    Raises `QueryError` for an empty, wordless or too long query, and for one of stop words only in keyword mode.
    """
    from docmill.storage.search.rank.steps.hit_passages import with_passages

    check_query(query.text)
    if query.allowed is not None and not query.allowed:
        return []
    asked = None if rewrite is None else cache(rewrite)
    ranked = _ranked(query, asked)
    while ranked.crowded and query.options.breadth < _WIDEST:
        query = query.wider(min(_WIDEST, _WIDER * query.options.breadth))
        ranked = _ranked(query, asked)
    hits = _hits(ranked, query)
    return with_passages(hits, query) if query.options.passages else hits


def _hits(ranked: _Ranked, query: Query) -> list[Hit]:
    """Return the best candidates as hits, without those below the least confidence."""
    best = ranked.found[: query.options.k]
    judged = zip(best, relevances(best, ranked.highest), confidence.confidences(best, query), strict=True)
    kept = [one for one in judged if one[2] >= query.options.min_confidence]
    rows = query.shown([one.key for one, *_ in kept])
    copies = chain.from_iterable(one.copies for one, *_ in kept)
    urls = query.sources.source_urls({row.document_id for row in (*rows.values(), *copies)})
    return [
        as_hit(rank, one, rows[one.key], share, urls, likely) for rank, (one, share, likely) in enumerate(kept, start=1)
    ]


def _ranked(query: Query, rewrite: Rewrite | None) -> _Ranked:
    """Return the candidates of a query after all steps."""
    options = query.options
    found = _first(query, rewrite)
    highest = highest_score(options, found)
    crowded = options.distinct and _is_cut(found, options.breadth)
    for name, step in STEPS.items():
        if found and step.wanted(options):
            found = step.take(found, query)
        if name == "distinct":
            crowded = crowded and len(found) < options.wanted
    return _Ranked(found, highest, crowded and len(found) < options.k)


def _is_cut(found: Sequence[Candidate], breadth: int) -> bool:
    """Return whether an index may have further candidates."""
    ranks = ([one.vector_rank for one in found], [one.keyword_rank for one in found])
    return any(sum(rank is not None for rank in own) >= breadth for own in ranks)


def _first(query: Query, rewrite: Rewrite | None) -> list[Candidate]:
    from docmill.storage.search.rank.steps.query_expansion import by_feedback, by_model

    if query.options.expand == "feedback":
        return by_feedback(query)
    if query.options.expand == "model":
        if rewrite is None:
            raise QueryError("expand='model' needs a language model; name it in [model], or pass `rewrite`")
        return by_model(query, rewrite)
    return query.ask()


def similar(sources: SnapshotReader, chunk_id: str, k: int, allowed: Collection[str] | None) -> list[Hit]:
    """Return the chunks nearest to a chunk, best first, without the chunk itself.

    Raises `QueryError` if the chunk has no vector yet.
    """
    vectors = sources.vectors([chunk_id])
    if not vectors:
        raise QueryError(f"chunk {chunk_id} has no vector yet; the next ingest embeds it")
    nearest = sources.nearest(vectors[chunk_id], k + 1, allowed)  # one more, because the chunk is nearest to itself
    found = [pair for pair in nearest if pair[0] != chunk_id][:k]
    rows = sources.shown([key for key, _ in found])
    urls = sources.source_urls({row.document_id for row in rows.values()})
    return [
        as_hit(
            rank,
            Candidate(key, cosine, vector_score=cosine, vector_rank=rank),
            rows[key],
            min(1.0, max(0.0, cosine)),
            urls,
        )
        for rank, (key, cosine) in enumerate(found, start=1)
    ]
