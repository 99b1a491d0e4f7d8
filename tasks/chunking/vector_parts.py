"""Parts: where a long chunk is divided so that each part has a vector of its own, which fits the model."""

from docmill.storage.schema import Draft, indexed_text, part_texts
from docmill.tasks.counting.tokens import Tokens
from docmill.tasks.split.spans.merge_pieces import merge
from docmill.tasks.split.spans.pieces import GLUE, Piece, fit_all
from docmill.tasks.split.spans.prose import prose_cuts
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span

VERSION = 1
"""Raise it whenever the same chunk is divided elsewhere: its parts then get new vectors."""


def divide(draft: Draft, tokens: Tokens, size: int, limit: int) -> tuple[int, ...]:
    """Return where in a chunk's text its parts begin, without the first; none if it has at most `size` tokens.

    A part has whole sentences, unless one is longer than `size` by itself, and with the chunk's context at most
    `limit` tokens, special ones included.
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
    """Return the most tokens that the model would read of one part, special ones included."""
    texts = [indexed_text(draft.context, text) for text in part_texts(draft.text, starts)]
    return max(tokens.counter.counts(texts)) + tokens.counter.special
