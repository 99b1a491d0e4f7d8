"""Light markup that pandoc reads: AsciiDoc, MediaWiki and its dumps, Textile, Typst, manual pages, and FictionBook.

Pandoc fails at some comments and conditions of AsciiDoc, and knows no underlined titles: they are read before. It takes
the second row of a wiki table's header for one of the body, and forgets its spans; where a cell of the first row covers
the second, an empty cell is put.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.formulas_and_ruby import with_readings
from docmill.tasks.parse.pandoc.document import drawn_document, read_document, read_or_keep
from docmill.tasks.parse.pandoc.formats.source_parts import read_light_parts
from docmill.tasks.parse.pandoc.formats.wiki_templates import with_template_words
from docmill.tasks.parse.pandoc.inlines import DEEPER_MARK, Node
from docmill.tasks.parse.pandoc_program import read_tree
from docmill.tasks.parse.pictures.addresses import named_by_key, nowhere
from docmill.tasks.parse.pictures.picture_files import loader_beside
from docmill.tasks.parse.xml_trees import xml_tree

_SET = re.compile(r"^:([\w-]+):(?:[ \t]|$)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^:([\w-]+):[ \t]+(\S.*)$", re.MULTILINE)
_REFERENCE = re.compile(r"(?<!\\)\{([\w-]+)\}")
_XREF = re.compile(r"(\bxref:[^\s:\[\]]+:?[^\s:\[\]]*)::(?=\S)")  # to a page of a component of Antora: no term
_WINDOW = re.compile(r"(?<=\w)\^\](?!\])")  # in a link, asks for a window of its own
_MDOC = re.compile(r"^\.\s*(?:Dd|Dt|Sh)\b", re.MULTILINE)  # of BSD; other manual pages have macros in capitals
_MAN_TITLE = re.compile(r"^(\.\s*(?:TH|Dt)[ \t]+)(\"[^\"\n]+\"|\S+)([ \t]+\"?)(\d\w*)", re.MULTILINE)
_MAN_CELL = re.compile(r"T\{[ \t]*\n((?:(?!\.TE).*\n)*?)T\}")  # of a table; pandoc reads none beside it in its line
_JOINED = re.compile(r"(?<!\\)\\\n")  # a line that the next one continues
_MAN_MACRO = re.compile(r"[.']\s*([A-Z]{1,2})\b[ \t]*")
_UNSET = re.compile(r"^:(?:![\w-]+|[\w-]+!):[ \t]*\n", re.MULTILINE)  # at which pandoc would end the head of a document
_INCLUDE = re.compile(r"^include::([^\[\n]+)\[[^\]\n]*\]$", re.MULTILINE)
_HELD = re.compile(r"\bimage::?data:image/[^\[\]\s]++\[", re.IGNORECASE)
"""A picture embedded in its address, whose colon makes pandoc read the macro as text."""
_FICTION_BOOK = "http://www.gribuser.ru/xml/fictionbook/2.0"
_TABLE_MARK = "\ufdd0table"  # begins with a code point that no text contains
_TYPST_SETTING = re.compile(r"^#(?:set|show|import)\b.*$", re.MULTILINE)
_BULLETS = frozenset("•◦▪‣●○■")
_FIXED_SPACE = "\u00a0"
_NUMBER = re.compile(r"(\d{1,4})\.")
_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,})\w*[ \t]*$")
_ANY_FENCE = re.compile(r"(--|([-.+/=*_])\2{3,})[ \t]*$")  # delimiters of a block that is styled as a comment
_AROUND = re.compile(r"(--|([=*_])\2{3,})[ \t]*$")  # around paragraphs, lists and other blocks
_TERM = re.compile(r"\S.*?(?::{2,4}|;;)(?:[ \t]|$)")
_HEADS_BLOCK = re.compile(r"[.\[]|\+[ \t]*$")  # right above a block: its title, attributes, or an item's sign
_RULES, _SHORTEST_RULE = "=-~^+", 4  # of a title; a shorter line is none, or one of dashes around a block
_REMARK = re.compile(r"//(?!/)")
_STYLED = re.compile(r"\[comment\b[^\]]*\][ \t]*$")
_CONDITION = re.compile(r"(ifdef|ifndef|ifeval|endif)::([^\[\s]*)\[(.*)\][ \t]*$")
_SPACE = b"http://www.mediawiki.org/xml/export-"
_BEGINNING = 2_000  # bytes within which a dump's root names its namespace
_WIKI_TEXT = "text/x-wiki"
_SPANS = re.compile(r"\b(row|col)span\s*=\s*[\"']?(\d+)", re.IGNORECASE)
_SWITCH = re.compile(r"^__[A-Z]+__$", re.MULTILINE)  # MediaWiki's switches, such as __TOC__ and __NOTOC__
_CELLS = re.compile(r"\|\||!!")
_MOST = 50
"""Maximum rows and columns of a span. Real tables have fewer; with more, one line could create millions of cells."""


def parse_asciidoc(data: bytes, options: ParseOptions) -> Parsed:
    """Return an AsciiDoc document; references to attributes are replaced by their values, includes are only named."""
    found = decode(data)
    text = _UNSET.sub("", found.text.replace("\r\n", "\n"))
    values = dict[str, str]()
    for name, value in _ATTRIBUTE.findall(text):
        values[name] = _referred(value, values)
    text = _WINDOW.sub("]", _XREF.sub(r"\1:", _referred(text, values)))
    text = _INCLUDE.sub(r"`\1`", conditioned(text, frozenset(_SET.findall(text))))
    held = dict[str, bytes]()
    text = _HELD.sub(lambda match: _named(match[0], held), text)
    load = loader_beside(options.pictures, data, held)
    return read_or_keep(text, "asciidoc", found, load, partial(read_light_parts, load))


def _referred(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its attribute references replaced by their values."""
    return _REFERENCE.sub(lambda match: values.get(match[1], match[0]), text)


