"""Options: the options of a splitter; invalid ones cannot be built."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from docmill.storage.errors import ConfigError

MIN_SIZE = 16
"""The minimum size in tokens. A smaller chunk holds no sentence, and one strange character could fill it."""
MAX_SIZE = 8192
"""The maximum size in tokens: the limit of embedding models for long texts."""


@dataclass(frozen=True, slots=True)
class Optimize:
    """Bounds in tokens: a chunk below `min_tokens` joins a neighbour, one above `max_tokens` is cut.

    `max_tokens` 0 is the model's room.
    """

    min_tokens: int = 50
    max_tokens: int = 0

    def __post_init__(self) -> None:
        check_whole("optimize.min_tokens", self.min_tokens, 0, MAX_SIZE)
        check_whole("optimize.max_tokens", self.max_tokens, 0, MAX_SIZE)
        if self.max_tokens and self.max_tokens < max(MIN_SIZE, self.min_tokens):
            least = max(MIN_SIZE, self.min_tokens)
            raise ConfigError(f"optimize.max_tokens must be 0 or at least {least}, got {self.max_tokens}")


@dataclass(frozen=True, slots=True)
class Options:
    """The options that every splitter has: `size` is the maximum tokens of a chunk's text.

    `optimize` merges small and cuts large chunks; None leaves them. `summaries` adds a chunk of the role `summary` for
    every longer section: its most central sentence, with further ones as context.
    """

    size: int = 200
    optimize: Optimize | None = None
    summaries: bool = False

    def __post_init__(self) -> None:
        check_whole("size", self.size, MIN_SIZE, self.longest)
        check_flag("summaries", self.summaries)
        if self.optimize is not None and not isinstance(self.optimize, Optimize):
            object.__setattr__(self, "optimize", _optimize(self.optimize))

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
