"""Contextualizers: the registry of the ways to write a chunk's context."""

from typing import TYPE_CHECKING

from docmill.storage.plugins.registry import Registry, Seam, late
from docmill.tasks.context.context_plugin import ContextualizerPlugin, contextualizer_of_plugin
from docmill.tasks.context.contextualizer import Contextualizer, Lead
from docmill.tasks.split.spans.span import Span

if TYPE_CHECKING:
    from docmill.tasks.context.context_input import ContextInput

STRUCTURAL = 11
"""The version of the structural context, with which other contexts begin. Prompts have their own version."""


def _none(_setting: "ContextInput", _span: Span, _lead: Lead) -> str:
    return ""


_STRUCTURAL = late("docmill.tasks.context.structural.structural")
_PATH_FIRST = late("docmill.tasks.context.model_prompts.path_first")
_OWN: dict[str, Contextualizer] = {
    one.name: one
    for one in (
        Contextualizer("none", 1, _none),
        Contextualizer("structural", STRUCTURAL, _STRUCTURAL),
        Contextualizer("window", 7, late("docmill.tasks.context.window.window")),
        Contextualizer("summary", STRUCTURAL, _STRUCTURAL, sums_up=True),
        Contextualizer("llm", STRUCTURAL, _PATH_FIRST, late("docmill.tasks.context.model_prompts.situating")),
    )
}
CONTEXTUALIZERS: Registry[Contextualizer] = Registry(
    Seam("docmill.contextualizers", "contextualizer", ContextualizerPlugin), _OWN, contextualizer_of_plugin
)
GISTS = Contextualizer("window", STRUCTURAL, _PATH_FIRST, late("docmill.tasks.context.model_prompts.neighbours"))
"""`window` with a language model: it describes the neighbours of a chunk in a sentence each."""


def contextualizer_of(name: str, by_model: bool = False) -> Contextualizer:
    """Return a contextualizer, with `by_model` the one whose summaries a model writes; raise ConfigError if unknown."""
    return GISTS if by_model and name == GISTS.name else CONTEXTUALIZERS[name]
