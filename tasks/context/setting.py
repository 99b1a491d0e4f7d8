"""Setting: what contextualizers read of a document, and how many tokens they may say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from docmill.storage.schema import Element, Parsed
from docmill.tasks.context.document_view import Shown
from docmill.tasks.context.topic_line import about
from docmill.tasks.counting.counter import Counter
from docmill.tasks.model.prompt import Prompt
from docmill.tasks.split.parts.outline import Outline
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.syntax.definitions import Enclosing


def nothing(_span: Span) -> str:
    """Return the lead where a strategy has none."""
    return ""


@dataclass(slots=True)
class Setting:
    """What contextualizers read: a document, its headings, definitions and tables, and how many tokens they may use.

    `lead` is what the strategy of the region at hand wants said of a chunk. `shown` is what a language model sees.
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
    line: tuple[str, int] | None = None
    lead: Callable[[Span], str] = nothing
    done: dict[tuple[str, ...], str] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    half: "Setting | None" = None

    def halved(self) -> "Setting":
        """Return the same with half of the budget."""
        if self.half is None:
            self.half = self.with_budget(self.budget // 2)
        self.half.lead = self.lead
        return self.half

    def with_budget(self, tokens: int) -> "Setting":
        """Return the same with another budget."""
        return replace(self, budget=tokens, done={}, half=None)

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
    """A way to say where a chunk stands; raise `version` whenever `say` gives another text than before.

    `asks(setting, spans, number)` are the prompts to a language model whose answers are said after that of a
    chunk, given all of a document's chunks. One that `sums_up` comes with a summary of each section and document.
    """

    name: str
    version: int
    say: Callable[[Setting, Span], str]
    asks: Callable[[Setting, Sequence[Span], int], tuple[Prompt, ...]] | None = None
    sums_up: bool = False


def setting_of(parsed: Parsed, outline: Outline, counter: Counter, budget: int, window: int = 16_000) -> Setting:
    """Return what contextualizers read of a document; a language model sees at most `window` tokens of it."""
    tables = [e for e in parsed.elements if e.kind == "table" and e.attributes.get("header_rows")]
    turns = [e for e in parsed.elements if e.kind == "turn"]
    shown = Shown(parsed, outline, window)
    return Setting(parsed, outline, Enclosing(parsed), counter, budget, shown, tables, turns)
