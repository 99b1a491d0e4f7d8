"""Fixtures of the tests of plugins."""

from typing import Any

import pytest

from docmill.storage.plugins.registry import Registry
from docmill.storage.search.encode.plugin_encoder import ENCODERS
from docmill.storage.search.rank.steps.rerankers import RERANKERS
from docmill.tasks.context.contextualizers import CONTEXTUALIZERS
from docmill.tasks.parse.dispatch.parsers import PARSERS
from docmill.tasks.sources.discover import SOURCES
from docmill.tasks.split.strategies import SPLITTERS


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the registries read their entry points again, and forget afterwards what they found."""
    registries: tuple[Registry[Any], ...] = (SOURCES, PARSERS, SPLITTERS, CONTEXTUALIZERS, ENCODERS, RERANKERS)
    for registry in registries:
        own = Registry(registry.seam, registry.own, registry._adapt)
        monkeypatch.setattr(registry, "__dict__", own.__dict__)
