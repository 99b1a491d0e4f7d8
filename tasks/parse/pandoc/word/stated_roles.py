"""Stated roles: headings by outline level and code by its font, given the styles by which pandoc recognises them.

Source: ISO/IEC 29500-1, 17.3.1.20 "outlineLvl".
"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from lxml import etree

from docmill.tasks.parse.font_names import MONOSPACED
from docmill.tasks.parse.pandoc.markdown_writer import reads_as_heading
from docmill.tasks.parse.pandoc.word.word_fields import W
from docmill.tasks.parse.xml_trees import whole

_LEVELS = 9  # a further level is body text
_MAX_PARENTS = 20  # as a file may name a style as its own ancestor
_CODE, _HEADING = "docmillCode", "docmillHeading"
_NAMED = ("heading ", "toc ", "title", "subtitle", "source code")  # the styles that pandoc or we know by name
_BOUND = (W + "numPr", W + "drawing", W + "pict")  # an item of a list, or a picture
_ALL = 0.5
"""Share of the letters in monospaced fonts above which a document is typewritten, so that they are no sign of code."""
_WORDY, _LETTERS = 8, 0.85
"""Words of a line and share of letters among its signs from which text in such a font is prose: statements have fewer
words, and more brackets and signs."""


class WordStyle(NamedTuple):
    """What a paragraph or character style states, itself or by its ancestors."""

    named: bool = False
    level: int = _LEVELS
    mono: bool = False


def add_role_styles(styles: Any) -> None:
    """Add to `word/styles.xml` the styles that `state_roles` gives."""
    names = {f"{_HEADING}{level}": f"heading {level}" for level in range(1, _LEVELS + 1)} | {_CODE: "Source Code"}
    for name, known_as in names.items():
        style = etree.SubElement(styles, W + "style", {W + "type": "paragraph", W + "styleId": name})
        etree.SubElement(style, W + "name").set(W + "val", known_as)


def state_roles(root: Any, styles: Any) -> None:
    """Give headings and code of `word/document.xml` the styles of `add_role_styles`, which pandoc knows."""
    known = _known(styles)
    if any(one.level < _LEVELS and not one.named for one in known.values()) or _holds(root, "outlineLvl"):
        _state_headings(root, known)
    # Most documents have no such font, and looking at each run would take longer than all other preparation.
    if any(one.mono for one in known.values()) or any(map(_is_mono_font, root.iter(W + "rFonts"))):
        _state_code(root, known)


def _state_headings(root: Any, known: Mapping[str, WordStyle]) -> None:
    for paragraph, style in _styled(root, known):
        level = _level(paragraph, style)
        if level < _LEVELS and not style.named and _may_head(paragraph):
            _restyle(paragraph, f"{_HEADING}{level + 1}")


def _state_code(root: Any, known: Mapping[str, WordStyle]) -> None:
    for block in _listings([*_styled(root, known)], known):
        for paragraph in block:
            _restyle(paragraph, _CODE)


def _holds(root: Any, name: str) -> bool:
    return next(root.iter(W + name), None) is not None


def _styled(root: Any, known: Mapping[str, WordStyle]) -> Iterator[tuple[Any, WordStyle]]:
    return ((one, _style_of(one, known)) for one in root.iter(W + "p"))


def _known(styles: Any) -> Mapping[str, WordStyle]:
    """Return the styles by id; that of paragraphs which name none is ""."""
    nodes = {one.get(W + "styleId") or "": one for one in styles.iterchildren(W + "style")}
    usual = next((name for name, one in nodes.items() if one.get(W + "default") and _is_of(one, "paragraph")), "")
    found = {name: _read(node, nodes) for name, node in nodes.items()}
    return found | {"": found.get(usual, WordStyle())}


def _is_of(style: Any, kind: str) -> bool:
    return bool(style.get(W + "type") == kind)


def _read(style: Any, nodes: Mapping[str, Any]) -> WordStyle:
    line = [*_line(style, nodes)]
    names = [_value(one.find(W + "name")).lower() for one in line]
    levels = (one.find(f"{W}pPr/{W}outlineLvl") for one in line)
    level = next((whole(_value(one), _LEVELS) for one in levels if one is not None), _LEVELS)
    return WordStyle(any(map(_is_known, names)), level, next(filter(None, map(_font, line)), "") == "mono")


def _line(style: Any, nodes: Mapping[str, Any]) -> Iterator[Any]:
    """Yield a style and its ancestors."""
    for _ in range(_MAX_PARENTS):
        if style is None:
            return
        yield style
        style = nodes.get(_value(style.find(W + "basedOn")))


def _is_known(name: str) -> bool:
    return name.startswith(_NAMED)


def _value(node: Any) -> str:
    return "" if node is None else node.get(W + "val") or ""


def _font(owner: Any) -> str:
    """Return whether the font of a style or run is "mono" or "other", "" if it states none."""
    fonts = owner.find(f"{W}rPr/{W}rFonts")
    if fonts is None or not (fonts.get(W + "ascii") or fonts.get(W + "asciiTheme")):
        return ""
    return "mono" if _is_mono_font(fonts) else "other"


def _is_mono_font(fonts: Any) -> bool:
    return MONOSPACED.search(fonts.get(W + "ascii") or "") is not None


def _style_of(paragraph: Any, known: Mapping[str, WordStyle]) -> WordStyle:
    return known.get(_value(paragraph.find(f"{W}pPr/{W}pStyle")), known[""])


def _level(paragraph: Any, style: WordStyle) -> int:
    own = paragraph.find(f"{W}pPr/{W}outlineLvl")
    return style.level if own is None else whole(_value(own), _LEVELS)


def _may_head(paragraph: Any) -> bool:
    """Return whether a paragraph reads as a heading: contracts state levels for whole clauses, too."""
    return next(paragraph.iterancestors(W + "tbl"), None) is None and reads_as_heading(_text(paragraph).strip())


def _text(node: Any) -> str:
    """Return the text of a paragraph or run."""
    return "".join(one.text or "" for one in node.iter(W + "t"))


def _listings(paragraphs: list[tuple[Any, WordStyle]], known: Mapping[str, WordStyle]) -> Iterator[list[Any]]:
    """Yield the paragraphs of each listing: set in a font of one width, unlike most text, and no prose."""
    mono = [paragraph for paragraph, style in paragraphs if _is_mono(paragraph, style, known)]
    if sum(map(_letters, mono)) > _ALL * sum(_letters(paragraph) for paragraph, _ in paragraphs):
        return
    listed = set(mono)
    for is_mono, group in groupby((paragraph for paragraph, _ in paragraphs), key=listed.__contains__):
        block = [*group]
        if is_mono and not _is_prose([*map(_text, block)]):
            yield block


def _letters(paragraph: Any) -> int:
    return len(_text(paragraph))


def _is_prose(lines: list[str]) -> bool:
    signs = "".join("".join(lines).split())
    wordy = sum(len(line.split()) for line in lines) >= _WORDY * len(lines)
    return wordy and sum(map(str.isalpha, signs)) > _LETTERS * len(signs)


def _is_mono(paragraph: Any, style: WordStyle, known: Mapping[str, WordStyle]) -> bool:
    """Return whether all text of a paragraph is monospaced, and it is neither an item nor in a table."""
    if style.named or next(paragraph.iter(*_BOUND), None) is not None or not _has_room(paragraph):
        return False
    runs = [run for run in paragraph.iter(W + "r") if _text(run).strip()]
    return bool(runs) and all(_run_is_mono(run, style, known) for run in runs)


def _run_is_mono(run: Any, style: WordStyle, known: Mapping[str, WordStyle]) -> bool:
    font = _font(run)
    named = known.get(_value(run.find(f"{W}rPr/{W}rStyle")), style)
    return font == "mono" or (not font and (style.mono or named.mono))


def _has_room(paragraph: Any) -> bool:
    """Return whether a paragraph is outside tables, or in one of a single cell, which is a frame."""
    table = next(paragraph.iterancestors(W + "tbl"), None)
    return table is None or len([*table.iter(W + "tc")]) == 1


def _restyle(paragraph: Any, name: str) -> None:
    properties = paragraph.find(W + "pPr")
    if properties is None:
        properties = etree.Element(W + "pPr")
        paragraph.insert(0, properties)
    style = properties.find(W + "pStyle")
    if style is None:
        style = etree.Element(W + "pStyle")
        properties.insert(0, style)
    style.set(W + "val", name)
