"""Vector parts: divide a long chunk into parts that fit the model, each with its own vector."""

from docmill.storage.schema import Draft, indexed_text, part_readings
from docmill.tasks.counting.tokens import Tokens
from docmill.tasks.split.spans.merge_pieces import merge
from docmill.tasks.split.spans.pieces import GLUE, Piece, fit_all
from docmill.tasks.split.spans.prose import prose_cuts
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span


def divide(draft: Draft, tokens: Tokens, size: int, limit: int) -> tuple[int, ...]:
    """Return the starts of a chunk's parts in its text, without the first; none if it has at most `size` tokens.

    A part has whole sentences, unless a single one is longer than `size`. With the chunk's context and special tokens,
    it has at most `limit` tokens.
    """
    span = Span(draft.start_char, draft.end_char)
    own = tokens.exact([span])[0]
    room = min(size, limit - (draft.tokens - own))
    if own <= room:
        return ()
    starts = _starts(tokens, span, room)
    while room > 1 and _longest(draft, tokens, starts) > limit:
        room //= 2
        starts = _starts(tokens, span, room)
    return starts


def _starts(tokens: Tokens, span: Span, size: int) -> tuple[int, ...]:
    room = Room(tokens, size)
    pieces = fit_all(tokens.text, [Piece(span.start, span.end, GLUE)], room, (prose_cuts,))
    return tuple(one.start - span.start for one in merge(tokens.text, list(pieces), room)[1:])


def _longest(draft: Draft, tokens: Tokens, starts: tuple[int, ...]) -> int:
    """Return the maximum tokens of a part as the model reads it, including special ones."""
    texts = [indexed_text(draft.context, read) for read in part_readings(draft.text, starts, draft.unread)]
    return max(tokens.counter.counts(texts)) + tokens.counter.special
