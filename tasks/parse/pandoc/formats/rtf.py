r"""RTF: rich text by pandoc, which would lose letters, cell sizes, heading levels and item numbers.

A letter is either a byte, `\'cf`, in the code page of its font, or the document's if the font has none; or a number,
`\u1087?`, followed by a replacement for old readers. Pandoc reads every byte as Western European, and every cell that
spans rows or columns as a single one; a mark in each cell carries its size through pandoc. Source: Rich Text Format
specification 1.9.1, "Character Set", "Unicode RTF", "Table Definitions".
"""

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, NamedTuple

from docmill.storage.schema import Parsed
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.pandoc.document import drawn_document
from docmill.tasks.parse.pandoc.inlines import NUMBER_END, NUMBER_MARK, Node
from docmill.tasks.parse.pandoc_program import read_tree
from docmill.tasks.parse.titles.contents_list import with_contents

_RTF_INFO = re.compile(rb"\{\\(title|author|subject|keywords|doccomm)\s((?:[^{}\\]|\\[^{}])*)\}")
_RTF_DATE = re.compile(rb"\{\\(creatim|revtim)\\yr(\d+)\\mo(\d+)\\dy(\d+)(?:\\hr(\d+)\\min(\d+))?")
_RTF_NOTE = re.compile(rb"\{\\\*\\footnote\b")  # pandoc skips groups marked as ignorable
_RTF_SIGN = re.compile(rb"\\([{}\\])")
_RTF_DELETED = re.compile(rb"\\deleted(?![a-z])")  # tracked deletions; pandoc leaves out hidden text
_RTF_LOWERED = re.compile(rb"(?<!\\)\\dn(?:[1-9]\d{0,3})?(?![0-9a-z-])")  # pandoc reads `\up`, but not this word
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
_RTF_ITEM = re.compile(rb"\{\\listtext(?![a-z])([^{}]*)\}")  # shown before an item by readers without lists
_RTF_NUMBERED = re.compile(rb"\{\\listtext(?![a-z])(?P<item>[^{}]*)\}(?P<form>(?:\\(?!u-?\d)[a-z]+-?\d* ?|\s){0,60})")
_RTF_FORM = re.compile(rb"\\(?!u-?\d)[a-z]+-?\d* ?")
_RTF_TABLE = re.compile(rb"(?<!\\row)(?<!\\row\\pard)\\trowd(?![a-z])")
_RTF_APART = rb"\\pard\\plain {\\v -}\\par \g<0>"
"""A hidden paragraph above a table, without which pandoc moves a list that ends there to the document's top."""
_RTF_LEADERS = b" .... "
_RTF_NAMES = {"doccomm": "description", "creatim": "created", "revtim": "modified"}
_RTF_HEAD = 200_000
"""Bytes to search for the info group: it comes after the font and style tables, which may be long, before the text.
"""
_NO_YEAR = 1900  # no file was written by then, so the date was never set
_TOKEN = re.compile(
    rb"\\'(?P<byte>[0-9a-fA-F]{2})|(?P<raw>[\x80-\xff]+)|(?P<open>\{)|(?P<close>\})"
    rb"|\\(?P<word>fonttbl|plain|mac|ansicpg|fcharset|deff|info|bin|uc|u|f)(?P<number>-?\d{1,9})?(?![A-Za-z0-9]) ?"
    rb"|\\[^'A-Za-z]"
)
_INSTEAD = re.compile(rb"\\'[0-9a-fA-F]{2}|\\[A-Za-z]+-?\d* ?|\\[^A-Za-z']|[^{}\\\r\n]")
_WORD = re.compile(rb"\\[A-Za-z]+(?:-?\d+)?\Z")
_ESCAPED = re.compile(r"[{}\\]")
_LONGEST_WORD = 40
"""Bytes before letters that may contain a control word: the specification allows 32 letters, then a number."""
_WESTERN = "cp1252"
_FONT_WORDS = ("f", "deff", "plain")
_CHARSETS = {  # of fonts; 1 is the document's own, 2 the charset of symbols
    0: _WESTERN, 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "cp950", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
    254: "cp437", 255: "cp850",
}  # fmt: skip
_NO_SECOND = (b"", b"\\", b"{", b"}", b"\r", b"\n")
_OF_TWO_BYTES = ("cp932", "cp949", "gbk", "cp950")
# Code pages that Python has under a name; `\mac`, which has no number, is read as 0.
_PAGES = {0: "mac_roman", 936: "gbk", 10000: "mac_roman", 10007: "mac_cyrillic", 65001: "utf-8"}
_MAX_INSTEAD = 9
"""Maximum replacement characters for one number: one or two are usual; a damaged count must not swallow the text."""
_UNITS = 0x10000  # numbers of UTF-16 code units; from 32,768 on they are written as negative numbers
_ROW_END = re.compile(rb"(\\row(?![a-z]))")
_ROW_START = re.compile(rb"\\trowd(?![a-z])")
_BETWEEN = re.compile(rb"(?:\\(?!par\b)[a-z]+-?\d*|[{}\s])*+")  # the parts between two rows of one table, without text
_INNER_ROW = re.compile(rb"\{\\\*\\nesttableprops(?:[^{}]|\{[^{}]*\})*\}\s*(?:\{\\nonesttables[^{}]*\})?")
_DEEPER = re.compile(rb"\\itap[2-9](?!\d) ?|\{\\nonesttables[^{}]*\}")  # a table's depth; text for older programs
_AGAIN = re.compile(rb"(?<=; )((?:\\ltrrow|\\rtlrow|[}\s])*)\\trowd(?:(?!\\pard|\\row(?![a-z]))[^{}])*")
"""A row definition that is repeated after an inner row, which would make pandoc drop the content above it."""
_INNER_CELL = re.compile(
    rb"\\nestcell(?![a-z]) ?(?=((?:[\s{}]|\\(?!nestcell)[a-z]+-?\d* ?)*+;)?)"
)  # the last of a row?
_INNER_END = re.compile(rb";((?:[\s{}]|\\(?!cell)[a-z]+-?\d*)*+\\cell(?![a-z]))")
_CELL = re.compile(rb"(\\cell(?![a-z]))")
_STATED = re.compile(rb"\\(?:(clmrg|clvmrg)|cellx(-?\d{1,6}))(?![a-z0-9])")
_LEFT, _ABOVE = b"clmrg", b"clvmrg"  # of a cell merged with the one at its left, or above
_NEAR = 60  # twips, i.e. three points: programs round the cell ends of a column; columns are further apart
_SIGN, _END = "\ue014", "\ue015"  # around a cell's size
_MARK = re.compile(f"{_SIGN}(\\d+),(\\d+){_END}")
_COVERED = (0, 0)  # the size of a cell merged into another

