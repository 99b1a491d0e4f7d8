"""Route: the strategy for a region, chosen by the document's front matter, its path or its content type."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from docmill.storage.errors import ConfigError
from docmill.storage.plugins.registry import nearest
from docmill.tasks.context.contextualizers import contextualizer_of
from docmill.tasks.detect.content_types import CONTENT_TYPES
from docmill.tasks.paths.patterns import PathPatterns, patterns_of
from docmill.tasks.split.strategies import options_of

if TYPE_CHECKING:
    from docmill.tasks.detect.regions import Region

OWN_KEY = "docmill"
"""The key in a document's front matter that sets its route."""


@dataclass(frozen=True, slots=True)
class Route:
    """A strategy, its options and a contextualizer, or "" for the configured one; checked when built.

    The strategies in `also` split the regions as well: an ensemble, whose chunks are indexed together.
    """

    strategy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    contextualizer: str = ""
    also: tuple["Route", ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild on unpickling: a worker loads plugins before its memory is limited."""
        return Route, (self.strategy, self.options, self.contextualizer, self.also)

    def __post_init__(self) -> None:
        options_of(self.strategy, self.options)
        if self.contextualizer:
            contextualizer_of(self.contextualizer)
        if any(one.also or one.contextualizer for one in self.also):
            raise ConfigError("a route under `also` has a strategy and options, and nothing else")

    @property
    def ensemble(self) -> tuple["Route", ...]:
        """Return a route for each strategy; the first is this one without `also`."""
        return (replace(self, also=()) if self.also else self, *self.also)

    def spelled(self) -> str:
        """Return the strategies and their enabled options as text."""
        if self.also:
            return " and ".join(one.spelled() for one in self.ensemble)
        options = asdict(options_of(self.strategy, self.options))
        said = [f"{name} {value}" for name, value in options.items() if value not in (None, False, (), "")]
        return f"{self.strategy} ({', '.join(said)})"


def sized(strategy: str, options: Mapping[str, Any], size: int) -> Mapping[str, Any]:
    """Return options with a size: their own, else `size` up to the strategy's maximum; 0 adds none."""
    if not size or "size" in options:
        return options
    return {**options, "size": min(size, options_of(strategy, options).longest)}


@dataclass(frozen=True, slots=True)
class Routed:
    """A region, its route, and the rule that chose the route, in words."""

    region: "Region"
    route: Route
    rule: str

    def spelled(self) -> str:
        """Return the strategies and their enabled options as text."""
        return self.route.spelled()

    def row(self) -> dict[str, Any]:
        """Return the fields of `docmill.storage.schema.REGION`."""
        options = asdict(options_of(self.route.strategy, self.route.options))
        if self.route.also:
            options["also"] = [asdict(one) for one in self.route.also]
        return {
            "start_char": self.region.start,
            "end_char": self.region.end,
            **asdict(self.region.verdict),
            "strategy": self.route.strategy,
            "options": json.dumps(options, ensure_ascii=False, sort_keys=True),
        }


@dataclass(frozen=True, slots=True)
class RouteTable:
    """Chooses a route by a document's front matter, else by the first glob that matches its uri, else by content type.

    Globs are written as in .gitignore. Content types are those of `docmill.tasks.detect`; `chosen` are those whose
    default route was replaced. `options` gives the options of strategies that a document names for itself, and `size`
    their size if they have none. `contexts` maps globs to the contextualizer of documents whose route names none.
    """

    by_glob: tuple[tuple[str, Route], ...]
    by_type: Mapping[str, Route]
    default: Route
    chosen: frozenset[str] = frozenset()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    contexts: tuple[tuple[str, str], ...] = ()
    size: int = 0

    def __post_init__(self) -> None:
        for kind in self.by_type:
            if kind not in CONTENT_TYPES:
                raise ConfigError(f"content type {kind!r} does not exist; {nearest(kind, CONTENT_TYPES)}")
        for glob, _ in (*self.by_glob, *self.contexts):
            _compile(glob)

    @property
    def minds_paths(self) -> bool:
        """Whether the path of a document may decide its routes."""
        return bool(self.by_glob or self.contexts)

    def route(self, uri: str, content_type: str, metadata: Mapping[str, Any] | None = None) -> Route:
        """Return the route of a content type in a document; raise ConfigError if its front matter is wrong."""
        return self.decide(uri, content_type, metadata or {})[0]

    def decide(self, uri: str, content_type: str, metadata: Mapping[str, Any]) -> tuple[Route, str]:
        """Return the route and the rule that chose it, in words."""
        route, rule = self._decide(uri, content_type, metadata)
        # A rule in `contexts` does not override a contextualizer that the route names itself.
        named = () if route.contextualizer else self.contexts
        context = next((name for glob, name in named if _compile(glob).match(uri)), "")
        return (replace(route, contextualizer=context) if context else route), rule

    def _decide(self, uri: str, content_type: str, metadata: Mapping[str, Any]) -> tuple[Route, str]:
        if own := self._own(metadata):
            return own, "the front matter of the document"
        for glob, route in self.by_glob:
            if _compile(glob).match(uri):
                return route, f"[[routes]] glob = {json.dumps(glob)}"
        # Distinguished from the default below only to explain the choice.
        if content_type in self.chosen:
            return self.by_type[content_type], f"[[routes]] type = {json.dumps(content_type)}"
        if content_type in self.by_type:
            return self.by_type[content_type], f"the default for {content_type}"
        return self.default, "the default"

    def route_regions(self, uri: str, regions: "Sequence[Region]", metadata: Mapping[str, Any]) -> list[Routed]:
        """Return the regions of a document with their routes."""
        return [Routed(one, *self.decide(uri, one.verdict.content_type, metadata)) for one in regions]

    def every(self) -> list[Route]:
        """Return the routes of the table, without the routes that documents name themselves."""
        return [*self.by_type.values(), self.default, *(route for _, route in self.by_glob)]

    def matching(self, uri: str) -> tuple[str, ...]:
        """Return the globs that match a uri, in the order of the table."""
        return tuple(glob for glob, _ in self.by_glob if _compile(glob).match(uri))

    def _own(self, metadata: Mapping[str, Any]) -> Route | None:
        """Return the route that a document's front matter sets under `docmill`, or None."""
        front = metadata.get("front_matter")
        if not isinstance(front, dict) or OWN_KEY not in front:
            return None
        said = front[OWN_KEY]
        try:
            if not isinstance(said, dict) or not isinstance(said.get("strategy"), str):
                raise ConfigError(f"must be a table such as {{strategy: structure, size: 120}}, got {said!r}")
            values = {name: value for name, value in said.items() if name != "strategy"}
            # The options of [split] also apply to a document that names its strategy, unless it sets them itself.
            name = said["strategy"]
            return Route(name, sized(name, {**self.options.get(name, {}), **values}, self.size))
        except ConfigError as error:
            raise ConfigError(f"front matter, {OWN_KEY}: {error}") from None


_GLOBS = 256
"""Compiled globs to cache. If settings have more, some are compiled again for each document."""


@lru_cache(maxsize=_GLOBS)
def _compile(glob: str) -> PathPatterns:
    return patterns_of([glob], "[[routes]] glob")


_STRATEGIES = {
    "code": "code",
    "faq": "qa",
    "chat": "chat",
    "email": "email",
    "table": "table",
    "slides": "slides",
    "log": "log",
    "legal": "legal",
    "data": "recursive",
    "transcript": "recursive",
}
"""Content types with another strategy than `structure`; `python -m tests.bench.parsing.routes` compares both."""


def default_routes() -> RouteTable:
    """Return the default routes, used unless the settings name others."""
    by_type = {kind: Route(_STRATEGIES.get(kind, "structure")) for kind in CONTENT_TYPES}
    return RouteTable(by_glob=(), by_type=by_type, default=Route("structure"))
