"""Structural context: the title, the headings above a chunk, and what it begins within."""

from collections.abc import Iterable

from tasks.context.begun import begun
from tasks.context.setting import Setting, cut_words
from tasks.split.span import Span

SEPARATOR = " \u203a "
_LEFT_OUT = "\u2026"


def structural(setting: Setting, span: Span) -> str:
    """Return the document's title, the headings above a chunk, and what it begins within.

    That is the caption, header and row of a table, the speaker and time of a turn, or the signatures of the classes
    and functions around a piece of code; or what the strategy of the region says, such as the question of an answer.
    Where neither title nor headings tell what the document is about, its own line on that does.

    What the chunk itself says is not repeated. The whole has at most the budget's tokens: middle
    headings are left out first, the innermost is kept longest.
    """
    headings = [setting.outline.headings[number] for number in setting.outline.over(*span)]
    names = [heading.text for heading in headings if heading.start < span.start]
    said = {heading.text.casefold() for heading in headings}
    title = " ".join(setting.parsed.title.split())
    if title and title.casefold() not in said:
        names.insert(0, title)
    more = [*(setting.lead(span) or begun(setting, span)).splitlines(), "" if names or said else setting.about(span)]
    names += setting.enclosing.signatures(span)
    key = (*names, "", *more)
    if key not in setting.done:
        setting.done[key] = fill(setting, _path(setting, list(filter(None, names)), setting.budget), more)
    return setting.done[key]


def fill(setting: Setting, context: str, lines: Iterable[str]) -> str:
    """Return a context with more lines below it, as many of their words as the budget allows."""
    for line in lines:
        words = cut_words(line, setting.budget - setting.count(context), setting.counter)
        longer = "\n".join(filter(None, (context, words)))
        context = longer if setting.count(longer) <= setting.budget else context
    return context


def _path(setting: Setting, names: list[str], budget: int) -> str:
    count = setting.count
    if count(SEPARATOR.join(names)) <= budget:
        return SEPARATOR.join(names)
    for dropped in range(1, len(names) - 1):
        short = SEPARATOR.join([names[0], _LEFT_OUT, *names[1 + dropped :]])
        if count(short) <= budget:
            return short
    return names[-1] if count(names[-1]) <= budget else cut_words(names[-1], budget, setting.counter)
