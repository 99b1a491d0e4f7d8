"""Teller: what a language model says of a chunk, if known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from docmill.storage.schema import MISSING, REFUSED, STALE
from docmill.tasks.context.model_prompts import cleaned, summing_up
from docmill.tasks.context.setting import Contextualizer, Lead, Setting, nothing
from docmill.tasks.model.prompt import Answer, Prompt
from docmill.tasks.split.parts.lookup import Lookup
from docmill.tasks.split.spans.span import Span


class Telling(NamedTuple):
    """How the chunks of a region are told: what their strategy wants said of each, and whether that is too early.

    While `waiting`, no model is asked: the chunks are not yet those of their strategy.
    """

    lead: Lead = nothing
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class Teller:
    """A contextualizer and the answers that are known; `by_model` says that a language model sums up."""

    context: Contextualizer
    lookup: Lookup
    by_model: bool = False

    def prompts(self, setting: Setting, spans: Sequence[Span], number: int) -> tuple[Prompt, ...]:
        """Return what is asked about one of several chunks that follow each other."""
        return self.context.asks(setting, spans, number) if self.context.asks else ()

    def summed_up(self, setting: Setting, about: Span, waiting: bool) -> tuple[str, str]:
        """Return the summary of a stretch, as `said` does; nothing where no model sums up."""
        return self.said((summing_up(setting, about),), waiting) if self.by_model else ("", "")

    def said(self, prompts: Sequence[Prompt], waiting: bool) -> tuple[str, str]:
        """Return the answers and their state: one of `docmill.storage.schema.CONTEXT_STATES`, "" if complete."""
        if waiting:
            return "", MISSING if prompts else ""
        answers = [self.lookup.answer_to(prompt) for prompt in prompts]
        texts = [cleaned(answer.text) if answer else "" for answer in answers]
        return "\n".join(filter(None, texts)), _state(prompts, answers, texts)


def _state(prompts: Sequence[Prompt], answers: Sequence[Answer | None], texts: Sequence[str]) -> str:
    known = [answer for answer in answers if answer is not None]
    if len(known) < len(answers):
        return MISSING
    if not all(texts):
        return REFUSED
    same = [answer.basis for answer in known] == [prompt.basis for prompt in prompts]
    return "" if same else STALE