def _named(macro: str, held: dict[str, bytes]) -> str:
    """Return a macro with a name in place of the picture that it embeds; the picture is added to `held`."""
    named, own = named_by_key(macro, "")
    held |= own
    return named


def parse_mediawiki(data: bytes, _: ParseOptions) -> Parsed:
    """Return a page in MediaWiki markup, or the pages of a dump."""
    if is_dump(data):
        return parse_dump(data)
    found = decode(data)
    return read_or_keep(prepared_wiki(found.text), "mediawiki", found, otherwise=partial(read_light_parts, nowhere))


def parse_textile(data: bytes, options: ParseOptions) -> Parsed:
    """Return a Textile document."""
    found = decode(data)
    load = loader_beside(options.pictures)
    return read_or_keep(found.text, "textile", found, load, partial(read_light_parts, load))


def parse_typst(data: bytes, options: ParseOptions) -> Parsed:
    """Return a Typst document without the results of its functions."""
    found, load = decode(data), loader_beside(options.pictures)
    parsed = read_or_keep(found.text, "typst", found, load)
    if "read_as" not in parsed.metadata:
        return parsed
    # A rule that pandoc does not know makes it reject the whole file, and most rules affect only the layout.
    plainer = read_or_keep(_TYPST_SETTING.sub("", found.text), "typst", found, load, partial(read_light_parts, load))
    return plainer if "read_as" not in plainer.metadata else parsed


def parse_man(data: bytes, _: ParseOptions) -> Parsed:
    """Return a manual page, by the macros of `man` or `mdoc`; its title names its section, as `tar(1)` does."""
    found = decode(data)
    text = _JOINED.sub("", found.text.replace("\r\n", "\n"))
    text = _MAN_TITLE.sub(lambda one: f"{one[1]}{_in_section(one[2], one[4])}{one[3]}{one[4]}", text, count=1)
    reader = "mdoc" if _MDOC.search(text) else "man"
    text = _MAN_CELL.sub(lambda cell: " ".join(map(_man_words, cell[1].splitlines())), text)
    return read_or_keep(text, reader, found, otherwise=partial(read_light_parts, nowhere))


def _man_words(line: str) -> str:
    """Return the words of a line of a manual page; macros of two letters set theirs without spaces."""
    macro = _MAN_MACRO.match(line)
    words = line[macro.end() :].replace('"', "") if macro else line
    return words.replace(" ", "") if macro and len(macro[1]) > 1 else words


def _in_section(name: str, section: str) -> str:
    return f'"{name.strip(chr(34))}({section})"'


