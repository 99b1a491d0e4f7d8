"""Strategy options: the options that every splitter has, and what it returns; invalid options cannot be constructed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from docmill.storage.errors import ConfigError
from docmill.tasks.split.spans.span import Span

if TYPE_CHECKING:
    from docmill.tasks.split.parts.part import Part

MIN_SIZE = 16
"""The minimum size in tokens. A smaller chunk holds no sentence, and a single strange character could fill it."""
MAX_SIZE = 32_768
"""The maximum size in tokens: the limit of the embedding models for the longest texts."""


@dataclass(frozen=True, slots=True)
class Stated:
    """The meaning of an option, the unit of its number, and the bounds to check; without bounds there is no check."""

    meaning: str
    unit: str = ""
    low: int | None = None
    high: int | None = None


def option(default: Any, meaning: str, unit: str = "", low: int | None = None, high: int | None = None) -> Any:
    """Return a field of options with its meaning.

    `Options` checks that a field with bounds is an integer in [low, high], and that a field whose default is a flag is
    a flag.
    """
    return field(default=default, metadata={"stated": Stated(meaning, unit, low, high)})


@dataclass(frozen=True, slots=True)
class Optimize:
    """Bounds in tokens: a chunk below `min_tokens` joins a neighbour, one above `max_tokens` is cut.

    `max_tokens` 0 is the model's room.
    """

    min_tokens: int = option(50, "A chunk below this size joins a neighbour.", "tokens", 0, MAX_SIZE)
    max_tokens: int = option(0, "A chunk above this size is cut; 0 is the model's room.", "tokens", 0, MAX_SIZE)

    def __post_init__(self) -> None:
        check_whole("optimize.min_tokens", self.min_tokens, 0, MAX_SIZE)
        check_whole("optimize.max_tokens", self.max_tokens, 0, MAX_SIZE)
        if self.max_tokens and self.max_tokens < max(MIN_SIZE, self.min_tokens):
            least = max(MIN_SIZE, self.min_tokens)
            raise ConfigError(f"optimize.max_tokens must be 0 or at least {least}, got {self.max_tokens}")


_OPTIMIZE = (
    "A table of `min_tokens` and `max_tokens`: a smaller chunk joins a neighbour, a larger one is cut. Without it,"
    " chunks stay as they are."
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options that every splitter has."""

    size: int = option(200, "The maximum size of a chunk's text.", "tokens")
    optimize: Optimize | None = field(default=None, metadata={"stated": Stated(_OPTIMIZE)})
    summaries: bool = option(
        False,
        "Add a chunk of the role `summary` for every longer section: its most central sentence, with further ones as"
        " context.",
    )

    def __post_init__(self) -> None:
        check_whole("size", self.size, MIN_SIZE, self.longest)
        self._check_stated()
        if self.optimize is not None and not isinstance(self.optimize, Optimize):
            object.__setattr__(self, "optimize", _optimize(self.optimize))

    def _check_stated(self) -> None:
        """Check the fields with bounds, and the flags."""
        for one in fields(self):
            stated = one.metadata.get("stated")
            if stated is not None and stated.low is not None:
                check_whole(one.name, getattr(self, one.name), stated.low, stated.high)
            elif isinstance(one.default, bool):
                check_flag(one.name, getattr(self, one.name))

    @property
    def longest(self) -> int:
        """Return the maximum size."""
        return MAX_SIZE

    def within(self, tokens: int) -> Self:
        """Return the options for a model with room for this many tokens of a chunk's text."""
        return self if self.size <= tokens else replace(self, size=tokens)


def _optimize(values: Any) -> Optimize:
    names = [field.name for field in fields(Optimize)]
    if not isinstance(values, Mapping) or not set(values) <= set(names):
        raise ConfigError(f"optimize must be a table of {' and '.join(names)}, got {values!r}")
    return Optimize(**values)


def check_whole(name: str, value: object, low: int, high: int) -> None:
    """Raise ConfigError unless `value` is an integer in [low, high]."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigError(f"{name} must be an integer in [{low}, {high}], got {value!r}")


def check_flag(name: str, value: object) -> None:
    """Raise ConfigError unless `value` is true or false."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be true or false, got {value!r}")


Split = Callable[["Part", Any], list[Span]]


class Proposed(NamedTuple):
    """Spans, and the name of the strategy that made them; after a fallback, it is not the requested one."""

    spans: list[Span]
    strategy: str


Propose = Callable[["Part", Any], Proposed]


class Level(NamedTuple):
    """Chunks below those of the previous level, each of which is split as a part; `role` is their name."""

    role: str
    split: Split
