"""XML notes and scripts: give footnotes their marks and paragraphs, and raised letters one name in all dialects."""

import re
from typing import Any

from lxml import etree

from docmill.tasks.parse.formulas.scripts import note_mark
from docmill.tasks.parse.markup.html.formulas_and_ruby import is_within_text, mark_script
from docmill.tasks.parse.markup.xml.xml_nodes import name_of, words_of

_SCRIPTS = {"superscript": "sup", "subscript": "sub"}  # of DocBook
_RAISED = re.compile(r"\b(?:super(?:script)?|sup)\b", re.IGNORECASE)  # in `rend` and `rendition` of TEI
_LOWERED = re.compile(r"\bsub(?:script)?\b", re.IGNORECASE)
_NOTES = ("{*}footnote", "{*}fn", "{*}note")  # of DocBook, DITA and TEI
_PARAGRAPHS = ("{*}p", "{*}para", "{*}simpara", "{*}ab")
_MARK = "ref"  # an element within a line, in whose place the note stood
_APART = "note"  # a paragraph by its name; as none of the notes' siblings is called so, their paths stay


def mark_scripts(root: Any) -> None:
    """Write marks around the superscripts and subscripts within the text of a tree."""
    for node in root.iter("{*}superscript", "{*}subscript", "{*}hi"):
        node.tag = _script(node) or node.tag
    for script in root.iter("{*}sup", "{*}sub", "sup", "sub"):
        if is_within_text(script):
            mark_script(script)


def _script(node: Any) -> str:
    """Return "sup" or "sub" for a node of another dialect that raises or lowers its words, "" for others."""
    rendered = node.get("rend") or node.get("rendition") or ""
    if name_of(node) in _SCRIPTS:
        return _SCRIPTS[name_of(node)]
    return "sup" if _RAISED.search(rendered) else "sub" if _LOWERED.search(rendered) else ""


def set_notes_apart(root: Any) -> None:
    """Put notes that stand within a sentence below its paragraph, and marks such as `[^1]` in their places."""
    _mark_notes_at_the_end(root)
    last: dict[Any, Any] = {}
    notes = [(node, _paragraph(node)) for node in root.iter(*_NOTES)]
    for number, (node, around) in enumerate(((a, b) for a, b in notes if b is not None), 1):
        apart = etree.Element(_APART)
        apart.text = f"[^{number}]: {words_of(node)}"
        last.get(around, around).addnext(apart)
        last[around] = apart
        for child in list(node):
            node.remove(child)
        node.tag, node.text = _MARK, f"[^{number}]"


def _mark_notes_at_the_end(root: Any) -> None:
    """Write the marks of the notes of JATS, which stand at the end of an article, and those of references to them."""
    for reference in root.iter("{*}xref"):
        if reference.get("ref-type") == "fn" and not len(reference) and (mark := note_mark(reference.text or "")):
            reference.text = mark
    for label in root.iterfind(".//{*}fn/{*}label"):
        label.text = f"{mark}:" if (mark := note_mark("".join(label.itertext()))) else label.text


def _paragraph(node: Any) -> Any:
    """Return the paragraph in whose text a note stands, None if it stands by itself."""
    around = next(node.iterancestors(*_PARAGRAPHS), None)
    if around is None or around.getparent() is None or not is_within_text(node):
        return None
    return around
