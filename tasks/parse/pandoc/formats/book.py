"""Books: EPUB as read by pandoc, drawn as chapters in reading order below their titles."""

import posixpath
import re
import zipfile
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.formulas_and_ruby import with_readings
from docmill.tasks.parse.office.open_xml import check_container, member, pictures_in, read_member, zipped
from docmill.tasks.parse.pandoc.document import draw_tree, headings_in
from docmill.tasks.parse.pandoc.inlines import Node
from docmill.tasks.parse.pandoc_program import read_tree
from docmill.tasks.parse.superscripts import script_classes

_RIGHTS = "META-INF/rights.xml"
_LOCKS = "META-INF/encryption.xml"
# Only fonts are encrypted with these two algorithms, so the text is readable.
_FONTS = (b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC")
_PAGES = (".xhtml", ".html", ".htm", ".svg")
_MAX_DEPTH = 5  # of a chapter's heading: Markdown has six, and one is the book's title
_STYLES = re.compile(r"<(\w*:?style)\b[^<>]*>[^<]*(?:<!\[CDATA\[.*?\]\]>[^<]*)?</\1\s*>", re.DOTALL)
_TYPE = "{http://www.idpf.org/2007/ops}type"


def parse_epub(data: bytes, options: ParseOptions) -> Parsed:
    """Return a book drawn as Markdown; raise Rejected `encrypted` if it has DRM.

    A chapter without a heading gets its title from the table of contents, which also says how deep chapters are.
    """
    with check_container(data, options.max_unpacked_bytes) as container:
        locks = member(container, _LOCKS)
        if member(container, _RIGHTS) or locks.count(b"<EncryptionMethod") > sum(map(locks.count, _FONTS)):
            raise Rejected("encrypted", "the book is encrypted by its publisher (DRM)")
        titles, authors = _chapter_titles(container), _authors(container)
        tree = read_tree(_prepared(container) or data, "epub")
        tree["blocks"] = _with_titles(tree["blocks"], titles)
        canvas = Canvas()
        title, metadata = draw_tree(tree, canvas, load=pictures_in(container, _package_folder(container)))
    return canvas.parsed(title, metadata | ({"author": authors} if authors else {}))


def _package_folder(container: zipfile.ZipFile) -> str:
    """Return the folder of a book's package, to which the picture paths that pandoc gives are relative."""
    return next((posixpath.dirname(name) for name in container.namelist() if name.endswith(".opf")), "")


def _prepared(container: zipfile.ZipFile) -> bytes:
    """Return a book in which elements raise the letters that its style sheets do, and readings are in brackets.

    Pandoc takes the style sheet of a drawing for words: it is left out. b"" if nothing of that is in the book.
    """
    raised = _raiser(container)
    changed = dict[str, bytes]()
    for name in filter(lambda name: name.endswith(_PAGES), container.namelist()):
        text = member(container, name).decode("utf-8", "surrogateescape")
        page = raised(with_readings(_STYLES.sub("", text) if "<svg" in text else text))
        if page != text:
            changed[name] = page.encode("utf-8", "surrogateescape")
    if not changed:
        return b""
    return zipped((name, changed.get(name) or member(container, name)) for name in container.namelist())


def _raiser(container: zipfile.ZipFile) -> Callable[[str], str]:
    """Return what writes elements that raise letters into a page, for the classes of a book that do."""
    names = filter(lambda name: name.endswith(".css"), container.namelist())
    classes = script_classes(member(container, name).decode("utf-8", "replace") for name in names)
    if not classes:
        return lambda page: page
    styled = re.compile(rf'<span class="({"|".join(map(re.escape, classes))})">([^<>]{{1,40}})</span>')
    return lambda page: styled.sub(lambda one: f"<{classes[one[1]]}>{one[2]}</{classes[one[1]]}>", page)


def _authors(container: zipfile.ZipFile) -> str:
    """Return a book's authors in the book's order, which pandoc reverses."""
    packages = (read_member(container, name) for name in container.namelist() if name.endswith(".opf"))
    names = (one.text for root in packages if root is not None for one in root.iter("{*}creator"))
    return ", ".join(filter(None, (" ".join((name or "").split()) for name in names)))


def _chapter_titles(container: zipfile.ZipFile) -> dict[str, tuple[int, str]]:
    """Return the depth and title of each file in the table of contents."""
    titles: dict[str, tuple[int, str]] = {}
    for name in container.namelist():
        if name.endswith(".ncx"):
            _read_contents(read_member(container, name), titles)
    for name in () if titles else container.namelist():
        if name.endswith((".xhtml", ".html")) and b"<nav" in member(container, name):
            _read_navigation(read_member(container, name), titles)
    return titles


def _read_navigation(root: Any, titles: dict[str, tuple[int, str]]) -> None:
    """Read the table of contents of EPUB 3, a page of nested lists."""
    for contents in () if root is None else root.iter("{*}nav"):
        if "toc" in (contents.get(_TYPE) or "").split():
            for link in contents.iter("{*}a"):
                depth = sum(1 for _ in link.iterancestors("{*}ol"))
                _note(titles, link.get("href") or "", depth, "".join(link.itertext()))


def _note(titles: dict[str, tuple[int, str]], source: str, depth: int, label: str) -> None:
    title = " ".join(label.split())
    if title:
        titles.setdefault(posixpath.basename(source.partition("#")[0]), (min(max(depth, 1), _MAX_DEPTH), title))


def _read_contents(root: Any, titles: dict[str, tuple[int, str]]) -> None:
    """Read the table of contents of EPUB 2, a tree of points."""
    for point in () if root is None else root.iter("{*}navPoint"):
        source, label = point.find("{*}content"), point.find("{*}navLabel/{*}text")
        if source is not None and label is not None:
            depth = sum(1 for _ in point.iterancestors("{*}navPoint")) + 1
            _note(titles, source.get("src") or "", depth, label.text or "")


def _with_titles(blocks: list[Node], titles: dict[str, tuple[int, str]]) -> list[Node]:
    """Return the blocks with the headings of each file at its depth, and a heading added to each file that has none."""
    starts = [index for index, node in enumerate(blocks) if _file_of(node)]
    if not starts:
        raise Rejected("corrupt", "the book has no reading order: its spine names none of its files")
    whole = blocks[: starts[0]]
    for start, end in pairwise([*starts, len(blocks)]):
        depth, title = titles.get(_file_of(blocks[start]), (0, ""))
        own = blocks[start + 1 : end]
        headings = [*headings_in(own)]
        if title and headings:
            _shift(headings, depth)
        elif title and _has_content(own):
            whole.append({"t": "Header", "c": [depth, ["", [], []], [{"t": "Str", "c": title}]]})
        whole += own
    return whole


def _has_content(own: list[Node]) -> bool:
    """Return whether a file's blocks have content."""
    return any(node["t"] != "Div" or node["c"][1] for node in own)


def _shift(headings: list[Node], depth: int) -> None:
    """Move the headings of a file so that the highest has the file's depth in the table of contents."""
    by = depth - min(node["c"][0] for node in headings)
    for node in headings:
        node["c"][0] = min(node["c"][0] + by, _MAX_DEPTH)


def _file_of(node: Node) -> str:
    """Return the name of the file that begins at a block, which is an empty span with that name as its id."""
    if node["t"] != "Para" or len(node["c"]) != 1 or node["c"][0]["t"] != "Span":
        return ""
    (name, _, _), inside = node["c"][0]["c"]
    return str(name) if not inside and "." in name else ""
