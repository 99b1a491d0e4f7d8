"""Parents: return more of a document than the chunk that was found: its parent or its neighbours."""

from collections.abc import Sequence

from docmill.storage.search.rank.candidates.hit import Candidate
from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.rank.candidates.snapshot_sources import ChunkPiece
from docmill.storage.search.rank.steps.near_duplicates import Span, overlap

Kind = tuple[str, str, int]
"""Strategy, role and depth of a chunk, as in `ChunkPiece`."""


def climb(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return the parent of each of the best candidates, each parent once; a chunk without a parent stays."""
    best = candidates[: query.options.wanted]
    rows = query.shown([one.key for one in best])
    found: dict[str, Candidate] = {}
    for one in best:
        parent = rows[one.key].parent_id
        if (key := parent or one.key) in found:
            continue
        found[key] = one
        if parent:
            one.key, one.matched = parent, one.key
            found_at = rows[one.matched]
            one.note("parents", f"represents {found_at.uri} {found_at.start_char}-{found_at.end_char}, which was found")
    return list(found.values())


def widen(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return the best candidates, each grown by whole chunks of its document, alternately after and before it.

    A hit has at most `widen` tokens unless its own chunk has more. It includes no text that an earlier hit contains.
    A candidate inside an earlier hit is dropped, and so is one of another kind that overlaps it.
    """
    held: dict[str, list[tuple[Span, Kind]]] = {}
    pieces: dict[str, list[ChunkPiece]] = {}
    kept: list[Candidate] = []
    for one in candidates:
        document = query.shown([one.key])[one.key].document_id
        if document not in pieces:
            pieces[document] = query.sources.pieces(document)
        own = next(piece for piece in pieces[document] if piece.key == one.key)
        earlier = held.setdefault(document, [])
        if not any(_is_shown(own, *other) for other in earlier):
            earlier.append((_grow(one, own, pieces[document], query, [span for span, _ in earlier]), own.kind))
            if one.span:
                one.text = query.sources.texts([document])[document][slice(*one.span)]
            kept.append(one)
        if len(kept) == query.options.k:
            break
    return kept


def _is_shown(own: ChunkPiece, span: Span, kind: Kind) -> bool:
    """Return whether an earlier hit shows a chunk's text; a hit of another kind may split the same text differently."""
    place = own.start, own.end
    return overlap(place, span) if own.kind == kind else overlap(place, span, share=0)


def _grow(one: Candidate, own: ChunkPiece, pieces: Sequence[ChunkPiece], query: Query, earlier: Sequence[Span]) -> Span:
    """Return the span of a candidate, and set it if it has grown; `earlier` are the spans of better hits."""
    span, tokens, chunks, sides = (own.start, own.end), own.tokens, 1, [_after, _before]
    while sides:
        side = sides.pop(0)
        next_one = side(pieces, span, own)
        if not next_one or tokens + next_one.tokens > query.options.widen:
            continue
        if any(overlap((next_one.start, next_one.end), other, share=0) for other in earlier):
            continue
        span = min(span[0], next_one.start), max(span[1], next_one.end)
        tokens, chunks = tokens + next_one.tokens, chunks + 1
        sides.append(side)
    if chunks > 1:
        one.span = span
        one.note("widen", f"{chunks} chunks, {tokens} tokens")
    return span


def _after(pieces: Sequence[ChunkPiece], span: Span, own: ChunkPiece) -> ChunkPiece | None:
    """Return the nearest chunk after a span, preferring the same kind, which may begin inside it, as windows do.

    So the neighbour is never a parent, part or summary of the chunk, nor a chunk of another strategy for the same text.
    """
    some = (one for one in pieces if one.end > span[1] and not one.summary)
    found = (one for one in some if one.start >= span[1] or one.kind == own.kind)
    return min(found, key=lambda one: (one.start, one.kind != own.kind), default=None)


def _before(pieces: Sequence[ChunkPiece], span: Span, own: ChunkPiece) -> ChunkPiece | None:
    """Return the nearest chunk before a span, in the same way."""
    some = (one for one in pieces if one.start < span[0] and not one.summary)
    found = (one for one in some if one.end <= span[0] or one.kind == own.kind)
    return max(found, key=lambda one: (one.end, one.kind == own.kind), default=None)
