"""Mail: what is new apart from what is quoted, and the headers with what is new.

The lines that mark quoted text are those of RFC 3676 (">"), of mail programs ("On ... wrote:") and of
Outlook ("-----Original Message-----", a second block of headers), as in GitHub's email_reply_parser.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from docmill.tasks.split.parts.lines import lines
from docmill.tasks.split.parts.mark_units import Mark, split_units
from docmill.tasks.split.parts.options import Options
from docmill.tasks.split.parts.part import Part
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


@dataclass(frozen=True, slots=True)
class Mail(Options):
    """`size` in tokens."""


class Passage(NamedTuple):
    """Lines of one kind: `header`, `new`, `quoted`; by where they begin; `said` is what tells who wrote them."""

    start: int
    kind: str
    said: str


def split_mail(part: Part, options: Mail) -> list[Span]:
    """Return spans of at most `options.size` tokens, none with both new and quoted text."""
    marks, before = list[Mark](), ""
    for passage in passages(part):
        marks.append(Mark(passage.start, LEAD if before == "header" and passage.kind == "new" else BARRIER))
        before = passage.kind
    return split_units(part, marks, options.size)


def passages(part: Part) -> Iterator[Passage]:
    """Yield the passages of one mail or of several, one after the other."""
    subjects = {element.start for element in part.elements if element.kind == "title" and element.level == 1}
    kind, blank, original, letter = "", True, False, ""
    for start, line in lines(part):
        begins = start in subjects or _ENVELOPE.match(line) is not None
        original = (original or _ORIGINAL.match(line) is not None) and not begins
        found = "header" if begins else "quoted" if original else _kind(line, kind, blank)
        if found != kind and (line.strip() or not kind):
            letter = "" if found == "header" else letter
            yield Passage(
                start + len(line) - len(line.lstrip()),
                found,
                letter if found == "new" else line.strip(" >*") if _WROTE.match(line) else "",
            )
            kind = found
        if kind == "header" and (match := _HEADER.match(line)) and match[1].lower() in _ABOUT:
            letter = f"{letter} | {line.strip()}" if letter else line.strip()
        blank = not line.strip()


def _kind(line: str, before: str, blank: bool) -> str:
    """Return what a line is, given what the line before it is and whether that is blank."""
    if _QUOTED.match(line) or _WROTE.match(line) or (not line.strip() and before == "quoted"):
        return "quoted"
    if _HEADER.match(line) and (blank or before == "header") and before in ("", "header"):
        return "header"
    return "header" if before == "header" and (not line.strip() or (not blank and line[0] in " \t")) else "new"


def who_wrote(part: Part) -> Callable[[Span], str]:
    """Return what tells who wrote the passage that a span begins within, and about what."""
    found = list(passages(part))
    starts = [passage.start for passage in found]

    def lead(span: Span) -> str:
        number = bisect_right(starts, span.start) - 1
        if number < 0 or (found[number].kind == "quoted" and found[number].start == span.start):
            return ""
        return found[number].said

    return lead
