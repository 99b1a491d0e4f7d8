"""Chunk: split a parsed document, say before each part where it stands, and make sure that it fits the model."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from tokenizers import Tokenizer

from storage.errors import ConfigError
from storage.keys import key_of
from storage.schema import Draft, Parsed, indexed_text
from tasks.contextualize import CONTEXTUALIZERS, Setting, setting_of
from tasks.detect import DETECTOR_VERSION
from tasks.route import Route
from tasks.split import SPLITTERS, Part, Span, nearest, options_of
from tasks.split.options import MIN_SIZE
from tasks.split.pieces import Piece, cut, windows
from tasks.split.places import Places
from tasks.split.sizing import Room
from tasks.split.span import cluster_end, cluster_start, trim
from tasks.tokens import Tokens

CHUNKER_VERSION = 1
_SPECIAL_TOKENS = 8  # more than any model adds


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """`token_limit` is the model's, special tokens included; `context_tokens` of it are kept for the context."""

    token_limit: int
    contextualizer: str = "structural"
    context_tokens: int = 48

    def __post_init__(self) -> None:
        if self.contextualizer not in CONTEXTUALIZERS:
            near = nearest(self.contextualizer, CONTEXTUALIZERS)
            raise ConfigError(f"contextualizer {self.contextualizer!r} does not exist; {near}")
        most = self.token_limit - MIN_SIZE - _SPECIAL_TOKENS
        if not 0 <= self.context_tokens <= most:
            raise ConfigError(
                f"context_tokens must be in [0, {most}] where the model takes {self.token_limit} tokens,"
                f" got {self.context_tokens}"
            )


def chunk(parsed: Parsed, content_type: str, route: Route, tokenizer: Tokenizer, options: ChunkOptions) -> list[Draft]:
    """Return a document's chunks in order; none has more than `options.token_limit` tokens, context and all.

    `Draft.tokens` is the exact number of tokens of its indexed text, special ones included.
    """
    tokens = Tokens(parsed.text, tokenizer)
    splitter = SPLITTERS[route.strategy]
    context = CONTEXTUALIZERS[options.contextualizer]
    budget = options.context_tokens if context.name != "none" else 0
    room = options.token_limit - tokens.counter.special - budget
    part = Part.whole(parsed, tokens)
    spans = splitter.split(part, options_of(route.strategy, route.options).within(room))
    setting = setting_of(parsed, part.outline, tokens.counter, budget)
    found = _in_order(_fitting(tokens, _aligned(parsed.text, spans), setting, options, room // 2))
    places = Places(parsed)
    return [
        Draft(
            start=span.start,
            end=span.end,
            text=parsed.text[span.start : span.end],
            context=said,
            headings=tuple(setting.outline.headings[i].text for i in setting.outline.over(*span)),
            page=places.page(span.start),
            line=places.line(span.start),
            content_type=content_type,
            strategy=route.strategy,
            tokens=count,
        )
        for span, said, count in found
    ]


def chunker_key(route: Route, options: ChunkOptions, tokenizer_id: str) -> str:
    """Return the key of all that chunks depend on besides the parsed document and its content type."""
    splitter = SPLITTERS[route.strategy]
    own = asdict(options_of(route.strategy, route.options))
    context = CONTEXTUALIZERS[options.contextualizer]
    versions = [CHUNKER_VERSION, DETECTOR_VERSION, splitter.version, context.version]
    return key_of("chunker", versions, splitter.name, own, asdict(options), tokenizer_id)


def _aligned(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return the spans that are not blank, trimmed, with grapheme clusters whole; none lies in its neighbour.

    Spans that only touch share no cluster: it goes with the first. Those that overlap keep their overlap.
    """
    found: list[Span] = []
    reached = 0
    for proposed in spans:
        span = trim(text, *proposed)
        start, end = cluster_start(text, span.start), cluster_end(text, span.end)
        if start < reached <= span.start:  # the cluster went with the span before
            start = reached
        if span.start >= span.end or start >= end or (found and start >= found[-1].start and end <= found[-1].end):
            continue
        if found and start <= found[-1].start:
            found.pop()
        found.append(Span(start, end))
        reached = end
    return found


def _fitting(
    tokens: Tokens, spans: Sequence[Span], setting: Setting, options: ChunkOptions, size: int
) -> Iterator[tuple[Span, str, int]]:
    """Yield spans with context and exact number of tokens, cut into ever smaller parts where these are too many."""
    say = CONTEXTUALIZERS[options.contextualizer].say
    said = [say(setting, span) for span in spans]
    for span, context, count in zip(spans, said, _totals(tokens, spans, said, setting), strict=True):
        if count <= options.token_limit or span.end - span.start == 1:
            yield span, context, count
        else:
            yield from _fitting(tokens, _parts(tokens, span, size), setting, options, size // 2)


def _in_order(found: Iterable[tuple[Span, str, int]]) -> list[tuple[Span, str, int]]:
    """Return spans in order by start, without those that lie in another, which cutting what overlaps can leave."""
    kept: list[tuple[Span, str, int]] = []
    for one in sorted(found, key=lambda one: (one[0].start, -one[0].end)):
        if not kept or one[0].end > kept[-1][0].end:
            kept.append(one)
    return kept


def _totals(tokens: Tokens, spans: Sequence[Span], said: Sequence[str], setting: Setting) -> list[int]:
    """Return the number of tokens of each indexed text, special ones included."""
    counter = tokens.counter
    if counter.local:
        whole = tokens.exact(spans)
        return [count + setting.count(context) + counter.special for count, context in zip(whole, said, strict=True)]
    texts = [indexed_text(context, tokens.text[slice(*span)]) for context, span in zip(said, spans, strict=True)]
    return [count + counter.special for count in counter.counts(texts)] if texts else []


def _parts(tokens: Tokens, span: Span, size: int) -> list[Span]:
    """Return two or more parts of a span, of about `size` tokens; of 0, two halves, if need be of one cluster."""
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
