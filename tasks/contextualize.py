"""Contextualize: what is said before a chunk for retrieval, so that it can be understood alone."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from storage.schema import Element, Parsed
from tasks.counter import Counter
from tasks.split.central import most_central, prose_sentences
from tasks.split.definitions import Enclosing
from tasks.split.outline import Outline
from tasks.split.span import Span

SEPARATOR = " \u203a "
_LEFT_OUT = "\u2026"
_AROUND = 1200


def nothing(_span: Span) -> str:
    """Return the lead where a strategy has none."""
    return ""


@dataclass(slots=True)
class Setting:
    """What contextualizers read: a document, its headings, definitions and tables, and how many tokens they may use.

    `lead` is what the strategy of the region at hand wants said of a chunk.
    """

    parsed: Parsed
    outline: Outline
    enclosing: Enclosing
    counter: Counter
    budget: int
    tables: list[Element] = field(default_factory=list)
    lead: Callable[[Span], str] = nothing
    done: dict[tuple[str, ...], str] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)

    def headings(self, span: Span) -> tuple[str, ...]:
        """Return the headings above a span and the signatures of the definitions that it begins within."""
        titles = (self.outline.headings[number].text for number in self.outline.over(*span))
        return (*titles, *self.enclosing.signatures(span))

    def count(self, text: str) -> int:
        """Return the number of tokens of a context."""
        if text not in self.counted:
            self.counted[text] = self.counter.count(text)
        return self.counted[text]


@dataclass(frozen=True, slots=True)
class Contextualizer:
    """A way to say where a chunk stands; raise `version` whenever `say` gives another text than before."""

    name: str
    version: int
    say: Callable[[Setting, Span], str]


def _none(_setting: Setting, _span: Span) -> str:
    return ""


def structural(setting: Setting, span: Span) -> str:
    """Return the document's title, the headings above a chunk, and what it begins within.

    That is the header of a table, or the signatures of the classes and functions around a piece of code.

    What the chunk itself says is not repeated. The whole has at most the budget's tokens: middle
    headings are left out first, the innermost is kept longest.
    """
    headings = [setting.outline.headings[number] for number in setting.outline.over(*span)]
    names = [heading.text for heading in headings if heading.start < span.start]
    said = {heading.text.casefold() for heading in headings}
    title = " ".join(setting.parsed.title.split())
    if title and title.casefold() not in said:
        names.insert(0, title)
    names += setting.enclosing.signatures(span)
    header = setting.lead(span) or _header(setting, span)
    key = (*names, "", header)
    if key not in setting.done:
        setting.done[key] = _shorten(setting, names, header)
    return setting.done[key]


def _header(setting: Setting, span: Span) -> str:
    """Return the header row of the table that a chunk begins within."""
    before = bisect_left(setting.tables, span.start, key=lambda table: table.start) - 1
    if before < 0 or span.start >= setting.tables[before].end:
        return ""
    cells = setting.tables[before].attributes.get("cells") or [[]]
    return " | ".join(" ".join(str(cell).split()) for cell in cells[0] if str(cell).strip())


def window(setting: Setting, span: Span) -> str:
    """Return the structural context, and of the text before and of that after a chunk its most central sentence.

    Of the tokens that the structural context leaves, each gets half. The text looked at ends at front matter.
    """
    path = structural(setting, span)
    text, front = setting.parsed.text, setting.parsed.elements[:1]
    first = front[0].end if front and front[0].kind == "front_matter" else 0
    sides = (max(first, span.start - _AROUND), span.start), (span.end, min(len(text), span.end + _AROUND))
    left = (setting.budget - setting.count(path)) // 2 - 1
    said = [cut_words(_central(text, *side), left, setting.counter) for side in sides] if left > 0 else []
    together = "\n".join(filter(None, (path, *said)))
    return together if setting.count(together) <= setting.budget else path


def _central(text: str, start: int, end: int) -> str:
    """Return the most central sentence of a stretch whose ends may cut sentences."""
    sentences = prose_sentences(text, start, end) if text[start:end].strip() else []
    return text[slice(*sentences[most_central(text, sentences, 1)[0]])] if sentences else ""


def _shorten(setting: Setting, names: Sequence[str], header: str) -> str:
    path = _path(setting, list(filter(None, names)), setting.budget)
    if not header:
        return path
    left = setting.budget - setting.count(path)
    columns = cut_words(header, left, setting.counter)
    together = "\n".join(filter(None, (path, columns)))
    return together if setting.count(together) <= setting.budget else path


def _path(setting: Setting, names: list[str], budget: int) -> str:
    count = setting.count
    if count(SEPARATOR.join(names)) <= budget:
        return SEPARATOR.join(names)
    for dropped in range(1, len(names) - 1):
        short = SEPARATOR.join([names[0], _LEFT_OUT, *names[1 + dropped :]])
        if count(short) <= budget:
            return short
    return names[-1] if count(names[-1]) <= budget else cut_words(names[-1], budget, setting.counter)


def cut_words(text: str, budget: int, counter: Counter) -> str:
    """Return as many whole words from the front of a text as a number of tokens allows."""
    words = text.split()
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if counter.count(" ".join(words[:middle])) <= budget else (low, middle - 1)
    return " ".join(words[:low]).rstrip(" |")


CONTEXTUALIZERS: dict[str, Contextualizer] = {
    one.name: one
    for one in (
        Contextualizer("none", 1, _none),
        Contextualizer("structural", 2, structural),
        Contextualizer("window", 1, window),
    )
}


def setting_of(parsed: Parsed, outline: Outline, counter: Counter, budget: int) -> Setting:
    """Return what contextualizers read of a document."""
    tables = [e for e in parsed.elements if e.kind == "table" and e.attributes.get("header_rows")]
    return Setting(parsed, outline, Enclosing(parsed), counter, budget, tables)
