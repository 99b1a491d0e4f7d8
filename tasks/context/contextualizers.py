"""Contextualizers: the registry of the ways to write a chunk's context."""

from docmill.storage.plugins.registry import Registry, Seam
from docmill.tasks.context.context_input import ContextInput, Contextualizer, Lead, context_input_of
from docmill.tasks.context.context_plugin import ContextualizerPlugin, contextualizer_of_plugin
from docmill.tasks.context.model_prompts import neighbours, path_first, situating
from docmill.tasks.context.structural import structural
from docmill.tasks.context.window import window
from docmill.tasks.split.spans.span import Span

__all__ = ["CONTEXTUALIZERS", "ContextInput", "Contextualizer", "context_input_of", "contextualizer_of"]

STRUCTURAL = 11
"""The version of the structural context, with which other contexts begin. Prompts have their own version."""


def _none(_setting: ContextInput, _span: Span, _lead: Lead) -> str:
    return ""


_OWN: dict[str, Contextualizer] = {
    one.name: one
    for one in (
        Contextualizer("none", 1, _none),
        Contextualizer("structural", STRUCTURAL, structural),
        Contextualizer("window", 7, window),
        Contextualizer("summary", STRUCTURAL, structural, sums_up=True),
        Contextualizer("llm", STRUCTURAL, path_first, situating),
    )
}
CONTEXTUALIZERS: Registry[Contextualizer] = Registry(
    Seam("docmill.contextualizers", "contextualizer", ContextualizerPlugin), _OWN, contextualizer_of_plugin
)
GISTS = Contextualizer("window", STRUCTURAL, path_first, neighbours)
"""`window` with a language model: it describes the neighbours of a chunk in a sentence each."""


def contextualizer_of(name: str, by_model: bool = False) -> Contextualizer:
    """Return a contextualizer, with `by_model` the one whose summaries a model writes; raise ConfigError if unknown."""
    return GISTS if by_model and name == GISTS.name else CONTEXTUALIZERS[name]
