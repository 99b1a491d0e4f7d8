"""OpenDocument body: prepare it for pandoc, which would lose some of its text.

Pandoc drops text boxes, descriptions of pictures, fields such as dates, bibliographies, words with ruby readings, and
formulas whose folder is written with a slash at its end. It ignores pages and the paragraph style of titles.
"""

from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import quote

from lxml import etree

from docmill.tasks.parse.pandoc.formats.open_numbers import write_numbers
from docmill.tasks.parse.pandoc.inlines import CONTENTS_MARK, PAGE_MARK, SAID
from docmill.tasks.parse.trees import words_in, xml_tree

_OF = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TEXT, _DRAW, _STYLE, _SVG = (_OF % name for name in ("text", "drawing", "style", "svg-compatible"))
_FIELD_WORDS = """
    date time page-count author-name author-initials creator initial-creator file-name title subject keywords
    description creation-date modification-date print-date user-defined chapter user-field-get user-field-input
    variable-get variable-set variable-input text-input expression placeholder drop-down conditional-text
    database-display sender-firstname sender-lastname sender-company sender-email meta-field ruby ruby-base
"""
_FIELDS = [_TEXT + word for word in _FIELD_WORDS.split()]
_CONTENTS = [_TEXT + word for word in ("table-of-content", "illustration-index", "table-index", "object-index")]
_BLOCKS = [*_CONTENTS, *(_TEXT + word for word in ("numbered-paragraph", "bibliography", "alphabetical-index"))]
_BOXES = [_DRAW + word for word in ("text-box", "custom-shape", "rect", "ellipse", "circle", "polygon", "caption")]
_COMMENT, _AUTHOR = _OF % "office" + "annotation", "{http://purl.org/dc/elements/1.1/}creator"
_HREF = "{http://www.w3.org/1999/xlink}href"
_MAX_PARENTS = 10
"""Maximum chain of parent styles: a file may name a style as its own ancestor."""


def prepare_body(
    content: bytes, styles: Any = None, comments: bool = False, pictures: Collection[str] = ()
) -> tuple[bytes, str]:
    """Return `content.xml` with all words where pandoc reads them, and the text of the paragraph styled as title.

    `styles` is the root of `styles.xml`, or None: it says how headings and items are numbered. With `comments` each
    stands below the paragraph that it is about. `pictures` are members of the file: a picture that is none of them is
    replaced by its description.
    """
    root = xml_tree(content)
    for changes in list(root.iter(_TEXT + "tracked-changes")):
        changes.getparent().remove(changes)
    if comments:
        _write_comments(root)
    write_numbers(root, styles)
    for mark in root.iter(_TEXT + "soft-page-break"):
        _make_span(mark, PAGE_MARK)
    for frame in list(root.iter(_DRAW + "frame")):
        _say_picture(frame, pictures)
    _name_formulas(root)
    for box in reversed(list(root.iter(*_BOXES))):
        _move_below(box)
    for reading in root.iter(_TEXT + "ruby-text"):
        _make_span(reading, f"({''.join(reading.itertext())})")
    for field in root.iter(*_FIELDS):
        field.tag = _TEXT + "span"
        field.attrib.clear()
    _mark_entries(root)
    for block in root.iter(*_BLOCKS):
        block.tag = _TEXT + "section"
        for part in list(block):
            _unfold(part)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True)), _title(root)


def _make_span(node: Any, text: str) -> None:
    """Replace a node's content by a text; what follows the node stays."""
    for child in list(node):
        node.remove(child)
    node.tag, node.text = _TEXT + "span", text
    node.attrib.clear()


def _write_comments(root: Any) -> None:
    """Insert each comment as a paragraph below the one that it stands in: `Comment by Ann: Too short.`"""
    for comment in reversed(list(root.iter(_COMMENT))):
        lines = ("".join(line.itertext()).strip() for line in comment.iter(_TEXT + "p"))
        author, said = (comment.findtext(_AUTHOR) or "").strip(), " ".join(filter(None, lines))
        anchor = next(comment.iterancestors(_TEXT + "p", _TEXT + "h"), None)
        if said and anchor is not None:
            below = etree.Element(_TEXT + "p")
            below.text = f"Comment{f' by {author}' if author else ''}: {said}"
            below.tail, anchor.tail = anchor.tail, None
            anchor.addnext(below)


def _mark_entries(root: Any) -> None:
    """Mark the paragraphs of lists of contents, their names included."""
    for entry in [one for listed in root.iter(*_CONTENTS) for one in listed.iter(_TEXT + "p", _TEXT + "h")]:
        entry.tag = _TEXT + "p"
        mark = etree.Element(_TEXT + "span")
        mark.text, mark.tail, entry.text = CONTENTS_MARK, entry.text, None
        entry.insert(0, mark)
        for tab in entry.iter(_TEXT + "tab"):
            _make_span(tab, " ")


def _say_picture(frame: Any, pictures: Collection[str]) -> None:
    """Put the description of a picture into its address, or in its place, if that has more than one word."""
    about = frame.find(_SVG + "desc")
    about = frame.find(_SVG + "title") if about is None else about
    said = "" if about is None else words_in(about)
    image = frame.find(_DRAW + "image")
    if " " not in said or image is None:
        return
    if (address := image.get(_HREF) or "").removeprefix("./") in pictures:
        image.set(_HREF, f"{address}{SAID}{quote(said)}")
    else:
        _make_span(frame, f" {said} ")


def _name_formulas(root: Any) -> None:
    """Name the folders of formulas as pandoc looks for them."""
    for formula in root.iter(_DRAW + "object"):
        formula.set(_HREF, (formula.get(_HREF) or "").rstrip("/"))


def _move_below(box: Any) -> None:
    """Put a box's paragraphs below its anchor paragraph; a box anchored to a page stays in place."""
    anchor = next(box.iterancestors(_TEXT + "p", _TEXT + "h"), None)
    frame = box.getparent() if box.tag == _BOXES[0] else box
    if anchor is None:
        frame.tag = box.tag = _TEXT + "section"
        return
    below = anchor
    for paragraph in list(box.iterchildren(_TEXT + "p", _TEXT + "h", _TEXT + "list")):
        paragraph.tail = None
        below.addnext(paragraph)
        below = paragraph
    _make_span(frame, "")


def _unfold(part: Any) -> None:
    """Keep only the body of an index, not its definition."""
    if part.tag == _TEXT + "index-body":
        part.tag = _TEXT + "section"
        for name in part.iter(_TEXT + "index-title"):
            name.tag = _TEXT + "section"
    elif part.tag not in (_TEXT + "p", _TEXT + "h"):
        part.getparent().remove(part)


def _title(root: Any) -> str:
    """Return the first paragraph with text if its style is "Title" or derived from it."""
    parents = {
        node.get(_STYLE + "name"): node.get(_STYLE + "parent-style-name") for node in root.iter(_STYLE + "style")
    }
    for node in root.iter(_TEXT + "p", _TEXT + "h"):
        text = words_in(node)
        if text:
            return text if "Title" in _styles(node.get(_TEXT + "style-name"), parents) else ""
    return ""


def _styles(name: str | None, parents: dict[str, str | None]) -> Iterator[str]:
    """Yield a style and its ancestors."""
    for _ in range(_MAX_PARENTS):
        if name is None:
            return
        yield name
        name = parents.get(name)