Size = tuple[int, int]  # rows and columns


def parse_rtf(data: bytes, _: ParseOptions) -> Parsed:
    """Return a rich text document drawn as Markdown, with the title, author and dates from its info group.

    Tracked changes are treated as accepted, as in other formats.
    """
    data = with_sizes(with_inner_rows(with_letters(data)))
    metadata = _rtf_metadata(data[:_RTF_HEAD])
    data = _RTF_LOWERED.sub(rb"\\sub", data)
    data = _RTF_DELETED.sub(rb"\\v", _RTF_NOTE.sub(rb"{\\footnote", data))
    data = _with_leaders(_RTF_NUMBERED.sub(_numbered, _with_levels(_with_plain_cells(data))))
    return with_contents(drawn_document(read_sized(data), metadata))


def _numbered(match: re.Match[bytes]) -> bytes:
    """Return an item's beginning with the number shown by readers without lists, as pandoc numbers items itself."""
    item, form = match["item"], match["form"]
    shown = _RTF_FORM.sub(b"", item).strip().decode("utf-8", "replace")
    if "\\" in shown or not any(map(str.isalnum, shown)):
        return match[0]
    number = f" {NUMBER_MARK}{shown}{NUMBER_END}".encode()
    above = match.string[match.string.rfind(b"\\pard", 0, match.start()) : match.start()]
    # Pandoc does not treat an item as a heading, so the paragraph leaves its list to become one.
    return number + _RTF_LISTED.sub(b"", form) if b"\\outlinelevel" in above else match[0] + number


