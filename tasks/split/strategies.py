"""Strategies: the registry of splitters, and the checks of their options."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.storage.plugins.origin import described
from docmill.storage.plugins.registry import LoadedWhenAsked, Registry, Seam, late, named, nearest
from docmill.tasks.split.parts.strategy_options import Options
from docmill.tasks.split.splitter import Splitter, SplitterPlugin, splitter_of_plugin

_HERE = "docmill.tasks.split."
_READ: Mapping[str, Callable[[str], Any]] = {"lead": late, "judged": late, "levels": named}
"""How to load those properties of a strategy that are given by dotted name."""


def _own(name: str, version: int, options: str, split: str, **more: Any) -> tuple[str, Callable[[], Splitter]]:
    """Return the name of a built-in strategy and its loader, given the dotted names of its options and functions."""

    def load() -> Splitter:
        given = {key: _READ[key](_HERE + value) if key in _READ else value for key, value in more.items()}
        return Splitter(name, version, named(_HERE + options), late(_HERE + split), **given)

    return name, load


_MAKERS = (
    _own("recursive", 6, "parts.usual_options.Recursive", "general.recursive.split_recursive"),
    _own("structure", 6, "parts.usual_options.Structure", "general.structure.split_structure"),
    _own("sentence", 3, "general.sentences.Sentence", "general.sentences.split_sentences"),
    _own("fixed", 1, "general.windowed.Fixed", "general.windowed.split_fixed", crosses=True),
    _own("sliding_window", 1, "general.windowed.Sliding", "general.windowed.split_sliding", crosses=True),
    _own("separator", 1, "general.separator.Separator", "general.separator.split_separator"),
    _own("code", 2, "parts.usual_options.Code", "content.code.split_code"),
    _own("semantic", 5, "general.semantic.Semantic", "general.semantic.split_semantic", asks="vectors"),
    _own(
        "agentic",
        3,
        "general.agentic.Agentic",
        "general.agentic.split_agentic",
        asks="replies",
        judged="general.agentic.propose_agentic",
    ),
    _own("cluster", 2, "general.cluster.Cluster", "general.cluster.split_cluster", asks="vectors"),
    _own(
        "hierarchical",
        5,
        "general.hierarchical.Hierarchical",
        "general.hierarchical.split_sections",
        role="section",
        levels="general.hierarchical.LEVELS",
    ),
    _own("page", 4, "parts.usual_options.Page", "content.paged.split_pages"),
    _own("slides", 4, "parts.usual_options.Slides", "content.paged.split_slides"),
    _own("table", 7, "parts.usual_options.Rows", "content.table.split_rows"),
    _own("qa", 2, "parts.usual_options.Pairs", "content.qa.split_pairs", lead="content.qa.question_asked"),
    _own("chat", 1, "parts.usual_options.Conversation", "content.chat.split_chat"),
    _own("email", 1, "parts.usual_options.Mail", "content.mail.split_mail", lead="content.mail.who_wrote"),
    _own("log", 1, "parts.usual_options.Log", "content.log.split_log"),
    _own("legal", 3, "parts.usual_options.Legal", "content.legal.split_legal", lead="content.legal.clause_above"),
)
SPLITTERS: Registry[Splitter] = Registry(
    Seam("docmill.splitters", "strategy", SplitterPlugin), LoadedWhenAsked(dict(_MAKERS)), splitter_of_plugin
)


def options_of(strategy: str, values: Mapping[str, Any]) -> Options:
    """Return a strategy's options; raise ConfigError for an unknown option or an invalid value."""
    kind = SPLITTERS[strategy].options
    # Checked before the call, because Python's TypeError would not list the valid names.
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