def parse_fiction_book(data: bytes, _: ParseOptions) -> Parsed:
    """Return a FictionBook with its title and authors; its tables, which pandoc drops, are read as HTML tables.

    FictionBook has no lists, so paragraphs that begin like items become items.
    """
    try:
        root = xml_tree(data)
    except etree.XMLSyntaxError:  # pandoc may still read the part before the error
        return read_document(data, "fb2")
    pages = [_taken_out(table, number) for number, table in enumerate(list(root.iter("{*}table")))]
    tree = read_tree(etree.tostring(root, encoding="utf-8", xml_declaration=True), "fb2")
    tree["blocks"] = with_items(tree["blocks"])
    tables = _tables_of(pages) if pages else []
    return drawn_document(_put_back(tree, tables) if tables and len(tables) == len(pages) else tree)


def _tables_of(pages: list[str]) -> list[Node]:
    """Return the tables of HTML pages with one table each, in order."""
    blocks: list[Node] = read_tree("".join(pages).encode(), "html")["blocks"]
    return [block for block in blocks if block["t"] == "Table"]


def _taken_out(table: Any, number: int) -> str:
    """Replace a table with a marked paragraph; return the table as HTML."""
    tail, table.tail = table.tail, None
    for node in table.iter("*"):
        node.tag = etree.QName(node).localname
    page = str(etree.tostring(table, encoding="unicode", method="html"))
    table.getparent().replace(table, mark := etree.Element(f"{{{_FICTION_BOOK}}}p"))
    mark.text, mark.tail = f"{_TABLE_MARK}{number}", tail
    return page


def _put_back(node: Any, tables: list[Any]) -> Any:
    """Return a syntax tree with tables in place of the paragraphs that mark them."""
    if isinstance(node, list):
        return [_put_back(one, tables) for one in node]
    if not isinstance(node, dict):
        return node
    words: Any = node.get("c")
    if node.get("t") == "Para" and len(words) == 1 and str(words[0].get("c")).startswith(_TABLE_MARK):
        return tables[int(words[0]["c"][len(_TABLE_MARK) :])]
    return {name: _put_back(one, tables) for name, one in node.items()}


def with_items(node: Any) -> Any:
    """Return a syntax tree with lists of one item in place of paragraphs that begin like an item.

    A number begins an item only next to a paragraph with the previous or next number.
    """
    if isinstance(node, dict):
        return {name: with_items(one) for name, one in node.items()}
    if not isinstance(node, list):
        return node
    numbers = [_number(one) for one in node]
    beside = (
        number and (number - 1 in numbers[max(0, at - 1) : at] or number + 1 in numbers[at + 1 : at + 2])
        for at, number in enumerate(numbers)
    )
    return [
        _counted(one) if counted else _bulleted(one) or with_items(one)
        for one, counted in zip(node, beside, strict=True)
    ]


def _words(node: Any) -> list[Node]:
    """Return the inlines of a paragraph of several words, or nothing for anything else."""
    words = node.get("c") if isinstance(node, dict) and node.get("t") == "Para" else None
    parted = _parted(words) if isinstance(words, list) and words else []
    return parted if len(parted) > 2 and parted[1]["t"] == "Space" else []


def _parted(words: list[Node]) -> list[Node]:
    """Return inlines whose first word is split at non-breaking spaces, which pandoc writes after a bullet."""
    if words[0]["t"] != "Str" or _FIXED_SPACE not in words[0]["c"]:
        return words
    parts = ({"t": "Str", "c": part} for part in words[0]["c"].split(_FIXED_SPACE))
    return [inline for part in parts for inline in (part, {"t": "Space"})][:-1] + words[1:]


def _number(node: Any) -> int:
    """Return the number at the beginning of a paragraph, or 0 if there is none."""
    words = _words(node)
    found = _NUMBER.fullmatch(str(words[0].get("c"))) if words else None
    return int(found[1]) if found else 0


def _counted(node: Node) -> Node:
    form = [_number(node), {"t": "Decimal"}, {"t": "Period"}]
    return {"t": "OrderedList", "c": [form, [[{"t": "Para", "c": _words(node)[2:]}]]]}


