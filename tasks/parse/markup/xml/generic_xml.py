"""XML of any kind, drawn as text: articles and books as prose, data as records of lines `name: value`.

Nothing outside the file is read: no document type, no external entity, no URL. A file whose entities expand without
limit is rejected. Every element has the `path` of its node.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape, unescape
from itertools import islice
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.formulas_and_ruby import (
    is_within_text,
    join_readings,
    make_xml_formulas,
    mark_script,
)
from docmill.tasks.parse.markup.xml.xml_nodes import HEADS, choose_title, classifications, name_of, words_of
from docmill.tasks.parse.markup.xml.xml_walk import XmlWalk
from docmill.tasks.parse.metadata import iso_date
from docmill.tasks.parse.plain_text import parse_text
from docmill.tasks.parse.superscripts import note_mark
from docmill.tasks.parse.xml_trees import drop

_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_REFERENCE = re.compile(r"&([A-Za-z][\w.-]*);")
_DECLARED = re.compile(r"<!ENTITY\s+([\w.-]+)")
_ENTITY = re.compile(rb"<!ENTITY\b")
_ELSEWHERE = re.compile(
    rb"<!DOCTYPE[^>\[]*(?:SYSTEM|PUBLIC)|<!\[CDATA\["
)  # where entities may be declared, or are not entities
_DECLARED_HERE, _REFERRED = re.compile(rb"<!ENTITY\s+([\w.-]+)"), re.compile(rb"&([A-Za-z][\w.-]*);")
_MOST_NAMED = 5  # entities named in a note
_BEGINNING = 1_000
"""Bytes within which a zero byte reveals UTF-16 or UTF-32, in which `_ENTITY` would find nothing. The markup at the top
of a file shows it within a few bytes; in a shorter sample, non-ASCII text could hide it."""
_LOOSE = re.compile(r"<!\[CDATA\[.*?\]\]>|&(?!#?\w{1,40};)", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_LEAST = 0.5
"""The least share of the words outside tags that must be recovered from a damaged file. With less, a file that only
begins like XML would become a document of its first words; with more, a file that breaks off within a long attribute or
comment would be lost."""
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_HEADS = HEADS | {"channel", "metadata", "head", "header"}
_NAMES = {
    "creator": "author", "author": "author", "language": "language", "lang": "language", "date": "created",
    "pubdate": "created", "published": "created", "updated": "modified", "lastbuilddate": "modified",
}  # fmt: skip
_DATES = ("created", "modified")
_MAX_HEADS = 20
"""The heads of one document are nested a few deep. Data may have an element `header` in every record: without a limit,
the file would be read a second time for its metadata, and the authors of all records would be joined."""
_MAX_AUTHOR = 200
"""Characters of one author with name and affiliation. A longer element is a whole list or a biography: it is not joined
to the authors before it, and counts only if it is plain text and the first."""
_SCRIPTS = {"superscript": "sup", "subscript": "sub"}  # of DocBook
_RAISED = re.compile(r"\b(?:super(?:script)?|sup)\b", re.IGNORECASE)  # in `rend` and `rendition` of TEI
_LOWERED = re.compile(r"\bsub(?:script)?\b", re.IGNORECASE)
_NOTES = ("{*}footnote", "{*}fn", "{*}note")  # of DocBook, DITA and TEI
_PARAGRAPHS = ("{*}p", "{*}para", "{*}simpara", "{*}ab")
_MARK = "ref"  # an inline element that marks the former place of a note
_APART = "note"  # a paragraph by its name; none of the notes' siblings has that name, so their paths do not change


def parse_xml(data: bytes, options: ParseOptions) -> Parsed:
    """Return a document drawn as Markdown; its title is that of the outermost part that has one.

    A text that only begins like XML is returned unchanged.
    """
    try:
        root, encoding, damage = _root(data)
    except Rejected as why:
        if _may_define_entities(data):
            raise
        text = parse_text(data, options)
        return replace(text, metadata=text.metadata | {"read_as": f"text; {why.message}"})
    _drop_terms(root)
    for ruby in [*root.iter("{*}ruby")]:
        join_readings(ruby)
    for command in root.iterfind(".//{*}cmd"):  # of DITA: what a step says first
        command.tag = "p" if name_of(command.getparent()) in ("step", "substep") else command.tag
    fill_references(root)
    choose_title(root)
    for line_break in root.iter("{*}br", "{*}lb"):
        line_break.tail = " " + (line_break.tail or "")
    make_xml_formulas(root)
    mark_scripts(root)
    set_notes_apart(root)
    walk = XmlWalk(root)
    walk.draw()
    metadata = {"encoding": encoding, "root": name_of(root)} | head_metadata(root) | (damage or _undeclared(data))
    if codes := classifications(root):
        metadata["classifications"] = codes
    return walk.canvas.parsed(walk.title, metadata)


def _drop_terms(root: Any) -> None:
    """Remove what is said again in an index or a menu; in TEI, an index within the text holds its terms."""
    for term in [*root.iter("{*}indexterm", "{*}index-term", "{*}titlealts")]:
        drop(term)
    for index in [*root.iter("{*}index")]:
        if index.find("{*}term") is not None:
            drop(index)


def fill_references(root: Any) -> None:
    """Fill empty DITA elements that reuse another element of the same file with its words."""
    empty = [node for node in root.iterfind(".//*[@conref]") if not len(node) and not (node.text or "").strip()]
    named = {node.get("id"): words_of(node) for node in root.iterfind(".//*[@id]")} if empty else {}
    for node in empty:
        file, _, name = node.get("conref").partition("#")
        node.text = node.text if file else named.get(name.rpartition("/")[2])


def _root(data: bytes) -> tuple[Any, str, dict[str, Any]]:
    """Return the root, the encoding, and metadata about damage.

    The encoding is the declared one, or a detected one if that is wrong.
    """
    try:
        root = _parsed(data)
        return root, (root.getroottree().docinfo.encoding or "utf-8").lower(), {}
    except (etree.XMLSyntaxError, LookupError) as error:
        first = error
    found = decode(data)
    text = with_ampersands(_DECLARATION.sub("", found.text).lstrip())
    if "not defined" in str(first):
        text = _with_entities(text)
    try:
        return _parsed(text.encode("utf-8", "replace")), found.encoding, {}
    except etree.XMLSyntaxError as error:
        root = recovered(_with_entities(text))
        if root is None:
            raise Rejected("corrupt", f"not well-formed XML: {first}") from first
        return root, found.encoding, {"read_as": f"XML that is not well-formed, as far as it goes; {error}"}


def _undeclared(data: bytes) -> dict[str, Any]:
    """Return a note on entities that a file uses but that neither it nor HTML declares."""
    if _ELSEWHERE.search(data):
        return {}
    declared = {one.decode() for one in _DECLARED_HERE.findall(data)}
    names = dict.fromkeys(match[1].decode() for match in _REFERRED.finditer(data))
    unknown = [name for name in names if name not in declared and unescape(f"&{name};") == f"&{name};"]
    said = ", ".join(unknown[:_MOST_NAMED])
    return {"read_as": f"XML with entities that it does not declare, as they are written: {said}"} if unknown else {}


def _with_entities(text: str) -> str:
    """Return XML in which undeclared entities are replaced as in HTML, or kept as written if HTML lacks them."""
    declared = {"amp", "lt", "gt", "quot", "apos", *_DECLARED.findall(text)}

    def said(match: re.Match[str]) -> str:
        if match[1] in declared:
            return match[0]
        meant = unescape(match[0])
        return escape(meant) if meant != match[0] else f"&amp;{match[1]};"

    return _REFERENCE.sub(said, text)


def _parsed(data: bytes) -> Any:
    """Return the root with the file's own entities expanded; those defined elsewhere are kept as written."""
    options = {
        "no_network": True,
        "load_dtd": False,
        "remove_comments": True,
        "remove_pis": True,
        "huge_tree": not _may_define_entities(data),
    }
    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities="internal", **options))
    except etree.XMLSyntaxError as error:
        if "not defined" not in str(error):
            raise
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, **options))


