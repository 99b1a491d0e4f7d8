"""Lean body: a Word text without what pandoc does not read, in as few runs as it can be said in.

Word parts a paragraph into runs wherever its spelling was checked or it was saved in between, and every cell repeats
its width and its borders. pandoc looks at each of them many times: a third of its time on common documents.
"""

from typing import Any

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_RUN, _TEXT, _PROPERTIES = _W + "r", _W + "t", _W + "rPr"
_LOOKS = frozenset(_W + name for name in ("lang", "noProof", "sz", "szCs", "color", "kern", "spacing", "w"))
_KEPT = {
    _W + "tcPr": frozenset(_W + name for name in ("gridSpan", "vMerge", "hMerge", "cellIns", "cellDel")),
    _W + "tblPr": frozenset(_W + name for name in ("tblStyle", "tblLook", "tblCaption", "tblDescription")),
}
"""What of the properties of cells and tables says more than how they look; widths of columns do not."""
_UNEVEN = [_W + name for name in ("gridSpan", "vMerge", "gridBefore", "gridAfter", "sdt")]
_LAYOUT_NAMES = """
    spacing jc widowControl keepNext keepLines contextualSpacing tabs shd pBdr suppressAutoHyphens textAlignment
    snapToGrid bidi
"""
_LAYOUT = frozenset(_W + name for name in _LAYOUT_NAMES.split())
"""How a paragraph is set."""

_Key = tuple[Any, ...]


def make_lean(root: Any) -> None:
    """Remove unread properties of runs and tables, and join neighbouring runs that are alike; text stays as it is."""
    for mark in list(root.iter(_W + "proofErr")):
        mark.getparent().remove(mark)
    for grid in list(root.iter(_W + "tblGrid")):
        if _is_plain(grid.getparent(), len(grid)):
            grid.getparent().remove(grid)
    for properties in root.iter(_W + "pPr", *_KEPT):
        for one in [one for one in properties if _is_unread(one.tag, properties.tag)]:
            properties.remove(one)
    for paragraph in root.iter(_W + "p"):
        _join_runs(paragraph)


def _is_unread(name: str, owner: str) -> bool:
    return name not in _KEPT[owner] if owner in _KEPT else name in _LAYOUT


def _is_plain(table: Any, columns: int) -> bool:
    """Return whether each row of a table has one cell for each column, so that its grid says nothing but widths."""
    if next(table.iter(*_UNEVEN), None) is not None:
        return False
    return all(len(row.findall(_W + "tc")) == columns for row in table.iterchildren(_W + "tr"))


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
            text.set(_SPACE, "preserve")
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
