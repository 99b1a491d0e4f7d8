"""Chunk: split a parsed document, say before each part where it stands, and make sure that it fits the model."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from tokenizers import Tokenizer

from storage.errors import ConfigError
from storage.keys import embedding_key, key_of, late_key
from storage.schema import Draft, Parsed, indexed_text
from tasks.context import CONTEXTUALIZERS, Setting, setting_of
from tasks.context.setting import nothing
from tasks.detect import DETECTOR_VERSION, Region, Verdict
from tasks.fitting import Fitter
from tasks.route import Route, Routed
from tasks.split import SPLITTERS, Part, nearest, options_of
from tasks.split.lookup import Lookup
from tasks.split.options import MIN_SIZE
from tasks.split.places import Places
from tasks.split.span import Span
from tasks.tokens import Tokens, load_tokenizer
from tasks.tree import Node, grow, in_order
from tasks.windows import VERSION as WINDOWS_VERSION
from tasks.windows import windows

CHUNKER_VERSION = 2
_SPECIAL_TOKENS = 8  # more than any model adds


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """`token_limit` is the model's, special tokens included; `context_tokens` of it are kept for the context.

    `sizes_by` is the folder of the tokenizer that counts the strategies' sizes, empty for the model's own, and
    `sizes_id` the hash of it. `late` gives every chunk a window in which its vector is read.
    """

    token_limit: int
    contextualizer: str = "structural"
    context_tokens: int = 48
    sizes_by: str = ""
    sizes_id: str = ""
    late: bool = False

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
    """Return the chunks of a document that is one region; see `chunk_regions`."""
    only = Region(0, len(parsed.text), Verdict(content_type, 1.0, "", 0.0, ()))
    return chunk_regions(parsed, [Routed(only, route, "")], tokenizer, options)


def chunk_regions(
    parsed: Parsed,
    routed: Sequence[Routed],
    tokenizer: Tokenizer,
    options: ChunkOptions,
    lookup: Lookup | None = None,
) -> list[Draft]:
    """Return a document's chunks in order; none has more than `options.token_limit` tokens, context and all.

    No chunk reaches across regions, unless they have the same route and its strategy `crosses`; then it is
    of the region that it begins in. `Draft.tokens` is the exact number of tokens of its indexed text,
    special ones included. Where `lookup` is not complete afterwards, they are not yet those of their strategies.
    """
    tokens = Tokens(parsed.text, tokenizer)
    context = CONTEXTUALIZERS[options.contextualizer]
    budget = options.context_tokens if context.name != "none" else 0
    room = options.token_limit - tokens.counter.special - budget
    measure = Tokens(parsed.text, load_tokenizer(options.sizes_by)) if options.sizes_by else tokens
    part = Part.whole(parsed, measure, lookup)
    setting = setting_of(parsed, part.outline, tokens.counter, budget)
    fitter = Fitter(tokens, setting, context.say, options.token_limit, room // 2)
    nodes = [node for some in _together(routed) for node in _grow(part, some, fitter, room)]
    drafts = _drafts(part, setting, nodes, routed)
    return _with_windows(drafts, tokens, options.token_limit - tokens.counter.special) if options.late else drafts


def _together(routed: Sequence[Routed]) -> Iterator[list[Routed]]:
    """Yield the regions that are split as one."""
    some: list[Routed] = []
    for one in routed:
        if some and not (one.route == some[-1].route and SPLITTERS[one.route.strategy].crosses):
            yield some
            some = []
        some.append(one)
    if some:
        yield some


def _grow(part: Part, some: Sequence[Routed], fitter: Fitter, room: int) -> list[Node]:
    route = some[0].route
    splitter, options = SPLITTERS[route.strategy], options_of(route.strategy, route.options).within(room)
    here = part.within(some[0].region.start, some[-1].region.end)
    fitter.setting.lead = splitter.lead(here) if splitter.lead else nothing
    return grow(here, splitter, options, fitter)


def _drafts(part: Part, setting: Setting, nodes: Sequence[Node], routed: Sequence[Routed]) -> list[Draft]:
    places, starts = Places(part.parsed), [one.region.start for one in routed]
    return [
        Draft(
            start=span.start,
            end=span.end,
            text=part.text[span.start : span.end],
            context=context,
            headings=setting.headings(span),
            page=places.page(span.start),
            line=places.line(span.start),
            content_type=one.region.verdict.content_type,
            strategy=part.strategy_at(span.start, one.route.strategy),
            tokens=tokens,
            role=node.role,
            depth=node.depth,
            above=above,
            note=node.note,
        )
        for node, above in in_order(nodes)
        for span, context, tokens in [node.fitted]
        for one in [routed[max(0, bisect_right(starts, span.start) - 1)]]
    ]


def _with_windows(drafts: Sequence[Draft], tokens: Tokens, room: int) -> list[Draft]:
    found = windows(tokens, [Span(draft.start, draft.end) for draft in drafts], room)
    return [replace(draft, window_start=at.start, window_end=at.end) for draft, at in zip(drafts, found, strict=True)]


def vector_keys(text: str, drafts: Sequence[Draft], late: bool, space_id: str) -> tuple[str, ...]:
    """Return the key of the vector of each chunk of a document's canonical text."""
    if not late:
        return tuple(embedding_key(indexed_text(draft.context, draft.text), space_id) for draft in drafts)
    return tuple(
        late_key(text[first : one.window_end], one.start - first, one.end - first, space_id)
        for one in drafts
        for first in [one.window_start]
    )


def chunker_key(route: Route, options: ChunkOptions, tokenizer_id: str) -> str:
    """Return the key of all that chunks depend on besides the parsed document and its content type."""
    splitter = SPLITTERS[route.strategy]
    own = asdict(options_of(route.strategy, route.options))
    context = CONTEXTUALIZERS[options.contextualizer]
    versions = [CHUNKER_VERSION, DETECTOR_VERSION, splitter.version, context.version]
    said = asdict(replace(options, sizes_by=""))
    late = [WINDOWS_VERSION] if said.pop("late") else []
    return key_of("chunker", versions, splitter.name, own, said, tokenizer_id, *late)