def _may_define_entities(data: bytes) -> bool:
    """Return whether a file may define entities, a few lines of which can expand to gigabytes.

    libxml2's own limits prevent that, so they are lifted only if this returns False.
    """
    return _ENTITY.search(data) is not None or b"\0" in data[:_BEGINNING]


def with_ampersands(text: str) -> str:
    """Return XML in which an ampersand that begins no reference is escaped, as in "R&D"."""
    return _LOOSE.sub(lambda match: match[0] if len(match[0]) > 1 else "&amp;", text)


def recovered(text: str) -> Any:
    """Return the root of what can be read, closing elements where they break off; None if that is too little.

    Files that define entities are never recovered, because the limits on expansion only work for intact files.
    """
    if "<!ENTITY" in text:
        return None
    parser = etree.XMLParser(
        recover=True, resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return None
    if root is None or not len(root):
        return None
    found, written = len(" ".join(root.itertext()).split()), len(_TAG.sub(" ", text).split())
    return root if found and found >= _LEAST * written else None


def head_metadata(root: Any) -> dict[str, Any]:
    """Return the metadata in the children of the root and of its heads; authors are joined."""
    found: dict[str, Any] = {}
    language = root.get(_LANGUAGE) or root.get("lang")
    if language:
        found["language"] = language
    for parent in (root, *islice(_heads(root), _MAX_HEADS)):
        for node in parent:
            _add(found, node)
    return found


def _heads(node: Any) -> Iterator[Any]:
    for one in node:
        if name_of(one).lower() in _HEADS:
            yield one
            yield from _heads(one)


def _add(found: dict[str, Any], node: Any) -> None:
    """Add what a node states; the first statement wins, except for authors."""
    name = _NAMES.get(name_of(node).lower())
    text = words_of(node) if name else ""
    if not name or not text:
        return
    if name == "author" and len(text) < _MAX_AUTHOR:
        found[name] = f"{found[name]}, {text}" if name in found else text
    elif not len(node):
        found.setdefault(name, iso_date(text) if name in _DATES else text)


def mark_scripts(root: Any) -> None:
    """Put marks around superscripts and subscripts within the text of a tree."""
    for node in root.iter("{*}superscript", "{*}subscript", "{*}hi"):
        node.tag = _script(node) or node.tag
    for script in root.iter("{*}sup", "{*}sub", "sup", "sub"):
        if is_within_text(script):
            mark_script(script)


def _script(node: Any) -> str:
    """Return "sup" or "sub" for a node of another dialect that raises or lowers its words, else ""."""
    rendered = node.get("rend") or node.get("rendition") or ""
    if name_of(node) in _SCRIPTS:
        return _SCRIPTS[name_of(node)]
    return "sup" if _RAISED.search(rendered) else "sub" if _LOWERED.search(rendered) else ""


def set_notes_apart(root: Any) -> None:
    """Move notes within a sentence below its paragraph, leaving marks such as `[^1]` in their places."""
    _mark_notes_at_the_end(root)
    last: dict[Any, Any] = {}
    notes = [(node, _paragraph(node)) for node in root.iter(*_NOTES)]
    for number, (node, around) in enumerate(((a, b) for a, b in notes if b is not None), 1):
        apart = etree.Element(_APART)
        apart.text = f"[^{number}]: {words_of(node)}"
        last.get(around, around).addnext(apart)
        last[around] = apart
        del node[:]
        node.tag, node.text = _MARK, f"[^{number}]"


def _mark_notes_at_the_end(root: Any) -> None:
    """Write the marks of JATS notes, which are at the end of an article, and of the references to them."""
    for reference in root.iter("{*}xref"):
        if reference.get("ref-type") == "fn" and not len(reference) and (mark := note_mark(reference.text or "")):
            reference.text = mark
    for label in root.iterfind(".//{*}fn/{*}label"):
        label.text = f"{mark}:" if (mark := note_mark("".join(label.itertext()))) else label.text


def _paragraph(node: Any) -> Any:
    """Return the paragraph in whose text a note is, None if the note is separate."""
    around = next(node.iterancestors(*_PARAGRAPHS), None)
    if around is None or around.getparent() is None or not is_within_text(node):
        return None
    return around
