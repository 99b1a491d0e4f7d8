"""OpenDocument's numbers of headings and of items, which a word processor computes and no paragraph holds.

Source: OpenDocument 1.3, 16.30 "text:list-style", 16.34 "text:outline-style" and 19.880 "text:restart-numbering"; where
it leaves open what continues, and what a level above that is missing counts for, LibreOffice's way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lxml import etree

from docmill.tasks.parse.pandoc.inlines import NUMBER_END, NUMBER_MARK
from docmill.tasks.parse.passes.numbering import LevelNumbers, numbered
from docmill.tasks.parse.trees import whole

_OF = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TEXT, _STYLE = _OF % "text", _OF % "style"
_UNCOUNTED = "none"  # a level without a number: it has only what stands around one
_STYLES = {"1": "", "a": "a", "A": "A", "i": "i", "I": "I", "": _UNCOUNTED}
_ITEMS = (_TEXT + "list-item", _TEXT + "list-header")
_PARAGRAPHS = (_TEXT + "p", _TEXT + "h")
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_DEEPEST = 10  # levels that a list style has
_OUTLINE = ""  # the name of the document's own outline among its lists


@dataclass(frozen=True, slots=True)
class _NumberedLevel:
    """How a level is numbered: by which signs, what stands around them, and how many levels are shown."""

    form: str
    prefix: str
    suffix: str
    shown: int
    start: int


_Levels = Mapping[int, _NumberedLevel]


def write_numbers(root: Any, styles: Any) -> None:
    """Insert its number, between marks, at the beginning of each heading and item; `styles` is that of `styles.xml`."""
    lists = dict(_lists(root, styles))
    plain = set(_unnumbered(root))
    listed = set(_number_lists(root, lists))
    outline = lists.get(_OUTLINE, {})
    last = LevelNumbers()
    for heading in root.iter(_TEXT + "h"):
        level = whole(heading.get(_TEXT + "outline-level"), 1)
        counts = level in outline and heading.get(_TEXT + "is-list-header") != "true"
        if counts and heading not in listed and heading.get(_TEXT + "style-name") not in plain:
            first = whole(heading.get(_TEXT + "start-value"), outline[level].start)
            last.count(level, first, heading.get(_TEXT + "restart-numbering") == "true")
            _insert(heading, _label(level, outline, last))


def _number_lists(root: Any, lists: Mapping[str, _Levels]) -> Iterator[Any]:
    """Number the items of lists, and yield the paragraphs that have a number.

    A list goes on from the one that it names, or from the one before it if it says so and has the same style.
    """
    named: dict[str, LevelNumbers] = {}
    before, last = "", LevelNumbers()
    for one in root.iter(_TEXT + "list"):
        if one.getparent().tag in _ITEMS:
            continue
        style = one.get(_TEXT + "style-name") or ""
        goes_on = one.get(_TEXT + "continue-numbering") == "true" and style == before
        last = named.get(one.get(_TEXT + "continue-list") or "", last if goes_on else LevelNumbers())
        before, named[one.get(_ID) or "?"] = style, last
        yield from _number_items(one, 1, style, lists, last)


def _number_items(node: Any, level: int, style: str, lists: Mapping[str, _Levels], last: LevelNumbers) -> Iterator[Any]:
    """Number the items of a list and of those within it, which share the last number of each level."""
    style = node.get(_TEXT + "style-name") or style
    levels = lists.get(style, {})
    for item in node.iterchildren(*_ITEMS):
        first = next(item.iterchildren(*_PARAGRAPHS), None)
        # An item without a paragraph of its own only holds the list of a deeper level.
        if first is not None and item.tag == _ITEMS[0]:
            for above in range(1, level):
                last.setdefault(above, _start(levels, above))
            stated = item.get(_TEXT + "start-value")
            last.count(level, whole(stated, _start(levels, level)), stated is not None)
            if level in levels:
                _insert(first, _label(level, levels, last))
                yield first
        elif first is not None and level in levels:
            _insert(first, "")  # pandoc counts it
        for inner in item.iterchildren(_TEXT + "list") if level < _DEEPEST else ():
            yield from _number_items(inner, level + 1, style, lists, last)


def _lists(root: Any, styles: Any) -> Iterator[tuple[str, _Levels]]:
    """Yield the levels of the outline, and those of lists by their names."""
    for part in (one for one in (styles, root) if one is not None):
        for outline in part.iter(_TEXT + "outline-style"):
            yield _OUTLINE, dict(_levels(outline, "outline-level-style"))
        for one in part.iter(_TEXT + "list-style"):
            yield one.get(_STYLE + "name") or "?", dict(_levels(one, "list-level-style-number"))


def _levels(style: Any, name: str) -> Iterator[tuple[int, _NumberedLevel]]:
    for node in style.iterchildren(_TEXT + name):
        form = node.get(_STYLE + "num-format") or ""
        if form in _STYLES:
            prefix, suffix = (node.get(_STYLE + side) or "" for side in ("num-prefix", "num-suffix"))
            shown, start = (whole(node.get(_TEXT + one), 1) for one in ("display-levels", "start-value"))
            yield whole(node.get(_TEXT + "level"), 1), _NumberedLevel(_STYLES[form], prefix, suffix, shown, start)


def _unnumbered(root: Any) -> Iterator[str]:
    """Yield the paragraph styles that take headings out of every list."""
    for style in root.iter(_STYLE + "style"):
        if style.get(_STYLE + "list-style-name") == "":
            yield style.get(_STYLE + "name") or ""


def _start(levels: _Levels, level: int) -> int:
    return levels[level].start if level in levels else 1


def _label(level: int, levels: _Levels, last: Mapping[int, int]) -> str:
    """Return the number of the last heading or item of a level."""
    own = levels[level]
    above = range(max(1, level - own.shown + 1), level + 1) if own.form != _UNCOUNTED else ()
    counted = [one for one in above if one in levels and levels[one].form != _UNCOUNTED]
    shown = (numbered(last.get(one, levels[one].start), levels[one].form) for one in counted)
    return f"{own.prefix}{'.'.join(shown)}{own.suffix}".strip()


def _insert(paragraph: Any, label: str) -> None:
    """Insert a number, between marks, before the text of a paragraph, if it has any; a heading without one has none."""
    if not "".join(paragraph.itertext()).strip() or (not label and paragraph.tag == _TEXT + "h"):
        return
    number = etree.Element(_TEXT + "span")
    number.text, number.tail, paragraph.text = f"{NUMBER_MARK}{label}{NUMBER_END}", paragraph.text, None
    paragraph.insert(0, number)