def _with_plain_cells(data: bytes) -> bytes:
    """Return rich text without lists in cells, which pandoc would move to the top, but with the items' markers."""
    if b"\\intbl" not in data or not _RTF_LISTED.search(data):
        return data
    parts = _RTF_CELL.split(data)
    for at in range(0, len(parts) - 1, 2):
        before, row, inside = parts[at].rpartition(b"\\trowd")
        plain = _RTF_ITEM.sub(lambda match: b" " + _RTF_FORM.sub(b"", match[1]).strip() + b" ", inside)
        parts[at] = before + row + (_RTF_LISTED.sub(b"", plain) if b"\\intbl" in inside else inside)
    return _RTF_TABLE.sub(_RTF_APART, b"".join(parts))


def _with_leaders(data: bytes) -> bytes:
    """Return rich text with leaders between name and page in tables of contents, where they have a tab."""
    contents = _contents_styles(data)
    if not contents and not _RTF_LEADER.search(data):
        return data
    parts, listed = _RTF_PARTS.split(data), False
    for at in range(2, len(parts), 2):
        begins = _is_listed(parts[at], contents)
        # Unless its formatting is reset, a paragraph has the formatting of the previous one.
        listed = begins or (listed and parts[at - 1] == b"\\par" and not _RTF_STYLED.search(parts[at]))
        parts[at] = _led(parts[at]) if listed else parts[at]
    return b"".join(parts)


def _contents_styles(data: bytes) -> frozenset[bytes]:
    """Return the numbers of the styles for tables of contents."""
    names = ((number, name.decode("utf-8", "replace")) for number, _, name in _RTF_STYLE.findall(data))
    return frozenset(number for number, name in names if _RTF_CONTENTS.fullmatch(name))


def _is_listed(paragraph: bytes, contents: frozenset[bytes]) -> bool:
    styled = _RTF_STYLED.search(paragraph)
    return (styled is not None and styled[1] in contents) or _RTF_LEADER.search(paragraph) is not None


def _led(paragraph: bytes) -> bytes:
    """Return a paragraph with leaders in place of the tab before its page number, if it ends with one."""
    tabs = list(_RTF_TAB.finditer(paragraph))
    if not tabs or not _RTF_PAGE.fullmatch(_RTF_UNSHOWN.sub(b"", paragraph[tabs[-1].end() :]).strip()):
        return paragraph
    return paragraph[: tabs[-1].start()] + _RTF_LEADERS + paragraph[tabs[-1].end() :]


def _with_levels(data: bytes) -> bytes:
    """Return rich text whose headings state their level, as pandoc does not take it from styles."""
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


@dataclass(frozen=True)
class _Group:
    """The state of a group: its font, and the number of replacement characters after a number."""

    font: int = -1
    instead: int = 1


def with_letters(data: bytes) -> bytes:
    """Return a rich text document with its non-ASCII letters as UTF-8."""
    return _Letters(data).rewritten()


def _python_name(page: int) -> str:
    name = _PAGES.get(page, f"cp{page}")
    try:
        "".encode(name)
    except LookupError:
        return _WESTERN
    return name


