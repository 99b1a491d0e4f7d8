"""Lean Word: a document without what pandoc does not read, in as few runs as it can be said in.

Word parts a paragraph into runs wherever its spelling was checked or it was saved in between, and every cell repeats
its width and its borders. pandoc looks at each of them many times: a third of its time on common documents. It also
compares each of the hundreds of styles that Word writes with all others: a quarter of its time on some pages.
"""

import re
import zipfile
from html import unescape
from typing import Any

from docmill.tasks.parse.office.open_xml import member
from docmill.tasks.parse.pandoc.word.word_fields import OFF, SPACE, W

_RUN, _TEXT, _PROPERTIES = W + "r", W + "t", W + "rPr"
_LOOKS = frozenset(W + name for name in ("lang", "noProof", "sz", "szCs", "color", "kern", "spacing", "w"))
_KEPT = {
    W + "tcPr": frozenset(W + name for name in ("gridSpan", "vMerge", "hMerge", "cellIns", "cellDel")),
    W + "tblPr": frozenset(W + name for name in ("tblStyle", "tblLook", "tblCaption", "tblDescription")),
}
"""What of the properties of cells and tables says more than how they look; widths of columns do not."""
_UNEVEN = [W + name for name in ("gridSpan", "vMerge", "gridBefore", "gridAfter", "sdt")]
_LAYOUT_NAMES = """
    spacing jc widowControl keepNext keepLines contextualSpacing tabs shd pBdr suppressAutoHyphens textAlignment
    snapToGrid bidi
"""
_LAYOUT = frozenset(W + name for name in _LAYOUT_NAMES.split())
"""How a paragraph is set."""
_USERS = re.compile(r"word/(?:document|footnotes|endnotes|comments|numbering)\.xml")
_USED = re.compile(rb"tyle(?:Link)?\b[^<>]*?\bval=[\"']([^\"'<>]*)[\"']")
"""What pStyle, rStyle, tblStyle, styleLink and numStyleLink name; a pattern that begins with letters is found fast."""
_UNREAD = [W + name for name in ("latentStyles", "docDefaults")]

_Key = tuple[Any, ...]


def make_lean(root: Any) -> None:
    """Remove unread properties of runs and tables, and join neighbouring runs that are alike; text stays as it is."""
    for mark in list(root.iter(W + "proofErr")):
        mark.getparent().remove(mark)
    for grid in list(root.iter(W + "tblGrid")):
        if _is_plain(grid.getparent(), len(grid)):
            grid.getparent().remove(grid)
    for properties in root.iter(W + "pPr", *_KEPT):
        for one in [one for one in properties if _is_unread(one.tag, properties.tag)]:
            properties.remove(one)
    for paragraph in root.iter(W + "p"):
        _join_runs(paragraph)


def _is_unread(name: str, owner: str) -> bool:
    return name not in _KEPT[owner] if owner in _KEPT else name in _LAYOUT


def _is_plain(table: Any, columns: int) -> bool:
    """Return whether each row of a table has one cell for each column, so that its grid says nothing but widths."""
    if next(table.iter(*_UNEVEN), None) is not None:
        return False
    return all(len(row.findall(W + "tc")) == columns for row in table.iterchildren(W + "tr"))


def _join_runs(paragraph: Any) -> None:
    """Join the runs of a paragraph that hold nothing but text, and stand side by side with the same properties."""
    last, before = None, None
    for run in list(paragraph):
        key = _key(run) if run.tag == _RUN and not run.tail else None
        if key is None:
            last = None
        elif last is not None and key == before:
            text = last[-1]
            text.text = (text.text or "") + (run[-1].text or "")
            text.set(SPACE, "preserve")
            paragraph.remove(run)
        else:
            last, before = run, key


def _key(run: Any) -> _Key | None:
    """Return the properties of a run that holds one text, without those of its looks; None for any other run."""
    names = [one.tag for one in run]
    if names == [_TEXT]:
        return ()
    return _properties(run[0]) if names == [_PROPERTIES, _TEXT] else None


def _properties(properties: Any) -> _Key:
    """Return the properties of a run, from which those of its looks are removed."""
    for look in [one for one in properties if one.tag in _LOOKS]:
        properties.remove(look)
    return tuple((one.tag, *one.attrib.items()) if not len(one) else id(one) for one in properties)


def used_styles(container: zipfile.ZipFile) -> frozenset[str]:
    """Return the ids of the styles that the parts of a Word document name."""
    parts = (member(container, name) for name in container.namelist() if _USERS.fullmatch(name))
    return frozenset(unescape(one.decode("utf-8", "replace")) for part in parts for one in _USED.findall(part))


def keep_used_styles(root: Any, used: frozenset[str]) -> None:
    """Remove the styles of `word/styles.xml` that are neither used, nor what those are based on, nor default ones."""
    styles = {one.get(W + "styleId") or "": one for one in root.iterchildren(W + "style")}
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
    return (style.get(W + "default") or "0") not in OFF


def _parent(style: Any) -> str:
    based = style.find(W + "basedOn")
    return "" if based is None else based.get(W + "val") or ""
