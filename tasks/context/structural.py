"""Structural context: the title, the headings above a chunk, and what it begins within."""

from docmill.tasks.context.enclosing_block import begun
from docmill.tasks.context.setting import Setting
from docmill.tasks.context.topic_line import LEAST_WORDS
from docmill.tasks.context.word_limits import cut_words, word_ends
from docmill.tasks.split.spans.span import Span

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
    above = {name.casefold() for name in names} | said
    more = [one for one in (setting.lead(span) or begun(setting, span)).splitlines() if one.casefold() not in above]
    line = "" if names or said else setting.about(span)
    names += setting.enclosing.signatures(span)
    names = [name for i, name in enumerate(names) if not i or name != names[i - 1]]
    key = (line, *names, "", *more)
    if key not in setting.done:
        context = _path(setting, list(filter(None, names)), setting.budget)
        for one in more:
            context = _joined(setting, context, one)
        setting.done[key] = context if line in context else _joined(setting, context, line, above=True)
    return setting.done[key]


def _joined(setting: Setting, context: str, line: str, above: bool = False) -> str:
    """Return a context with a line more, of which as many words are said as the budget allows, four or none `above`."""
    words = cut_words(line, setting.budget - setting.count(context), setting.counter)
    if above and words != line and len(word_ends(words)) < LEAST_WORDS:
        return context
    longer = "\n".join(filter(None, (words, context) if above else (context, words)))
    return longer if setting.count(longer) <= setting.budget else context


def _path(setting: Setting, names: list[str], budget: int) -> str:
    count = setting.count
    if count(SEPARATOR.join(names)) <= budget:
        return SEPARATOR.join(names)
    for dropped in range(1, len(names) - 1):
        short = SEPARATOR.join([names[0], _LEFT_OUT, *names[1 + dropped :]])
        if count(short) <= budget:
            return short
    return names[-1] if count(names[-1]) <= budget else cut_words(names[-1], budget, setting.counter)
