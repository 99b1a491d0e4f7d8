"""Chat: turns grouped by time and speaker; a turn is cut only if it is too long by itself.

A gap in time starts a new conversation, as in Elsner and Charniak, "You talking to me?" (ACL 2008).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from docmill.storage.schema import Element
from docmill.tasks.split.parts.lines import clock, lines
from docmill.tasks.split.parts.mark_units import UnitStart, split_units
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.usual_options import Conversation
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK, ITEM
from docmill.tasks.split.spans.span import Span

_SECONDS_A_MINUTE = 60  # options count minutes, timestamps count seconds
_STAMP = r"\[?(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4},?[T ])?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp]\.?[Mm])?\]?"
_NAME = r"[^\W\d_][\w.'@+ -]{0,38}"
_TURN = re.compile(
    rf"[ \t]*(?:{_STAMP}[ \t,–-]*(?:<(?P<nick>[^<>\n]{{1,40}})>|(?P<timed>{_NAME})(?=:)|\*{{1,3}}|={{3}})"
    rf"|<(?P<bare>[^<>\s]{{1,40}})>[ \t]|[*_]{{2}}(?P<bold>{_NAME})(?::[*_]{{2}}|[*_]{{2}}:)"
    rf"|(?P<named>{_NAME})[ \t]?(?:[\[(]?{_STAMP}[\])]?)?:(?:[ \t]|$))"
)


class Turn(NamedTuple):
    """An uninterrupted message of one speaker: its start, the speaker, and the time in seconds or None."""

    start: int
    speaker: str
    time: int | None


def split_chat(part: Part, options: Conversation) -> list[Span]:
    """Return spans of at most `options.size` tokens, made of whole turns; turns of one speaker are joined first."""
    marks, before = list[UnitStart](), None
    for turn in turns(part):
        marks.append(UnitStart(turn.start, _seam(before, turn, options.gap * _SECONDS_A_MINUTE)))
        before = turn if turn.time is not None or before is None else turn._replace(time=before.time)
    return split_units(part, marks, options.size)


def _seam(before: Turn | None, turn: Turn, gap: int) -> int:
    if before is None:
        return BLOCK
    if turn.time is not None and before.time is not None and not 0 <= turn.time - before.time < gap:
        return BARRIER
    return ITEM if turn.speaker == before.speaker else BLOCK


def turns(part: Part) -> Iterator[Turn]:
    """Yield the turns that the parser marked, else the lines that begin with a time or a name."""
    yield from [_turn(element) for element in part.elements if element.kind == "turn"] or _turns_in_lines(part)


def _turn(element: Element) -> Turn:
    said = {name: str(element.attributes.get(name) or "") for name in ("speaker", "time")}
    return Turn(element.start_char, said["speaker"], clock(said["time"]))


def _turns_in_lines(part: Part) -> Iterator[Turn]:
    for start, line in lines(part):
        if match := _TURN.match(line):
            yield Turn(start, next(filter(None, match.groups()), ""), clock(match.group()))
