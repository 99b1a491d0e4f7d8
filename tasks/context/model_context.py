"""Model context: the known answers of a language model about a chunk."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from docmill.storage.schema import MISSING, REFUSED, STALE
from docmill.tasks.context.context_input import ContextInput
from docmill.tasks.context.contextualizer import Contextualizer, Lead, nothing
from docmill.tasks.context.model_prompts import cleaned, summing_up
from docmill.tasks.context.phrasings import phrased, phrasing
from docmill.tasks.model.prompt import Answer, Prompt
from docmill.tasks.split.parts.lookup import Lookup
from docmill.tasks.split.spans.span import Span


class ChunkLead(NamedTuple):
    """How to write the contexts of a region's chunks: the strategy's lead, and whether the chunks are provisional.

    While `waiting`, no model is asked: the chunks are not yet final.
    """

    lead: Lead = nothing
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class ContextWriter:
    """A contextualizer and the known answers; `by_model` means that a language model writes summaries.

    `phrasings` are the kinds of phrasings that it writes, each of at most `phrasing_tokens`.
    """

    context: Contextualizer
    lookup: Lookup
    by_model: bool = False
    phrasings: tuple[str, ...] = ()
    phrasing_tokens: int = 0

    def prompts(self, setting: ContextInput, spans: Sequence[Span], number: int) -> tuple[Prompt, ...]:
        """Return the prompts about one of several consecutive chunks."""
        return self.context.asks(setting, spans, number) if self.context.asks else ()

    def summed_up(self, setting: ContextInput, about: Span, waiting: bool) -> tuple[str, str]:
        """Return the summary of a section, as `said` does; empty if no model writes summaries."""
        return self.said((summing_up(setting, about),), waiting) if self.by_model else ("", "")

    def phrased(self, setting: ContextInput, span: Span, waiting: bool) -> tuple[tuple[str, ...], str]:
        """Return the phrasings of a chunk, each once, and their state, as `said` does."""
        prompts = [phrasing(setting, span, kind) for kind in self.phrasings]
        if waiting:
            return (), MISSING if prompts else ""
        answers = [self.lookup.answer_to(prompt) for prompt in prompts]
        found = [phrased(answer.text, self.phrasing_tokens, setting.counter) if answer else () for answer in answers]
        return tuple(dict.fromkeys(chain(*found))), _state(prompts, answers, list(map("".join, found)))

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
    if any(map(_is_refused, prompts, texts)):
        return REFUSED
    same = [answer.basis for answer in known] == [prompt.basis for prompt in prompts]
    return "" if same else STALE


def _is_refused(prompt: Prompt, text: str) -> bool:
    """Return whether a model has answered without a word; OCR may find none."""
    return not (text or prompt.by_ocr)
