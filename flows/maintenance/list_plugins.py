"""List plugins: the plugins of other distributions, with their origin and problems."""

from collections.abc import Iterator
from typing import Any

from docmill.storage.plugins.registry import Listed, Registry
from docmill.storage.search.encode.plugin_encoder import ENCODERS
from docmill.storage.search.rank.steps.rerankers import RERANKERS
from docmill.tasks.context.contextualizers import CONTEXTUALIZERS
from docmill.tasks.parse.dispatch.parsers import PARSERS
from docmill.tasks.sources.discover import SOURCES
from docmill.tasks.split.strategies import SPLITTERS

REGISTRIES: tuple[Registry[Any], ...] = (PARSERS, SPLITTERS, CONTEXTUALIZERS, ENCODERS, RERANKERS, SOURCES)


def plugins() -> Iterator[Listed]:
    """Yield the installed plugins by group and name. Each is imported to find problems."""
    for registry in REGISTRIES:
        yield from registry.listed()
