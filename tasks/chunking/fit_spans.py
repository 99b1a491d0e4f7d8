"""Fit spans: turn the spans of a splitter into spans that fit the model, each with its context and token count."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from docmill.storage.schema import indexed_text, reading
from docmill.tasks.context.context_input import ContextInput
from docmill.tasks.context.contextualizers import Lead
from docmill.tasks.context.model_context import ContextWriter
from docmill.tasks.context.structural import COLUMNS
from docmill.tasks.context.word_limits import cut_words
from docmill.tasks.counting.tokens import Tokens
from docmill.tasks.model.prompt import Prompt
from docmill.tasks.split.spans.pieces import Piece, cut, windows
from docmill.tasks.split.spans.reading_map import ReadingMap
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span, cluster_end, cluster_start, trim

_MOST_SAID = 120
"""The maximum tokens of an answer in a context: the length of a 70-word summary.

More would let the context outweigh a small chunk in its vector; fewer would cut summaries within a sentence.
"""


class FittedSpan(NamedTuple):
    """A span, its context, and the exact number of tokens of both, including special ones.

    `state` is the state of the language model's share of the context and of the `phrasings`, one of
    `docmill.storage.schema.CONTEXT_STATES`.
    """

    span: Span
    context: str
    tokens: int
    state: str = ""
    phrasings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fitter:
    """Makes spans fit a model that takes `limit` tokens; longer spans are first cut into parts of `size` tokens."""

    tokens: Tokens
    reading: ReadingMap
    setting: ContextInput
    teller: ContextWriter
    limit: int
    size: int

    @property
    def room(self) -> int:
        """Return the maximum tokens of a chunk's text."""
        return self.limit - self.tokens.counter.special - self.setting.budget

    def saying(self, span: Span, more: str, lead: Lead) -> FittedSpan | None:
        """Return a span with as much of `more` in its context as fits; None if nothing fits."""
        context = self.teller.context.say(self.setting, span, lead)
        plain = FittedSpan(span, context, self._totals([span], [context])[0])
        return self._adding(plain, more)

    def tell(self, fitted: FittedSpan, prompts: Sequence[Prompt], waiting: bool) -> FittedSpan:
        """Return `fitted` with the known answers of a language model, or of OCR, added to its context."""
        if not prompts:
            return fitted
        more, state = self.teller.said(prompts, waiting)
        return (self._adding(fitted, more) or fitted)._replace(state=fitted.state or state)

    def phrase(self, fitted: FittedSpan, waiting: bool) -> FittedSpan:
        """Return `fitted` with the phrasings of its text that a language model has written so far."""
        found, state = self.teller.phrased(self.setting, fitted.span, waiting)
        return fitted._replace(phrasings=found, state=fitted.state or state)

    def _adding(self, fitted: FittedSpan, more: str) -> FittedSpan | None:
        """Return `fitted` with as much of `more` added to its context as fits; None if nothing fits."""
        left = self.limit - fitted.tokens - 1
        more = cut_words(more, min(left, _MOST_SAID), self.tokens.counter) if left > 0 else ""
        context = "\n".join(filter(None, (fitted.context, more)))
        total = self._totals([fitted.span], [context])[0]
        return fitted._replace(context=context, tokens=total) if more and total <= self.limit else None

    def fit(self, spans: Iterable[Span], lead: Lead) -> list[FittedSpan]:
        """Return the spans that are not blank, ordered by start, none too long and none within another."""
        kept: list[FittedSpan] = []
        aligned = _aligned(self.tokens.text, spans)
        for one in sorted(self._fitting(aligned, self.size, lead), key=lambda one: (one.span.start, -one.span.end)):
            if not kept or one.span.end > kept[-1].span.end:  # cutting overlapping spans can leave one inside another
                kept.append(one)
        return kept

    def _fitting(self, spans: Sequence[Span], size: int, lead: Lead) -> Iterator[FittedSpan]:
        said = [self.teller.context.say(self.setting, span, lead) for span in spans]
        for span, context, count in zip(spans, said, self._totals(spans, said), strict=True):
            if count <= self.limit or span.end - span.start == 1:
                yield FittedSpan(span, context, count)
            elif self.setting.widest and self.setting.count(context) > self.setting.budget:
                # A table's long header leaves too little room. A short header, fewer rows or no header are all better
                # than a row in pieces.
                header = max(map(self.setting.count, context.split("\n")))
                left = header - (count - self.limit) + 1
                narrower = self.setting.with_widest(left if self.setting.budget < left < self.setting.widest else 0)
                found = [*replace(self, setting=narrower)._fitting([span], size, lead)]
                fewer = () if any(COLUMNS in one.context for one in found) else self._halves(span)
                yield from self._fitting(fewer, size, lead) if fewer else found
            else:
                yield from self._fitting(_parts(self.tokens, span, size), size // 2, lead)

    def _halves(self, span: Span) -> Sequence[Span]:
        """Return the two halves of the rows that a span has of the table around its start; none for a single row."""
        table = next((one for one in self.setting.tables if one.start_char < span.start < one.end_char), None)
        starts = self.setting.rows_of(table) if table else []
        rows = starts[bisect_right(starts, span.start) : bisect_left(starts, span.end)]
        if not rows:
            return ()
        middle = rows[len(rows) // 2]
        return _aligned(self.tokens.text, (Span(span.start, middle), Span(middle, span.end)))

    def _totals(self, spans: Sequence[Span], said: Sequence[str]) -> list[int]:
        """Return the number of tokens of each indexed text, including special ones."""
        counter, count = self.tokens.counter, self.setting.count
        if counter.local:
            # A span that is all markup is still read as something.
            whole = [own or self._least(span) for own, span in zip(self.tokens.exact(spans), spans, strict=True)]
            return [own + count(context) + counter.special for own, context in zip(whole, said, strict=True)]
        text, unread = self.tokens.text, self.reading.unread
        pairs = zip(said, spans, strict=True)
        texts = [indexed_text(context, text[slice(*span)], unread(*span)) for context, span in pairs]
        return [own + counter.special for own in counter.counts(texts)] if texts else []

    def _least(self, span: Span) -> int:
        return self.tokens.counter.count(reading(self.tokens.text[slice(*span)], self.reading.unread(*span)))


def _aligned(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return the spans that are not blank, trimmed, at grapheme boundaries; none is within its neighbour.

    A cluster shared by two adjacent spans goes to the first. Overlapping spans keep their overlap.
    """
    found: list[Span] = []
    before = reached = 0
    for proposed in spans:
        span = trim(text, *proposed)
        start, end = cluster_start(text, span.start), cluster_end(text, span.end)
        if start < reached and before <= span.start:  # the cluster went to the previous span
            start = reached
        if span.start >= span.end or start >= end or (found and start >= found[-1].start and end <= found[-1].end):
            continue
        if found and start <= found[-1].start:
            found.pop()
        found.append(Span(start, end))
        before, reached = span.end, end
    return found


def _parts(tokens: Tokens, span: Span, size: int) -> list[Span]:
    """Return two or more parts of a span, of about `size` tokens each; size 0 halves it, even within a cluster."""
    text = tokens.text
    cuts = windows(text, Piece(*span, 0), Room(tokens, size)) if size else []
    parts = _aligned(text, (Span(part.start, part.end) for part in cut(text, span, 0, cuts)))
    if len(parts) > 1 or size:
        return parts
    middle = (span.start + span.end) // 2
    middle = next(
        (p for p in (cluster_start(text, middle), cluster_end(text, middle)) if span.start < p < span.end), middle
    )
    return [Span(span.start, middle), Span(middle, span.end)]
