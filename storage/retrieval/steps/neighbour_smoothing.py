"""Neighbour smoothing: a chunk gets a share of its neighbours' scores, because an answer often spans chunks."""

from collections.abc import Mapping

from docmill.storage.retrieval.candidates.hit import Candidate, in_order
from docmill.storage.retrieval.candidates.query import Query

Spot = tuple[int, int]
"""A section and a position."""


def spread(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return candidates by score + share · scores of the chunks before and after, scaled within their section.

    The best chunk of a section keeps the section's highest score, so sections rank among each other as before: a text
    of many chunks wins nothing over a text of one. Only chunks of running text in the same section are neighbours; one
    that is no candidate, or no neighbour, counts as 0.
    """
    places = query.places(candidates)
    standing = {(at.section, at.ordinal): one for one in candidates if (at := places[one.key]).running}
    scores = {spot: one.score for spot, one in standing.items()}
    beside = {
        (section, ordinal): (scores.get((section, ordinal - 1), 0.0), scores.get((section, ordinal + 1), 0.0))
        for section, ordinal in scores
    }
    share = query.options.spread
    mixed = {spot: score + share * sum(beside[spot]) for spot, score in scores.items()}
    factors = _factors(_highest(scores), _highest(mixed))
    for spot, one in standing.items():
        one.score = mixed[spot] * factors[spot[0]]
        left, right = beside[spot]
        if left or right:
            one.note("spread", "the chunk before has {:.3f}, the one after {:.3f}", left, right)
    return in_order(candidates)


def _highest(scores: Mapping[Spot, float]) -> dict[int, float]:
    """Return the highest score of each section."""
    found: dict[int, float] = {}
    for (section, _), score in scores.items():
        if score >= found.get(section, 0.0):
            found[section] = score
    return found


def _factors(before: Mapping[int, float], after: Mapping[int, float]) -> dict[int, float]:
    """Return what the scores of each section are scaled by; where nothing has a score, there is nothing to scale."""
    return {section: before[section] / highest if highest else 1.0 for section, highest in after.items()}
