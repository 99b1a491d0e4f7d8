"""A timeline: which line a screen showed from when to when, with long waits made short."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tests.kit.picture.screen import Cell, Line, Screen, Style
from tests.kit.picture.session import COLUMNS, COMMANDS, PICTURED, Output

TYPING = 0.025
"""Seconds for a character that is typed."""
LONGEST = 2.4
"""Seconds that a command may take in the picture: a reader waits no longer for a progress bar."""
PAUSE = 1.0
"""Seconds after a command, to read what it has printed."""
HOLD = 6.0
"""Seconds that the last picture stays."""
FRAME = 0.12
"""Seconds between two pictures of one command, at least."""
GAP = 0.45
"""Lines between a command's output and the next prompt."""
NOTHING: Line = ()
PROMPT: Cell = ("$", Style(2, frozenset({"bold"})))


@dataclass(frozen=True, slots=True)
class Shown:
    """A line of the screen and when it is there, in seconds. `typed` says how long it takes to appear."""

    row: float
    line: Line
    start: float
    end: float
    typed: float = 0.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """All that is shown, the length in seconds, and the seconds that the commands really took."""

    shown: tuple[Shown, ...]
    rows: float
    length: float
    really: float

    def last(self) -> list[Shown]:
        """Return what stands there at the end, by row."""
        return sorted((one for one in self.shown if one.end >= self.length), key=lambda one: one.row)


def timeline(outputs: Iterable[Output]) -> Timeline:
    """Return the timeline of what a session has printed."""
    outputs = list(outputs)
    shown: list[Shown] = []
    row, now, really = 0.0, 0.5, 0.0
    for number, command in enumerate(COMMANDS[:PICTURED]):
        typed = TYPING * len(command)
        shown.append(Shown(row, _typed(command), now, 0.0, typed))
        row += 1
        now += typed + 0.3
        own = [one for one in outputs if one.command == number]
        took = own[-1].seconds if own else 0.0
        pictures = list(_pictures(own, min(1.0, LONGEST / max(took, 0.1))))
        shown += (
            replace(one, row=row + one.row, start=now + one.start, end=_end(now, one.end)) for one in _spans(pictures)
        )
        row += GAP + (len(pictures[-1][1]) if pictures else 0)
        now += min(took, LONGEST) + PAUSE
        really += took
    length = now + HOLD
    return Timeline(tuple(replace(one, end=one.end or length) for one in shown), row - GAP, length, really)


def _end(now: float, end: float) -> float:
    return now + end if end else 0.0


def _typed(command: str) -> Line:
    """Return a command behind its prompt."""
    return (PROMPT, (" ", Style()), *((char, Style(flags=frozenset({"bold"}))) for char in command))


def _pictures(outputs: Sequence[Output], pace: float) -> Iterator[tuple[float, tuple[Line, ...]]]:
    """Yield the screen after each output, with its time in the picture; of those within one frame the last."""
    screen = Screen(COLUMNS)
    for number, one in enumerate(outputs):
        screen.feed(one.data)
        last = number + 1 == len(outputs)
        if last or int(outputs[number + 1].seconds * pace / FRAME) > int(one.seconds * pace / FRAME):
            yield one.seconds * pace, _filled(screen.lines())


def _filled(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return lines without the empty ones at the end."""
    count = max((number + 1 for number, line in enumerate(lines) if line), default=0)
    return lines[:count]


def _spans(pictures: Sequence[tuple[float, tuple[Line, ...]]]) -> Iterator[Shown]:
    """Yield each line with the time for which it stood at its row; the end is 0 where it stays."""
    for row in range(max((len(lines) for _, lines in pictures), default=0)):
        start, line = 0.0, NOTHING
        for now, lines in pictures:
            here = lines[row] if row < len(lines) else NOTHING
            if here != line:
                if line:
                    yield Shown(row, line, start, now)
                start, line = now, here
        if line:
            yield Shown(row, line, start, 0.0)
