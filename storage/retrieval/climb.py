"""Climb and widen: give more of a document than the chunk that was found."""

from storage.retrieval.hit import Candidate
from storage.retrieval.places import Place
from storage.retrieval.query import Query
from storage.schema import ChunkRow


def climb(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return for each of the best candidates its parent, once; a chunk without one stands for itself."""
    best = candidates[: query.options.wanted]
    rows = query.rows([one.key for one in best])
    found: dict[str, Candidate] = {}
    for one in best:
        parent = rows[one.key].parent_id
        if (key := parent or one.key) in found:
            continue
        found[key] = one
        if parent:
            one.key, one.matched = parent, one.key
            found_at = rows[one.matched]
            one.note("parents", f"stands for {found_at.uri} {found_at.start}-{found_at.end}, which was found")
    return list(found.values())


def widen(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return the best candidates grown by whole chunks of the same document before and after, in turn.

    A hit has at most `widen` tokens unless its own chunk has more, and what an earlier hit holds it does not.
    A candidate that an earlier hit has taken in is no hit of its own.
    """
    taken: set[Place] = set()
    kept: list[Candidate] = []
    for one in candidates:
        (place,) = query.sources.places.of([one.key]).values()
        if place not in taken:
            taken.update(_grow(one, place, query, taken))
            kept.append(one)
        if len(kept) == query.options.k:
            break
    return kept


def _grow(one: Candidate, place: Place, query: Query, taken: set[Place]) -> list[Place]:
    """Set the span and the text of a candidate, return the places that it holds."""
    own = query.rows([one.key])[one.key]
    held, tokens, steps = {place: own}, own.tokens, [1, -1]
    last = {1: place, -1: place}
    while steps:
        step = steps.pop(0)
        row = _row_at(last[step].beside(step), query)
        if row and last[step].beside(step) not in taken and tokens + row.tokens <= query.options.widen:
            last[step] = last[step].beside(step)
            held[last[step]] = row
            tokens += row.tokens
            steps.append(step)
    if len(held) > 1:
        one.span = min(row.start for row in held.values()), max(row.end for row in held.values())
        one.text = query.sources.texts([place.document])[place.document][slice(*one.span)]
        one.note("widen", f"{len(held)} chunks, {tokens} tokens")
    return list(held)


def _row_at(place: Place, query: Query) -> ChunkRow | None:
    key = query.sources.places.at([place]).get(place)
    return query.rows([key])[key] if key else None
