"""OpenDocument's heading numbers, which a word processor computes from the outline and no heading's text holds.

Source: OpenDocument 1.3, 16.34 "text:outline-style" and 19.880 "text:restart-numbering".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lxml import etree

from docmill.tasks.parse.markup.html.numbering import numbered, restart_below
from docmill.tasks.parse.pandoc.inlines import NUMBER_END, NUMBER_MARK

_OF = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TEXT, _STYLE = _OF % "text", _OF % "style"
_MAX_DIGITS = 6  # of a number in a file; more are damage
_STYLES = {"1": "", "a": "a", "A": "A", "i": "i", "I": "I"}
_OUTLINE = ""  # the name of the document's own outline among its lists


@dataclass(frozen=True, slots=True)
class _NumberedLevel:
    """How a level of headings is numbered: by which signs, what stands around them, and how many levels are shown."""

    form: str
    prefix: str
    suffix: str
    shown: int
    start: int


_Levels = Mapping[int, _NumberedLevel]


def write_heading_numbers(root: Any, styles: Any) -> None:
    """Insert its number, between marks, at the beginning of each heading; `styles` is the root of `styles.xml`."""
    lists = dict(_lists(root, styles))
    plain = set(_unnumbered(root))
    last: dict[str, dict[int, int]] = {}
    for heading in root.iter(_TEXT + "h"):
        name, level = _place(heading, lists)
        if level in lists.get(name, {}) and heading.get(_TEXT + "style-name") not in plain:
            label = _label(heading, level, lists[name], last.setdefault(name, {}))
            if label and "".join(heading.itertext()).strip():
                _insert(heading, f"{NUMBER_MARK}{label}{NUMBER_END}")


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
            shown, start = (_whole(node.get(_TEXT + one), 1) for one in ("display-levels", "start-value"))
            yield _whole(node.get(_TEXT + "level"), 1), _NumberedLevel(_STYLES[form], prefix, suffix, shown, start)


def _unnumbered(root: Any) -> Iterator[str]:
    """Yield the paragraph styles that take headings out of every list."""
    for style in root.iter(_STYLE + "style"):
        if style.get(_STYLE + "list-style-name") == "":
            yield style.get(_STYLE + "name") or ""


def _place(heading: Any, lists: Mapping[str, _Levels]) -> tuple[str, int]:
    """Return the list that numbers a heading and its level there: that of a list around it, else the outline."""
    around = list(heading.iterancestors(_TEXT + "list"))
    name = next((one.get(_TEXT + "style-name") for one in around if one.get(_TEXT + "style-name")), None)
    if name is not None and len(around) in lists.get(name, {}):
        return name, len(around)
    return _OUTLINE, _whole(heading.get(_TEXT + "outline-level"), 1)


def _label(heading: Any, level: int, levels: _Levels, last: dict[int, int]) -> str:
    """Count a heading; return its number, or "" if it is a header without one."""
    if heading.get(_TEXT + "is-list-header") == "true":
        return ""
    own = levels[level]
    restarts = heading.get(_TEXT + "restart-numbering") == "true"
    first = _whole(heading.get(_TEXT + "start-value"), own.start)
    last[level] = first if restarts or level not in last else last[level] + 1
    restart_below(last, level)
    above = [one for one in range(max(1, level - own.shown + 1), level + 1) if one in levels]
    shown = (numbered(last.get(one, levels[one].start), levels[one].form) for one in above)
    return f"{own.prefix}{'.'.join(shown)}{own.suffix}".strip()


def _insert(heading: Any, text: str) -> None:
    number = etree.Element(_TEXT + "span")
    number.text, number.tail, heading.text = text, heading.text, None
    heading.insert(0, number)


def _whole(stated: str | None, otherwise: int) -> int:
    return int(stated) if stated and stated.isascii() and stated.isdigit() and len(stated) <= _MAX_DIGITS else otherwise
