"""Neighbour smoothing: a chunk gets a share of its neighbours' scores, because an answer often spans chunks."""

from docmill.storage.retrieval.candidates.hit import Candidate, in_order
from docmill.storage.retrieval.candidates.query import Query


def spread(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return candidates by (score + share · scores of the chunks before and after) / (1 + 2 · share).

    Only chunks of running text in the same section are neighbours; one that is no candidate, or no neighbour, counts
    as 0.
    """
    share = query.options.spread
    places = query.sources.places.of([one.key for one in candidates])
    scores = {places[one.key]: one.score for one in candidates if one.key in places}
    for one in candidates:
        place = places.get(one.key)
        beside = [scores.get(place.beside(step), 0.0) for step in (-1, 1)] if place else [0.0, 0.0]
        one.score = (one.score + share * sum(beside)) / (1 + 2 * share)
        if any(beside):
            one.note("spread", "the chunk before has {:.3f}, the one after {:.3f}", *beside)
    return in_order(candidates)
