"""Cut places: where prose, code and tables may be cut, and how readily."""

import re
from collections.abc import Iterator
from itertools import takewhile

from docmill.storage.search.sentences.sentence_spans import ends_on_purpose, sentence_starts
from docmill.tasks.split.spans.pieces import GLUE, LINE, PART, SENTENCE, TOP_LEVEL, WORD
from docmill.tasks.split.spans.span import Span

_NEWLINE = re.compile(r"\r\n?|\n")
_FENCE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})")
_COMMENT = re.compile(r"[ \t]*(?:#(?!include|define|if|end)|//|/\*|\*(?!\w)|--|;;|@\w|\"\"\"|%|<!--)")
_CLOSING = re.compile(r"[ \t]*[)\]}]|[ \t]*(?:end|fi|done|esac|else|elif|except|finally|catch)\b")
_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-[-| \t:+=]*$")


_ROW_TAG = re.compile(r"<tr\b", re.IGNORECASE)
_HEADED = re.compile(r"<tr\b[^<>]*>(?:\s*<th\b[^<>]*>(?:(?!<td\b).)*?(?=</tr|<tr|<tbody))", re.IGNORECASE | re.DOTALL)
_HEADER_LINES = 3  # of a table that may have the rule below its header: a grid has another rule above the header


def _lines(text: str, span: Span) -> Iterator[tuple[int, str]]:
    start = span.start
    for match in _NEWLINE.finditer(text, *span):
        yield start, text[start : match.start()]
        start = match.end()
    yield start, text[start : span.end]


def code_lines(text: str, span: Span) -> list[tuple[int, int]]:
    """Return the starts of lines: top-level parts have the loosest seams, comments and closing brackets the firmest."""
    found: list[tuple[int, int]] = []
    before, blank = "", False
    for start, line in _lines(text, span):
        if not line.strip():
            blank = True
            continue
        if start > span.start:
            found.append((start, _seam(before, line, blank)))
        before, blank = line, False
    return found


def _seam(before: str, line: str, blank: bool) -> int:
    if _FENCE.match(before) or (_FENCE.match(line) and not blank):
        return GLUE
    if blank:
        return PART if line[0] in " \t" else TOP_LEVEL
    if _COMMENT.match(before) or _CLOSING.match(line):
        return WORD
    return LINE


def table_rows(text: str, span: Span) -> list[tuple[int, int]]:
    """Return the starts of rows; the first row stays with the header, if any."""
    rows, ruled = _rows(text, span)
    return [(start, GLUE if i <= ruled + 1 and ruled >= 0 else LINE) for i, start in enumerate(rows) if i]


def rows_and_header(text: str, span: Span) -> list[tuple[int, int]]:
    """Return the starts of rows; the header and the rule below it count as one."""
    rows, ruled = _rows(text, span)
    return [
        (start, GLUE if i == ruled + 1 and ruled >= 0 else LINE) for i, start in enumerate(rows) if i > max(0, ruled)
    ]


def rules(text: str, span: Span) -> list[tuple[int, int]]:
    """Return the starts of lines that only separate a header from the rows below."""
    return [(start, GLUE) for start, line in _lines(text, span) if start > span.start and _RULE.match(line)]


def _rows(text: str, span: Span) -> tuple[list[int], int]:
    """Return the starts of lines that are not blank, and which of the first three is a rule, or -1.

    The rows of an HTML table begin at their tags; the first one is its header.
    """
    if text.startswith("<", span.start):
        found = [match.start() for match in _ROW_TAG.finditer(text, *span)]
        named = sum(1 for _ in takewhile(lambda at: _HEADED.match(text, at), found))
        return [span.start, *found[max(1, named) :]], 0
    rows = [(start, line) for start, line in _lines(text, span) if line.strip()]
    return [start for start, _ in rows], next(
        (i for i, (_, line) in enumerate(rows[:_HEADER_LINES]) if _RULE.match(line)), -1
    )


_LINE_END = re.compile(r"\r\n?|\n")
_QUOTE_MARKS = " \t>"


def prose_cuts(text: str, span: Span) -> list[tuple[int, int]]:
    """Return the starts of lines and sentences.

    A line that is short or ends in a full stop was ended on purpose. Any other line may merely have reached the margin,
    so the seam after it is tighter than between two sentences.
    """
    cuts = dict(_prose_lines(text, span))
    for position in sentence_starts(text, span.start, span.end):
        cuts[position] = max(cuts.get(position, SENTENCE), SENTENCE)
    return sorted(cuts.items())


def _prose_lines(text: str, span: Span) -> list[tuple[int, int]]:
    found, start = [], span.start
    for match in _LINE_END.finditer(text, *span):
        line = text[start : match.start()].strip(_QUOTE_MARKS)
        start = match.end()
        found.append((start, (LINE if line else PART) if ends_on_purpose(line) else WORD))
    return found
