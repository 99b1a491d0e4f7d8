"""Setting: what contextualizers read of a document, and how many tokens they may say."""

from collections.abc import Callable
from dataclasses import dataclass, field

from storage.schema import Element, Parsed
from tasks.context.about import about
from tasks.counter import Counter
from tasks.split.definitions import Enclosing
from tasks.split.outline import Outline
from tasks.split.span import Span


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
    turns: list[Element] = field(default_factory=list)
    rows: dict[int, list[int]] = field(default_factory=dict)
    line: tuple[str, int] | None = None
    lead: Callable[[Span], str] = nothing
    done: dict[tuple[str, ...], str] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)

    def about(self, span: Span) -> str:
        """Return the document's own line on what it is about, for a span after that line."""
        if self.line is None:
            self.line = about(self.parsed)
        said, end = self.line
        return said if span.start >= end else ""

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


def setting_of(parsed: Parsed, outline: Outline, counter: Counter, budget: int) -> Setting:
    """Return what contextualizers read of a document."""
    tables = [e for e in parsed.elements if e.kind == "table" and e.attributes.get("header_rows")]
    turns = [e for e in parsed.elements if e.kind == "turn"]
    return Setting(parsed, outline, Enclosing(parsed), counter, budget, tables, turns)


def cut_words(text: str, budget: int, counter: Counter) -> str:
    """Return as many whole words from the front of a text as a number of tokens allows."""
    words = text.split()
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if counter.count(" ".join(words[:middle])) <= budget else (low, middle - 1)
    return " ".join(words[:low]).rstrip(" |")