def _bulleted(node: Any) -> Node | None:
    """Return a paragraph with bullets as a list, whose depth is the number of bullets."""
    words, depth = _words(node), 0
    while len(words) > 2 * depth + 1 and str(words[2 * depth].get("c")) in _BULLETS:
        depth += 1
    if not depth:
        return None
    deeper = {"t": "Str", "c": DEEPER_MARK * (depth - 1)}
    return {"t": "BulletList", "c": [[{"t": "Para", "c": [deeper, *words[2 * depth :]]}]]}


def conditioned(text: str, attributes: Collection[str]) -> str:
    """Return a text without comments, conditions, and parts hidden in a document with these attributes.

    An attribute that the text does not set may be set when it is published, so the parts that depend on it are kept.
    """
    lines = _AsciiDocLines(attributes)
    shown: list[str] = []
    for line in text.split("\n"):
        level = underlined_level(shown[-1], line) if shown and not lines.ends(line) else 0
        if level:
            shown[-1] = f"{'=' * level} {shown[-1].strip()}"
        elif (one := lines.shown(line)) is not None:
            shown.append(one)
    return "\n".join(shown + lines.end())


class _AsciiDocLines:
    """The place of a line: in a block that ends with `fence`, in a comment, below conditions that may hide it.

    Pandoc never ends at a listing that is not closed, and takes twice as long for each block that ends right below a
    list of terms: the former is closed, and a rule is put at the end of the latter.
    """

    def __init__(self, attributes: Collection[str]) -> None:
        self._attributes = attributes
        self.fence = ""
        self._comment = self._styled = False
        self._hidden: list[bool] = []
        self._around: list[str] = []
        self._terms = False

    def ends(self, line: str) -> bool:
        """Return whether a line is in a listing, or ends a block around others."""
        return bool(self.fence) or line.rstrip() in self._around

    def end(self) -> list[str]:
        """Return the lines that the text lacks at its end."""
        return [self.fence, ""] if self.fence and not self._comment else []

    def shown(self, line: str) -> str | None:
        """Return what is to be read of a line, the next one, or None."""
        shown = self._shown(line)
        return shown if self.fence or shown is None else self._apart(shown)

    def _apart(self, line: str) -> str:
        """Return a line, below a rule if it ends a block with terms in it; note which blocks are open."""
        around = _AROUND.match(line)
        if around is None:
            self._terms = self._terms or _TERM.match(line) is not None
            return line
        if around[1] not in self._around:
            self._around.append(around[1])
            self._terms = False
            return line
        del self._around[self._around.index(around[1]) :]
        terms, self._terms = self._terms, False
        return f"\n'''\n{line}" if terms else line

    def _shown(self, line: str) -> str | None:
        if self.fence:
            comment = self._comment
            if line.rstrip() == self.fence:
                self.fence, self._comment = "", False
            return None if comment or any(self._hidden) else line
        if self._comment:  # a paragraph, which ends at a blank line
            return self._in_comment(line)
        if condition := _CONDITION.match(line):
            return self._condition(*condition.groups())
        return line if self._plain(line) and not any(self._hidden) else None

    def _in_comment(self, line: str) -> str | None:
        if self._styled and (fence := _ANY_FENCE.match(line)):
            self.fence = fence[1]
        elif not line.strip():
            self._comment = False
        self._styled = False
        return None if self._comment else line

    def _plain(self, line: str) -> bool:
        if fence := _FENCE.match(line):
            self.fence, self._comment = fence[1], line.startswith("/")
            return not self._comment
        self._comment = self._styled = _STYLED.match(line) is not None
        return not self._comment and not _REMARK.match(line)

    def _condition(self, verb: str, names: str, inner: str) -> str | None:
        """Record a condition over several lines, or its end; return the text of a one-line condition if it is shown."""
        hides = verb == "ifndef" and any(name in self._attributes for name in re.split("[,+]", names))
        if verb == "endif":
            del self._hidden[-1:]
        elif verb == "ifeval" or not inner:
            self._hidden.append(hides)
        elif not hides and not any(self._hidden):
            return inner
        return None


