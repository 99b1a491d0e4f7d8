"""Contextualizer: a way to write a chunk's context, and what runs need to know of it before they write any."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docmill.tasks.split.spans.span import Span

if TYPE_CHECKING:
    from docmill.tasks.context.context_input import ContextInput
    from docmill.tasks.model.prompt import Prompt

PROMPTS = "1"
"""Raise it whenever a prompt of `model_prompts.py` changes: answers to old prompts are then not reused."""
DESCRIPTIONS = "1"
"""The same of the prompt that asks for the description of a picture."""
PHRASINGS = "1"
"""The same of the prompts that ask for phrasings, and of how their answers are read."""
PHRASED = ("statements", "questions")
"""The kinds of phrasings that a language model writes of a chunk, in the order of its column."""
WORDS = "1"
"""Raise it whenever OCR gives other words of a picture by the same engine."""
Lead = Callable[[Span], str]
"""What a strategy adds to a chunk's context besides the headings, such as the question that it answers."""


def nothing(_span: Span) -> str:
    """Return the lead of a strategy that has none: ""."""
    return ""


@dataclass(frozen=True, slots=True)
class Contextualizer:
    """A way to write a chunk's context; raise `version` whenever `say` returns a different text.

    `say(setting, span, lead)` returns the context of a chunk. `asks(setting, spans, number)` returns the prompts about
    one of the chunks `spans`; a language model's answers follow the text of `say`. A contextualizer that `sums_up` adds
    a summary of each section and of the document.
    """

    name: str
    version: int | str
    say: "Callable[[ContextInput, Span, Lead], str]"
    asks: "Callable[[ContextInput, Sequence[Span], int], tuple[Prompt, ...]] | None" = None
    sums_up: bool = False
