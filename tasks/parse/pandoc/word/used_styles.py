"""Used styles: the styles that a Word document's text names; Word writes hundreds, and pandoc would read them all."""

import re
import zipfile
from collections.abc import Callable, Iterable
from html import unescape
from typing import Any, NamedTuple, TypeVar

from docmill.tasks.parse.office.open_xml import member, usual_names
from docmill.tasks.parse.pandoc.word.word_fields import OFF, W
from docmill.tasks.parse.xml_trees import xml_tree

_Name = TypeVar("_Name", str, bytes)
STYLES = "word/styles.xml"
_USERS = re.compile(r"word/(?:document|footnotes|endnotes|comments|numbering)\.xml")
_USED = re.compile(rb"tyle(?:Link)?\b[^<>]*?\bval=[\"']([^\"'<>]*)[\"']")
"""The styles in pStyle, rStyle, tblStyle, styleLink and numStyleLink; a pattern that begins with letters is fast."""
_UNREAD = [W + name for name in ("latentStyles", "docDefaults")]
_BOUND = f'xmlns:w="{W[1:-1]}"'.encode()
_ANY_STYLE = b"<w:style"
_STYLE = re.compile(rb"<w:style((?: [\w:]+=\"[^\"<>]*\")+)>")
_ID = re.compile(rb" w:styleId=\"([^\"&]*)\"")
_BASED = b"basedOn"
_PARENT = re.compile(rb"basedOn w:val=\"([^\"&]*)\"")
_END = b"</w:style>"


def read_styles(container: zipfile.ZipFile) -> Any:
    """Return the root of `word/styles.xml` with the styles in use, or None if it is missing or damaged."""
    used = used_styles(container)
    try:
        root = xml_tree(without_unused_styles(usual_names(container.read(STYLES)), used))
    except Exception:  # other readers of the file report any error
        return None
    keep_used_styles(root, used)
    return root


def used_styles(container: zipfile.ZipFile) -> frozenset[str]:
    """Return the ids of the styles that the parts of a Word document name."""
    parts = (member(container, name) for name in container.namelist() if _USERS.fullmatch(name))
    return frozenset(unescape(one.decode("utf-8", "replace")) for part in parts for one in _USED.findall(part))


class _StyleText(NamedTuple):
    """A style's start and end in the file, whether it may be a default style, and the id of its base style."""

    start: int
    end: int
    is_default: bool
    parent: bytes


def without_unused_styles(content: bytes, used: frozenset[str]) -> bytes:
    """Return `word/styles.xml` without the styles that `keep_used_styles` removes, so that they need not be parsed.

    A file that is not written the way Word writes it is returned unchanged.
    """
    styles = _written_styles(content)
    defaults = (name for name, one in styles.items() if one.is_default)
    kept = _kept((*(name.encode() for name in used), *defaults), styles, lambda one: one.parent)
    unused = [style for name, style in styles.items() if name not in kept]
    starts = (0, *(style.end for style in unused))
    ends = (*(style.start for style in unused), len(content))
    return b"".join(content[start:end] for start, end in zip(starts, ends, strict=True))


def _written_styles(content: bytes) -> dict[bytes, _StyleText]:
    """Return the styles by id, in order; empty if anything like a style may be something else."""
    if content.count(b"xmlns:w=") != 1 or _BOUND not in content or b"<!" in content or content.count(b"<?") > 1:
        return {}
    found = [_written_style(content, tag) for tag in _STYLE.finditer(content)]
    by_name = dict(one for one in found if one)
    # The root has such a name, too.
    return by_name if len(by_name) == len(found) == content.count(_ANY_STYLE) - 1 else {}


def _written_style(content: bytes, tag: re.Match[bytes]) -> tuple[bytes, _StyleText] | None:
    """Return a style with its id, or None if it is not written the way Word writes it."""
    name, end = _ID.search(tag[1]), content.find(_END, tag.end())
    based = content.find(_BASED, tag.end(), end)
    parent = _PARENT.match(content, based) if based >= 0 else None
    if name is None or end < 0 or (based >= 0 and parent is None):
        return None
    return name[1], _StyleText(tag.start(), end + len(_END), b"w:default=" in tag[1], parent[1] if parent else b"")


def keep_used_styles(root: Any, used: frozenset[str]) -> None:
    """Remove the styles of `word/styles.xml` that are neither used, nor the base of used ones, nor default styles."""
    styles = {one.get(W + "styleId") or "": one for one in root.iterchildren(W + "style")}
    kept = _kept((*used, *(name for name, style in styles.items() if _is_default(style))), styles, _parent)
    unused = [style for name, style in styles.items() if name not in kept]
    for one in [*unused, *root.iterchildren(*_UNREAD)]:
        root.remove(one)


def _kept(names: Iterable[_Name], styles: dict[_Name, Any], parent: Callable[[Any], _Name]) -> set[_Name]:
    """Return the names of these styles and of all styles that they are based on."""
    kept: set[_Name] = set()
    for used in names:
        name = used
        while name in styles and name not in kept:
            kept.add(name)
            name = parent(styles[name])
    return kept


def _is_default(style: Any) -> bool:
    return (style.get(W + "default") or "0") not in OFF


def _parent(style: Any) -> str:
    based = style.find(W + "basedOn")
    return "" if based is None else based.get(W + "val") or ""