class _Letters:
    """Walks a document's control words; `_fonts` has the code pages of the fonts that name one."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._page = _WESTERN
        self._fonts: dict[int, str] = {}
        self._default = -1
        self._group = _Group()
        self._around: list[_Group] = []
        self._parts: list[bytes] = []
        self._copied = 0

    def rewritten(self) -> bytes:
        """Return the document with each run of letters replaced."""
        at = 0
        while token := _TOKEN.search(self._data, at):
            at = token.end()
            if _is_letter(token):
                at = self._letters(token.start())
            elif token["open"]:
                self._around.append(self._group)
            elif token["close"]:
                self._group = self._around.pop() if self._around else _Group()
            elif token["word"] == b"bin":
                at = self._leave_out(token.start(), at + max(0, int(token["number"] or 0)))
            elif token["word"]:
                self._obey(token["word"].decode(), int(token["number"] or 0))
        return b"".join(self._parts) + self._data[self._copied :]

    def _leave_out(self, start: int, end: int) -> int:
        """Copy up to the bytes of a picture, which are not text in any code page; return their end."""
        self._parts.append(self._data[self._copied : start])
        self._copied = min(end, len(self._data))
        return self._copied

    def _obey(self, word: str, number: int) -> None:
        """Apply a control word."""
        if word == "deff":
            self._default = number
        if word == "info":  # titles and authors use the document's code page, whatever the font
            self._group = replace(self._group, font=-1)
        if word == "fcharset":
            self._name_charset(number)
        elif word in ("ansicpg", "mac"):
            self._page = _python_name(number)
        elif word == "uc":
            self._group = replace(self._group, instead=max(0, min(number, _MAX_INSTEAD)))
        elif word in _FONT_WORDS:
            self._group = replace(self._group, font=number if word == "f" else self._default)

    def _name_charset(self, number: int) -> None:
        """Record the code page of the font being declared."""
        if number in _CHARSETS:
            self._fonts[self._group.font] = _CHARSETS[number]

    def _letters(self, start: int) -> int:
        """Write a run of letters, which may be halves of pairs, as one text; return its end."""
        page = self._fonts.get(self._group.font, self._page)
        decoder = codecs.getincrementaldecoder(page)("replace")
        units, at = bytearray(), start
        while (token := _TOKEN.match(self._data, at)) and _is_letter(token):
            at = token.end()
            if token["word"]:
                units += _utf16(decoder.decode(b"", True)) + _unit(token)
                at = self._after_instead(at)
                continue
            units += _utf16(decoder.decode(token["raw"] or bytes.fromhex(token["byte"].decode())))
            if page in _OF_TWO_BYTES and decoder.getstate()[0] and self._data[at : at + 1] not in _NO_SECOND:
                units += _utf16(decoder.decode(self._data[at : at + 1]))  # the second half, an ASCII letter on its own
                at += 1
        self._replace(start, at, (units + _utf16(decoder.decode(b"", True))).decode("utf-16-le", "replace"))
        return at

    def _replace(self, start: int, end: int, text: str) -> None:
        """Copy up to a run of letters, then write its text; a space separates it from a control word."""
        gap = b" " if _WORD.search(self._data, max(self._copied, start - _LONGEST_WORD), start) else b""
        self._parts += (self._data[self._copied : start], gap, _ESCAPED.sub(r"\\\g<0>", text).encode())
        self._copied = end

    def _after_instead(self, at: int) -> int:
        """Return the end of a number's replacement characters."""
        for _ in range(self._group.instead):
            instead = _INSTEAD.match(self._data, at)
            at = instead.end() if instead else at
        return at


def _is_letter(token: re.Match[bytes]) -> bool:
    return token.lastgroup in ("byte", "raw") or token["word"] == b"u"


def _unit(token: re.Match[bytes]) -> bytes:
    return (int(token["number"] or 0) % _UNITS).to_bytes(2, "little")


def _utf16(letters: str) -> bytes:
    return letters.encode("utf-16-le")


class _Row(NamedTuple):
    """A row: its part of the document, where its cells end in twips, and the flags of each cell."""

    part: int
    ends: list[int]
    stated: list[set[bytes]]


def with_inner_rows(data: bytes) -> bytes:
    """Return rich text with tables within cells, which pandoc drops, as text with separators."""
    if b"\\nestcell" not in data:
        return data
    rows = _DEEPER.sub(b" ", _AGAIN.sub(rb"\1", _INNER_ROW.sub(b"; ", data)))
    return _INNER_END.sub(rb"\1", _INNER_CELL.sub(lambda one: b"" if one[1] else b", ", rows))


def with_sizes(data: bytes) -> bytes:
    """Return rich text with each cell's size in tables whose cells span several rows or columns."""
    if b"\\cellx" not in data:
        return data
    parts = _ROW_END.split(data)
    for rows in _tables(parts):
        sizes = _sizes(rows)
        if {*chain.from_iterable(sizes)} != {(1, 1)}:
            for row, some in zip(rows, sizes, strict=True):
                parts[row.part] = _marked(parts[row.part], some)
    return b"".join(parts)


def _tables(parts: list[bytes]) -> Iterator[list[_Row]]:
    """Yield the rows of each table; `parts` are the parts of a document between the ends of its rows."""
    table: list[_Row] = []
    for at in range(0, len(parts) - 1, 2):
        start = _ROW_START.search(parts[at])
        if table and (start is None or not _BETWEEN.fullmatch(parts[at], 0, start.start())):
            yield table
            table = []
        row = _row(at, parts[at][start.start() :]) if start else None
        if row is not None:
            table.append(row)
    if table:
        yield table


def _row(part: int, said: bytes) -> _Row | None:
    """Return a row, or None if it does not state where each of its cells ends."""
    definition, *cells = _CELL.split(said)
    row = _Row(part, [], [])
    flags = set[bytes]()
    for flag, end in _STATED.findall(definition):
        if flag:
            flags.add(flag)
        else:
            row.ends.append(int(end))
            row.stated.append(flags)
            flags = set()
    whole = 0 < len(row.ends) == len(cells) // 2
    return row if whole else None


