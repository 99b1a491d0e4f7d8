"""ODT and RTF: OpenDocument and RTF, by pandoc."""

import re
from typing import Any

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dates import with_iso_dates
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.office.flat_document import open_container
from docmill.tasks.parse.office.open_xml import member, pictures_in, read_member, rewritten
from docmill.tasks.parse.office.properties import open_document_properties
from docmill.tasks.parse.pandoc.document import drawn_document
from docmill.tasks.parse.pandoc.formats.open_body import prepare_body
from docmill.tasks.parse.pandoc.formats.rtf_letters import with_letters
from docmill.tasks.parse.pandoc.formats.rtf_tables import read_sized, with_inner_rows, with_sizes
from docmill.tasks.parse.pandoc.inlines import NUMBER_END, NUMBER_MARK
from docmill.tasks.parse.pandoc.process.program import read_tree
from docmill.tasks.parse.titles.contents_list import with_contents

_PAGE_BREAK = b"<text:soft-page-break"
_RTF_INFO = re.compile(rb"\{\\(title|author|subject|keywords|doccomm)\s((?:[^{}\\]|\\[^{}])*)\}")
_RTF_DATE = re.compile(rb"\{\\(creatim|revtim)\\yr(\d+)\\mo(\d+)\\dy(\d+)(?:\\hr(\d+)\\min(\d+))?")
_RTF_NOTE = re.compile(rb"\{\\\*\\footnote\b")  # pandoc skips groups marked as ignorable
_RTF_SIGN = re.compile(rb"\\([{}\\])")
_RTF_DELETED = re.compile(rb"\\deleted(?![a-z])")  # tracked deletions; pandoc leaves out hidden text
_RTF_LOWERED = re.compile(rb"(?<!\\)\\dn(?:[1-9]\d{0,3})?(?![0-9a-z-])")  # pandoc reads `\up`, and not this one
_RTF_STYLE = re.compile(rb"\{\\s(\d{1,4})(?=[\\ ])([^{}]{0,600}?)[ ]([^{}\\;]{1,80});\}")
_RTF_HEADING = re.compile(r"(?:heading|überschrift|titre|título|titolo|rubrik|kop|заголовок) ?(\d)", re.IGNORECASE)
_RTF_OUTLINE = re.compile(rb"\\outlinelevel([0-8])")
_RTF_PARAGRAPH = re.compile(rb"\\s(\d{1,4})(?![0-9])(?!(?:(?!\\par\b)[^{}]){0,200}\\outlinelevel)")
_RTF_PARTS = re.compile(rb"(\\pard?(?![a-z]))")
_RTF_CONTENTS = re.compile(
    r"(?:toc|contents|table of (?:contents|figures)|(?:inhalts)?verzeichnis|tm|índice|sommario) ?\d?", re.IGNORECASE
)
_RTF_LEADER = re.compile(rb"\\tl(?:dot|mdot|hyph|ul|th|eq)(?![a-z])")  # of a tab stop
_RTF_TAB = re.compile(rb"\\tab(?![a-z])")
_RTF_STYLED = re.compile(rb"\\s(\d{1,4})(?![0-9])")
_RTF_PAGE = re.compile(rb"(?:\d{1,4}|[ivxlc]{1,6})\s*")
_RTF_UNSHOWN = re.compile(rb"\{\\\*\\fldinst[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\\[a-z]+-?\d* ?|[{}]")
_RTF_CELL = re.compile(rb"(\\cell(?![a-z]))")
_RTF_LISTED = re.compile(rb"\\(?:ls|ilvl)\d{1,4}(?![0-9]) ?")
_RTF_ITEM = re.compile(rb"\{\\listtext(?![a-z])([^{}]*)\}")  # what readers that know no lists show before an item
_RTF_NUMBERED = re.compile(rb"\{\\listtext(?![a-z])(?P<item>[^{}]*)\}(?P<form>(?:\\(?!u-?\d)[a-z]+-?\d* ?|\s){0,60})")
_RTF_FORM = re.compile(rb"\\(?!u-?\d)[a-z]+-?\d* ?")
_RTF_TABLE = re.compile(rb"(?<!\\row)(?<!\\row\\pard)\\trowd(?![a-z])")
_RTF_APART = rb"\\pard\\plain {\\v -}\\par \g<0>"
"""An unseen paragraph above a table: pandoc moves a list that ends right there to the top of the document."""
_RTF_LEADERS = b" .... "
_RTF_NAMES = {"doccomm": "description", "creatim": "created", "revtim": "modified"}
_RTF_HEAD = 200_000
"""Bytes to search for the info group: it follows the tables of fonts and styles, which may be long, but not the text.
"""
_NO_YEAR = 1900  # no file was written by then: the date was never set


def parse_odt(data: bytes, options: ParseOptions) -> Parsed:
    """Return an OpenDocument text drawn as Markdown, with its title, authors, dates and language.

    Pages are those of the last save. Headings begin with the numbers that their outline gives them.
    """
    with open_container(data, options.max_unpacked_bytes) as container:
        metadata = with_iso_dates(open_document_properties(container))
        body = member(container, "content.xml")
        prepared, heading = prepare_body(
            body, read_member(container, "styles.xml"), options.comments, container.NameToInfo
        )
        data = rewritten(container, lambda name, content: prepared if name == "content.xml" else content)
        tree, page = read_tree(data, "odt"), int(_PAGE_BREAK in body)
        return drawn_document(tree, metadata, page, heading, pictures_in(container))


