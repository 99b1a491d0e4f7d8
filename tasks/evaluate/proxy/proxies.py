"""Proxies: questions made from the documents, for documents without real ones.

| kind | asks with | for |
|---|---|---|
| links | the words of a link, a `See also` | the page or section that they lead to, the place of the link hidden |
| captions | the caption of a table or figure | the table, or the paragraph that refers to the figure |
| docstrings | the first sentence of a comment | the definition below it |
| subjects | the subject of a mail | the mails of the thread |
| headings | a title, a heading, a question of an FAQ | the document, the passage below it, the answer |
| words | the rarest words of a sentence | the sentence |

The first four are words of people about something else than the words themselves; the last two are not. Real questions
use other words than their answers more often than any of these.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from docmill.storage.errors import QueryError
from docmill.storage.keys import key_of
from docmill.storage.schema import Element, Parsed
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.search.rank.candidates.search_options import check_query
from docmill.tasks.context.code_comments import documented
from docmill.tasks.evaluate.overlap import Passage
from docmill.tasks.evaluate.prose_sentences import PROSE, sentences
from docmill.tasks.evaluate.proxy.links import links
from docmill.tasks.evaluate.proxy.question_source import QuestionSource, made, quoted
from docmill.tasks.evaluate.questions import Question, Target
from docmill.tasks.parse.titles.labels import is_caption
from docmill.tasks.split.parts.captions import bound_captions

_FIRST_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_MARKS = re.compile(r"^[ \t]*(?:[*/#;%!-]+)[ \t]?", re.MULTILINE)
_SHORTEST_COMMENT = 20
"""Characters of a comment to ask with: shorter ones repeat the name of the definition."""
_LONGEST_LINE = 120
"""Characters of the line of code that answers; a longer one may be cut by chunks."""


def docstrings(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each definition of a source file that has a comment and a body."""
    for source in sources:
        elements = source.parsed.elements
        if len(elements) == 1 and elements[0].kind == "code":
            yield from _of(source, str(elements[0].attributes.get("language", "")))


def _of(source: QuestionSource, language: str) -> Iterator[Question]:
    text = source.parsed.text
    for said, code in documented(text, language):
        comment = " ".join(_MARKS.sub("", text[said.start : said.end]).split())
        first = _FIRST_SENTENCE.match(comment)
        asked, line = first[1] if first else comment, _line(text, text[code.start : code.end])
        if len(asked) >= _SHORTEST_COMMENT and line:
            yield made(asked.rstrip("."), Target(source.uri, line))


def _line(text: str, code: str) -> str:
    """Return the first line of some code that stands nowhere else in the file, or ""."""
    lines = (line.strip() for line in code.split("\n"))
    named = (line for line in lines if re.search(r"\w{3}", line) and len(line) <= _LONGEST_LINE)
    return next((line for line in named if text.count(line) == 1), "")


_LABEL = re.compile(r"\W*(\w+\.?\s*[\dIVX]+(?:[.-]\d+)*)[\s.:)*_\u2013\u2014-]*")
_SHORTEST = 12
"""Characters of a caption without its label: shorter ones, such as "Results", ask for nothing in particular."""


