"""Structural context: the title, the headings above a chunk, and what it begins within."""

from bisect import bisect_left
from collections.abc import Sequence

from tasks.context.setting import Setting, cut_words
from tasks.split.span import Span

SEPARATOR = " \u203a "
_LEFT_OUT = "\u2026"


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
