"""Contextualizers: the registry of the ways to write a chunk's context."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docmill.storage.plugins.registry import Registry, Seam
from docmill.tasks.context.context_plugin import ContextualizerPlugin, contextualizer_of_plugin
from docmill.tasks.context.contextualizer import Contextualizer, Lead
from docmill.tasks.split.spans.span import Span

if TYPE_CHECKING:
    from docmill.tasks.context.context_input import ContextInput
    from docmill.tasks.model.prompt import Prompt

STRUCTURAL = 11
"""The version of the structural context, with which other contexts begin. Prompts have their own version."""


def _none(_setting: "ContextInput", _span: Span, _lead: Lead) -> str:
    return ""


def _structural(setting: "ContextInput", span: Span, lead: Lead) -> str:
    from docmill.tasks.context.structural import structural

    return structural(setting, span, lead)


def _window(setting: "ContextInput", span: Span, lead: Lead) -> str:
    from docmill.tasks.context.window import window

    return window(setting, span, lead)


def _path_first(setting: "ContextInput", span: Span, lead: Lead) -> str:
    from docmill.tasks.context.model_prompts import path_first

    return path_first(setting, span, lead)


def _situating(setting: "ContextInput", spans: Sequence[Span], number: int) -> "tuple[Prompt, ...]":
    from docmill.tasks.context.model_prompts import situating

    return situating(setting, spans, number)


def _neighbours(setting: "ContextInput", spans: Sequence[Span], number: int) -> "tuple[Prompt, ...]":
    from docmill.tasks.context.model_prompts import neighbours

    return neighbours(setting, spans, number)


# Each imports what it needs when it is called: a run that finds nothing new asks for names and versions alone.
_OWN: dict[str, Contextualizer] = {
    one.name: one
    for one in (
        Contextualizer("none", 1, _none),
        Contextualizer("structural", STRUCTURAL, _structural),
        Contextualizer("window", 7, _window),
        Contextualizer("summary", STRUCTURAL, _structural, sums_up=True),
        Contextualizer("llm", STRUCTURAL, _path_first, _situating),
    )
}
CONTEXTUALIZERS: Registry[Contextualizer] = Registry(
    Seam("docmill.contextualizers", "contextualizer", ContextualizerPlugin), _OWN, contextualizer_of_plugin
)
GISTS = Contextualizer("window", STRUCTURAL, _path_first, _neighbours)
"""`window` with a language model: it describes the neighbours of a chunk in a sentence each."""


def contextualizer_of(name: str, by_model: bool = False) -> Contextualizer:
    """Return a contextualizer, with `by_model` the one whose summaries a model writes; raise ConfigError if unknown."""
    return GISTS if by_model and name == GISTS.name else CONTEXTUALIZERS[name]
