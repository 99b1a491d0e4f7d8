"""Lines: the lines of a part without furniture, and the times at their starts."""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

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
_LINE_BEGINS = 80  # characters searched for the time of a line; a later time is part of the message
_MOST_OF_LINE = 500  # characters of a line; markers of turns, entries, headers and clauses are shorter
_SOME_YEAR = 2000  # for a date without a year: a leap year, so that February 29 exists
_TWO_DIGITS = 100  # a year below it has two digits,
_CENTURY = 2000  # and is in this century: logs and chats are hardly older
_NOON = 12  # in hours
_MINUTE = 60  # seconds
_HOUR = 60 * _MINUTE  # seconds
DAY = 24 * _HOUR  # seconds


def lines(part: Part) -> Iterator[tuple[int, str]]:
    """Yield the start of each line and its text, at most 500 characters."""
    text = part.text
    for first, last, _ in stretches(part):
        start = first
        for match in _NEWLINE.finditer(text, first, last):
            yield start, text[start : min(match.start(), start + _MOST_OF_LINE)]
            start = match.end()
        yield start, text[start : min(last, start + _MOST_OF_LINE)]


def clock(line: str) -> int | None:
    """Return the first time in the first 80 characters of a line, in seconds, plus its date if it has one.

    A date without a year is taken to be in 2000, because only differences count.
    """
    found = _TIME.search(line[:_LINE_BEGINS])
    if found is None:
        return None
    hour, minute, second = (int(found[name] or 0) for name in ("h", "min", "s"))
    if found["half"]:
        hour = hour % _NOON + _NOON * (found["half"] in "Pp")
    return _day(found) * DAY + hour * _HOUR + minute * _MINUTE + second


class _DateForm(NamedTuple):
    """The groups of `_TIME` that contain year, month and day in one date format."""

    year: str
    month: str
    day: str


_DATE_FORMS = (
    _DateForm("y", "m", "d"),  # 2024-05-31
    _DateForm("yy", "b", "a"),  # 31.05.24 or 5/31/24: a number above twelve is the day
    _DateForm("yyy", "mon", "md"),  # May 31, without a year
    _DateForm("yyy", "mmm", "dd"),  # 31/May/2024
)


def _day(found: re.Match[str]) -> int:
    """Return the day's ordinal, or 0 for an invalid date."""
    form = next((form for form in _DATE_FORMS if found[form.month]), None)
    if form is None:
        return date(_SOME_YEAR, 1, 1).toordinal()
    year = int(found[form.year] or _SOME_YEAR)
    month, day = _month(found[form.month]), int(found[form.day])
    month, day = (day, month) if month > len(_MONTHS) else (month, day)
    try:
        return date(year + _CENTURY * (year < _TWO_DIGITS), month, day).toordinal()
    except ValueError:
        return 0


def _month(text: str) -> int:
    """Return the number of a month given as a number or a name; 1 for an unknown name."""
    if text.isdecimal():
        return int(text)
    return _MONTHS.index(text.lower()) + 1 if text.lower() in _MONTHS else 1
