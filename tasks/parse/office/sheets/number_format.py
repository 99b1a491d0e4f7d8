"""Number format: write a number with the signs that its format adds: leading zeros, currencies, units, prefixes.

Formats that only group or round digits are ignored: a number is searched for, and computed with, by its digits.
Source: ECMA-376, 18.8.31.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

_PART = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[(?P<condition>[<>=]+)(?P<bound>-?[\d.]+)\]'
    r"|\[[^\]]*\]|(?P<digit>[0#?])|(?P<sign>[.,])|(?P<other>E[+-]|[/@%]|general|standard)|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
_SECTION = re.compile(r'(?:"[^"]*"|\\.|[^;"\\])+|(?<=;)(?=;|$)')
_LAID_OUT = " ()-+'\u00a0\u202f"  # literals that only lay out, or say that a number is negative
_ZERO = 2  # the place of the section for zero, if a format has it
_THOUSAND = 3  # digits between two commas
_TESTS = {
    "<": Decimal.__lt__, "<=": Decimal.__le__, ">": Decimal.__gt__, ">=": Decimal.__ge__, "=": Decimal.__eq__,
    "<>": Decimal.__ne__,
}  # fmt: skip


class _NumberSection(NamedTuple):
    """A section of a format: its literals and places for digits in order, and what it says of them."""

    parts: list[tuple[str, str]]
    decimals: int
    grouped: bool
    condition: tuple[str, str] | None


def adds_signs(code: str) -> bool:
    """Return whether a format adds signs to the digits of a number: zeros in front, a currency, a unit, a prefix."""
    section = next(iter(_sections(code)), None)
    return section is not None and _adds(section)


def with_signs(value: float, digits: str, code: str) -> str:
    """Return a number as its format shows it; `digits` is the number in full, whose digits are all kept."""
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
    """Return a section, or None of one that shows fractions, exponents, percentages, or a number in thousands."""
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
    """Return whether a comma stands behind the last place of a digit: each divides by a thousand."""
    kinds = [kind for kind, _ in parts if kind != "literal"]
    return kinds[-1:] == ["comma"] or ("comma", "point") in pairwise(kinds)


def _adds(section: _NumberSection) -> bool:
    zeros = sum(kind == "digit" and sign == "0" for kind, sign in section.parts)
    return zeros > 1 or any(kind == "literal" and sign.strip(_LAID_OUT) for kind, sign in section.parts)


def _chosen(sections: Sequence[_NumberSection], number: Decimal) -> _NumberSection | None:
    """Return the section of a number: that whose condition holds, else the one for its sign."""
    conditions = [one.condition for one in sections]
    if any(conditions):
        return next((one for one in sections if one.condition and _holds(one.condition, number)), sections[-1])
    place = 1 if number < 0 else 0 if number else _ZERO
    return sections[place] if place < len(sections) else next(iter(sections), None)


def _holds(condition: tuple[str, str], number: Decimal) -> bool:
    sign, bound = condition
    return _TESTS.get(sign, Decimal.__eq__)(number, Decimal(bound))


def _placed(section: _NumberSection, whole: str, rest: str) -> list[str]:
    """Return the pieces of a number: its digits in their places from the right, the first place taking what is left."""
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