def underlined_level(above: str, line: str) -> int:
    """Return the level of the title above a line that underlines it, 0 if it does not: it is as long as the title."""
    words, rule = above.strip(), line.rstrip()
    if len(rule) < _SHORTEST_RULE or len(set(rule)) > 1 or rule[0] not in _RULES or _HEADS_BLOCK.match(words):
        return 0
    is_title = any(map(str.isalnum, words)) and "\n" not in words and abs(len(words) - len(rule)) <= 1
    return _RULES.index(rule[0]) + 1 if is_title else 0


def is_dump(data: bytes) -> bool:
    """Return whether a file is a dump and not a page in wiki markup."""
    return data.lstrip()[:1] == b"<" and _SPACE in data[:_BEGINNING]


def parse_dump(data: bytes) -> Parsed:
    """Return the pages of a dump as sections of their newest revision; raise Rejected `corrupt` if it is not XML."""
    try:
        root = xml_tree(data)
    except etree.XMLSyntaxError as error:
        raise Rejected("corrupt", f"not well-formed XML: {error}") from error
    canvas, titles = Canvas(), list[str]()
    for page in root.iter("{*}page"):
        titles.append(page.findtext("{*}title") or "")
        canvas.heading(titles[-1], 1)
        revisions = page.findall("{*}revision")
        if revisions:
            _draw(canvas, revisions[-1])
    title = titles[0] if len(titles) == 1 else root.findtext("{*}siteinfo/{*}sitename") or ""
    language = root.get("{http://www.w3.org/XML/1998/namespace}lang")
    return canvas.parsed(title, {"pages_of_dump": len(titles)} | ({"language": language} if language else {}))


def _draw(canvas: Canvas, revision: Any) -> None:
    text, form = revision.findtext("{*}text") or "", revision.findtext("{*}format") or _WIKI_TEXT
    if form != _WIKI_TEXT:
        canvas.code(text)
        return
    try:
        page = read_document(prepared_wiki(text).encode("utf-8", "replace"), "mediawiki")
    except Rejected as why:
        if why.reason == "not_installed":
            raise
        canvas.paragraph(text)
        return
    canvas.add(page, 2)


@dataclass(slots=True)
class _Table:
    """The current row of a table, its next column, and the rows covered by cells of the first row, by column."""

    row: int = 0
    column: int = 0
    covered: dict[int, int] = field(default_factory=dict)

    def end_row(self) -> None:
        """Go to the next row if this one has cells."""
        self.row, self.column = self.row + bool(self.column), 0

    def cells_of(self, line: str) -> Iterator[str]:
        """Yield a line's cells, each on its own line, with empty cells where the first row covers this one."""
        mark = line[0]
        for cell in _CELLS.split(line[1:]) if mark == "!" else line[1:].split("||"):
            rows, columns = _spans(cell)
            if not self.row and mark == "!":
                self.covered |= dict.fromkeys(range(self.column, self.column + columns), rows)
            while self.row and self.covered.get(self.column, 1) > self.row:
                yield mark
                self.column += 1
            yield mark + cell
            self.column += columns


def prepared_wiki(text: str) -> str:
    """Return a page in MediaWiki's markup without switches, with words of templates and whole headers of tables."""
    return fill_headers(with_template_words(with_readings(_SWITCH.sub("", text))))


def fill_headers(text: str) -> str:
    """Return a page in MediaWiki markup with an empty cell at each position that a table's header cell covers."""
    tables: list[_Table] = []
    lines: list[str] = []
    for line in text.split("\n"):
        start = line.lstrip(" \t:")
        if start.startswith("{|"):
            tables.append(_Table())
        elif tables and start.startswith(("|-", "|+")):
            tables[-1].end_row()
        elif tables and start.startswith("|}") and not start.startswith("|}}"):
            tables.pop()
        elif tables and start.startswith(("|", "!")):
            lines += tables[-1].cells_of(start)
            continue
        lines.append(line)
    return "\n".join(lines)


def _spans(cell: str) -> tuple[int, int]:
    """Return the number of rows and columns that a cell spans; its attributes precede its first bar."""
    attributes, bar, _ = cell.partition("|")
    if not bar or "[[" in attributes or "{{" in attributes:
        return 1, 1
    found = {name.lower(): min(_MOST, max(1, int(number[:4]))) for name, number in _SPANS.findall(attributes)}
    return found.get("row", 1), found.get("col", 1)
