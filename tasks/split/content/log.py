"""Log: entries with their continuation lines, such as stack traces, grouped by time window and size.

The windows have a fixed length, as in log analysis (Zhu et al., "Tools and Benchmarks for Automated Log Parsing",
ICSE-SEIP 2019): they depend on the clock, not on the neighbouring entries.
"""

import re
from collections.abc import Iterator

from docmill.tasks.split.parts.lines import clock, lines
from docmill.tasks.split.parts.mark_units import UnitStart, split_units
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.usual_options import Log
from docmill.tasks.split.spans.cut_places import code_lines, prose_cuts
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK
from docmill.tasks.split.spans.span import Span

_ENTRY = re.compile(
    r"\W{0,3}(?:\d{4}[-/.]\d\d?[-/.]\d\d?[T ,]|\d\d?[-/.]\d\d?(?:[-/.]\d{2,4})?[ ,T]+\d\d?:\d\d"
    r"|(?:[A-Z][a-z]{2},? +)?[A-Z][a-z]{2} +\d{1,2} (?:\d{4} )?\d\d:\d\d|\d\d:\d\d:\d\d|\d{9,13}\b"
    r"|(?:\S{1,60} ){1,3}\[\d{1,2}/[A-Z][a-z]{2}/\d{4})"
    r"|\W{0,2}(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b"
)


def split_log(part: Part, options: Log) -> list[Span]:
    """Return spans of at most `options.size` tokens; only a longer entry is cut."""
    marks, before = list[UnitStart](), None
    for start, window in _windows(part, options.window):
        marks.append(UnitStart(start, BLOCK if before is None or window == before else BARRIER))
        before = window
    return split_units(part, marks, options.size, (code_lines, prose_cuts))


def _windows(part: Part, seconds: int) -> Iterator[tuple[int, int | None]]:
    """Yield the start of each entry and its time window; an entry without a time has that of the previous entry.

    If no line looks like an entry, each line is an entry without a time.
    """
    every = list(lines(part))
    entries = [(start, line) for start, line in every if _ENTRY.match(line)]
    window = None
    for start, line in entries or every:
        time = clock(line) if seconds and entries else None
        window = window if time is None else time // seconds
        yield start, window
