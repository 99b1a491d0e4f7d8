"""Subtitles (SubRip, WebVTT, SubStation Alpha): the spoken text, without cue numbers and times.

A cue ends when the screen is full, often in the middle of a sentence. So cues are joined into turns, each with its
speaker, if stated, and the times of its first and last cue.
"""

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?"  # hours, minutes, seconds and their fraction
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}")
_GROUPS = 4  # of one time in the pattern
_HOUR_S, _MINUTE_S = 3_600, 60
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>]+)>")
_MARKUP = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_DIALOGUE = re.compile(rf"Dialogue:[^,]*,[ \t]*({_TIME}),[ \t]*({_TIME}),[^,]*,([^,]*),(?:[^,]*,){{4}}(.*)")
_COMMENT = re.compile(r"\{[^{}]*\}")  # in SubStation Alpha, also the formatting of a line
_NAMED = re.compile(r"(?:>>[ \t]*)?([A-Z][\w.'-]*(?:[ ][A-Z][\w.'-]*){0,3})(?:[ ]\([^()]{1,30}\))?:[ \t]+(?=\S)")
_CHANGE = re.compile(r"(?:-[ \t]*|>>[ \t]*)(?=\S)")
_SENTENCE_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*\Z")
_HEADER = re.compile(r"WEBVTT[ \t]+(?:-[ \t]*)?(\S.*)")
_LANGUAGE = re.compile(r"^Language:[ \t]*([\w-]+)", re.MULTILINE | re.IGNORECASE)
_PAUSE_S = 2.0
"""Seconds of silence that end a turn whose sentence has ended. With fewer, the turn ends whenever the speaker breathes;
with more, the next speaker's words are joined to it in files that do not name speakers."""
_LONG_PAUSE_S = 8.0
"""Seconds of silence that end any turn. With fewer, sentences spoken slowly are split; with more, scenes are joined
where cues end without a full stop."""
_LONG_TURN = 500
"""Characters after which a turn ends with its sentence. With fewer, a lecture is a list of sentences; with more, the
times of a turn no longer lead to the place where something is said."""
_HEADER_CHARACTERS = 2_000
"""Characters in which a WebVTT header states its language. With fewer, long notes before it hide it; with more, a line
of a cue that begins with "Language:" is mistaken for it."""
_MILLISECOND = 3  # decimals of a second, the resolution of the formats


class CueLine(NamedTuple):
    """One line of a cue; `changes` marks a change of speaker."""

    start: float
    end: float
    speaker: str
    text: str
    changes: bool


def parse_subtitles(data: bytes, _: ParseOptions) -> Parsed:
    """Return the spoken text as elements of kind `turn` with `time`, `end` and, if stated, `speaker`."""
    found = decode(data)
    lines = re.split(r"\r\n?|\n", found.text)
    canvas = Canvas()
    turn: list[CueLine] = []
    for line in _said(_cues_of(lines) or lines):
        if turn and _ends(turn, line):
            _draw(canvas, turn)
            turn = []
        turn.append(line)
    if not turn:
        raise Rejected("corrupt", "no cue; expected a line such as 00:00:01,000 --> 00:00:02,000 with text below")
    _draw(canvas, turn)
    header = _HEADER.match(lines[0])
    language = _LANGUAGE.search(found.text[:_HEADER_CHARACTERS])
    metadata = found.metadata | ({"language": language[1]} if language else {})
    return canvas.parsed(header[1] if header else "", metadata | {"duration_s": round(turn[-1].end, _MILLISECOND)})


def _cues_of(lines: list[str]) -> list[str]:
    """Return the dialogue of SubStation Alpha in the order of its times, as lines of WebVTT; else nothing."""
    found = sorted(filter(None, map(_DIALOGUE.match, lines)), key=lambda one: _seconds(one.groups()[1 : 1 + _GROUPS]))
    cues: list[str] = []
    for one in found:
        groups = one.groups()
        speaker, text = groups[-2:]
        shown = _COMMENT.sub("", text).replace("\\h", " ").replace("\\n", "\\N").split("\\N")
        cues += (
            "",
            f"{groups[0]} --> {groups[1 + _GROUPS]}",
            f"<v {speaker}>{shown[0]}" if speaker else shown[0],
            *shown[1:],
        )
    return cues


def _said(lines: list[str]) -> Iterator[CueLine]:
    """Yield the lines of all cues; a line that stays on screen over several cues is given once."""
    times: tuple[float, float] | None = None
    before: list[str] = []
    shown: list[str] = []
    for line in lines:
        match = _TIMES.match(line)
        if match:
            times, before, shown = (_seconds(match.groups()[:_GROUPS]), _seconds(match.groups()[_GROUPS:])), shown, []
        elif not line.strip():
            times = None
        elif times:
            voice = _VOICE.search(line)
            text = " ".join(html.unescape(_MARKUP.sub("", line)).split())
            if text and text not in before:
                yield _cue_line(times, text, voice[1].strip() if voice else "")
            shown.append(text)


def _seconds(time: Sequence[str]) -> float:
    hours, minutes, seconds, fraction = time
    return int(hours or 0) * _HOUR_S + int(minutes) * _MINUTE_S + int(seconds) + float(f"0.{fraction or 0}")


def _cue_line(times: tuple[float, float], text: str, speaker: str) -> CueLine:
    # A voice tag is more reliable than a name before a colon, which may be part of a sentence.
    change = _CHANGE.match(text)
    named = _NAMED.match(text, change.end() if change else 0)
    if named and not speaker:
        return CueLine(*times, named[1], text[named.end() :], True)
    return CueLine(*times, speaker, text[change.end() :] if change else text, bool(change or speaker))


def _ends(turn: list[CueLine], line: CueLine) -> bool:
    """Return whether a turn ends before a line: at a change of speaker, at a pause, or when it is long."""
    last = turn[-1]
    if line.changes and (not line.speaker or line.speaker != turn[0].speaker):
        return True
    pause = line.start - last.end
    if pause > _LONG_PAUSE_S:
        return True
    whole = _SENTENCE_END.search(last.text) is not None
    return whole and (pause > _PAUSE_S or sum(len(one.text) for one in turn) > _LONG_TURN)


def _draw(canvas: Canvas, turn: list[CueLine]) -> None:
    speaker = turn[0].speaker
    text = " ".join(line.text for line in turn)
    told: dict[str, Any] = {"speaker": speaker} if speaker else {}
    told |= {"time": _clock(turn[0].start), "end": _clock(max(line.end for line in turn))}
    canvas.paragraph(f"{speaker}: {text}" if speaker else text, kind="turn", **told)


def _clock(seconds: float) -> str:
    whole = int(seconds)
    hours, rest = divmod(whole, _HOUR_S)
    return f"{hours:02}:{rest // _MINUTE_S:02}:{rest % _MINUTE_S:02}"
