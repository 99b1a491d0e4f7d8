"""Cells: format a number for display: dates in ISO 8601, percentages, no floating-point noise."""

import re
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from math import isfinite

from docmill.tasks.parse.office.sheets.number_format import adds_signs, with_signs

# The built-in number formats (ECMA-376, 18.8.30), which files refer to by number alone.
_FORMATS = {
    **dict.fromkeys((9, 10), "percent"),
    **dict.fromkeys((14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58), "date"),
    **dict.fromkeys((18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56), "time"),
    **{22: "datetime", 46: "duration"},
}
_TIMES = frozenset(("date", "time", "datetime", "duration"))
# What is no placeholder of a number format: quoted and escaped characters, padding, colours and conditions, AM/PM.
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|am/pm|a/p|general|standard', re.IGNORECASE)
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_LAST_SERIAL = 2_958_466  # the day after 31 December 9999, with which dates of Excel and of Python end
_LEAP_BUG = 60  # 29 February 1900, which never was
_DAY_S, _HOUR_S, _MINUTE_S = 86_400, 3_600, 60
_FIGURES = 15  # significant figures that a double keeps of any decimal number, and that Excel shows
_EXACT = 10**_FIGURES  # whole numbers below are shown in full, those above with an exponent
_PERCENT = 100  # of a share
_TINY = 1e-9
"""Smaller numbers keep their exponent, as 15 decimals would cut their figures off; with a larger limit, small shares
and rates are harder to search.
"""
_MAX_CODES = 1_000  # whose kinds are kept: workbooks share most of them
_MAX_CODE = 300
"""Characters of a number format that are read: Excel allows some 250, and a damaged style may hold any number."""


def format_kind(number: int, code: str = "") -> str:
    """Return "date", "time", "datetime", "duration" or "percent" for a number format (ECMA-376, 18.8.30).

    A format that adds other signs to a number, such as a currency, is returned itself; "" stands for all others.
    """
    if not code:
        return _FORMATS.get(number, "")
    return _kind_of(code) or (code if len(code) <= _MAX_CODE and adds_signs(code) else "")


@lru_cache(_MAX_CODES)
def _kind_of(code: str) -> str:
    code = _LITERAL.sub("", code[:_MAX_CODE]).partition(";")[0].lower()
    if "%" in code:
        return "percent"
    if "[" in code:
        return "duration"
    return _kind_by_parts(bool(re.search(r"[yd]", code)), "m" in code, bool(re.search(r"[hs]", code)))


def _kind_by_parts(days: bool, m: bool, hours: bool) -> str:
    """Return what a format shows by its parts; an "m" beside hours stands for minutes, else for months."""
    if hours:
        return "datetime" if days else "time"
    return "date" if days or m else ""


def shown_number(value: float, kind: str = "", from_1904: bool = False) -> str:
    """Return a number for display: a serial day as a date, a share as a percentage, else up to 15 digits.

    `kind` is what `format_kind` returns.
    """
    if kind == "percent":
        return f"{_digits(value * _PERCENT)}%"
    if kind in _TIMES:
        return _shown_time(value, kind, from_1904) if 0 <= value < _LAST_SERIAL else _digits(value)
    return with_signs(value, _digits(value), kind) if kind and isfinite(value) else _digits(value)


def shown_date(value: date | time | timedelta) -> str:
    """Return a date, a time or both in ISO 8601, with a space between; midnight is left out."""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        hours, rest = divmod(abs(seconds), _HOUR_S)
        return f"{'-' * (seconds < 0)}{hours}:{rest // _MINUTE_S:02}:{rest % _MINUTE_S:02}"
    return value.isoformat("seconds") if isinstance(value, time) else value.isoformat()


def _shown_time(value: float, kind: str, from_1904: bool) -> str:
    span = timedelta(seconds=round(value * _DAY_S))
    if kind == "duration":
        return shown_date(span)
    if kind == "time" and value < 1:
        return shown_date((_EPOCH + span).time())
    if from_1904:
        return shown_date(_EPOCH_1904 + span)
    return shown_date(_EPOCH + span + timedelta(days=int(value < _LEAP_BUG)))


def _digits(value: float) -> str:
    if abs(value) < _EXACT and value == int(value):  # in this order: what is infinite or no number has no int
        return str(int(value))
    text = f"{value:.{_FIGURES}g}"
    return f"{value:.{_FIGURES}f}".rstrip("0") if "e-" in text and abs(value) > _TINY else text
