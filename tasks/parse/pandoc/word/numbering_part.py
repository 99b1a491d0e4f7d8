"""Word's numbering: the lists that a document declares, and the paragraphs that its styles number.

Source: ISO/IEC 29500-1, 17.9 "Numbering".
"""

import zipfile
from dataclasses import dataclass, field
from typing import Any

from docmill.tasks.parse.office.open_xml import read_member
from docmill.tasks.parse.pandoc.word.word_fields import OFF, W
from docmill.tasks.parse.xml_trees import whole

_MAX_PARENTS = 20
"""Maximum length of a chain of parent styles, as a file may name a style as its own ancestor."""
TOP_LEVEL, LEVELS = 0, 9


@dataclass(frozen=True, slots=True)
class NumberLevel:
    """How a level of a list is numbered.

    `text` has "%1" for the number of the first level and so on. `restart` is the level, from 1, after which the count
    starts again, 0 if it never does, or None for any level above. `pattern` shows the first numbers of a custom format,
    such as "001, 002, ...". A `legal` level shows the numbers of all levels as digits.
    """

    form: str
    text: str
    start: int = 1
    restart: int | None = None
    legal: bool = False
    hidden: bool = False
    pattern: str = ""

    def restarts_after(self, used: int, own: int) -> bool:
        """Return whether a paragraph of level `used`, from 0, restarts this level, whose number is `own`."""
        return used < (own if self.restart is None else min(own, self.restart))


@dataclass(frozen=True, slots=True)
class NumberedList:
    """A list: `shared` is the name of the definition that it counts with; `starts` has its own first numbers.

    Such a number applies only when the level first occurs in this list, not when it restarts.
    """

    shared: str
    levels: dict[int, NumberLevel]
    by_style: dict[str, int]
    starts: dict[int, int]

    def start(self, level: int) -> int:
        """Return the first number of a level."""
        return self.levels[level].start if level in self.levels else 1


@dataclass(frozen=True, slots=True)
class _NumberingStyle:
    """A paragraph style's numbering: its parent, its list, its level."""

    parent: str
    list: str | None
    level: int | None


@dataclass(frozen=True, slots=True)
class WordNumbering:
    """A document's lists by number, and its paragraph styles."""

    lists: dict[str, NumberedList] = field(default_factory=dict)
    styles: dict[str, _NumberingStyle] = field(default_factory=dict)
    default_style: str = ""

    def place_of(self, properties: Any) -> tuple[str, int] | None:
        """Return the list and the level, from 0, of a paragraph with these properties, which may be None."""
        own = None if properties is None else properties.find(W + "numPr")
        chain = self._ancestors(_value(properties, "pStyle") or self.default_style)
        number, level = _value(own, "numId"), _whole(_value(own, "ilvl"))
        by_style = number is None
        if by_style:
            number = self._list_by_style(chain)
        if number is None or number not in self.lists:
            return None
        if level is None:
            level = (self._level_by_style if by_style else self._linked_level)(number, chain)
        return number, min(level or TOP_LEVEL, LEVELS - 1)

    def _list_by_style(self, chain: list[str]) -> str | None:
        """Return the list from the nearest style that names one."""
        stated = (self.styles[one].list for one in chain)
        return next((name for name in stated if name is not None), None)

    def _level_by_style(self, number: str, chain: list[str]) -> int | None:
        """Return the level of a paragraph numbered by its style: the level linked to the style, or else its own."""
        linked = self._linked_level(number, chain)
        stated = (self.styles[one].level for one in chain)
        return next((level for level in stated if level is not None), None) if linked is None else linked

    def _linked_level(self, number: str, chain: list[str]) -> int | None:
        """Return the level of a list that is linked to a style or to its nearest ancestor."""
        by_style = self.lists[number].by_style
        return next((by_style[one] for one in chain if one in by_style), None)

    def _ancestors(self, style: str) -> list[str]:
        found: list[str] = []
        while style in self.styles and len(found) < _MAX_PARENTS:
            found.append(style)
            style = self.styles[style].parent
        return found


