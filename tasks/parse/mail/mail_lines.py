"""The lines of a plain mail: which are new, which are quoted history, which are the signature."""

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
_SIGNATURE = re.compile(r"--[ \t]*|_{20,}")
_MAX_SIGNATURE = 12
_HEAD_LINES = 7
_MAX_LINE = 300


class Line(NamedTuple):
    """A line without its quotation marks; `depth` counts these, `role` is "new", "quote", "signature" or "blank"."""

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
    """Return whether a mail that is answered or passed on begins with the first of some lines."""
    first = lines[0].strip()[:_MAX_LINE] if lines else ""
    if _ORIGINAL.match(first):
        return True
    return bool(_FROM.match(first)) and sum(bool(_OTHER.match(line.strip()[:30])) for line in lines[1:_HEAD_LINES]) >= 2


def introduces(line: str) -> bool:
    """Return whether a line says who wrote what is quoted below it."""
    line = line.strip()[-_MAX_LINE:]
    return bool(_WROTE.search(line) or _DATED.match(line))


def _line(line: str) -> Line:
    mark = _QUOTED.match(line)
    depth = mark[0].count(">") if mark else 0
    content = line[mark.end() :] if mark else line
    return Line("quote" if depth else "new", depth, content) if content.strip() else Line("blank", depth, "")


def _with_history(lines: list[Line]) -> list[Line]:
    """Return lines, those that introduce a quotation and all below an enclosed mail's head as quoted."""
    found: list[Line] = []
    nested = 0
    for number, line in enumerate(lines):
        if (
            not nested
            and line.role == "new"
            and begins_history([one.text for one in lines[number : number + _HEAD_LINES]])
        ):
            nested = 1
        if nested and line.role != "blank":
            line = Line("quote", line.depth + nested, line.text)
        if line.role == "quote" and line.depth == 1 and not nested:
            _mark_introduction(found)
        found.append(line)
    return found


def _mark_introduction(found: list[Line]) -> None:
    """Mark the one or two lines above a quotation, if they say who wrote it."""
    last = next((at for at in range(len(found) - 1, max(-1, len(found) - 3), -1) if found[at].role != "blank"), None)
    if last is None or found[last].role != "new" or not introduces(found[last].text):
        return
    first = last
    if last and found[last - 1].role == "new" and _begins_introduction(found[last - 1].text):
        first = last - 1
    found[first : last + 1] = [Line("quote", 1, line.text) for line in found[first : last + 1]]


def _begins_introduction(line: str) -> bool:
    return re.match(r"\s*(?:On|Am|Le|El|Em|Il|Op|Den|På)\s.{0,60}\d", line) is not None


def _with_signature(lines: list[Line]) -> list[Line]:
    """Return lines, the few below one of two hyphens or of underscores as signature."""
    found = list(lines)
    for number, line in enumerate(lines):
        if line.role != "new" or not _SIGNATURE.fullmatch(line.text):
            continue
        end = _end_of_signature(lines, number)
        if end > number:
            found[number:end] = [
                one if one.role == "blank" else one._replace(role="signature") for one in lines[number:end]
            ]
            break
    return found


def _end_of_signature(lines: list[Line], start: int) -> int:
    """Return where a signature ends that begins at `start`, or `start` where too much follows for one."""
    count = 0
    for at in range(start, len(lines)):
        if lines[at].role == "quote":
            return at
        count += lines[at].role == "new"
        if count > _MAX_SIGNATURE + 1:
            return start
    return len(lines)
