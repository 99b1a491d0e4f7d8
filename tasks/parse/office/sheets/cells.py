"""Cells: what is shown of a number by its format: dates as ISO 8601 has them, percentages, no float noise."""

import re
from datetime import date, datetime, time, timedelta

_FORMATS = {
    **dict.fromkeys((9, 10), "percent"),
    **dict.fromkeys((14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58), "date"),
    **dict.fromkeys((18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56), "time"),
    **{22: "datetime", 46: "duration"},
}
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|am/pm|a/p|general|standard', re.IGNORECASE)
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_LAST_SERIAL = 2_958_466
_LEAP_BUG = 60  # 29 February 1900, which never was
_EXACT = 10**15


def format_kind(number: int, code: str = "") -> str:
    """Return "date", "time", "datetime", "duration", "percent" or nothing, for a number format (ECMA-376, 18.8.30)."""
    if not code:
        return _FORMATS.get(number, "")
    code = _LITERAL.sub("", code[:300]).partition(";")[0].lower()
    if "%" in code:
        return "percent"
    if "[" in code:
        return "duration"
    days, hours = re.search(r"[yd]", code), re.search(r"[hs]", code)
    if days or ("m" in code and not hours):
        return "datetime" if hours else "date"
    return "time" if hours else ""


def shown_number(value: float, kind: str = "", from_1904: bool = False) -> str:
    """Return a number as it is read: a serial day as a date, a share as a percentage, else up to 15 digits."""
    if kind == "percent":
        return f"{_digits(value * 100)}%"
    if kind and 0 <= value < _LAST_SERIAL:
        return _shown_time(value, kind, from_1904)
    return _digits(value)


def shown_date(value: date | time | timedelta) -> str:
    """Return a date, a time or both as ISO 8601 has them, with a space between; midnight is left out."""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        return f"{'-' * (seconds < 0)}{abs(seconds) // 3600}:{abs(seconds) // 60 % 60:02}:{abs(seconds) % 60:02}"
    return value.isoformat("seconds") if isinstance(value, time) else value.isoformat()


def _shown_time(value: float, kind: str, from_1904: bool) -> str:
    span = timedelta(seconds=round(value * 86_400))
    if kind == "duration":
        return shown_date(span)
    if kind == "time" and value < 1:
        return shown_date((_EPOCH + span).time())
    if from_1904:
        return shown_date(_EPOCH_1904 + span)
    return shown_date(_EPOCH + span + timedelta(days=int(value < _LEAP_BUG)))


def _digits(value: float) -> str:
    if value == int(value) and abs(value) < _EXACT if abs(value) < float("inf") else False:
        return str(int(value))
    text = f"{value:.15g}"
    return f"{value:.15f}".rstrip("0") if "e-" in text and abs(value) > 1e-9 else text