def read_numbering(container: zipfile.ZipFile, styles: Any) -> WordNumbering:
    """Return the numbering of a Word document; it is empty if there are no lists or their part is damaged.

    `styles` is the root of `word/styles.xml`, or None if there is none.
    """
    numbering = read_member(container, "word/numbering.xml")
    if numbering is None:
        return WordNumbering()
    found: dict[str, _NumberingStyle] = {}
    default = ""
    for style in () if styles is None else styles.iter(W + "style"):
        name = style.get(W + "styleId") or ""
        place = style.find(f"{W}pPr/{W}numPr")
        level = _whole(_value(place, "ilvl"))
        found[name] = _NumberingStyle(_value(style, "basedOn") or "", _value(place, "numId"), level)
        if style.get(W + "type") == "paragraph" and (style.get(W + "default") or "0") not in OFF:
            default = name
    return WordNumbering(_lists(numbering, found), found, default)


def _lists(numbering: Any, styles: dict[str, _NumberingStyle]) -> dict[str, NumberedList]:
    shared = {one.get(W + "abstractNumId"): one for one in numbering.iter(W + "abstractNum")}
    numbers = {one.get(W + "numId"): one for one in numbering.iter(W + "num")}
    return {
        number: _list(node, *_definition(node, shared, numbers, styles))
        for number, node in numbers.items()
        if number and _value(node, "abstractNumId") in shared
    }


def _definition(node: Any, shared: dict[Any, Any], numbers: dict[Any, Any], styles: Any) -> tuple[str, Any]:
    """Return the definition of a list; if it only names a style, the definition of that style's list."""
    name = _value(node, "abstractNumId") or ""
    style = styles.get(_value(shared[name], "numStyleLink"))
    other = numbers.get(style.list) if style else None
    linked = _value(other, "abstractNumId")
    return (linked, shared[linked]) if linked and linked in shared else (name, shared[name])


def _list(node: Any, name: str, definition: Any) -> NumberedList:
    levels: dict[int, NumberLevel] = {}
    by_style: dict[str, int] = {}
    starts: dict[int, int] = {}
    for level in definition.iterchildren(W + "lvl"):
        _add_level(level, levels, by_style)
    for override in node.iterchildren(W + "lvlOverride"):
        for level in override.iterchildren(W + "lvl"):
            _add_level(level, levels, by_style)
        start, at = _whole(_value(override, "startOverride")), _whole(override.get(W + "ilvl"))
        if start is not None and at is not None:
            starts[at] = start
    return NumberedList(name, levels, by_style, starts)


def _add_level(node: Any, levels: dict[int, NumberLevel], by_style: dict[str, int]) -> None:
    number = _whole(node.get(W + "ilvl"))
    if number is None:
        return
    style = _value(node, "pStyle")
    if style:
        by_style[style] = number
    form = next(iter(node.iter(W + "numFmt")), None)  # within AlternateContent for a format from a later Word
    start = _whole(_value(node, "start"))
    levels[number] = NumberLevel(
        form=(None if form is None else form.get(W + "val")) or "decimal",
        text=_value(node, "lvlText") or "",
        start=0 if start is None else start,
        restart=_whole(_value(node, "lvlRestart")),
        legal=_is_on(node.find(W + "isLgl")),
        hidden=_is_on(node.find(f"{W}rPr/{W}vanish")),
        pattern="" if form is None else form.get(W + "format") or "",
    )


def _is_on(node: Any) -> bool:
    return node is not None and (node.get(W + "val") or "1") not in OFF


def _value(node: Any, name: str) -> str | None:
    """Return the value of a child, or None if there is no such child."""
    child = None if node is None else node.find(W + name)
    return None if child is None else str(child.get(W + "val") or "")


def _whole(text: str | None) -> int | None:
    number = whole(text, -1)
    return None if number < 0 else number
