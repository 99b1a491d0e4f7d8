"""Window context: the structural context, and one sentence from each side of the chunk."""

from docmill.tasks.context.context_input import ContextInput
from docmill.tasks.context.contextualizers import Lead
from docmill.tasks.context.structural import structural
from docmill.tasks.context.summary_sentences import most_central, prose_sentences
from docmill.tasks.context.word_limits import cut_words
from docmill.tasks.split.spans.span import Span

_AROUND = 1200
"""The characters to consider on either side of a chunk: several sentences.

With fewer, there is no choice between sentences; with more, the chosen sentence may be about something else, and an
edit changes the contexts of chunks further away."""


def window(setting: ContextInput, span: Span, lead: Lead) -> str:
    """Return the structural context, and the most central sentences before and after a chunk.

    Each sentence gets half of the tokens that the structural context leaves. Front matter is ignored.
    """
    path = structural(setting, span, lead)
    text, front = setting.parsed.text, setting.parsed.elements[:1]
    first = front[0].end_char if front and front[0].kind == "front_matter" else 0
    sides = (max(first, span.start - _AROUND), span.start), (span.end, min(len(text), span.end + _AROUND))
    left = (setting.budget - setting.count(path)) // 2 - 1
    said = [cut_words(_central(text, *side), left, setting.counter) for side in sides] if left > 0 else []
    together = "\n".join(filter(None, (path, *said)))
    return together if setting.count(together) <= setting.budget else path


def _central(text: str, start: int, end: int) -> str:
    """Return the most central sentence of a stretch; its ends may be in the middle of sentences."""
    sentences = prose_sentences(text, start, end) if text[start:end].strip() else []
    return text[slice(*sentences[most_central(text, sentences, 1)[0]])] if sentences else ""
