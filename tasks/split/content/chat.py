"""Chat: turns grouped by time and speaker; a turn is cut only if it alone is too long.

The gap in time as a sign of a new conversation is that of Elsner and Charniak, "You talking to me?" (ACL 2008).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from docmill.tasks.split.parts.lines import clock, lines
from docmill.tasks.split.parts.mark_units import Mark, split_units
from docmill.tasks.split.parts.options import Options, check_whole
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK, ITEM
from docmill.tasks.split.spans.span import Span

_MOST_MINUTES = 100_000
_STAMP = r"\[?(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4},?[T ])?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp]\.?[Mm])?\]?"
_NAME = r"[^\W\d_][\w.'@+ -]{0,38}"
_TURN = re.compile(
    rf"[ \t]*(?:{_STAMP}[ \t,–-]*(?:<(?P<nick>[^<>\n]{{1,40}})>|(?P<timed>{_NAME})(?=:)|\*{{1,3}}|={{3}})"
    rf"|<(?P<bare>[^<>\s]{{1,40}})>[ \t]|[*_]{{2}}(?P<bold>{_NAME})(?::[*_]{{2}}|[*_]{{2}}:)"
    rf"|(?P<named>{_NAME})[ \t]?(?:[\[(]?{_STAMP}[\])]?)?:(?:[ \t]|$))"
)


@dataclass(frozen=True, slots=True)
class Chat(Options):
    """`size` in tokens; turns that are `gap` minutes or more apart, where times are given, share no chunk."""

    gap: int = 30

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        check_whole("gap", self.gap, 1, _MOST_MINUTES)


class Turn(NamedTuple):
    """What one speaker says at once, by where it begins; `time` in seconds, or None."""

    start: int
    speaker: str
    time: int | None


def split_chat(part: Part, options: Chat) -> list[Span]:
    """Return spans of at most `options.size` tokens, of whole turns; those of one speaker hold together most."""
    marks, before = list[Mark](), None
    for turn in turns(part):
        marks.append(Mark(turn.start, _seam(before, turn, options.gap * 60)))
        before = turn if turn.time is not None or before is None else turn._replace(time=before.time)
    return split_units(part, marks, options.size)


def _seam(before: Turn | None, turn: Turn, gap: int) -> int:
    if before is None:
        return BLOCK
    if turn.time is not None and before.time is not None and not 0 <= turn.time - before.time < gap:
        return BARRIER
    return ITEM if turn.speaker == before.speaker else BLOCK


def turns(part: Part) -> Iterator[Turn]:
    """Yield the turns: those that the parser found, else lines that begin with a time or a name."""
    found = [element for element in part.elements if element.kind == "turn"]
    for element in found:
        time = str(element.attributes.get("time") or "")
        yield Turn(element.start, str(element.attributes.get("speaker") or ""), clock(time))
    for start, line in lines(part) if not found else ():
        match = _TURN.match(line)
        if match:
            yield Turn(start, next(filter(None, match.groups()), ""), clock(match.group()))
