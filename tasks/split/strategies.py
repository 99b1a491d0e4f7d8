"""Strategies: the registry of splitters, and the checks of their options."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.storage.plugins.origin import described
from docmill.storage.plugins.registry import Registry, Seam, nearest
from docmill.tasks.split.content.chat import Conversation, split_chat
from docmill.tasks.split.content.code import Code, split_code
from docmill.tasks.split.content.legal import Legal, clause_above, split_legal
from docmill.tasks.split.content.log import Log, split_log
from docmill.tasks.split.content.mail import Mail, split_mail, who_wrote
from docmill.tasks.split.content.paged import Page, Slides, split_pages, split_slides
from docmill.tasks.split.content.qa import Pairs, question_asked, split_pairs
from docmill.tasks.split.content.table import Rows, split_rows
from docmill.tasks.split.general.agentic import Agentic, propose_agentic, split_agentic
from docmill.tasks.split.general.cluster import Cluster, split_cluster
from docmill.tasks.split.general.hierarchical import LEVELS, Hierarchical, split_sections
from docmill.tasks.split.general.recursive import Recursive, split_recursive
from docmill.tasks.split.general.semantic import Semantic, split_semantic
from docmill.tasks.split.general.sentences import Sentence, split_sentences
from docmill.tasks.split.general.separator import Separator, split_separator
from docmill.tasks.split.general.structure import Structure, split_structure
from docmill.tasks.split.general.windowed import Fixed, Sliding, split_fixed, split_sliding
from docmill.tasks.split.parts.lookup import Lookup
from docmill.tasks.split.parts.options import Options
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.proposal import Level
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.splitter import Splitter, SplitterPlugin, splitter_of_plugin

__all__ = ["SPLITTERS", "Level", "Lookup", "Options", "Part", "Span", "Splitter", "options_of"]

_OWN: dict[str, Splitter] = {
    one.name: one
    for one in (
        Splitter("recursive", 6, Recursive, split_recursive),
        Splitter("structure", 6, Structure, split_structure),
        Splitter("sentence", 3, Sentence, split_sentences),
        Splitter("fixed", 1, Fixed, split_fixed, crosses=True),
        Splitter("sliding_window", 1, Sliding, split_sliding, crosses=True),
        Splitter("separator", 1, Separator, split_separator),
        Splitter("code", 2, Code, split_code),
        Splitter("semantic", 5, Semantic, split_semantic, asks="vectors"),
        Splitter("agentic", 3, Agentic, split_agentic, asks="replies", judged=propose_agentic),
        Splitter("cluster", 2, Cluster, split_cluster, asks="vectors"),
        Splitter("hierarchical", 5, Hierarchical, split_sections, "section", LEVELS),
        Splitter("page", 4, Page, split_pages),
        Splitter("slides", 4, Slides, split_slides),
        Splitter("table", 6, Rows, split_rows),
        Splitter("qa", 2, Pairs, split_pairs, lead=question_asked),
        Splitter("chat", 1, Conversation, split_chat),
        Splitter("email", 1, Mail, split_mail, lead=who_wrote),
        Splitter("log", 1, Log, split_log),
        Splitter("legal", 3, Legal, split_legal, lead=clause_above),
    )
}
SPLITTERS: Registry[Splitter] = Registry(
    Seam("docmill.splitters", "strategy", SplitterPlugin), _OWN, splitter_of_plugin
)


def options_of(strategy: str, values: Mapping[str, Any]) -> Options:
    """Return a strategy's options; raise ConfigError for an unknown option or an invalid value."""
    kind = SPLITTERS[strategy].options
    # Before the call: a TypeError of Python's would not tell which names there are.
    names = [field.name for field in fields(kind)]
    for name in values:
        if name not in names:
            raise ConfigError(f"{strategy} has no option {name!r}; {nearest(name, names)}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{strategy}: {error}") from None
    except ValueError as error:  # of a plugin
        raise ConfigError(f"{strategy}: {described(error)}") from None
