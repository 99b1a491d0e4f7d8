"""Subtitles (SubRip, WebVTT): what is said, drawn without numbers and time lines.

A cue is cut where the screen is full, in the middle of a sentence; so cues are joined to turns, each
with its speaker where the file tells one, and the times of its first and last cue.
"""

import html
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions

_TIMES = re.compile(
    r"[ \t]*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?[ \t]*-->[ \t]*"
    r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?"
)
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>]+)>")
_MARKUP = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_NAMED = re.compile(r"(?:>>[ \t]*)?([A-Z][\w.'-]*(?:[ ][A-Z][\w.'-]*){0,3})(?:[ ]\([^()]{1,30}\))?:[ \t]+(?=\S)")
_CHANGE = re.compile(r"(?:-[ \t]*|>>[ \t]*)(?=\S)")
_SENTENCE_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*\Z")
_HEADER = re.compile(r"WEBVTT[ \t]+(?:-[ \t]*)?(\S.*)")
_LANGUAGE = re.compile(r"^Language:[ \t]*([\w-]+)", re.MULTILINE | re.IGNORECASE)
_PAUSE_S = 2.0  # of silence end a turn whose sentence has ended
_LONG_PAUSE_S = 8.0  # end any
_LONG_TURN = 500  # characters after which a turn ends with its sentence


class Line(NamedTuple):
    """One line of a cue; `changes` says that another than before speaks."""

    start: float
    end: float
    speaker: str
    text: str
    changes: bool


def parse_subtitles(data: bytes, _: ParseOptions) -> Parsed:
    """Return what is said as elements of kind `turn` with `time`, `end` and, where it is told, `speaker`."""
    found = decode(data)
    lines = re.split(r"\r\n?|\n", found.text)
    canvas = Canvas()
    turn: list[Line] = []
    for line in _said(lines):
        if turn and _ends(turn, line):
            _draw(canvas, turn)
            turn = []
        turn.append(line)
    if not turn:
        raise Rejected("corrupt", "no cue: a line such as 00:00:01,000 --> 00:00:02,000 with text below is wanted")
    _draw(canvas, turn)
    header = _HEADER.match(lines[0])
    language = _LANGUAGE.search(found.text[:2000])
    metadata = found.metadata | ({"language": language[1]} if language else {})
    return canvas.parsed(header[1] if header else "", metadata | {"duration_s": round(turn[-1].end, 3)})


def _said(lines: list[str]) -> Iterator[Line]:
    """Yield the lines of all cues; a line that stays on the screen into the next cue is said once."""
    times: tuple[float, float] | None = None
    before: list[str] = []
    shown: list[str] = []
    for line in lines:
        match = _TIMES.match(line)
        if match:
            times, before, shown = (_seconds(match, 1), _seconds(match, 5)), shown, []
        elif not line.strip():
            times = None
        elif times:
            voice = _VOICE.search(line)
            text = " ".join(html.unescape(_MARKUP.sub("", line)).split())
            if text and text not in before:
                yield _line(times, text, voice[1].strip() if voice else "")
            shown.append(text)


def _seconds(match: re.Match[str], group: int) -> float:
    hours, minutes, seconds, fraction = match.group(group, group + 1, group + 2, group + 3)
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction or 0}")


def _line(times: tuple[float, float], text: str, speaker: str) -> Line:
    change = _CHANGE.match(text)
    named = _NAMED.match(text, change.end() if change else 0)
    if named and not speaker:
        return Line(*times, named[1], text[named.end() :], True)
    return Line(*times, speaker, text[change.end() :] if change else text, bool(change or speaker))


def _ends(turn: list[Line], line: Line) -> bool:
    last = turn[-1]
    if line.changes and (not line.speaker or line.speaker != turn[0].speaker):
        return True
    pause = line.start - last.end
    if pause > _LONG_PAUSE_S:
        return True
    whole = _SENTENCE_END.search(last.text) is not None
    return whole and (pause > _PAUSE_S or sum(len(one.text) for one in turn) > _LONG_TURN)


def _draw(canvas: Canvas, turn: list[Line]) -> None:
    speaker = turn[0].speaker
    text = " ".join(line.text for line in turn)
    told: dict[str, Any] = {"speaker": speaker} if speaker else {}
    told |= {"time": _clock(turn[0].start), "end": _clock(max(line.end for line in turn))}
    canvas.paragraph(f"{speaker}: {text}" if speaker else text, kind="turn", **told)


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
