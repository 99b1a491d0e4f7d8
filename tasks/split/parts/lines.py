"""Lines: those of a part that are not left out, and the times that are written at their beginnings."""

import re
from collections.abc import Iterator
from datetime import date

from docmill.tasks.split.parts.blocks import stretches
from docmill.tasks.split.parts.part import Part

_NEWLINE = re.compile(r"\r\n?|\n")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_TIME = re.compile(
    r"(?:(?P<y>\d{4})[-/.](?P<m>\d\d?)[-/.](?P<d>\d\d?)|(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})(?:[-/.](?P<yy>\d{2,4}))?"
    r"|(?:[A-Z][a-z]{2},? +)?(?P<mon>[A-Z][a-z]{2}) +(?P<md>\d\d?)"
    r"|(?P<dd>\d\d?)/(?P<mmm>[A-Z][a-z]{2})/(?P<yyy>\d{4}))?"
    r"[T,: ]{0,3}(?P<h>\d{1,2}):(?P<min>\d\d)(?::(?P<s>\d\d))?(?:[.,]\d+)?(?: ?(?P<half>[AaPp])\.?[Mm])?"
)
_LONGEST = 80
DAY = 86_400


def lines(part: Part) -> Iterator[tuple[int, str]]:
    """Yield where each line begins and its text, at most 500 characters of it."""
    text = part.text
    for first, last, _ in stretches(part):
        start = first
        for match in _NEWLINE.finditer(text, first, last):
            yield start, text[start : min(match.start(), start + 500)]
            start = match.end()
        yield start, text[start : min(last, start + 500)]


def clock(line: str) -> int | None:
    """Return the first time of day in the first 80 characters as seconds, with its date counted in if it has one.

    A date without a year is taken to be in 2000, since only differences count.
    """
    found = _TIME.search(line[:_LONGEST])
    if found is None:
        return None
    hour, minute, second = (int(found[name] or 0) for name in ("h", "min", "s"))
    if found["half"]:
        hour = hour % 12 + 12 * (found["half"] in "Pp")
    return _day(found) * DAY + hour * 3600 + minute * 60 + second


def _day(found: "re.Match[str]") -> int:
    year, month, day = 2000, 1, 1
    if found["y"]:
        year, month, day = int(found["y"]), int(found["m"]), int(found["d"])
    elif found["a"]:
        year, month, day = int(found["yy"] or 2000), int(found["b"]), int(found["a"])
    elif found["mon"] or found["mmm"]:
        name = (found["mon"] or found["mmm"]).lower()
        month = _MONTHS.index(name) + 1 if name in _MONTHS else 1
        year, day = int(found["yyy"] or 2000), int(found["md"] or found["dd"])
    month, day = (day, month) if month > 12 else (month, day)
    try:
        return date(year + 2000 * (year < 100), month, day).toordinal()
    except ValueError:
        return 0
