"""Contextualizers: the registry of the ways to write a chunk's context."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from docmill.storage.plugins.origin import Origin, plugin_failed
from docmill.storage.plugins.registry import Registry, Seam, late
from docmill.tasks.split.spans.span import Span

if TYPE_CHECKING:
    from docmill.tasks.context.context_input import ContextInput
    from docmill.tasks.model.prompt import Prompt

PROMPTS = "1"
"""Raise it whenever a prompt in `model_context.py` changes, so that answers to old prompts are not reused."""
DESCRIPTIONS = "1"
"""The same for the prompt that asks for a description of a picture."""
PHRASINGS = "1"
"""The same for the prompts that ask for phrasings, and for how the answers are read."""
PHRASED = ("statements", "questions")
"""The kinds of phrasings that a language model writes for a chunk, in the order of its column."""
WORDS = "1"
"""Raise it whenever the same OCR engine would give other words for a picture."""
Lead = Callable[[Span], str]
"""What a strategy adds to a chunk's context besides the headings, such as the question that it answers."""


def nothing(_span: Span) -> str:
    """Return the lead of a strategy that has none: ""."""
    return ""


@dataclass(frozen=True, slots=True)
class Contextualizer:
    """A way to write a chunk's context; raise `version` whenever `say` returns a different text.

    `say(setting, span, lead)` returns the context of a chunk. `asks(setting, spans, number)` returns the prompts about
    one of the chunks `spans`; a language model's answers are appended to the text of `say`. A contextualizer that
    `sums_up` adds a summary of each section and of the document.
    """

    name: str
    version: int | str
    say: "Callable[[ContextInput, Span, Lead], str]"
    asks: "Callable[[ContextInput, Sequence[Span], int], tuple[Prompt, ...]] | None" = None
    sums_up: bool = False


class ContextualizerPlugin(Protocol):
    """A way to write the context of a chunk: an entry point of the group `docmill.contextualizers`.

    The name of the entry point is the contextualizer's name. It refers to an object with these members, or to a class
    that is called without arguments.

    Attributes:
        version: Raise it whenever `say` returns another text. Together with the version of the distribution, it is part
            of the key of each document whose contexts the plugin wrote, so that exactly those are written again.
    """

    version: int | str

    def say(self, setting: "ContextInput", span: Span, lead: Lead) -> str:
        """Return the context of one chunk, "" for none.

        `setting.parsed` is the document: `text`, `title`, `elements`, `metadata`. `setting.headings(span)` are the
        headings above the chunk, and `lead(span)` is what its strategy adds, such as the question of an answer.

        A context of more than `setting.budget` tokens, counted by `setting.count(text)`, is cut between words. The same
        document and span must always give the same text. The method is called in a worker process, as splitters are. An
        exception rejects the document with a message that names the plugin and its distribution."""
        ...


def contextualizer_of_plugin(origin: Origin, plugin: ContextualizerPlugin) -> Contextualizer:
    """Return the contextualizer of a plugin; if it fails, the document is rejected and the message names the plugin."""

    def say(setting: "ContextInput", span: Span, lead: Lead) -> str:
        from docmill.tasks.context.word_limits import cut_words

        text = plugin.say(setting, span, lead)
        text.encode()  # raises for half a character, which no table can store
        return text if setting.count(text) <= setting.budget else cut_words(text, setting.budget, setting.counter)

    return Contextualizer(origin.name, origin.version(plugin.version), origin.guarded(say, plugin_failed))


STRUCTURAL = 13
"""The version of the structural context, which is the beginning of other contexts. Prompts have their own version."""


def _none(_setting: "ContextInput", _span: Span, _lead: Lead) -> str:
    return ""


_STRUCTURAL = late("docmill.tasks.context.structural.structural")
_PATH_FIRST = late("docmill.tasks.context.model_context.path_first")
_OWN: dict[str, Contextualizer] = {
    one.name: one
    for one in (
        Contextualizer("none", 1, _none),
        Contextualizer("structural", STRUCTURAL, _STRUCTURAL),
        Contextualizer("window", 7, late("docmill.tasks.context.window.window")),
        Contextualizer("summary", STRUCTURAL, _STRUCTURAL, sums_up=True),
        Contextualizer("llm", STRUCTURAL, _PATH_FIRST, late("docmill.tasks.context.model_context.situating")),
    )
}
CONTEXTUALIZERS: Registry[Contextualizer] = Registry(
    Seam("docmill.contextualizers", "contextualizer", ContextualizerPlugin), _OWN, contextualizer_of_plugin
)
GISTS = Contextualizer("window", STRUCTURAL, _PATH_FIRST, late("docmill.tasks.context.model_context.neighbours"))
"""`window` with a language model, which describes each neighbour of a chunk in a sentence."""


def contextualizer_of(name: str, by_model: bool = False) -> Contextualizer:
    """Return a contextualizer, or with `by_model` its variant by a language model; raise ConfigError if unknown."""
    return GISTS if by_model and name == GISTS.name else CONTEXTUALIZERS[name]
