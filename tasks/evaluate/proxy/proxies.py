"""Proxies: generated questions, for documents without real ones.

A title asks for its document, a heading for the passage below it, an FAQ's question for its answer, and the rarest
words of a sentence for that sentence. Real questions use other words than their answers; these do not.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from docmill.storage.errors import QueryError
from docmill.storage.keys import key_of
from docmill.storage.keywords.analysis.analyser import analyse
from docmill.storage.retrieval.candidates.search_options import check_query
from docmill.storage.schema import Element, Parsed
from docmill.tasks.evaluate.phrases import sentences
from docmill.tasks.evaluate.questions import Question, Target

_QUOTED = 80
"""Characters of the passage that answers a heading: a chunk that holds its beginning has found it.

A longer quotation might be cut by chunks, and none would hold it.
"""
_WORDS = 6
"""Rare words in a question: with fewer, several sentences fit; with more, the question is the sentence itself."""
_SENTENCE = (40, 400)
"""Characters of a sentence to ask for. Shorter ones lack six words; longer ones are lists without a stop."""
_CHARACTERS_PER_QUESTION = 2000
"""Characters of a document for each sentence to ask for, so that a long document does not dominate."""
_LONGEST = 200
"""Characters of a question: a longer heading is a paragraph in bold."""


@dataclass(frozen=True, slots=True)
class QuestionSource:
    """A document to generate questions from."""

    uri: str
    parsed: Parsed


def proxies(sources: Sequence[QuestionSource], most: int) -> list[Question]:
    """Return at most `most` questions, chosen by their content; equal documents always give the same ones."""
    frequency: Counter[str] = Counter(term for source in sources for term in set(analyse(source.parsed.text)))
    made = [one for source in sources for one in _of(source, frequency, len(sources))]
    asked = Counter(one.text.casefold() for one in made)
    distinct = (one for one in made if asked[one.text.casefold()] == 1 and _askable(one.text))
    return sorted(distinct, key=lambda one: one.id)[:most]


def _askable(text: str) -> bool:
    """Return whether a search accepts a text, unlike 🎉 and headings as long as a page."""
    try:
        check_query(text)
    except QueryError:
        return False
    return len(text) <= _LONGEST


def _of(source: QuestionSource, frequency: Counter[str], documents: int) -> Iterator[Question]:
    named = _question(source.parsed.title, Target(source.uri))
    if named.text:
        yield named
    below = _pairs(source, "title", ("paragraph", "list_item", "text"))
    yield from (one for one in below if one.text.casefold() != named.text.casefold())  # the title's own heading
    yield from _pairs(source, "question", ("answer", "paragraph", "list_item"))
    yield from _distinctive(source, frequency, documents)


def _question(text: str, target: Target) -> Question:
    text = " ".join(text.split())
    return Question(key_of("proxy", text, target.document, target.quotation), text, (target,))


def _pairs(source: QuestionSource, asks: str, answers: Sequence[str]) -> Iterator[Question]:
    """Yield a question for each element of one kind that is followed by an element of other kinds."""
    text, elements = source.parsed.text, source.parsed.elements
    for one, after in pairwise(elements):
        if one.kind == asks and after.kind in answers:
            said = text[one.start_char : one.end_char].strip("#* \t\n")
            if said and (quoted := _quoted(text, after)):
                yield _question(said, Target(source.uri, quoted))


def _quoted(text: str, element: Element) -> str:
    """Return the first words of an element, as many as are on its first line."""
    line = text[element.start_char : element.end_char].strip().split("\n", 1)[0]
    return line if len(line) <= _QUOTED else line[:_QUOTED].rsplit(" ", 1)[0]


def _distinctive(source: QuestionSource, frequency: Counter[str], documents: int) -> Iterator[Question]:
    """Yield the rarest words of the sentences with the rarest words, at most one for each 2,000 characters."""
    text = source.parsed.text
    found = []
    for start, end in _sentences(source.parsed):
        if rarest := _rarest(text[start:end], frequency, documents):
            found.append((*rarest, text[start:end]))
    for _, said, sentence in sorted(found, reverse=True)[: 1 + len(text) // _CHARACTERS_PER_QUESTION]:
        yield _question(said, Target(source.uri, sentence))


def _rarest(sentence: str, frequency: Counter[str], documents: int) -> tuple[float, str] | None:
    """Return the total rarity of a sentence's rarest words, and these words in order; None for too few words."""
    words = list(dict.fromkeys(word for word in sentence.split() if analyse(word)))
    rare = {word: _rarity(word, frequency, documents) for word in words}
    chosen = sorted(words, key=lambda word: -rare[word])[:_WORDS]
    if len(chosen) < _WORDS:
        return None
    said = " ".join(word.strip(".,;:()[]\"'`*_") for word in words if word in chosen)
    return sum(rare[word] for word in chosen), said


def _rarity(word: str, frequency: Counter[str], documents: int) -> float:
    """Return the inverse document frequency of a word, or of the rarest term of a compound."""
    return max(math.log(documents / max(1, frequency[term])) for term in analyse(word))


def _sentences(parsed: Parsed) -> Iterable[tuple[int, int]]:
    """Yield the sentences of medium length."""
    return (one for one in sentences(parsed) if _SENTENCE[0] <= one.end - one.start <= _SENTENCE[1])
