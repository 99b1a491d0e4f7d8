"""Route: which strategy splits a document, by its name or else by what it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pathspec import GitIgnoreSpec

from storage.errors import ConfigError
from tasks.detect import CONTENT_TYPES
from tasks.split import nearest, options_of


@dataclass(frozen=True, slots=True)
class Route:
    """A strategy and its options, checked when built."""

    strategy: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        options_of(self.strategy, self.options)


@dataclass(frozen=True, slots=True)
class RouteTable:
    """The first glob that matches a uri decides, else the content type, else the default.

    Globs are written as in .gitignore. Content types are those of `tasks.detect`.
    """

    by_glob: tuple[tuple[str, Route], ...]
    by_type: Mapping[str, Route]
    default: Route

    def __post_init__(self) -> None:
        for kind in self.by_type:
            if kind not in CONTENT_TYPES:
                raise ConfigError(f"content type {kind!r} does not exist; {nearest(kind, list(CONTENT_TYPES))}")
        for glob, _ in self.by_glob:
            _compile(glob)

    def route(self, uri: str, content_type: str) -> Route:
        """Return the route of a document."""
        for glob, route in self.by_glob:
            if _compile(glob).match_file(uri):
                return route
        return self.by_type.get(content_type, self.default)


@lru_cache(maxsize=256)
def _compile(glob: str) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines([glob])
    except ValueError as error:
        raise ConfigError(f"glob {glob!r}: {error}") from None


def default_routes() -> RouteTable:
    """Return the routes that hold where the settings name no other."""
    structure, recursive = Route("structure"), Route("recursive")
    running = ("chat", "data", "log", "transcript")
    by_type = {kind: recursive if kind in running else structure for kind in CONTENT_TYPES}
    by_type["code"] = Route("code")
    return RouteTable(by_glob=(), by_type=by_type, default=structure)
