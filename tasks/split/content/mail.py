"""Mail: new text and quoted text in separate chunks, the headers with the new text.

Quoted text is marked as in RFC 3676 (">"), by mail programs ("On ... wrote:") and by Outlook ("-----Original
Message-----", a second block of headers), as in GitHub's email_reply_parser.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from docmill.tasks.split.parts.lines import lines
from docmill.tasks.split.parts.mark_units import UnitStart, split_units
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.usual_options import Mail
from docmill.tasks.split.spans.pieces import BARRIER, LEAD
from docmill.tasks.split.spans.span import Span

_HEADER = re.compile(r"[ \t*]{0,4}(From|To|Cc|Bcc|Date|Sent|Subject|Reply-To|Von|An|Gesendet|Betreff)\*{0,2}:", re.I)
_QUOTED = re.compile(r"[ \t]{0,3}>")
_WROTE = re.compile(r"[ \t>*]{0,6}(?:On|Am|Le|El)\b.{4,200}(?:wrote|schrieb|a écrit|escribió)\b.{0,60}:?[ \t*]*$")
_ORIGINAL = re.compile(
    r"[ \t>*]{0,6}(?:-{2,}[ \t]?(?:Original Message|Forwarded message|Ursprüngliche Nachricht"
    r"|Weitergeleitete Nachricht)"
    r"|Begin forwarded message:|_{20,}[ \t]*$)",
    re.I,
)
_ENVELOPE = re.compile(r"From \S+@\S+ .*\d{4}")
_ABOUT = ("from", "von", "date", "sent", "gesendet", "subject", "betreff")


class _Line(NamedTuple):
    """A line, its start, and the kind of its passage."""

    start: int
    text: str
    kind: str


class MailPassage(NamedTuple):
    """Consecutive lines of one kind, `header`, `new` or `quoted`, with their start; `said` names the author."""

    start: int
    kind: str
    said: str


def split_mail(part: Part, options: Mail) -> list[Span]:
    """Return spans of at most `options.size` tokens, none with both new and quoted text."""
    marks, before = list[UnitStart](), ""
    for passage in passages(part):
        marks.append(UnitStart(passage.start, LEAD if before == "header" and passage.kind == "new" else BARRIER))
        before = passage.kind
    return split_units(part, marks, options.size)


def passages(part: Part) -> Iterator[MailPassage]:
    """Yield the passages of one mail or of several in a row."""
    letter = ""
    for kind, some in groupby(_with_kinds(part), key=attrgetter("kind")):
        found = list(some)
        first = found[0]
        if kind == "header":
            letter = _letter(found)
        said = letter if kind == "new" else first.text.strip(" >*") if _WROTE.match(first.text) else ""
        yield MailPassage(first.start + len(first.text) - len(first.text.lstrip()), kind, said)


def _letter(headers: Iterable[_Line]) -> str:
    """Return the headers that say who wrote a mail, when, and about what."""
    named = ((_HEADER.match(line.text), line.text.strip()) for line in headers)
    return " | ".join(text for match, text in named if match and match[1].lower() in _ABOUT)


def _with_kinds(part: Part) -> Iterator[_Line]:
    """Yield the lines with their kinds; a blank line has the kind of the line above."""
    subjects = _subjects(part)
    kind, after_blank, original = "", True, False
    for start, line in lines(part):
        begins = start in subjects or _ENVELOPE.match(line) is not None
        # Everything after "-----Original Message-----" is quoted, even headers, until another mail begins.
        original = not begins and (original or _ORIGINAL.match(line) is not None)
        blank = not line.strip()
        if not (blank and kind):
            kind = "header" if begins else "quoted" if original else _kind(line, kind, after_blank)
        yield _Line(start, line, kind)
        after_blank = blank


def _subjects(part: Part) -> set[int]:
    """Return the starts of the subjects that the parser marked; each mail begins with its subject."""
    return {element.start_char for element in part.elements if element.kind == "title" and element.level == 1}


def _kind(line: str, before: str, after_blank: bool) -> str:
    """Return the kind of a line, given the kind of the previous line and whether that is blank."""
    if _QUOTED.match(line) or _WROTE.match(line):
        return "quoted"
    if before in ("", "header") and _HEADER.match(line):
        return "header"
    # RFC 5322, 2.2.3: a header continues on the next line if that begins with white space.
    folded = before == "header" and not after_blank and line.startswith((" ", "\t"))
    return "header" if folded else "new"


def who_wrote(part: Part) -> Callable[[Span], str]:
    """Return a function that gives author and subject of the passage in which a span begins."""
    found = list(passages(part))
    starts = [passage.start for passage in found]

    def lead(span: Span) -> str:
        number = bisect_right(starts, span.start) - 1
        if number < 0 or (found[number].kind == "quoted" and found[number].start == span.start):
            return ""
        return found[number].said

    return lead
