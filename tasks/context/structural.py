"""Structural context: the title, the headings above a chunk, and the block in which it begins.

If a chunk begins inside a table, a row, a speaker's turn or a list, its context repeats the header, the row's name, the
speaker, or what introduces the list.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from itertools import groupby, islice, takewhile
from typing import NamedTuple

from docmill.storage.schema import Element
from docmill.tasks.context.context_input import ContextInput
from docmill.tasks.context.contextualizers import Lead, nothing
from docmill.tasks.context.list_leads import GAP, LONGEST
from docmill.tasks.context.topic_line import LEAST_WORDS
from docmill.tasks.context.word_limits import cut_words, word_ends
from docmill.tasks.parse.passes.table_rows import column_names
from docmill.tasks.split.content.qa import asking_column
from docmill.tasks.split.content.table import in_line
from docmill.tasks.split.parts.blocks import announces
from docmill.tasks.split.spans.span import Span

_CELL = re.compile(r"(?<!\\)\|")
_LONGEST_ROW = 2000  # characters searched for the cell that names a row


def begun(setting: ContextInput, span: Span) -> str:
    """Return, one per line, what encloses the start of a chunk.

    That is a table's caption, header and row, the speaker, or the sentence above a list and the items above an item.
    """
    table = _holding(setting.tables, span)
    if table is not None:
        return _within_table(setting, table, span)
    turn = _holding(setting.turns, span)
    return _speaker(turn) if turn else setting.lists.above(span.start) or _caption_beyond(setting, span)


def _caption_beyond(setting: ContextInput, span: Span) -> str:
    """Return the caption below a table if a chunk ends within that table, else ""."""
    last = _holding(setting.tables, Span(span.end, span.end))
    bound = setting.captions.of.get(last.start_char) if last else None
    return _in_line(setting.parsed.text[bound.start_char : bound.end_char]) if bound else ""


def _within_table(setting: ContextInput, table: Element, span: Span) -> str:
    """Return the question of a row of questions and answers, otherwise the caption, the header and the row's name."""
    asking = asking_column(table)
    row = _row(setting, table, span, max(asking, 0))
    if row and asking >= 0:
        return row
    return "\n".join(filter(None, (_caption(setting, table), _header(setting, table, span), row)))


def _speaker(turn: Element) -> str:
    return ", ".join(str(turn.attributes[name]) for name in ("speaker", "time") if turn.attributes.get(name))


def _holding(elements: list[Element], span: Span) -> Element | None:
    """Return the element that a span begins inside, unless at its very start."""
    before = bisect_left(elements, span.start, key=lambda element: element.start_char) - 1
    return elements[before] if before >= 0 and span.start < elements[before].end_char else None


_GROUP_WORDS = 2  # that names of a group share at the start; a single one, such as "Total", may be part of each name


def _header(setting: ContextInput, table: Element, span: Span) -> str:
    """Return a table's column names or, if these are too long, those of columns that are filled in a span.

    If a name begins with the same words as the previous one, such as those of a group, these words are dropped before
    any columns are, provided that the span fills most columns.
    """
    cells = table.attributes.get("cells") or [[]]
    names = column_names(cells, table.attributes["header_rows"])
    if _fits(setting, header := in_line(names)):
        return header
    filled = _filled_columns(setting, table, span)
    own = [name for column, name in enumerate(names) if column in filled]
    shorter, own_shorter = ([_shortened(some, least) for least in (_GROUP_WORDS, 1)] for some in (names, own))
    tried = [*shorter, own, *own_shorter] if 2 * len(own) > len(names) else [own, *shorter, *own_shorter]
    return next((header for header in map(in_line, tried) if _fits(setting, header)), "")


def _fits(setting: ContextInput, header: str) -> bool:
    return setting.count(header) < max(setting.budget, setting.widest)


def _shortened(names: Sequence[str], least: int) -> list[str]:
    """Return names without the words that each shares with the start of the previous one, if at least `least`."""
    pairs = zip(["", *names], names, strict=False)
    return [" ".join(name.split()[_count_shared(before.split(), name.split()[:-1], least) :]) for before, name in pairs]


def _count_shared(one: list[str], other: list[str], least: int) -> int:
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return shared if shared >= least else 0


def _filled_columns(setting: ContextInput, table: Element, span: Span) -> set[int]:
    """Return the columns in which a span, of whole rows or a part of one, has text."""
    starts, cells = setting.rows_of(table), table.attributes["cells"]
    shift = min(max(len(cells) - len(starts), 0), 1)  # 0 if the rule below the header is a line but not a row
    first, last = (find(starts, end) + shift for find, end in ((bisect_right, span.start), (bisect_left, span.end)))
    if first < last:
        return set().union(*map(_filled, cells[max(1, first - 1) : last]))
    if not 0 < first <= len(cells):
        return set()
    left, right = (len(_CELL.findall(setting.parsed.text, starts[first - shift - 1], end)) for end in span)
    return _filled(cells[first - 1]) & {*range(max(0, left - 1), right)}


def _filled(row: Sequence[object]) -> set[int]:
    return {column for column, cell in enumerate(row) if str(cell).strip()}


def _row(setting: ContextInput, table: Element, span: Span, column: int) -> str:
    """Return the cell that names the row in which a span begins, "" if it begins at a row's start."""
    text, rows = setting.parsed.text, setting.rows_of(table)
    number = bisect_right(rows, span.start) - 1
    if number < 0 or rows[number] == span.start:
        return ""
    end = min(span.start, rows[number] + _LONGEST_ROW)
    bars = [match.start() for match in islice(_CELL.finditer(text, rows[number], end), column + 2)]
    if len(bars) < column + 2:
        return ""
    return " ".join(text[bars[column] + 1 : bars[column + 1]].split())