def captions(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each caption of a table, and for each whose figure some paragraph refers to."""
    for source in sources:
        text, elements = source.parsed.text, source.parsed.elements
        named = {caption.start_char: table for table, caption in bound_captions(source.parsed).of.items()}
        tables = {one.start_char: one for one in elements if one.kind == "table"}
        for one in elements:
            if one.kind in PROSE and is_caption(_text(text, one)):
                yield from _asked(source, one, tables.get(named.get(one.start_char, -1)))


def _asked(source: QuestionSource, caption: Element, table: Element | None) -> Iterator[Question]:
    text = source.parsed.text
    label = _LABEL.match(_text(text, caption))
    said = _text(text, caption)[label.end() :].strip("*_ \n") if label else ""
    if label is None or len(said) < _SHORTEST:
        return
    if table is not None:
        yield made(said, Target(source.uri, quoted(text, table)))
    elif refers := _referring(source, label[1], caption):
        yield made(said, Target(source.uri, refers), Passage(source.uri, caption.start_char, caption.end_char))


def _referring(source: QuestionSource, label: str, caption: Element) -> str:
    """Return the first words of the paragraph that refers to a label, or ""."""
    named = re.compile(rf"\b{re.escape(label.rstrip('.'))}\b")
    text = source.parsed.text
    others = (one for one in source.parsed.elements if one.kind == "paragraph" and one != caption)
    found = (one for one in others if named.search(text, one.start_char, one.end_char))
    return next((quoted(text, one) for one in found if not is_caption(_text(text, one))), "")


def _text(text: str, element: Element) -> str:
    return text[element.start_char : element.end_char]


_PREFIX = re.compile(r"^(?:\s*(?:re|aw|sv|fwd?|wg|tr)\s*(?:\[\d+\])?\s*:)+\s*", re.IGNORECASE)


def subjects(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each subject that several mails have, with every mail as an answer."""
    threads: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        subject = str(source.parsed.metadata.get("subject") or "")
        if subject and source.parsed.metadata.get("message_id"):
            threads[" ".join(_PREFIX.sub("", subject).split())].append(source.uri)
    for subject, uris in threads.items():
        if len(uris) > 1:
            yield Question(key_of("proxy", subject, *uris), subject, tuple(map(Target, sorted(uris))))


_WORDS = 6
"""Rare words in a question: with fewer, several sentences fit; with more, the question is the sentence itself."""
_SENTENCE = (40, 400)
"""Characters of a sentence to ask for. Shorter ones lack six words; longer ones are lists without a stop."""
_CHARACTERS_PER_QUESTION = 2000
"""Characters of a document for each sentence to ask for, so that a long document does not dominate."""
_LONGEST = 200
"""Characters of a question: a longer heading is a paragraph in bold."""


def proxies(sources: Sequence[QuestionSource], most: int, kinds: Sequence[str] = ()) -> list[Question]:
    """Return at most `most` questions of some kinds, keys of `KINDS`, chosen by their content.

    Equal documents always give the same ones. By default, words of people come first, and the other kinds fill up.
    """
    if kinds:
        return _chosen(sources, kinds)[:most]
    found = _chosen(sources, BY_PEOPLE)[:most]
    asked = {one.text.casefold() for one in found}
    others = _chosen(sources, [kind for kind in KINDS if kind not in BY_PEOPLE])
    return [*found, *(one for one in others if one.text.casefold() not in asked)][:most]


def _chosen(sources: Sequence[QuestionSource], kinds: Iterable[str]) -> list[Question]:
    """Return the questions of some kinds in the order of their ids, without those that ask for several places."""
    found = [one for kind in kinds for one in KINDS[kind](sources)]
    asked = Counter(one.text.casefold() for one in found)
    distinct = (one for one in found if asked[one.text.casefold()] == 1 and _askable(one.text))
    return sorted(distinct, key=lambda one: one.id)


def _askable(text: str) -> bool:
    """Return whether a search accepts a text, unlike 🎉 and headings as long as a page."""
    try:
        check_query(text)
    except QueryError:
        return False
    return len(text) <= _LONGEST


def _headings(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    for source in sources:
        named = made(source.parsed.title, Target(source.uri))
        if named.text:
            yield named
        below = _pairs(source, "title", ("paragraph", "list_item", "text"))
        yield from (one for one in below if one.text.casefold() != named.text.casefold())  # the title's own heading
        yield from _pairs(source, "question", ("answer", "paragraph", "list_item"))


def _words(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    frequency: Counter[str] = Counter(term for source in sources for term in set(analyse(source.parsed.text)))
    for source in sources:
        yield from _distinctive(source, frequency, len(sources))


KINDS: dict[str, Callable[[Sequence[QuestionSource]], Iterable[Question]]] = {
    "links": links,
    "captions": captions,
    "docstrings": docstrings,
    "subjects": subjects,
    "headings": _headings,
    "words": _words,
}
"""What questions can be made of."""
BY_PEOPLE = ("links", "captions", "docstrings", "subjects")
"""Kinds whose questions are words of people about something else."""


def _pairs(source: QuestionSource, asks: str, answers: Sequence[str]) -> Iterator[Question]:
    """Yield a question for each element of one kind that is followed by an element of other kinds."""
    text, elements = source.parsed.text, source.parsed.elements
    for one, after in pairwise(elements):
        if one.kind == asks and after.kind in answers:
            said = text[one.start_char : one.end_char].strip("#* \t\n")
            if said and (words := quoted(text, after)):
                yield made(said, Target(source.uri, words))


def _distinctive(source: QuestionSource, frequency: Counter[str], documents: int) -> Iterator[Question]:
    """Yield the rarest words of the sentences with the rarest words, at most one for each 2,000 characters."""
    text = source.parsed.text
    found = []
    for start, end in _sentences(source.parsed):
        if rarest := _rarest(text[start:end], frequency, documents):
            found.append((*rarest, text[start:end]))
    for _, said, sentence in sorted(found, reverse=True)[: 1 + len(text) // _CHARACTERS_PER_QUESTION]:
        yield made(said, Target(source.uri, sentence))


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
