"""Used styles: a Word document's part of styles without those that its text does not use.

Word writes hundreds of styles into every document, and pandoc compares each of them with all others: on documents of
some pages that takes a quarter of its time.
"""

import re
import zipfile
from html import unescape
from typing import Any

from docmill.tasks.parse.office.open_xml import member

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_USERS = re.compile(r"word/(?:document|footnotes|endnotes|comments|numbering)\.xml")
_USED = re.compile(rb"tyle(?:Link)?\b[^<>]*?\bval=[\"']([^\"'<>]*)[\"']")
"""What pStyle, rStyle, tblStyle, styleLink and numStyleLink name; a pattern that begins with letters is found fast."""
_OFF = ("0", "false", "off")
_UNREAD = [_W + name for name in ("latentStyles", "docDefaults")]


def used_styles(container: zipfile.ZipFile) -> frozenset[str]:
    """Return the ids of the styles that the parts of a Word document name."""
    parts = (member(container, name) for name in container.namelist() if _USERS.fullmatch(name))
    return frozenset(unescape(one.decode("utf-8", "replace")) for part in parts for one in _USED.findall(part))


def keep_used_styles(root: Any, used: frozenset[str]) -> None:
    """Remove the styles of `word/styles.xml` that are neither used, nor what those are based on, nor default ones."""
    styles = {one.get(_W + "styleId") or "": one for one in root.iterchildren(_W + "style")}
    kept: set[str] = set()
    for name in (*used, *(name for name, style in styles.items() if _is_default(style))):
        _keep(name, styles, kept)
    unused = [style for name, style in styles.items() if name not in kept]
    for one in [*unused, *root.iterchildren(*_UNREAD)]:
        root.remove(one)


def _keep(name: str, styles: dict[str, Any], kept: set[str]) -> None:
    """Add a style to those that are kept, and all that it is based on."""
    while name in styles and name not in kept:
        kept.add(name)
        name = _parent(styles[name])


def _is_default(style: Any) -> bool:
    return (style.get(_W + "default") or "0") not in _OFF


def _parent(style: Any) -> str:
    based = style.find(_W + "basedOn")
    return "" if based is None else based.get(_W + "val") or ""
