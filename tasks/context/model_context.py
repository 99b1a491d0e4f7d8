"""Teller: what a language model says of a chunk, as far as it is known."""

from collections.abc import Sequence
from dataclasses import dataclass

from docmill.storage.schema import MISSING, REFUSED, STALE
from docmill.tasks.context.model_prompts import cleaned, summing_up
from docmill.tasks.context.setting import Contextualizer, Setting
from docmill.tasks.model.prompt import Prompt
from docmill.tasks.split.parts.lookup import Lookup
from docmill.tasks.split.spans.span import Span


@dataclass(slots=True)
class Teller:
    """A contextualizer and the answers that are known; `by_model` a language model sums up, too.

    While `waiting` nothing is asked: the chunks are not yet those of their strategy.
    """

    context: Contextualizer
    lookup: Lookup
    by_model: bool = False
    waiting: bool = False

    def prompts(self, setting: Setting, spans: Sequence[Span], number: int) -> tuple[Prompt, ...]:
        """Return what is asked about one of some chunks that follow each other."""
        return self.context.asks(setting, spans, number) if self.context.asks else ()

    def summed_up(self, setting: Setting, about: Span) -> tuple[str, str]:
        """Return the summary of a stretch, as `said` does; nothing where no model sums up."""
        return self.said((summing_up(setting, about),)) if self.by_model else ("", "")

    def said(self, prompts: Sequence[Prompt]) -> tuple[str, str]:
        """Return the answers and their state: one of `docmill.storage.schema.CONTEXT_STATES`, "" if complete."""
        if self.waiting:
            return "", MISSING if prompts else ""
        answers = [self.lookup.answer_to(prompt) for prompt in prompts]
        texts = [cleaned(answer.text) if answer else "" for answer in answers]
        if None in answers:
            state = MISSING
        elif not all(texts):
            state = REFUSED
        else:
            bases = [answer.basis for answer in answers if answer]
            state = "" if bases == [prompt.basis for prompt in prompts] else STALE
        return "\n".join(filter(None, texts)), state
