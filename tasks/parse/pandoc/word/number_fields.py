"""Number fields: AUTONUM and LISTNUM, whose numbers Word computes and a file does not hold.

Source: ISO/IEC 29500-1, 17.16.5.4 to 17.16.5.6 "AUTONUM", "AUTONUMLGL", "AUTONUMOUT", and 17.16.5.33 "LISTNUM".
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from docmill.tasks.parse.pandoc.word.word_runs import W, WordField, run_of
from docmill.tasks.parse.passes.numbering import LevelNumbers, numbered

_FIELD = re.compile(r"\s*(AUTONUM(?:LGL|OUT)?|LISTNUM)\b(.*)", re.DOTALL | re.IGNORECASE)
_LIST = re.compile(r"\s*\"?(NumberDefault|OutlineDefault|LegalDefault)\"?", re.IGNORECASE)
_LEVEL, _START = re.compile(r"\\l\s*\"?([1-9])"), re.compile(r"\\s\s*\"?(\d{1,6})")
_NAMED = re.compile(r"\s*\"?\w")  # a list of the document's own, whose numbers are those of its paragraphs
_UNENDED = re.compile(r"\\e\b")  # legal numbers without the last stop
_HEADING = re.compile(r"Heading([1-9])", re.IGNORECASE)
_BODY = 10  # the level of a paragraph that is no heading
# The signs of each level, with the letter of their style in place of a number.
_NUMBERS = ("1)", "a)", "i)", "(1)", "(a)", "(i)", "1.", "a.", "i.")
_OUTLINE = ("I.", "A.", "1.", "a)", "(1)", "(a)", "(i)", "(a)", "(i)")
_LEGAL = "legaldefault"
_SIGN = re.compile(r"[1aAiI]")


def write_field_numbers(fields: Iterable[WordField]) -> None:
    """Insert the number of each such field before it; one that has kept its number is left as it is."""
    counts = defaultdict[str, LevelNumbers](LevelNumbers)
    for field in fields:
        match = None if field.shown or field.place is None else _FIELD.match(field.said)
        paragraph = next(field.place.iterancestors(W + "p"), None) if match else None
        if match and paragraph is not None:
            name, said = match[1].upper(), match[2]
            number = _listed(said, counts) if name == "LISTNUM" else _automatic(name, said, paragraph, counts)
            if number:
                field.place.addprevious(run_of(number))


def _listed(said: str, counts: dict[str, LevelNumbers]) -> str:
    """Return the number of a LISTNUM field, "" for one of a list of the document's own."""
    named = _LIST.match(said)
    if named is None and _NAMED.match(said):
        return ""
    name = named[1].lower() if named else "numberdefault"
    stated, start = _LEVEL.search(said), _START.search(said)
    level = int(stated[1]) if stated else 1
    last = counts[name]
    last.count(level, int(start[1]) if start else 1, start is not None)
    if name == _LEGAL:
        return _legal(last, level, ".")
    return _signed((_OUTLINE if name == "outlinedefault" else _NUMBERS)[level - 1], last[level])


def _automatic(name: str, said: str, paragraph: Any, counts: dict[str, LevelNumbers]) -> str:
    """Return the number of an AUTONUM field, by the level of its heading or of the text below one."""
    last = counts[name]
    style = paragraph.find(f"{W}pPr/{W}pStyle")
    heading = _HEADING.fullmatch((style.get(W + "val") if style is not None else "") or "")
    above = max((level for level in last if level < _BODY), default=0)
    level = int(heading[1]) if heading else _BODY
    last.count(level)
    if name == "AUTONUM":
        return f"{last[level]}."
    depth = min(level, above + 1, len(_OUTLINE))
    if name == "AUTONUMOUT":
        return _signed(_OUTLINE[depth - 1], last[level])
    numbers = {one: last.get(one, 1) for one in range(1, depth)} | {depth: last[level]}
    return _legal(numbers, depth, "" if _UNENDED.search(said) else ".")


def _legal(last: dict[int, int], level: int, end: str) -> str:
    return ".".join(str(last.get(one, 1)) for one in range(1, level + 1)) + end


def _signed(sign: str, number: int) -> str:
    style = _SIGN.search(sign)
    return sign if style is None else sign.replace(style[0], numbered(number, style[0].replace("1", "")))
