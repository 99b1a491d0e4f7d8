"""Chunk options: how documents are chunked, and the key of everything that decides their chunks.

The versions of this package's steps are here rather than in their modules, so that a run without news loads only this.
"""

from dataclasses import asdict, dataclass, fields, replace

from docmill.storage.errors import ConfigError
from docmill.storage.keys import key_of
from docmill.tasks.chunking.route import Route
from docmill.tasks.context.contextualizers import DESCRIPTIONS, PHRASED, PHRASINGS, PROMPTS, WORDS, contextualizer_of
from docmill.tasks.detect.content_types import DETECTOR_VERSION
from docmill.tasks.model.prompt import WINDOW_TOKENS
from docmill.tasks.split.parts.strategy_options import MIN_SIZE
from docmill.tasks.split.strategies import SPLITTERS, options_of

CHUNKER_VERSION = 14
"""Raise it whenever `chunk.py` makes other chunks of the same spans, or `cover` other words: all documents are then
chunked again."""
READING_VERSION = 4
"""Raise it whenever the same parsed document gets another reading: all documents are then chunked again."""
LEFT_OUT_VERSION = 1
"""Raise it whenever the same elements make other chunks; it is part of the key only where these chunks are enabled."""
PARTS_VERSION = 1
"""Raise it whenever the same chunk is divided differently: its parts then get new vectors."""
WINDOWS_VERSION = 1
"""Raise it whenever the same chunks get other windows: their late vectors are then computed again."""
LEFT_OUT_KINDS = ("toc", "furniture")
"""Kinds of elements that are in no chunk by default."""
FIGURE = "figure"  # the kind that has no chunk of its own by default
_SPECIAL_TOKENS = 8  # more than any model adds
_WINDOWS = 4  # a chunk with parts may be this many times as long as the model's limit


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """`token_limit` is the model's, including special tokens; `context_tokens` of it are reserved for the context.

    `sizes_by` is the folder of the tokenizer that counts the strategies' sizes, empty for the model's own, and
    `sizes_id` is its hash. `late` embeds every chunk within a window of its document. Unless `parts` is 0, a chunk of
    more tokens has a vector for each part of at most `parts` tokens, and may be four times as long as the model's
    limit. With `by_model`, a language model writes summaries; it sees at most `window_tokens` of a document at once.
    `kept` are the element kinds without chunks by default that get chunks nevertheless. With `described`, a language
    model describes figures; with `pictured`, figures without any words get chunks as well. `read` is the key of the OCR
    that reads the words in figures, "" for none. `phrasings` are the kinds of phrasings that a language model writes
    for chunks.
    """

    token_limit: int
    contextualizer: str = "structural"
    context_tokens: int = 48
    sizes_by: str = ""
    sizes_id: str = ""
    late: bool = False
    parts: int = 0
    by_model: bool = False
    window_tokens: int = WINDOW_TOKENS
    kept: tuple[str, ...] = ()
    described: bool = False
    pictured: bool = False
    read: str = ""
    phrasings: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild on unpickling: a worker loads plugins before its memory is limited."""
        return ChunkOptions, tuple(getattr(self, each.name) for each in fields(self))

    def __post_init__(self) -> None:
        contextualizer_of(self.contextualizer)
        most = self.token_limit - MIN_SIZE - _SPECIAL_TOKENS
        if not 0 <= self.context_tokens <= most:
            raise ConfigError(
                f"context_tokens must be in [0, {most}] where the model takes {self.token_limit} tokens,"
                f" got {self.context_tokens}"
            )
        if self.parts and not MIN_SIZE <= self.parts <= most:
            raise ConfigError(f"parts must be 0 or in [{MIN_SIZE}, {most}] tokens, got {self.parts}")
        if not set(self.kept) <= {*LEFT_OUT_KINDS, FIGURE}:
            raise ConfigError(f"kept must be some of {', '.join((*LEFT_OUT_KINDS, FIGURE))}, got {self.kept!r}")
        if self.parts and self.late:
            raise ConfigError("parts and late exclude each other: a late vector is read in one window")

        if not set(self.phrasings) <= {*PHRASED}:
            raise ConfigError(f"phrasings must be some of {', '.join(PHRASED)}, got {', '.join(self.phrasings)}")
        if self.phrasings and self.late:
            raise ConfigError("phrasings and late exclude each other: a late vector is read in a window of a document")

    @property
    def longest(self) -> int:
        """Return the maximum tokens of a chunk, including context and special tokens."""
        return self.token_limit * (_WINDOWS if self.parts else 1)


def chunker_key(route: Route, options: ChunkOptions, tokenizer_id: str) -> str:
    """Return the key of everything that chunks depend on besides the parsed document and its content type."""
    splitter = SPLITTERS[route.strategy]
    own = asdict(options_of(route.strategy, route.options))
    name = route.contextualizer or options.contextualizer
    versions = [CHUNKER_VERSION, DETECTOR_VERSION, splitter.version, contextualizer_of(name, options.by_model).version]
    # Not the tokenizer's folder, which differs between machines; its hash is in `sizes_id`.
    said = asdict(replace(options, sizes_by="", contextualizer=name))
    kept = [{"kept": sorted(chosen), "version": LEFT_OUT_VERSION}] if (chosen := said.pop("kept")) else []
    # Options that are off leave no trace in the key, so older stores keep their chunks when an option is added.
    late = [WINDOWS_VERSION] if said.pop("late") else []
    read = [] if late else [{"reading": READING_VERSION}]
    parts = [{"parts": size, "version": PARTS_VERSION}] if (size := said.pop("parts")) else []
    by_model, window = said.pop("by_model"), said.pop("window_tokens")
    asked = [{"by_model": by_model, "window": window, "prompts": PROMPTS}] if _asks_of_text(route, options) else []
    asked += [{"described": DESCRIPTIONS}] if said.pop("described") else []
    asked += [{"pictured": 1}] if said.pop("pictured") else []
    asked += [{"read": engine, "words": WORDS}] if (engine := said.pop("read")) else []
    asked += [{"phrasings": sorted(kinds), "version": PHRASINGS}] if (kinds := said.pop("phrasings")) else []
    return key_of("chunker", versions, splitter.name, own, said, tokenizer_id, *late, *read, *parts, *asked, *kept)


def asks_model(route: Route, options: ChunkOptions) -> bool:
    """Return whether a language model writes contexts, summaries, descriptions or phrasings under a route."""
    return options.described or bool(options.phrasings) or _asks_of_text(route, options)


def _asks_of_text(route: Route, options: ChunkOptions) -> bool:
    context = contextualizer_of(route.contextualizer or options.contextualizer, options.by_model)
    sums_up = context.sums_up or any(options_of(one.strategy, one.options).summaries for one in route.ensemble)
    return context.asks is not None or (options.by_model and sums_up)
