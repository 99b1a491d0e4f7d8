"""Context input: the document and the token budget from which a contextualizer writes contexts."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from docmill.storage.schema import Element, Parsed
from docmill.tasks.context.document_view import Shown
from docmill.tasks.context.list_leads import ListLeads
from docmill.tasks.context.topic_line import about
from docmill.tasks.counting.counter import Counter
from docmill.tasks.model.prompt import WINDOW_TOKENS
from docmill.tasks.split.parts.captions import Captions, bound_captions
from docmill.tasks.split.parts.outline import Outline
from docmill.tasks.split.spans.cut_places import table_rows
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.syntax.definitions import Enclosing

TOPIC_REACH = 4_000
"""The characters, some 1,000 tokens, after its first sentence for which that sentence gives the topic of a text.

A docstring gives the topic of a whole source file. A long text without a title moves on to other topics: one file may
contain twenty articles, and the first sentence of the first would be noise in the contexts of the others; editing it
would change all of them. With a shorter reach, the second page of an article would lack its topic.
"""


@dataclass(frozen=True)
class ContextInput:
    """The inputs of a contextualizer: a document, its headings, definitions and tables, and a token budget.

    The header of a table that is longer than the budget may have up to `widest` tokens, 0 for none. `shown` is what a
    language model sees. `rows`, `done` and `counted` are caches.
    """

    parsed: Parsed
    outline: Outline
    enclosing: Enclosing
    counter: Counter
    budget: int
    shown: Shown
    tables: list[Element] = field(default_factory=list)
    turns: list[Element] = field(default_factory=list)
    rows: dict[int, list[int]] = field(default_factory=dict)
    done: dict[tuple[Any, ...], str] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    widest: int = 0

    def with_budget(self, tokens: int) -> "ContextInput":
        """Return the same input with another budget."""
        return replace(self, budget=tokens)

    def with_widest(self, tokens: int) -> "ContextInput":
        """Return the same input with another limit for table headers."""
        return replace(self, widest=tokens)

    @cached_property
    def title(self) -> str:
        """Return the document's title in one line."""
        return " ".join(self.parsed.title.split())

    @cached_property
    def captions(self) -> Captions:
        """Return the captions of the document's tables."""
        return bound_captions(self.parsed)

    @cached_property
    def lists(self) -> ListLeads:
        """Return the document's lists."""
        return ListLeads(self.parsed)

    @cached_property
    def own_line(self) -> tuple[str, int]:
        """Return the document's topic line and its end."""
        return about(self.parsed)

    def about(self, span: Span) -> str:
        """Return the document's topic line for a span within its reach but after it, else ""."""
        line, end = self.own_line
        # A chunk that contains the line need not repeat it in its context.
        return line if end <= span.start < self._topic_end else ""

    @cached_property
    def _topic_end(self) -> int:
        """Return the end of the topic line's reach: at most the end of its section, and `TOPIC_REACH` characters."""
        end, elements = self.own_line[1], self.parsed.elements
        whole = len(self.parsed.text) + 1
        # A description from the metadata is not in the text, so it is for the whole file.
        if not end or (elements and elements[0].kind == "code"):
            return whole
        return min(end + TOPIC_REACH + 1, self.outline.section_end(self.outline.at(end - 1), whole))

    def rows_of(self, table: Element) -> list[int]:
        """Return the starts of a table's rows, without the first."""
        if table.start_char not in self.rows:
            self.rows[table.start_char] = [
                place for place, _ in table_rows(self.parsed.text, Span(table.start_char, table.end_char))
            ]
        return self.rows[table.start_char]

    def headings(self, span: Span) -> tuple[str, ...]:
        """Return the headings above a span, and the signatures of the definitions around its start."""
        titles = (self.outline.headings[number].text for number in self.outline.over(*span))
        return (*titles, *self.enclosing.signatures(span))

    def count(self, text: str) -> int:
        """Return the number of tokens of a context."""
        # Many chunks share their headings.
        if text not in self.counted:
            self.counted[text] = self.counter.count(text)
        return self.counted[text]


def context_input_of(
    parsed: Parsed, outline: Outline, counter: Counter, budget: int, window: int = WINDOW_TOKENS
) -> ContextInput:
    """Return the context input of a document; a language model sees at most `window` tokens of it at once."""
    tables = [e for e in parsed.elements if e.kind == "table" and e.attributes.get("header_rows")]
    turns = [e for e in parsed.elements if e.kind == "turn"]
    shown = Shown(parsed, outline, window)
    return ContextInput(parsed, outline, Enclosing(parsed), counter, budget, shown, tables, turns)
