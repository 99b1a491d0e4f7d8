"""Light markup that pandoc reads: AsciiDoc, MediaWiki, Textile, Typst, and FictionBook."""

import re
from typing import Any

from lxml import etree

from docmill.storage.schema import Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.pandoc.document import drawn_document, read_document
from docmill.tasks.parse.pandoc.formats.asciidoc_lines import conditioned
from docmill.tasks.parse.pandoc.formats.read_or_keep import read_or_keep
from docmill.tasks.parse.pandoc.formats.wiki import is_dump, parse_dump, prepared_wiki
from docmill.tasks.parse.pandoc.inlines import DEEPER_MARK, Node
from docmill.tasks.parse.pandoc.process.program import read_tree
from docmill.tasks.parse.pictures.addresses import named_by_key
from docmill.tasks.parse.pictures.beside import loader_beside
from docmill.tasks.parse.trees import xml_tree

_SET = re.compile(r"^:([\w-]+):(?:[ \t]|$)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^:([\w-]+):[ \t]+(\S.*)$", re.MULTILINE)
_REFERENCE = re.compile(r"(?<!\\)\{([\w-]+)\}")
_INCLUDE = re.compile(r"^include::([^\[\n]+)\[[^\]\n]*\]$", re.MULTILINE)
_HELD = re.compile(r"\bimage::?data:image/[^\[\]\s]++\[", re.IGNORECASE)
"""A picture in its address, at whose colon pandoc would take the macro for words."""
_FICTION_BOOK = "http://www.gribuser.ru/xml/fictionbook/2.0"
_TABLE_MARK = "\ufdd0table"  # begins with a code point that no text has
_TYPST_SETTING = re.compile(r"^#(?:set|show|import)\b.*$", re.MULTILINE)
_BULLETS = frozenset("•◦▪‣●○■")
_FIXED_SPACE = "\u00a0"
_NUMBER = re.compile(r"(\d{1,4})\.")


def parse_asciidoc(data: bytes, options: ParseOptions) -> Parsed:
    """Return an AsciiDoc document; attributes stand where they are referred to, included files are only named."""
    found = decode(data)
    text = found.text.replace("\r\n", "\n")
    values = dict(_ATTRIBUTE.findall(text))
    text = _REFERENCE.sub(lambda match: values.get(match[1], match[0]), text)
    text = _INCLUDE.sub(r"`\1`", conditioned(text, frozenset(_SET.findall(text))))
    held = dict[str, bytes]()
    text = _HELD.sub(lambda match: _named(match[0], held), text)
    return read_or_keep(text, "asciidoc", found, loader_beside(options.pictures, data, held))


def _named(macro: str, held: dict[str, bytes]) -> str:
    """Return a macro with the name of the picture that it holds, which is put into `held`."""
    named, own = named_by_key(macro, "")
    held |= own
    return named


def parse_mediawiki(data: bytes, _: ParseOptions) -> Parsed:
    """Return a page in MediaWiki's markup, or those of a dump; templates are left out."""
    if is_dump(data):
        return parse_dump(data)
    found = decode(data)
    return read_or_keep(prepared_wiki(found.text), "mediawiki", found)


def parse_textile(data: bytes, options: ParseOptions) -> Parsed:
    """Return a Textile document."""
    found = decode(data)
    return read_or_keep(found.text, "textile", found, loader_beside(options.pictures))


def parse_typst(data: bytes, options: ParseOptions) -> Parsed:
    """Return a Typst document; what its functions compute is left out."""
    found, load = decode(data), loader_beside(options.pictures)
    parsed = read_or_keep(found.text, "typst", found, load)
    if "read_as" not in parsed.metadata:
        return parsed
    # A rule that pandoc does not know fails the whole file, and most rules only lay out.
    plainer = read_or_keep(_TYPST_SETTING.sub("", found.text), "typst", found, load)
    return plainer if "read_as" not in plainer.metadata else parsed


def parse_fiction_book(data: bytes, _: ParseOptions) -> Parsed:
    """Return a FictionBook, with its title and authors; its tables, which pandoc drops, are read as those of a page.

    It has no lists: paragraphs that begin like items are items.
    """
    try:
        root = xml_tree(data)
    except etree.XMLSyntaxError:  # of which pandoc may still read what is before
        return read_document(data, "fb2")
    pages = [_taken_out(table, number) for number, table in enumerate(list(root.iter("{*}table")))]
    tree = read_tree(etree.tostring(root, encoding="utf-8", xml_declaration=True), "fb2")
    tree["blocks"] = with_items(tree["blocks"])
    tables = _tables_of(pages) if pages else []
    return drawn_document(_put_back(tree, tables) if tables and len(tables) == len(pages) else tree)


def _tables_of(pages: list[str]) -> list[Node]:
    """Return the tables of pages of one table each, in order."""
    blocks: list[Node] = read_tree("".join(pages).encode(), "html")["blocks"]
    return [block for block in blocks if block["t"] == "Table"]


def _taken_out(table: Any, number: int) -> str:
    """Replace a table by a paragraph with a mark; return it as HTML."""
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
    """Return a syntax tree with lists of one item in place of the paragraphs that begin like an item.

    A number begins an item only beside a paragraph with the number before or after it.
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
    """Return the inlines of a paragraph of several words, and nothing for all else."""
    words = node.get("c") if isinstance(node, dict) and node.get("t") == "Para" else None
    parted = _parted(words) if isinstance(words, list) and words else []
    return parted if len(parted) > 2 and parted[1]["t"] == "Space" else []


def _parted(words: list[Node]) -> list[Node]:
    """Return inlines whose first word is parted at fixed spaces, as pandoc writes them behind a bullet."""
    if words[0]["t"] != "Str" or _FIXED_SPACE not in words[0]["c"]:
        return words
    parts = ({"t": "Str", "c": part} for part in words[0]["c"].split(_FIXED_SPACE))
    return [inline for part in parts for inline in (part, {"t": "Space"})][:-1] + words[1:]


def _number(node: Any) -> int:
    """Return the number that a paragraph begins with, 0 if it begins with none."""
    words = _words(node)
    found = _NUMBER.fullmatch(str(words[0].get("c"))) if words else None
    return int(found[1]) if found else 0


def _counted(node: Node) -> Node:
    form = [_number(node), {"t": "Decimal"}, {"t": "Period"}]
    return {"t": "OrderedList", "c": [form, [[{"t": "Para", "c": _words(node)[2:]}]]]}


def _bulleted(node: Any) -> Node | None:
    """Return a paragraph with a bullet as a list; it is as deep as it has bullets."""
    words, depth = _words(node), 0
    while len(words) > 2 * depth + 1 and str(words[2 * depth].get("c")) in _BULLETS:
        depth += 1
    if not depth:
        return None
    deeper = {"t": "Str", "c": DEEPER_MARK * (depth - 1)}
    return {"t": "BulletList", "c": [[{"t": "Para", "c": [deeper, *words[2 * depth :]]}]]}
