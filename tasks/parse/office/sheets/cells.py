"""Cells: format a number for display: dates in ISO 8601, percentages, no noise, and the signs that a format adds.

Formats that only group or round digits are ignored, because people search for a number, and compute with it, by its
digits. Source: ECMA-376, 18.8.30 and 18.8.31.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from typing import NamedTuple

# The built-in number formats (ECMA-376, 18.8.30), which files refer to only by number.
_FORMATS = {
    **dict.fromkeys((9, 10), "percent"),
    **dict.fromkeys((14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58), "date"),
    **dict.fromkeys((18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56), "time"),
    **{22: "datetime", 46: "duration"},
}
_TIMES = frozenset(("date", "time", "datetime", "duration"))
# Everything but placeholders in a number format: quoted and escaped characters, padding, colours and conditions, AM/PM.
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|am/pm|a/p|general|standard', re.IGNORECASE)
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_LAST_SERIAL = 2_958_466  # the day after 31 December 9999, the last date in Excel and Python
_LEAP_BUG = 60  # 29 February 1900, which did not exist
_DAY_S, _HOUR_S, _MINUTE_S = 86_400, 3_600, 60
_FIGURES = 15  # significant figures that a double keeps of any decimal number, and that Excel shows
_NOISE = 2  # of these figures, the ones that sums of binary fractions get wrong
_SAVED = 5
"""Figures that rounding must save to show that they were noise: 959.999999999999 is 960. With fewer, a number of 13
figures that ends with a zero by chance would be rounded; more than the rest of 15 can never be saved."""
_EXACT = 10**_FIGURES  # integers below are shown in full, those above with an exponent
_PERCENT = 100  # of a share
_TINY = 1e-9
"""Smaller numbers keep their exponent, because 15 decimals would cut their figures off; with a larger limit, small
shares and rates are harder to search for."""
_MAX_CODES = 1_000  # kinds to cache: workbooks share most of their formats
_MAX_CODE = 300
"""Characters of a number format to read: Excel allows some 250, and a damaged style may contain any number."""
_PART = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[(?P<condition>[<>=]+)(?P<bound>-?[\d.]+)\]'
    r"|\[[^\]]*\]|(?P<digit>[0#?])|(?P<sign>[.,])|(?P<other>E[+-]|[/@%]|general|standard)|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
_SECTION = re.compile(r'(?:"[^"]*"|\\.|[^;"\\])+|(?<=;)(?=;|$)')
_LAID_OUT = " ()-+'\u00a0\u202f"  # literals that only affect layout, or show that a number is negative
_ZERO = 2  # the index of the section for zero, if a format has one
_THOUSAND = 3  # digits between two commas
_TESTS = {
    "<": Decimal.__lt__, "<=": Decimal.__le__, ">": Decimal.__gt__, ">=": Decimal.__ge__, "=": Decimal.__eq__,
    "<>": Decimal.__ne__,
}  # fmt: skip


def format_kind(number: int, code: str = "") -> str:
    """Return "date", "time", "datetime", "duration" or "percent" for a number format (ECMA-376, 18.8.30).

    A format that adds other signs to a number, such as a currency, is returned itself; "" means all others.
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
    """Return what a format shows, judged by its parts; an "m" next to hours means minutes, otherwise months."""
    if hours:
        return "datetime" if days else "time"
    return "date" if days or m else ""


def shown_number(value: float, kind: str = "", from_1904: bool = False) -> str:
    """Return a number for display: a serial day as a date, a share as a percentage, else up to 15 digits.

    `kind` is a result of `format_kind`.
    """
    if kind == "percent":
        return f"{_digits(value * _PERCENT)}%"
    if kind in _TIMES:
        return _shown_time(value, kind, from_1904) if 0 <= value < _LAST_SERIAL else _digits(value)
    return with_signs(value, _digits(value), kind) if kind and isfinite(value) else _digits(value)


def shown_date(value: date | time | timedelta) -> str:
    """Return a date, a time or both in ISO 8601, separated by a space; midnight is left out."""
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
    if abs(value) < _EXACT and value == int(value):  # in this order, because infinity and NaN have no int
        return str(int(value))
    text = f"{value:.{_FIGURES}g}"
    rounded = f"{value:.{_FIGURES - _NOISE}g}"
    text = text if len(rounded) > len(text) - _SAVED else rounded
    return f"{value:.{_FIGURES}f}".rstrip("0") if "e-" in text and abs(value) > _TINY else text


class _NumberSection(NamedTuple):
    """A section of a format: its literals and digit placeholders in order, and their properties."""

    parts: list[tuple[str, str]]
    decimals: int
    grouped: bool
    condition: tuple[str, str] | None