def _sizes(rows: list[_Row]) -> list[list[Size]]:
    """Return the size of each cell of a table, by row."""
    columns = _columns(rows)
    sizes: list[list[Size]] = []
    above: dict[int, tuple[int, int]] = {}  # the row and index of a cell, by the column where it begins
    for number, row in enumerate(rows):
        starts = [0, *(bisect_right(columns, end) for end in row.ends)]
        sizes.append(_joined([max(end - start, 1) for start, end in pairwise(starts)], row.stated))
        own = {start: (number, place) for place, start in enumerate(starts[:-1])}
        for start, (_, place) in [*own.items()]:
            if _ABOVE in row.stated[place] and start in above:
                at, upper = own[start] = above[start]
                sizes[at][upper] = (sizes[at][upper][0] + 1, sizes[at][upper][1])
                sizes[number][place] = _COVERED
        above |= own
    return sizes


def _columns(rows: list[_Row]) -> list[int]:
    """Return where the columns of a table end."""
    ends = sorted({end for row in rows for end in row.ends})
    return [ends[0], *(end for before, end in pairwise(ends) if end - before > _NEAR)]


def _joined(widths: list[int], stated: list[set[bytes]]) -> list[Size]:
    """Return the sizes of a row's cells from their widths in columns; some are merged with the cell at their left."""
    joined: list[Size] = []
    first = 0
    for at, (width, flags) in enumerate(zip(widths, stated, strict=True)):
        if _LEFT in flags and at:
            joined[first] = (1, joined[first][1] + width)
            joined.append(_COVERED)
        else:
            first = at
            joined.append((1, width))
    return joined


def _marked(part: bytes, sizes: list[Size]) -> bytes:
    """Return the part of a document that ends with a row, with a mark at the end of each of its cells."""
    cells = _CELL.split(part)
    for at, (rows, columns) in enumerate(sizes):
        cells[2 * at] += f" {_SIGN}{rows},{columns}{_END}".encode()
    return b"".join(cells)


def read_sized(data: bytes) -> dict[str, Any]:
    """Return pandoc's tree of rich text, with the cell sizes marked by `with_sizes`."""
    tree = read_tree(data, "rtf")
    if _SIGN.encode() not in data:
        return tree
    for block in tree["blocks"]:
        if block["t"] == "Table":
            for row in chain.from_iterable(body[3] for body in block["c"][4]):
                row[1] = _of_sizes(row[1])
    return tree | {"blocks": [*_unmarked(tree["blocks"], [])]}


def _of_sizes(cells: list[Any]) -> list[Any]:
    """Return a row's cells with their sizes, without cells merged into others and cells added by pandoc."""
    sized, marked = [], False
    for attributes, side, *_, blocks in cells:
        marks: list[Size] = []
        plain = [*_unmarked(blocks, marks)]
        marked |= bool(marks)
        size = marks[0] if marks else _COVERED
        if plain or size != _COVERED:
            sized.append([attributes, side, *map(max, size, (1, 1)), plain])
    return sized if marked else cells


def _unmarked(nodes: list[Node], marks: list[Size]) -> Iterator[Node]:
    """Yield nodes without marks, adding their sizes to `marks`; nodes with nothing but a mark are left out."""
    for node in nodes:
        known = len(marks)
        content = _plain(node.get("c"), marks)
        if len(marks) == known:
            yield node
        elif content:
            yield node | {"c": content}


def _plain(content: Any, marks: list[Size]) -> Any:
    """Return a node's content without marks."""
    if isinstance(content, str):
        marks += [(int(rows), int(columns)) for rows, columns in _MARK.findall(content)]
        return _MARK.sub("", content)
    if not isinstance(content, list):
        return content
    are_nodes = bool(content) and isinstance(content[0], dict)
    return _without_space(content, marks) if are_nodes else [_plain(one, marks) for one in content]


def _without_space(nodes: list[Node], marks: list[Size]) -> list[Node]:
    """Return nodes without marks, and without the space before a mark at their end."""
    known = len(marks)
    plain = [*_unmarked(nodes, marks)]
    return plain[:-1] if len(marks) > known and plain and plain[-1]["t"] == "Space" else plain
