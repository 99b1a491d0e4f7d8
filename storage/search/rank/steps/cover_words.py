"""Cover words: raise the score of a chunk if the cover of its document has words of the query.

A report may name its company only on the cover. Vectors do not include covers, so they cannot distinguish two reports
that say the same. Documents with a title are left alone: the contexts of their chunks name it, and vectors include
contexts.
"""

from docmill.storage.search.rank.candidates.confidence import highest_score
from docmill.storage.search.rank.candidates.hit import Candidate, in_order
from docmill.storage.search.rank.candidates.query import Query

_ADDED = "the cover of the document has {:.0%} of the query's words, by their rarity; then scaled by {:.3f}"
_SCALED = "the covers of other documents have words of the query; scaled by {:.3f}"


def add_cover(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return candidates by score + share · highest possible score · the part of the query's words on the cover.

    Words count by their rarity. If any score rises, all are scaled, so that none exceeds the highest possible one.
    """
    named = [one for one in candidates if one.held is not None and one.key in one.held.titled]
    places = query.places(candidates) if named else {}
    parts = {one.key: _part(one, query) for one in named if not places[one.key].titled}
    best = max(parts.values(), default=0.0)
    if not best:
        return candidates
    share, highest = query.options.cover, highest_score(query.options, candidates)
    factor = 1 / (1 + share * best)
    for one in candidates:
        part = parts.get(one.key, 0.0)
        one.score = factor * (one.score + share * highest * part)
        one.note("cover", _ADDED if part else _SCALED, *([part] if part else []), factor)
    return in_order(candidates)


def _part(one: Candidate, query: Query) -> float:
    """Return the part of the query's words in the field `title`, which has the cover if there is no title."""
    weights = query.term_weights
    held = sum(weights.get(term, 0.0) for term, fields in one.fields.items() if "title" in fields)
    return held / (sum(weights.values()) or 1.0)
