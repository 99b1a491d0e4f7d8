"""Comments that say what a file of code is about: before all code, or of a definition that is most of it."""

import re
from collections.abc import Iterator

from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.syntax.definitions import definitions_of

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
_SEARCHED = 4000


def comments(text: str, language: str) -> Iterator[Span]:
    """Yield what they say, without the signs that enclose them."""
    end, match = min(len(text), _SEARCHED), _BEFORE.match(text)
    while match and (comment := _COMMENT.match(text, match.end(), end)):
        yield Span(*comment.span(comment.lastindex or 0))
        match = _BEFORE.match(text, comment.end(), end)
    definitions = definitions_of(text, language)
    for one in definitions.all if definitions else ():
        most = 2 * (one.end - one.start) >= len(text) and one.start <= _SEARCHED
        if most and (own := _ABOVE.search(text, 0, one.start) or _WITHIN.match(text, one.start, one.start + _SEARCHED)):
            yield Span(*own.span(own.lastindex or 0))
