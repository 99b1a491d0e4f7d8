"""Neighbour smoothing: a chunk gets a share of its neighbours' scores, because an answer often spans chunks."""

from collections.abc import Mapping

from docmill.storage.retrieval.candidates.chunk_ordinals import Place
from docmill.storage.retrieval.candidates.hit import Candidate, in_order
from docmill.storage.retrieval.candidates.query import Query


def spread(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return candidates by score + share · scores of the chunks before and after, scaled within their section.

    The best chunk of a section keeps the section's highest score, so sections rank among each other as before: a text
    of many chunks wins nothing over a text of one. Only chunks of running text in the same section are neighbours; one
    that is no candidate, or no neighbour, counts as 0.
    """
    places = query.sources.places.of([one.key for one in candidates])
    scores = {places[one.key]: one.score for one in candidates if one.key in places}
    smoothed = _smoothed(scores, query.options.spread)
    for one in candidates:
        if place := places.get(one.key):
            one.score = smoothed[place]
            left, right = _beside(scores, place)
            if left or right:
                one.note("spread", f"the chunk before has {left:.3f}, the one after {right:.3f}")
    return in_order(candidates)


def _smoothed(scores: Mapping[Place, float], share: float) -> dict[Place, float]:
    mixed = {place: score + share * sum(_beside(scores, place)) for place, score in scores.items()}
    before, after = _highest(scores), _highest(mixed)
    # Where nothing has a score, there is nothing to scale.
    factors = {section: before[section] / highest if highest else 1.0 for section, highest in after.items()}
    return {place: score * factors[place.section] for place, score in mixed.items()}


def _beside(scores: Mapping[Place, float], place: Place) -> tuple[float, float]:
    return scores.get(place.beside(-1), 0.0), scores.get(place.beside(1), 0.0)


def _highest(scores: Mapping[Place, float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for place, score in scores.items():
        found[place.section] = max(score, found.get(place.section, 0.0))
    return found
