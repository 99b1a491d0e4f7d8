"""Number fields: AUTONUM and LISTNUM, whose numbers Word computes and a file does not hold.

Source: ISO/IEC 29500-1, 17.16.5.4 to 17.16.5.6 "AUTONUM", "AUTONUMLGL", "AUTONUMOUT", and 17.16.5.33 "LISTNUM".
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from lxml import etree

from docmill.tasks.parse.markup.html.numbering import numbered, restart_below

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
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


class _NumberField(NamedTuple):
    """A field: what it says after its name, where its text has to stand, and its paragraph."""

    name: str
    said: str
    place: Any
    paragraph: Any


def write_field_numbers(root: Any) -> None:
    """Insert the number of each such field before it; one that has kept its number is left as it is."""
    counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for field in list(_fields(root)):
        number = _listed(field.said, counts) if field.name == "LISTNUM" else _automatic(field, counts)
        if number:
            run = etree.Element(_W + "r")
            etree.SubElement(run, _W + "t", {_SPACE: "preserve"}).text = number
            field.place.addprevious(run)


def _fields(root: Any) -> Iterator[_NumberField]:
    """Yield the fields in order: simple ones, and those of several runs that end without a result."""
    begun: list[tuple[Any, list[str]]] = []
    for node in root.iter(_W + "fldSimple", _W + "fldChar", _W + "instrText"):
        if node.tag == _W + "fldSimple":
            yield from _field(node, node.get(_W + "instr") or "")
        elif node.tag == _W + "fldChar":
            yield from _turned(node, begun)
        elif begun:
            begun[-1][1].append(node.text or "")


def _turned(node: Any, begun: list[tuple[Any, list[str]]]) -> Iterator[_NumberField]:
    """Begin or end a field of several runs; one that shows a result says nothing here."""
    kind = node.get(_W + "fldCharType")
    if kind == "begin":
        begun.append((node.getparent(), []))
    elif kind == "separate" and begun:
        begun[-1][1].clear()
    elif kind == "end" and begun:
        place, said = begun.pop()
        yield from _field(place, "".join(said))


def _field(place: Any, instruction: str) -> Iterator[_NumberField]:
    match = _FIELD.match(instruction)
    paragraph = next(place.iterancestors(_W + "p"), None) if place is not None else None
    shown = place is not None and place.tag == _W + "fldSimple" and "".join(place.itertext()).strip()
    if match and paragraph is not None and not shown:
        yield _NumberField(match[1].upper(), match[2], place, paragraph)


def _listed(said: str, counts: dict[str, dict[int, int]]) -> str:
    """Return the number of a LISTNUM field, "" for one of a list of the document's own."""
    named = _LIST.match(said)
    if named is None and _NAMED.match(said):
        return ""
    name = named[1].lower() if named else "numberdefault"
    stated, start = _LEVEL.search(said), _START.search(said)
    level = int(stated[1]) if stated else 1
    last = _counted(counts[name], level, int(start[1]) if start else None)
    if name == _LEGAL:
        return _legal(last, level, ".")
    return _signed((_OUTLINE if name == "outlinedefault" else _NUMBERS)[level - 1], last[level])


def _automatic(field: _NumberField, counts: dict[str, dict[int, int]]) -> str:
    """Return the number of an AUTONUM field, by the level of its heading or of the text below one."""
    last = counts[field.name]
    style = field.paragraph.find(f"{_W}pPr/{_W}pStyle")
    heading = _HEADING.fullmatch((style.get(_W + "val") if style is not None else "") or "")
    above = max((level for level in last if level < _BODY), default=0)
    level = int(heading[1]) if heading else _BODY
    _counted(last, level)
    if field.name == "AUTONUM":
        return f"{last[level]}."
    depth = min(level, above + 1, len(_OUTLINE))
    if field.name == "AUTONUMOUT":
        return _signed(_OUTLINE[depth - 1], last[level])
    numbers = {one: last.get(one, 1) for one in range(1, depth)} | {depth: last[level]}
    return _legal(numbers, depth, "" if _UNENDED.search(field.said) else ".")


def _counted(last: dict[int, int], level: int, start: int | None = None) -> dict[int, int]:
    """Count a number of a level, which those below it begin anew after."""
    last[level] = last.get(level, 0) + 1 if start is None else start
    restart_below(last, level)
    return last


def _legal(last: dict[int, int], level: int, end: str) -> str:
    return ".".join(str(last.get(one, 1)) for one in range(1, level + 1)) + end


def _signed(sign: str, number: int) -> str:
    style = _SIGN.search(sign)
    return sign if style is None else sign.replace(style[0], numbered(number, style[0].replace("1", "")))
