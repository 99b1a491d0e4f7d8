"""Structural context: the title, the headings above a chunk, and the block around its start."""

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import NamedTuple

from docmill.tasks.context.context_input import ContextInput
from docmill.tasks.context.contextualizer import Lead, nothing
from docmill.tasks.context.enclosing_block import begun
from docmill.tasks.context.topic_line import LEAST_WORDS
from docmill.tasks.context.word_limits import cut_words, word_ends
from docmill.tasks.split.spans.span import Span

SEPARATOR = " \u203a "
COLUMNS = " | "  # between the names of a table's columns
_LEFT_OUT = "\u2026"
_SIGNS = "#=*_> \t"
"""Markup around a heading or a title, which is stated without it."""


class _Content(NamedTuple):
    """The parts of a context: the path to a chunk, the block around its start, and the document's own topic line."""

    path: tuple[str, ...]
    within: tuple[str, ...]
    line: str


def structural(setting: ContextInput, span: Span, lead: Lead = nothing) -> str:
    """Return the document's title, the headings above a chunk, and what encloses its start.

    That is the caption, header and row of a table, the speaker and time of a turn, or the signatures of the classes and
    functions around a piece of code; or the lead of the region's strategy, such as the question of an answer. If
    neither title nor headings tell what the document is about, its topic line does.

    What the chunk itself says is not repeated. The context has at most the budget's tokens: middle headings are left
    out first, and the innermost is kept longest. The header of a table names all columns, or is left out: a part of
    it would name the values of a row wrongly. One that is longer than the budget has `setting.widest` tokens, and what
    stands above it half of the budget.
    """
    return structural_within(setting, span, lead, setting.budget)


def structural_within(setting: ContextInput, span: Span, lead: Lead, budget: int) -> str:
    """Return the structural context in at most `budget` tokens, or those that the header of a table needs."""
    content = _content(setting, span, lead)
    key = (budget, setting.widest, content)
    if key not in setting.done:  # the chunks of a section mostly share their context, and counting tokens is slow
        setting.done[key] = _written(setting, content, budget)
    return setting.done[key]


def _content(setting: ContextInput, span: Span, lead: Lead) -> _Content:
    headings = [setting.outline.headings[number] for number in setting.outline.over(*span)]
    known = {heading.text.casefold() for heading in headings}
    path = [heading.text for heading in headings if heading.start < span.start]
    if _adds(setting.title, known):
        path.insert(0, setting.title)
        known.add(setting.title.casefold())
    path += setting.enclosing.signatures(span)
    # A strategy knows better than the elements what its chunks begin in.
    within = (lead(span) or begun(setting, span)).splitlines()
    line = [] if known else [setting.about(span)]
    new = _Said(setting.parsed.text[slice(*span)]).without
    above = _without_repeats(new(path, set()))
    return _Content(above, tuple(new(within, known)), "".join(new(line, set())))


class _Said:
    """What a chunk says itself: its lines, and its words in one line."""

    def __init__(self, text: str) -> None:
        self._lines = {line.strip(_SIGNS).casefold() for line in text.splitlines()}
        self._words = " ".join(text.split()).casefold()

    def without(self, names: Sequence[str], known: Collection[str]) -> list[str]:
        """Return the names that neither the chunk nor `known` has."""
        return [name for name in names if name.casefold() not in known and not self._has(name.casefold())]

    def _has(self, name: str) -> bool:
        """Return whether the chunk has such a line, or a name of four words or more within one."""
        return name in self._lines or (len(word_ends(name)) >= LEAST_WORDS and name in self._words)


def _adds(title: str, known: set[str]) -> bool:
    """Return whether a title adds anything to the headings; a document often begins with its title as a heading."""
    return title != "" and title.casefold() not in known


def _without_repeats(names: list[str]) -> tuple[str, ...]:
    """Return names without those that repeat the one before."""
    return tuple(name for name, _ in groupby(names)) if len(names) > 1 else tuple(names)


def _written(setting: ContextInput, content: _Content, budget: int) -> str:
    columns = next((one for one in content.within if COLUMNS in one), "")
    budget = max(budget, _grown(setting, columns, budget))
    left = budget - _needed(setting, columns, budget)
    context = _path(setting, [name for name in content.path if name], left)
    for one in content.within:
        left = budget if one == columns else left
        context = _with_below(setting, context, one, left)
    return context if content.line in context else _with_above(setting, context, content.line, budget)


def _needed(setting: ContextInput, columns: str, budget: int) -> int:
    """Return the tokens that the names of a table's columns need in a line of their own; 0 if they do not fit."""
    needed = setting.count(columns) + 1 if columns else 0
    return needed if needed <= budget else 0


def _grown(setting: ContextInput, columns: str, budget: int) -> int:
    """Return the budget with room for a header that is longer than it; 0 if the header is too long for any."""
    needed = setting.count(columns) + 1 if columns else 0
    return needed + budget // 2 if budget < needed <= setting.widest else 0


def _with_below(setting: ContextInput, context: str, line: str, budget: int) -> str:
    """Return a context with as many words of a line below it as the budget allows, of a table's header all or none."""
    words = line if COLUMNS in line else cut_words(line, budget - setting.count(context), setting.counter)
    longer = "\n".join(filter(None, (context, words)))
    return longer if setting.count(longer) <= budget else context


def _with_above(setting: ContextInput, context: str, line: str, budget: int) -> str:
    """Return a context with as many words of a line above it as the budget allows, but not too few to make sense."""
    words = cut_words(line, budget - setting.count(context), setting.counter)
    if words != line and len(word_ends(words)) < LEAST_WORDS:
        return context
    longer = "\n".join(filter(None, (words, context)))
    return longer if setting.count(longer) <= budget else context


def _path(setting: ContextInput, names: list[str], budget: int) -> str:
    """Return names as a path that fits, without the middle ones, or else the beginning of the last name."""
    count = setting.count
    if count(SEPARATOR.join(names)) <= budget:
        return SEPARATOR.join(names)
    for dropped in range(1, len(names) - 1):
        short = SEPARATOR.join([names[0], _LEFT_OUT, *names[1 + dropped :]])
        if count(short) <= budget:
            return short
    return names[-1] if count(names[-1]) <= budget else cut_words(names[-1], budget, setting.counter)