def adds_signs(code: str) -> bool:
    """Return whether a format adds signs to a number's digits: leading zeros, a currency, a unit or a prefix."""
    section = next(iter(_sections(code)), None)
    return section is not None and _adds(section)


def with_signs(value: float, digits: str, code: str) -> str:
    """Return a number as its format shows it; `digits` is the full number, all of whose digits are kept."""
    sections, number = list(_sections(code)), Decimal(digits)
    section = _chosen(sections, number)
    if section is None or not any(kind == "digit" for kind, _ in section.parts):
        return digits
    unsigned = number < 0 and len(sections) > 1 and section is sections[1]
    whole, _, rest = f"{abs(number):f}".partition(".")
    rest = rest.rstrip("0").ljust(section.decimals, "0")
    written = "".join(_placed(section, "" if whole == "0" else whole, rest))
    return f"-{written}" if value < 0 and not unsigned else written


def _sections(code: str) -> list[_NumberSection]:
    found = [_section(match[0]) for match in _SECTION.finditer(code)]
    return [] if None in found else [one for one in found if one is not None]


def _section(code: str) -> _NumberSection | None:
    """Return a section, or None if it shows fractions, exponents, percentages, or numbers in thousands."""
    parts: list[tuple[str, str]] = []
    condition, decimals, grouped, behind = None, 0, False, False
    for match in _PART.finditer(code):
        kind = match.lastgroup or ""
        if kind == "bound":
            condition = match["condition"], match["bound"]
        elif kind == "other":
            return None
        elif match["sign"] == ".":
            behind = True
            parts.append(("point", "."))
        elif match["sign"]:
            grouped = not behind
            parts.append(("comma", ""))
        elif kind == "digit":
            decimals += behind
            parts.append(("decimal" if behind else "digit", match[0]))
        elif kind:
            parts.append(("literal", match[kind]))
    return None if _is_scaled(parts) else _NumberSection(parts, decimals, grouped, condition)


def _is_scaled(parts: Sequence[tuple[str, str]]) -> bool:
    """Return whether a comma follows the last digit placeholder: each divides by a thousand."""
    kinds = [kind for kind, _ in parts if kind != "literal"]
    return kinds[-1:] == ["comma"] or ("comma", "point") in pairwise(kinds)


def _adds(section: _NumberSection) -> bool:
    zeros = sum(kind == "digit" and sign == "0" for kind, sign in section.parts)
    return zeros > 1 or any(kind == "literal" and sign.strip(_LAID_OUT) for kind, sign in section.parts)


def _chosen(sections: Sequence[_NumberSection], number: Decimal) -> _NumberSection | None:
    """Return the section for a number: the one whose condition holds, else the one for its sign."""
    conditions = [one.condition for one in sections]
    if any(conditions):
        return next((one for one in sections if one.condition and _holds(one.condition, number)), sections[-1])
    place = 1 if number < 0 else 0 if number else _ZERO
    return sections[place] if place < len(sections) else next(iter(sections), None)


def _holds(condition: tuple[str, str], number: Decimal) -> bool:
    sign, bound = condition
    return _TESTS.get(sign, Decimal.__eq__)(number, Decimal(bound))


def _placed(section: _NumberSection, whole: str, rest: str) -> list[str]:
    """Return the pieces of a number: digits fill the placeholders from the right, and the first one takes the rest."""
    places = sum(kind == "digit" for kind, _ in section.parts)
    padded = whole.rjust(places, "\0")
    taken, written, decimals = 0, list[str](), False
    for kind, sign in section.parts:
        if kind == "digit":
            until = len(padded) - places + taken + 1
            written.append(_run(padded, until - 1 if taken else 0, until, sign, section.grouped))
            taken += 1
        elif kind in ("point", "decimal"):
            if not decimals:
                written.append(f".{rest}" if rest.strip("0") or "0" in _signs(section) else "")
            decimals = True
        elif kind == "literal":
            written.append(sign)
    return [" ".join("".join(written).split())]


def _signs(section: _NumberSection) -> str:
    return "".join(sign for kind, sign in section.parts if kind == "decimal")


def _run(padded: str, start: int, end: int, sign: str, grouped: bool) -> str:
    digits = []
    for place in range(start, end):
        digit = padded[place]
        digit = ("0" if sign == "0" else "") if digit == "\0" else digit
        behind = len(padded) - place - 1
        digits.append(digit + ("," if grouped and digit and behind and behind % _THOUSAND == 0 else ""))
    return "".join(digits)
