"""Optimize: merge chunks that are too small and cut those that are too large, after any strategy, within sections."""

from collections.abc import Sequence

from docmill.tasks.split.parts.options import Optimize
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.merge_pieces import merge
from docmill.tasks.split.spans.pieces import LINE, Piece, fit
from docmill.tasks.split.spans.prose import prose_cuts
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span, trim


def optimize(part: Part, spans: Sequence[Span], bounds: Optimize, tokens: int) -> tuple[list[Span], dict[int, str]]:
    """Return spans within the bounds if possible, and, by start, what was done: "merged 3", "split 2".

    `tokens` is the model's room. A chunk that is alone in its section may stay too small.
    """
    room = Room(part.tokens, min(bounds.max_tokens or tokens, tokens))
    least = min(bounds.min_tokens, room.tokens)
    notes: dict[int, str] = {}
    cut = [piece for span in spans for piece in _cut(part, trim(part.text, *span), room, notes)]
    found: list[Span] = []
    joined = 1
    for span in cut:
        if found and room.fits(found[-1].start, span.end) and _may_join(part, found[-1], span, least):
            found[-1] = Span(found[-1].start, max(found[-1].end, span.end))
            joined += 1
            notes[found[-1].start] = f"merged {joined}"
            notes.pop(span.start, None)
        else:
            found.append(span)
            joined = 1
    return found, notes


def _cut(part: Part, span: Span, room: Room, notes: dict[int, str]) -> list[Span]:
    if room.fits(*span):
        return [span]
    parts = merge(part.text, list(fit(part.text, Piece(*span, LINE), room, (prose_cuts,))), room)
    notes |= {one.start: f"split {len(parts)}" for one in parts}
    return parts


def _may_join(part: Part, left: Span, right: Span, least: int) -> bool:
    small = min(part.tokens.count(*left), part.tokens.count(*right)) < least
    kinds = {element.kind for element in part.index.left_out.within(left.end, max(left.end, right.start))}
    return small and "front_matter" not in kinds and part.outline.at(left.end - 1) == part.outline.at(right.start)