def parse_rtf(data: bytes, _: ParseOptions) -> Parsed:
    """Return a rich text document drawn as Markdown, with the title, author and dates of its info group.

    Tracked changes count as accepted, as in other formats.
    """
    data = with_sizes(with_inner_rows(with_letters(data)))
    metadata = _rtf_metadata(data[:_RTF_HEAD])
    data = _RTF_LOWERED.sub(rb"\\sub", data)
    data = _RTF_DELETED.sub(rb"\\v", _RTF_NOTE.sub(rb"{\\footnote", data))
    data = _with_leaders(_RTF_NUMBERED.sub(_numbered, _with_levels(_with_plain_cells(data))))
    return with_contents(drawn_document(read_sized(data), metadata))


def _numbered(match: re.Match[bytes]) -> bytes:
    """Return what begins an item, with the number that readers which know no lists show; pandoc counts anew."""
    item, form = match["item"], match["form"]
    shown = _RTF_FORM.sub(b"", item).strip().decode("utf-8", "replace")
    if "\\" in shown or not any(map(str.isalnum, shown)):
        return match[0]
    number = f" {NUMBER_MARK}{shown}{NUMBER_END}".encode()
    above = match.string[match.string.rfind(b"\\pard", 0, match.start()) : match.start()]
    # What pandoc takes for an item is no heading: without its list it is one.
    return number + _RTF_LISTED.sub(b"", form) if b"\\outlinelevel" in above else match[0] + number


def _with_plain_cells(data: bytes) -> bytes:
    """Return rich text whose cells have no lists, which pandoc would move to the top, but the signs of their items."""
    if b"\\intbl" not in data or not _RTF_LISTED.search(data):
        return data
    parts = _RTF_CELL.split(data)
    for at in range(0, len(parts) - 1, 2):
        before, row, inside = parts[at].rpartition(b"\\trowd")
        plain = _RTF_ITEM.sub(lambda match: b" " + _RTF_FORM.sub(b"", match[1]).strip() + b" ", inside)
        parts[at] = before + row + (_RTF_LISTED.sub(b"", plain) if b"\\intbl" in inside else inside)
    return _RTF_TABLE.sub(_RTF_APART, b"".join(parts))


def _with_leaders(data: bytes) -> bytes:
    """Return rich text whose lists of contents have leaders between a name and its page, where they have a tab."""
    contents = _contents_styles(data)
    if not contents and not _RTF_LEADER.search(data):
        return data
    parts, listed = _RTF_PARTS.split(data), False
    for at in range(2, len(parts), 2):
        begins = _is_listed(parts[at], contents)
        # Without a new beginning, a paragraph is set like the one before it.
        listed = begins or (listed and parts[at - 1] == b"\\par" and not _RTF_STYLED.search(parts[at]))
        parts[at] = _led(parts[at]) if listed else parts[at]
    return b"".join(parts)


def _contents_styles(data: bytes) -> frozenset[bytes]:
    """Return the numbers of the styles of lists of contents."""
    names = ((number, name.decode("utf-8", "replace")) for number, _, name in _RTF_STYLE.findall(data))
    return frozenset(number for number, name in names if _RTF_CONTENTS.fullmatch(name))


def _is_listed(paragraph: bytes, contents: frozenset[bytes]) -> bool:
    styled = _RTF_STYLED.search(paragraph)
    return (styled is not None and styled[1] in contents) or _RTF_LEADER.search(paragraph) is not None


def _led(paragraph: bytes) -> bytes:
    """Return a paragraph with leaders in place of the tab before its page, if it ends with one."""
    tabs = list(_RTF_TAB.finditer(paragraph))
    if not tabs or not _RTF_PAGE.fullmatch(_RTF_UNSHOWN.sub(b"", paragraph[tabs[-1].end() :]).strip()):
        return paragraph
    return paragraph[: tabs[-1].start()] + _RTF_LEADERS + paragraph[tabs[-1].end() :]


def _with_levels(data: bytes) -> bytes:
    """Return rich text whose headings state their level, which pandoc does not take from styles."""
    levels: dict[bytes, int] = {}
    for number, properties, name in _RTF_STYLE.findall(data):
        outline, heading = _RTF_OUTLINE.search(properties), _RTF_HEADING.fullmatch(name.decode("utf-8", "replace"))
        if outline or heading:
            levels[number] = int(outline[1]) if outline else max(0, int(heading[1]) - 1) if heading else 0

    def stated(match: re.Match[bytes]) -> bytes:
        return match[0] + (b"\\outlinelevel%d" % levels[match[1]] if match[1] in levels else b"")

    return _RTF_PARAGRAPH.sub(stated, data) if levels else data


def _rtf_metadata(head: bytes) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for name, value in _RTF_INFO.findall(head):
        said = " ".join(_RTF_SIGN.sub(rb"\1", value).decode("utf-8", "replace").split())
        if said:
            metadata.setdefault(_RTF_NAMES.get(name.decode(), name.decode("utf-8", "replace")), said)
    for name, year, month, day, hour, minute in _RTF_DATE.findall(head):
        if int(year) > _NO_YEAR:
            time = f"T{int(hour):02}:{int(minute):02}" if hour else ""
            metadata[_RTF_NAMES[name.decode()]] = f"{int(year):04}-{int(month):02}-{int(day):02}{time}"
    return metadata
