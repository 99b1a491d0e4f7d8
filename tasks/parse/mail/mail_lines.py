"""Mail lines: classify the lines of a plain-text mail as new text, quoted history or signature."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

_QUOTED = re.compile(r"(?:>[ \t]{0,3}){1,50}")
_ORIGINAL = re.compile(
    r"-{2,}[ \t]*(?:original message|original appointment|ursprüngliche nachricht|message d'origine|mensaje original"
    r"|messaggio originale|forwarded message|weitergeleitete nachricht|forwarded by)|begin forwarded message:",
    re.IGNORECASE,
)
_HEAD = r"[*_]{{0,2}}(?:{}):[*_]{{0,2}}(?:\s|$)"
_FROM = re.compile(_HEAD.format("from|von|de|da|van|från|fra|发件人"), re.IGNORECASE)
_OTHERS = "sent|date|to|cc|subject|gesendet|datum|an|betreff|envoyé|à|objet|enviado|fecha|para|asunto|inviato|oggetto"
_OTHER = re.compile(_HEAD.format(_OTHERS + "|发送时间|收件人|主题"), re.IGNORECASE)
_WROTE = re.compile(
    r"\b(?:wrote|writes|schrieb|écrit|escribió|escreveu|scritto|skrev|schreef)\b.{0,60}:$|写道[::]$", re.I
)
_DATED = re.compile(r".*\d.*[:>]$")
_OPENING = re.compile(r"\s*(?:On|Am|Le|El|Em|Il|Op|Den|På)\s.{0,60}\d")  # "On Monday, 3 June 2019, Ann"
_SIGNATURE = re.compile(r"--[ \t]*|_{20,}")
_MAX_SIGNATURE = 12
"""Written lines below `--` that may be a signature: where more follow, the rule divides a text, which must be read."""
HEAD_LINES = 7
"""Lines in which an enclosed mail's head says who, when, to whom and what about: with a copy, a blank line, a long list
of receivers. In fewer lines some heads are missed; in many more, any two lines that begin like a label make a head."""
_MIN_LABELS = 2  # besides "From:", which alone also begins a sentence
_LABEL_WIDTH = 30
"""Characters of a line that can be a label: the longest, between signs for bold letters, is far shorter."""
_MAX_LINE = 300
"""Characters of a line that are searched, so that no pattern is slow on a paragraph without line breaks."""
_ABOVE = 2  # lines above a quotation where its introduction may end: one of them may be blank


class MailLine(NamedTuple):
    """A line without its quotation marks; `depth` counts them, `role` is "new", "quote", "signature" or "blank"."""

    role: str
    depth: int
    text: str


def read_lines(text: str) -> Iterator[tuple[str, int, list[str]]]:
    """Yield runs of lines of one role and depth, between blank lines."""
    lines = _with_signature(_with_history([_line(line) for line in text.splitlines()]))
    for (role, depth), run in groupby(lines, key=lambda line: (line.role, line.depth)):
        if role != "blank":
            yield role, depth, [line.text for line in run]


def begins_history(lines: list[str]) -> bool:
    """Return whether the first line begins an answered or forwarded mail; the others are those below it."""
    first = lines[0].strip()[:_MAX_LINE] if lines else ""
    if _ORIGINAL.match(first):
        return True
    if not _FROM.match(first):
        return False
    labels = sum(bool(_OTHER.match(line.strip()[:_LABEL_WIDTH])) for line in lines[1:HEAD_LINES])
    return labels >= _MIN_LABELS


def introduces(line: str) -> bool:
    """Return whether a line names the author of the quotation below it."""
    line = line.strip()[-_MAX_LINE:]
    return bool(_WROTE.search(line) or _DATED.match(line))


def _line(line: str) -> MailLine:
    mark = _QUOTED.match(line)
    depth = mark[0].count(">") if mark else 0
    content = line[mark.end() :] if mark else line
    if not content.strip():
        return MailLine("blank", depth, "")
    return MailLine("quote" if depth else "new", depth, content)


def _with_history(lines: list[MailLine]) -> list[MailLine]:
    """Return lines with introductions of quotations, and all text after an enclosed mail's header, marked as quoted."""
    head = next((at for at in range(len(lines)) if _encloses(lines, at)), len(lines))
    return _with_introductions(lines[:head]) + [_nested(line) for line in lines[head:]]


def _encloses(lines: list[MailLine], at: int) -> bool:
    """Return whether the head of an enclosed mail begins at a line."""
    return lines[at].role == "new" and begins_history([line.text for line in lines[at : at + HEAD_LINES]])


def _nested(line: MailLine) -> MailLine:
    return line if line.role == "blank" else MailLine("quote", line.depth + 1, line.text)


def _with_introductions(lines: list[MailLine]) -> list[MailLine]:
    found: list[MailLine] = []
    for line in lines:
        if line.role == "quote" and line.depth == 1:
            _mark_introduction(found)
        found.append(line)
    return found


def _mark_introduction(found: list[MailLine]) -> None:
    """Mark the one or two lines above a quotation as quoted if they name its author."""
    last = _last_written(found)
    if last is None or found[last].role != "new" or not introduces(found[last].text):
        return
    first = last - 1 if last and _begins_introduction(found[last - 1]) else last
    found[first : last + 1] = [MailLine("quote", 1, line.text) for line in found[first : last + 1]]


def _last_written(found: list[MailLine]) -> int | None:
    """Return the index of the line that may introduce a quotation, or None if only blank ones are near."""
    near = range(len(found))[-_ABOVE:]
    return next((at for at in reversed(near) if found[at].role != "blank"), None)


def _begins_introduction(line: MailLine) -> bool:
    return line.role == "new" and _OPENING.match(line.text) is not None


def _with_signature(lines: list[MailLine]) -> list[MailLine]:
    """Return lines with the few below two hyphens, or below underscores, marked as signature."""
    found = list(lines)
    for number, line in enumerate(lines):
        if line.role != "new" or not _SIGNATURE.fullmatch(line.text):
            continue
        end = _end_of_signature(lines, number)
        if end > number:
            found[number:end] = map(_signed, lines[number:end])
            break
    return found


def _signed(line: MailLine) -> MailLine:
    return line if line.role == "blank" else line._replace(role="signature")


def _end_of_signature(lines: list[MailLine], start: int) -> int:
    """Return the end of the signature that begins at `start`, or `start` if too much follows for a signature."""
    count = 0
    for at in range(start, len(lines)):
        if lines[at].role == "quote":
            return at
        count += lines[at].role == "new"
        if count > _MAX_SIGNATURE + 1:  # the rule itself counts for one
            return start
    return len(lines)