def _caption(setting: ContextInput, table: Element) -> str:
    """Return the caption of a table, or a short paragraph directly above that introduces it."""
    bound = setting.captions.of.get(table.start_char)
    if bound is not None:
        return _in_line(setting.parsed.text[bound.start_char : bound.end_char])
    elements = setting.parsed.elements
    number = bisect_left(elements, table.start_char, key=lambda element: element.start_char) - 1
    above = elements[number] if number >= 0 else None
    if above is None or above.kind != "paragraph" or above.start_char in setting.captions.below:
        return ""
    if not 0 <= table.start_char - above.end_char <= GAP:
        return ""
    text = setting.parsed.text[above.start_char : above.end_char]
    return _in_line(text) if len(text) <= LONGEST and announces(text) else ""


def _in_line(caption: str) -> str:
    # A bar in a caption would make it look like column names.
    return " ".join(caption.strip("*_ \n").replace("|", "/").split())


SEPARATOR = " \u203a "
COLUMNS = " | "  # between the column names of a table
_LEFT_OUT = "\u2026"
_SIGNS = "#=*_> \t"
"""Markup around a heading or a title, which is stripped."""


class _Content(NamedTuple):
    """The parts of a context: the path to a chunk, the block around its start, and the document's own topic line."""

    path: tuple[str, ...]
    within: tuple[str, ...]
    line: str


def structural(setting: ContextInput, span: Span, lead: Lead = nothing) -> str:
    """Return the document's title, the headings above a chunk, and what encloses its start.

    The enclosing part is the caption, header and row of a table, the speaker and time of a turn, the introduction of a
    list and the items above, the signatures of the classes and functions around a piece of code, or the lead of the
    region's strategy, such as the question of an answer. If neither title nor headings give the topic of the document,
    its topic line does.

    What the chunk itself says is not repeated. The context has at most the budget's tokens: middle headings are dropped
    first, and the innermost is kept longest. The header of a table is complete or left out, because a part of it would
    name the values of a row wrongly. A header that is longer than the budget may have `setting.widest` tokens, and the
    lines above it half of the budget.
    """
    return structural_within(setting, span, lead, setting.budget)


def structural_within(setting: ContextInput, span: Span, lead: Lead, budget: int) -> str:
    """Return the structural context in at most `budget` tokens, or as many as a table's header needs."""
    content = _content(setting, span, lead)
    key = (budget, setting.widest, content)
    if key not in setting.done:  # most chunks of a section share their context, and counting tokens is slow
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
    # A strategy knows better than the elements what its chunks begin inside.
    within = (lead(span) or begun(setting, span)).splitlines()
    line = [] if known else [setting.about(span)]
    new = _Said(setting.parsed.text[slice(*span)]).without
    above = _without_repeats(new(path, set()))
    return _Content(above, tuple(new(within, known)), "".join(new(line, set())))


class _Said:
    """What a chunk says itself: its lines, and all its words in one line."""

    def __init__(self, text: str) -> None:
        self._lines = {line.strip(_SIGNS).casefold() for line in text.splitlines()}
        self._words = " ".join(text.split()).casefold()

    def without(self, names: Sequence[str], known: Collection[str]) -> list[str]:
        """Return the names that are neither in the chunk nor in `known`."""
        return [name for name in names if name.casefold() not in known and not self._has(name.casefold())]

    def _has(self, name: str) -> bool:
        """Return whether the chunk has this line, or contains a name of four words or more."""
        return name in self._lines or (len(word_ends(name)) >= LEAST_WORDS and name in self._words)


def _adds(title: str, known: set[str]) -> bool:
    """Return whether a title adds anything to the headings; many documents begin with their title as a heading."""
    return title != "" and title.casefold() not in known


def _without_repeats(names: list[str]) -> tuple[str, ...]:
    """Return names, without repetitions of the previous one."""
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
    """Return the tokens that a line with a table's column names needs; 0 if it does not fit."""
    needed = setting.count(columns) + 1 if columns else 0
    return needed if needed <= budget else 0


def _grown(setting: ContextInput, columns: str, budget: int) -> int:
    """Return the budget extended for a header that is too long for it; 0 if the header exceeds `widest`."""
    needed = setting.count(columns) + 1 if columns else 0
    return needed + budget // 2 if budget < needed <= setting.widest else 0


def _with_below(setting: ContextInput, context: str, line: str, budget: int) -> str:
    """Return a context with as much of a line below it as the budget allows; a table's header is never cut."""
    words = line if COLUMNS in line else cut_words(line, budget - setting.count(context), setting.counter)
    longer = "\n".join(filter(None, (context, words)))
    return longer if setting.count(longer) <= budget else context


def _with_above(setting: ContextInput, context: str, line: str, budget: int) -> str:
    """Return a context with as much of a line above it as the budget allows, unless it is too little to make sense."""
    words = cut_words(line, budget - setting.count(context), setting.counter)
    if words != line and len(word_ends(words)) < LEAST_WORDS:
        return context
    longer = "\n".join(filter(None, (words, context)))
    return longer if setting.count(longer) <= budget else context


def _path(setting: ContextInput, names: list[str], budget: int) -> str:
    """Return names as a path that fits, dropping middle ones, or else the start of the last name."""
    count = setting.count
    if count(SEPARATOR.join(names)) <= budget:
        return SEPARATOR.join(names)
    for dropped in range(1, len(names) - 1):
        short = SEPARATOR.join([names[0], _LEFT_OUT, *names[1 + dropped :]])
        if count(short) <= budget:
            return short
    return names[-1] if count(names[-1]) <= budget else cut_words(names[-1], budget, setting.counter)
