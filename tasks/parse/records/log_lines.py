"""Log files: the file itself, with an element for every entry; a stack trace belongs to the entry above it."""

import re
from collections.abc import Iterator
from typing import Any

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.plain_text import numbered

_TIME = (
    r"\d{4}[-/.]\d\d[-/.]\d\d(?:[T ,]+\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[ ]?[+-]\d\d:?\d\d)?"
    r"|\d{1,2}/\w{3}/\d{4}:\d\d:\d\d:\d\d(?:[ ][+-]\d{4})?"
    r"|\d\d[-/.]\d\d(?:[-/.]\d\d(?:\d\d)?)?[ ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?"
    r"|(?:[A-Z][a-z]{2}[ ])?[A-Z][a-z]{2}[ ]+\d{1,2}[ ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[ ]\d{4})?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?|\d{10}(?:[.,]?\d{3,6})?(?=[ :|\]])"
)
_LEVEL = (
    r"TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|CRITICAL|CRIT|FATAL|SEVERE|ALERT|EMERG|EMERGENCY"
    r"|(?<=[\[<(|])(?i:trace|debug|info|notice|warn(?:ing)?|error|critical|crit|fatal|alert|emerg)(?=[\]>)|])"
)
# An entry begins with a time, after at most three words such as a host or a colour, or with a level.
_ENTRY = re.compile(rf"(?:\W{{0,3}}|(?:\S{{1,40}}[ ]){{1,3}}\W{{0,2}})(?P<time>{_TIME})|\W{{0,3}}(?:{_LEVEL})\b")
_HEAD_LEVEL = re.compile(rf"(?<![\w./-])(?:{_LEVEL})(?![\w./-])")
_TRACE = re.compile(
    r"[ \t}\])]|Traceback |Caused by|\.\.\. \d+ more|During handling|The above exception"
    r"|\w+(?:\.\w+)+(?:Error|Exception)"
)
_HEAD = 200
"""Characters of a line to search for time and level. With less, a long path before the time hides it; with more, a time
or the word ERROR in the message is treated as the entry's."""
_LONGEST = 20_000
"""Maximum characters of an entry. With less, long stack traces are split; with no limit, a file with unrecognised
entries is one element."""
_SAMPLE = 100_000
"""Characters from which a log is judged to have times or plain lines. A smaller sample may be a single trace."""
_LEAST_STAMPED = 0.2
"""Minimum share of unindented lines that begin with a time or a level. With messages of several lines, few lines do;
with less, some times in a log of plain lines would join all lines between them into one entry."""


def parse_log(data: bytes, _: ParseOptions) -> Parsed:
    """Return the decoded file, newlines unchanged; entries have `time` and `level` if they state them.

    Times are kept as written. In a file without times, unindented lines begin entries.
    """
    found = decode(data)
    elements = list(_entries(found.text))
    return Parsed(found.text, tuple(elements), "", found.metadata | {"entries": len(elements)})


def _entries(text: str) -> Iterator[Element]:
    stamped = _is_stamped(text)
    start = end = first = 0
    for at, line, number in numbered(text):
        # In a file without times, a line that looks like part of a trace continues an entry.
        begins = _ENTRY.match(line, 0, _HEAD) if stamped else not _TRACE.match(line)
        if end and (begins or at + len(line) - start > _LONGEST):
            yield _entry(text, start, end, first)
            end = 0
        if not end:
            start, first = at + len(line) - len(line.lstrip()), number
        end = at + len(line.rstrip())
    if end:
        yield _entry(text, start, end, first)


def _is_stamped(text: str) -> bool:
    """Return whether entries begin with times or levels, rather than with any unindented line."""
    lines = [line for line in text[:_SAMPLE].splitlines() if line.strip() and line[0] not in " \t"]
    return sum(_ENTRY.match(line, 0, _HEAD) is not None for line in lines) > _LEAST_STAMPED * len(lines)


def _entry(text: str, start: int, end: int, line: int) -> Element:
    attributes: dict[str, Any] = {}
    head = text[start : min(end, start + _HEAD)]
    stamp = _ENTRY.match(head)
    if stamp and stamp["time"]:
        attributes["time"] = stamp["time"]
    level = _HEAD_LEVEL.search(head.split("\n", 1)[0])
    if level:
        attributes["level"] = level[0].upper()
    return Element("text", start, end, 0, 0, line, None, attributes)
