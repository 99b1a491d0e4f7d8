"""Code comments: those that say what a source file is about, at its start or at its largest definition."""

import re
from collections.abc import Iterator

from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.syntax.definitions import Definition, definitions_of

_LINES = r"(?:[ \t]*(?:#+(?=\s)|//|--|;+|%+)[^\n]*(?:\n|\Z))+"
_BEFORE = re.compile(
    r"(?:\s+|#![^\n]*\n|<\?(?:php|hh)\b|(?:package|module|namespace)\b[^\n]*\n|['\"]use strict['\"];?|---[ \t]*\n)*"
)
_COMMENT = re.compile(
    r"/\*+(.+?)\*/|<!--(.+?)-->|\{-(.+?)-\}|\(\*(.+?)\*\)|<#(.+?)#>|--\[\[(.+?)\]\]"
    rf"|({_LINES})|[rRuU]?(?:\"\"\"|''')(.+?)(?:\"\"\"|'''|\Z)",
    re.DOTALL,
)
_ABOVE = re.compile(
    rf"(?:/\*+((?:(?!\*/).)+)\*/\s*|^({_LINES}))(?:[ \t]*(?:@|#?\[)[^\n]*\n)*[ \t]*\Z", re.DOTALL | re.MULTILINE
)
_WITHIN = re.compile(r"(?:@[^\n]*\n[ \t]*)*[^\n]*:[ \t]*\n\s*[rRuU]?(?:\"\"\"|''')(.+?)(?:\"\"\"|''')", re.DOTALL)
_SEARCHED = 4000  # characters from the start or from a definition; enough for a licence and the comment after it
_MOST = 0.5  # a definition that is at least this fraction of a file is what the file is about


def comments(text: str, language: str) -> Iterator[Span]:
    """Yield the spans of comment text, without the comment markers."""
    yield from _before_code(text)
    definitions = definitions_of(text, language)
    for one in definitions.all if definitions else ():
        comment = _comment_of(text, one.start) if _is_most_of(text, one) else None
        if comment:
            yield _inside(comment)


def documented(text: str, language: str) -> Iterator[tuple[Span, Span]]:
    """Yield the comment of each definition that has one, without its markers, and the code below the comment."""
    definitions = definitions_of(text, language)
    for one in definitions.all if definitions else ():
        if comment := _comment_of(text, one.start):
            yield _inside(comment), Span(min(max(one.start, comment.end()), one.end), one.end)


def _before_code(text: str) -> Iterator[Span]:
    end, match = min(len(text), _SEARCHED), _BEFORE.match(text)
    while match and (comment := _COMMENT.match(text, match.end(), end)):
        yield _inside(comment)
        match = _BEFORE.match(text, comment.end(), end)


def _is_most_of(text: str, one: Definition) -> bool:
    return one.end - one.start >= _MOST * len(text) and one.start <= _SEARCHED


def _comment_of(text: str, start: int) -> re.Match[str] | None:
    """Return the comment directly above the definition that begins at `start`, else its docstring."""
    return _ABOVE.search(text, 0, start) or _WITHIN.match(text, start, start + _SEARCHED)


def _inside(comment: re.Match[str]) -> Span:
    return Span(*comment.span(comment.lastindex or 0))
