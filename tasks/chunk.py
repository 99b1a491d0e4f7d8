"""Chunk: split a parsed document, say before each part where it stands, and make sure that it fits the model."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tokenizers import Tokenizer

from storage.errors import ConfigError
from storage.keys import key_of
from storage.schema import Draft, Parsed
from tasks.contextualize import CONTEXTUALIZERS, Setting, setting_of
from tasks.detect import DETECTOR_VERSION
from tasks.fitting import Fitter
from tasks.route import Route
from tasks.split import SPLITTERS, Part, nearest, options_of
from tasks.split.options import MIN_SIZE
from tasks.split.places import Places
from tasks.tokens import Tokens
from tasks.tree import Node, grow, in_order

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
    context = CONTEXTUALIZERS[options.contextualizer]
    budget = options.context_tokens if context.name != "none" else 0
    room = options.token_limit - tokens.counter.special - budget
    part = Part.whole(parsed, tokens)
    setting = setting_of(parsed, part.outline, tokens.counter, budget)
    fitter = Fitter(tokens, setting, context.say, options.token_limit, room // 2)
    nodes = grow(part, SPLITTERS[route.strategy], options_of(route.strategy, route.options).within(room), fitter)
    return _drafts(part, setting, nodes, content_type, route.strategy)


def _drafts(part: Part, setting: Setting, nodes: Sequence[Node], content_type: str, strategy: str) -> list[Draft]:
    places = Places(part.parsed)
    return [
        Draft(
            start=span.start,
            end=span.end,
            text=part.text[span.start : span.end],
            context=context,
            headings=setting.headings(span),
            page=places.page(span.start),
            line=places.line(span.start),
            content_type=content_type,
            strategy=strategy,
            tokens=tokens,
            role=node.role,
            depth=node.depth,
            above=above,
        )
        for node, above in in_order(nodes)
        for span, context, tokens in [node.fitted]
    ]


def chunker_key(route: Route, options: ChunkOptions, tokenizer_id: str) -> str:
    """Return the key of all that chunks depend on besides the parsed document and its content type."""
    splitter = SPLITTERS[route.strategy]
    own = asdict(options_of(route.strategy, route.options))
    context = CONTEXTUALIZERS[options.contextualizer]
    versions = [CHUNKER_VERSION, DETECTOR_VERSION, splitter.version, context.version]
    return key_of("chunker", versions, splitter.name, own, asdict(options), tokenizer_id)
