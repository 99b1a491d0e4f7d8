"""Make questions that documents answer themselves: what stands in them as a question, a heading or a comment.

They stand for what people ask and are no such thing: they use the words of their answers. What answers one is a span
that no strategy had a say in.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from docmill.storage.keys import key_of
from docmill.storage.schema import Element, Parsed
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.tasks.evaluate.prose_sentences import sentences
from docmill.tasks.split.spans.span import Span, trim

_LONGEST = 1200
_WORDS = 5
_FAR = 15
_ASKS = re.compile(r"\W*(?:Q(?:uestion)?\s*\d*\s*[:.)]\s*(.+)|(.+\?))\W*", re.DOTALL)
_COMMENT = re.compile(r"\s*(?://+!?|#+|--|/?\*+|;+|\"\"\"|%)\s*([^\n]*)")
_LINE = re.compile(r"[^\n]*\S[^\n]*")


class Own(NamedTuple):
    """A question and the span of its document that answers it."""

    text: str
    start: int
    end: int


Maker = Callable[[Parsed], Iterable[Own]]


def headings(parsed: Parsed) -> Iterator[Own]:
    """Ask each heading for the text under it, up to the next one."""
    titles = [element for element in parsed.elements if element.kind == "title"]
    for title, end in zip(titles, [*(title.start_char for title in titles[1:]), len(parsed.text)], strict=False):
        yield Own(_words(parsed, title), *trim(parsed.text, title.end_char, end))


def questions(parsed: Parsed) -> Iterator[Own]:
    """Ask each question that is a paragraph or a heading for what follows, up to the next question or heading."""
    outer = [element for element in parsed.elements if element.kind in ("title", "paragraph", "question", "list_item")]
    asked = [(one, _ASKS.fullmatch(_words(parsed, one))) for one in outer]
    stops = [one for one, match in asked if match or one.kind == "title"]
    ends = {one.start_char: after.start_char for one, after in pairwise(stops)}
    for one, match in asked:
        if match:
            said = match[1] or match[2]
            yield Own(said, *trim(parsed.text, one.end_char, ends.get(one.start_char, len(parsed.text))))


def replies(parsed: Parsed) -> Iterator[Own]:
    """Ask each question of a dialogue for the next turn that names who asked, or else the next turn of two speakers."""
    turns = [element for element in parsed.elements if element.kind == "turn"]
    many = len({turn.attributes.get("speaker") for turn in turns}) > 2
    for at, turn in enumerate(turns):
        speaker, said = str(turn.attributes.get("speaker") or ""), _words(parsed, turn)
        if said.endswith("?") and speaker:
            after = turns[at + 1 : at + 1 + (_FAR if many else 1)]
            for other in after:
                if not many or speaker.casefold() in _words(parsed, other).casefold():
                    yield Own(said, *trim(parsed.text, other.start_char, other.end_char))
                    break


def rows(parsed: Parsed) -> Iterator[Own]:
    """Ask two cells of each row, those whose values are rarest in the table, with their columns for the row."""
    for table in (element for element in parsed.elements if element.kind == "table"):
        lines = list(_LINE.finditer(parsed.text, table.start_char, table.end_char))
        cells = [[cell.strip() for cell in line[0].strip().strip("|").split("|")] for line in lines]
        header, found = cells[0], Counter(cell for row in cells[2:] for cell in row)
        for line, row in zip(lines[2:], cells[2:], strict=True):
            if len(row) == len(header) and len(row) > 1:
                best = sorted(range(len(row)), key=lambda i, row=row: (not row[i], found[row[i]], i))[:2]  # type: ignore[misc]
                yield Own(" ".join(f"{header[i]} {row[i]}" for i in sorted(best)), *line.span())


def comments(parsed: Parsed) -> Iterator[Own]:
    """Ask each comment of code for the lines below it, up to an empty line or another comment."""
    said, body = list[str](), list[re.Match[str]]()
    for line in re.finditer(r"[^\n]*\n?", parsed.text):
        comment = _COMMENT.fullmatch(line[0].rstrip())
        if body and (comment or not line[0].strip()):
            if len(body) > 1 and len(said) > _WORDS:
                yield Own(" ".join(said), *trim(parsed.text, body[0].start(), body[-1].end()))
            said, body = [], []
        if comment:
            said += comment[1].strip(' */"-').split()
        elif line[0].strip() and said:
            body.append(line)
        elif not line[0].strip():
            said = []


def rare_sentences(parsed: Parsed) -> Iterator[Own]:
    """Ask the rarest words of each sentence for it."""
    return _rare(parsed.text, list(sentences(parsed)))


def rare_lines(parsed: Parsed) -> Iterator[Own]:
    """Ask the rarest words of each line for it."""
    return _rare(parsed.text, [Span(*line.span()) for line in _LINE.finditer(parsed.text)])


def _rare(text: str, units: Sequence[Span]) -> Iterator[Own]:
    said = [re.findall(r"[^\W_][\w'-]{2,}", text[slice(*unit)]) for unit in units]
    found = Counter(term for words in said for term in set(analyse(" ".join(words))))
    for unit, words in zip(units, said, strict=True):
        weighed = {word: max(found[term] for term in terms) for word in words if (terms := analyse(word))}
        chosen = sorted(weighed, key=lambda word, weighed=weighed: weighed[word])[:_WORDS]  # type: ignore[misc]
        if len(chosen) == _WORDS:
            yield Own(" ".join(word for word in dict.fromkeys(words) if word in chosen), *unit)


def _words(parsed: Parsed, element: Element) -> str:
    stated = element.attributes.get("text")
    return " ".join(str(stated or parsed.text[element.start_char : element.end_char]).strip("#=* \t\r\n").split())


MAKERS: dict[str, tuple[Maker, ...]] = {
    "code": (comments,),
    "structured": (headings, rare_sentences),
    "narrative": (rare_sentences,),
    "technical": (headings, rare_sentences),
    "faq": (questions,),
    "chat": (replies,),
    "email": (rare_sentences,),
    "table": (rows,),
    "slides": (headings,),
    "legal": (headings, rare_sentences),
    "log": (rare_lines,),
    "data": (rare_lines,),
    "reference": (headings,),
    "transcript": (rare_sentences,),
}


def ask(kind: str, documents: dict[str, Parsed], most: int) -> list[tuple[str, Own]]:
    """Return at most so many questions for each maker of a type, which their content chooses, each asked once only."""
    chosen: list[tuple[str, Own]] = []
    for make in MAKERS[kind]:
        found = [(uri, own) for uri, parsed in documents.items() for own in make(parsed)]
        times = Counter(own.text.casefold() for _, own in found)
        fit = [one for one in found if times[one[1].text.casefold()] == 1 and _fits(one[1])]
        chosen += sorted(fit, key=lambda one: key_of("own", one[0], *one[1]))[: most // len(MAKERS[kind])]
    return chosen


def _fits(own: Own) -> bool:
    return len(own.text.split()) > 1 and 20 <= own.end - own.start <= _LONGEST
