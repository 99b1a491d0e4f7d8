"""Options: what a splitter can be told; wrong values cannot be built."""

from dataclasses import dataclass, replace
from typing import Self

from storage.errors import ConfigError

MIN_SIZE = 16
MAX_SIZE = 8192


@dataclass(frozen=True, slots=True)
class Options:
    """The options that every splitter has: `size` is the most tokens of a chunk's text."""

    size: int = 200

    def __post_init__(self) -> None:
        check_whole("size", self.size, MIN_SIZE, MAX_SIZE)

    def within(self, tokens: int) -> Self:
        """Return the options for a model that has room for this many tokens of a chunk's text."""
        return self if self.size <= tokens else replace(self, size=tokens)


def check_whole(name: str, value: object, low: int, high: int) -> None:
    """Raise ConfigError unless `value` is a whole number in [low, high]."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigError(f"{name} must be a whole number in [{low}, {high}], got {value!r}")


def check_flag(name: str, value: object) -> None:
    """Raise ConfigError unless `value` is true or false."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be true or false, got {value!r}")
