"""Model judgements: a language model's ratings of retrieved chunks, as in RAGAS.

| measure | of a question |
|---|---|
| context precision | the mean, over the ranks of useful chunks, of the share of useful chunks up to that rank |
| context relevance | the share of the retrieved sentences that the question needs |

Sources: Es, James, Espinosa Anke and Schockaert, RAGAS: Automated Evaluation of Retrieval Augmented Generation, EACL
2024 (relevance); the definition of `context_precision` in RAGAS' documentation.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from docmill.storage.search.rank.candidates.hit import Hit
from docmill.tasks.evaluate.prose_sentences import sentences_within
from docmill.tasks.evaluate.questions import Question
from docmill.tasks.model.prompt import Answer, Prompt

_PURPOSE = "judge"
_MOST = 100
"""Retrieved sentences in one prompt: a list that a model can number without errors."""
_YES_TOKENS = 5
"""Tokens of the answer `yes` or `no`, with a sign before and after it."""
_NUMBERS_TOKENS = 300
"""Tokens of the longest answer, three for each of 100 numbers: the number, a comma and a space."""

_USEFUL = """\
You judge what a search has found. Say whether the passage was useful in arriving at the answer to the question.
Reply with one word, yes or no."""
_NEEDED = """\
You judge what a search has found. Of the numbered sentences choose those that are needed to answer the question.
Reply with their numbers, separated by commas, or with none where no sentence helps. Say nothing else."""

Ask = Callable[[Sequence[Prompt]], Mapping[Prompt, Answer]]


def context_precision(found: Mapping[str, Sequence[Hit]], questions: Sequence[Question], ask: Ask) -> dict[str, float]:
    """Return the context precision by question, leaving out questions without a verdict."""
    prompts = {q.id: [_useful(q, hit) for hit in found[q.id]] for q in questions}
    answers = ask(list(chain.from_iterable(prompts.values())))
    verdicts = {key: _verdicts(some, answers) for key, some in prompts.items()}
    return {key: average_precision(useful) for key, useful in verdicts.items() if useful is not None}


def _verdicts(prompts: Sequence[Prompt], answers: Mapping[Prompt, Answer]) -> list[bool] | None:
    """Return whether each passage was useful; None if a reply is missing or unreadable."""
    said = [_yes(answers.get(prompt)) for prompt in prompts]
    return None if None in said else [bool(one) for one in said]


def average_precision(useful: Sequence[bool]) -> float:
    """Return the mean of the precisions at the ranks of useful chunks, 0 if there are none."""
    ranks = [rank for rank, one in enumerate(useful, start=1) if one]
    return sum(count / rank for count, rank in enumerate(ranks, start=1)) / len(ranks) if ranks else 0.0


def _useful(question: Question, hit: Hit) -> Prompt:
    answer = " ".join(target.quotation for target in question.targets if target.quotation)
    known = f"Question: {question.text}" + (f"\nAnswer: {answer}" if answer else "")
    return Prompt((_USEFUL, f"{known}\nPassage:\n{hit.text}\nUseful:"), purpose=_PURPOSE, max_tokens=_YES_TOKENS)


def _yes(answer: Answer | None) -> bool | None:
    word = re.match(r"\W*(yes|no)\b", answer.text, re.IGNORECASE) if answer else None
    return word[1].lower() == "yes" if word else None


def context_relevance(found: Mapping[str, Sequence[Hit]], questions: Sequence[Question], ask: Ask) -> dict[str, float]:
    """Return the context relevance by question, leaving out questions whose reply is unreadable."""
    shown = {q.id: _sentences(found[q.id])[:_MOST] for q in questions}
    prompts = {q.id: _needed(q, shown[q.id]) for q in questions if shown[q.id]}
    answers = ask(list(prompts.values()))
    chosen = {key: _numbers(answers.get(prompt), len(shown[key])) for key, prompt in prompts.items()}
    values = {key: len(some) / len(shown[key]) for key, some in chosen.items() if some is not None}
    return values | {q.id: 0.0 for q in questions if not shown[q.id]}


def _sentences(hits: Sequence[Hit]) -> list[str]:
    spans = ((hit.text, span) for hit in hits for span in sentences_within(hit.text, 0, len(hit.text)))
    return [" ".join(text[span.start : span.end].split()) for text, span in spans]


def _needed(question: Question, sentences: Sequence[str]) -> Prompt:
    numbered = "\n".join(f"[{number}] {sentence}" for number, sentence in enumerate(sentences, start=1))
    return Prompt((_NEEDED, f"{numbered}\n\nQuestion: {question.text}"), purpose=_PURPOSE, max_tokens=_NUMBERS_TOKENS)


def _numbers(answer: Answer | None, most: int) -> set[int] | None:
    """Return the numbers in a model's answer; None if it is not a list of numbers."""
    text = answer.text.strip().strip(".").lower() if answer else ""
    if text == "none":
        return set()
    if not re.fullmatch(r"\[?\d+\]?(\s*,\s*\[?\d+\]?)*", text):
        return None
    chosen = {int(number) for number in re.findall(r"\d+", text)}
    return chosen if max(chosen) <= most and min(chosen) >= 1 else None
