"""Word fields: writes what Word computes and a file does not store: ticks and choices, numbers, tables of contents.

Source: ISO/IEC 29500-1, 17.16.5 (AUTONUM, LISTNUM, TOC) and 17.5.2.9 "docPartGallery".
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from docmill.tasks.parse.pandoc.inlines import CONTENTS_MARK
from docmill.tasks.parse.passes.numbering import LevelNumbers, numbered

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_FIELDS = (W + "fldSimple", W + "fldChar")
OFF = ("0", "false", "off", "none")
_STYLE = re.compile(r"TOC(?:\d|Heading)|ContentsHeading|Contents\d|TableofFigures", re.IGNORECASE)
_INSTRUCTION = re.compile(r"\s*TO[CF]\b")  # a table of contents or figures; INDEX is an index of words
_GALLERY = "Table of Contents"
_TICKED, _EMPTY = "☒", "☐"
_FIELD = re.compile(r"\s*(AUTONUM(?:LGL|OUT)?|LISTNUM)\b(.*)", re.DOTALL | re.IGNORECASE)
_LIST = re.compile(r"\s*\"?(NumberDefault|OutlineDefault|LegalDefault)\"?", re.IGNORECASE)
_LEVEL, _START = re.compile(r"\\l\s*\"?([1-9])"), re.compile(r"\\s\s*\"?(\d{1,6})")
_NAMED = re.compile(r"\s*\"?\w")  # a list of the document's own, whose numbers are those of its paragraphs
_UNENDED = re.compile(r"\\e\b")  # legal numbers without the final full stop
_HEADING = re.compile(r"Heading([1-9])", re.IGNORECASE)
_BODY = 10  # the level of a paragraph that is not a heading
# The signs of each level, with the letter of their style in place of a number.
_NUMBERS = ("1)", "a)", "i)", "(1)", "(a)", "(i)", "1.", "a.", "i.")
_OUTLINE = ("I.", "A.", "1.", "a)", "(1)", "(a)", "(i)", "(a)", "(i)")
_LEGAL = "legaldefault"
_SIGN = re.compile(r"[1aAiI]")


def run_of(text: str) -> Any:
    """Return a run with a text whose spaces are kept."""
    run = etree.Element(W + "r")
    etree.SubElement(run, W + "t", {SPACE: "preserve"}).text = text
    return run


def paragraph_of(text: str) -> Any:
    """Return a paragraph with one run."""
    paragraph = etree.Element(W + "p")
    paragraph.append(run_of(text))
    return paragraph


def put_first(paragraph: Any, text: str) -> None:
    """Insert a run with a text before the other runs of a paragraph."""
    properties = paragraph.find(W + "pPr")
    paragraph.insert(0 if properties is None else paragraph.index(properties) + 1, run_of(text))


@dataclass(slots=True)
class WordField:
    """A field: its instruction, the node that begins it, whether it shows a result, and all paragraphs of its text."""

    place: Any
    said: str = ""
    shown: bool = False
    paragraphs: dict[Any, None] = field(default_factory=dict)


def fields_in(root: Any) -> Iterator[WordField]:
    """Yield simple fields, and fields of several runs as they end; fields may be nested. Unclosed ones are ignored."""
    begun: list[WordField] = []
    has_fields = next(root.iter(*_FIELDS), None) is not None  # without any fields, the texts need not be walked
    for node in root.iter(*_FIELDS, W + "instrText", W + "t") if has_fields else ():
        if node.tag == W + "fldSimple":
            yield WordField(node, node.get(W + "instr") or "", bool("".join(node.itertext()).strip()))
        elif node.tag == W + "fldChar":
            yield from _turned(node, begun)
        elif begun and node.tag == W + "instrText":
            begun[-1].said += node.text or ""
        else:
            for one in begun:
                one.paragraphs |= dict.fromkeys(node.iterancestors(W + "p"))


def _turned(node: Any, begun: list[WordField]) -> list[WordField]:
    """Begin a field, record that it shows a result, or end it; return a field that ends."""
    kind = node.get(W + "fldCharType")
    if kind == "begin":
        begun.append(WordField(node.getparent()))
    elif kind == "separate" and begun:
        begun[-1].shown = True
    return [begun.pop()] if kind == "end" and begun else []


def mark_contents(root: Any, fields: Iterable[WordField]) -> None:
    """Insert a mark at the beginning of each paragraph of a table of contents, including its title."""
    computed = (paragraph for one in fields if _INSTRUCTION.match(one.said) for paragraph in one.paragraphs)
    for paragraph in {*computed, *_within_galleries(root), *_styled(root)}:
        properties = paragraph.find(W + "pPr")
        style = None if properties is None else properties.find(W + "pStyle")
        if style is not None:  # its title may be styled as a heading, but is not one
            properties.remove(style)
        put_first(paragraph, CONTENTS_MARK)


def _styled(root: Any) -> Iterator[Any]:
    for style in root.iter(W + "pStyle"):
        if _STYLE.fullmatch(style.get(W + "val") or ""):
            yield style.getparent().getparent()


def _within_galleries(root: Any) -> Iterator[Any]:
    for gallery in root.iter(W + "docPartGallery"):
        block = next(gallery.iterancestors(W + "sdt"), None)
        if gallery.get(W + "val") == _GALLERY and block is not None:
            yield from block.iter(W + "p")


def write_form_fields(root: Any) -> None:
    """Insert a run with the value of each check box and drop-down list before its field."""
    for data in list(root.iter(W + "ffData")):
        shown = _shown(data)
        run = next(data.iterancestors(W + "r"), None)
        if shown and run is not None and run.getparent() is not None:
            run.addprevious(run_of(shown))


def _shown(data: Any) -> str:
    box, choices = data.find(W + "checkBox"), data.find(W + "ddList")
    if box is not None:
        return _EMPTY if _stated(box, ("checked", "default"), "1") in OFF else _TICKED
    if choices is None:
        return ""
    entries = [one.get(W + "val") or "" for one in choices.iter(W + "listEntry")]
    at = _stated(choices, ("result", "default"), "0")
    return next((one for number, one in enumerate(entries) if str(number) == at), "")


def _stated(settings: Any, names: tuple[str, ...], bare: str) -> str:
    """Return the value of the first of some settings; `bare` if it has no value, "0" if there is none."""
    found = next((one for name in names if (one := settings.find(W + name)) is not None), None)
    return "0" if found is None else found.get(W + "val") or bare


def write_field_numbers(fields: Iterable[WordField]) -> None:
    """Insert the number of each such field before it; a field that has kept its number is left as it is."""
    counts = defaultdict[str, LevelNumbers](LevelNumbers)
    for one in fields:
        match = None if one.shown or one.place is None else _FIELD.match(one.said)
        paragraph = next(one.place.iterancestors(W + "p"), None) if match else None
        if match and paragraph is not None:
            name, said = match[1].upper(), match[2]
            number = _listed(said, counts) if name == "LISTNUM" else _automatic(name, said, paragraph, counts)
            if number:
                one.place.addprevious(run_of(number))


def _listed(said: str, counts: dict[str, LevelNumbers]) -> str:
    """Return the number of a LISTNUM field, or "" for one in a list of the document's own."""
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
    """Return the number of an AUTONUM field by the level of its heading, or of the text below one."""
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
