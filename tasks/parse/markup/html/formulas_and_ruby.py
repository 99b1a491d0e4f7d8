"""Formulas and ruby: replace formulas, ruby readings, superscripts, subscripts and struck letters by plain text."""

import re
from collections.abc import Iterable
from html import unescape
from typing import Any

from lxml import etree

from docmill.tasks.parse.canvas import STRUCK
from docmill.tasks.parse.formula_tex import fill_mathml
from docmill.tasks.parse.superscripts import between_dollars, lowered, note_mark, raised, shown_formula
from docmill.tasks.parse.xml_trees import drop, words_in

_TEX = etree.XPath(".//*[local-name() = 'annotation'][contains(@encoding, 'tex') or contains(@encoding, 'TeX')]")
_WITHIN = etree.XPath("count(ancestor::*[local-name() = 'math'])")
_DOCUMENT = re.compile(r"\\begin\{document\}\s*(.*?)\s*\\end\{document\}", re.DOTALL)
_RUBY = re.compile(
    r"<rp\b[^<>]*>[^<>]*</rp\s*>|<rt\b[^<>]*>\s*([^<>]*?)\s*</rt\s*>|</?(?:ruby|rb|rtc)\b[^<>]*>", re.IGNORECASE
)
_PRE = ("pre", "listing", "xmp")
_NOTE = re.compile(r"[\[(]?(?:\w{1,3}|[*†‡§¶#‖]{1,4})[\])]?")  # a footnote mark
_STYLED = etree.XPath("descendant::*[@style][contains(@style, 'line-through')]")
_BLOCK_WORDS = "p div section article li dd dt td th h1 h2 h3 h4 h5 h6 blockquote figcaption caption"
_BLOCKS = frozenset(_BLOCK_WORDS.split())
_APART = ("pre", "code", "svg", "math", "del", "s", "strike")  # code is kept as it is, and nothing is struck twice


def make_formulas(formulas: Iterable[Any]) -> None:
    """Replace the content of formulas (MathML) by TeX between dollars, using the TeX source next to them if any."""
    bare = list[Any]()
    for node in formulas:
        written = _TEX(node)
        tex = " ".join("".join(written[0].itertext() if written else node.get("alttext") or "").split())
        if tex:
            shown = shown_formula(tex)
            _fill(node, between_dollars(tex, node.get("display") == "block") if shown == tex else shown)
        elif _WITHIN(node) == 0:
            bare.append(node)
    fill_mathml(bare)


def show_reading(node: Any) -> None:
    """Put a ruby reading, which says how Han characters are pronounced, into brackets."""
    text = words_in(node)
    _fill(node, f"({text})" if text else "")


def join_readings(ruby: Any) -> None:
    """Replace an element of words with their readings by its text, the readings in brackets."""
    words = [ruby.text or ""]
    for part in ruby:
        name = etree.QName(part).localname if isinstance(part.tag, str) else ""
        said = "".join(part.itertext()).strip() if name not in ("", "rp") else ""
        words += [f"({said})" if said and name in ("rt", "rtc") else said, (part.tail or "").strip()]
    _fill(ruby, "".join(words).strip())


def with_readings(text: str) -> str:
    """Return markup with the readings of words in brackets, for programs that know no such elements."""
    return _RUBY.sub(lambda tag: f"({tag[1]})" if tag[1] else "", text) if "<rt" in text else text


def mark_script(node: Any) -> str:
    """Write marks around a superscript or a subscript: `^6^`, `~2~`.

    A superscript that links within its page is a footnote mark, `[^1]`. Return the id of that footnote, or "".
    """
    if next(node.iterancestors(*_PRE), None) is not None:
        return ""
    text = "".join(node.itertext())
    target = _target(node) if _is_raised(node) else ""
    if target and _NOTE.fullmatch(text.strip()):
        _fill(node, note_mark(text))
        return target
    marked = raised(text, _before(node)) if _is_raised(node) else lowered(text)
    if marked != text:
        _enclose(node, marked.strip()[0])
    return ""


def is_within_text(node: Any) -> bool:
    """Return whether a node is within a line of text; a data element may have the same name as a subscript."""
    parent = node.getparent()
    if parent is None:
        return False
    around = (parent.text, *(child.tail for child in parent))
    return any(text and text.strip() for text in around) or is_within_text(parent)


def _is_raised(node: Any) -> bool:
    return bool(etree.QName(node).localname != "sub")


def _target(node: Any) -> str:
    """Return the id within the page to which a link around or inside a node leads."""
    links = [*node.iter("a"), *node.iterancestors("a")]
    return next((url.partition("#")[2] for url in (link.get("href") or "" for link in links) if "#" in url), "")


def _before(node: Any) -> str:
    """Return the text directly before a node."""
    previous = node.getprevious()
    if previous is None:
        return (node.getparent().text if node.getparent() is not None else "") or ""
    return previous.tail or "".join(previous.itertext())


def _enclose(node: Any, sign: str) -> None:
    """Put a sign at both ends of a node's text, inside its spaces."""
    if not len(node):
        text = node.text or ""
        node.text = text.replace(text.strip(), f"{sign}{text.strip()}{sign}", 1)
        return
    node.text = sign + (node.text or "").lstrip()
    node[-1].tail = (node[-1].tail or "").rstrip() + sign


def make_xml_formulas(root: Any) -> None:
    """Replace the formulas of an XML document; of a formula in both TeX and MathML, the TeX is kept."""
    bare = list[Any]()
    for node in [*root.iter("{*}tex-math", "{*}math")]:
        parent = node.getparent()
        if parent is None:
            continue
        if etree.QName(node).localname == "tex-math":
            text = "".join(node.itertext())
            inside = _DOCUMENT.search(text)
            _fill(node, between_dollars((inside[1] if inside else text).strip(" $"), apart=False))
        elif parent.find("{*}tex-math") is not None:
            _fill(node, "")
        else:
            for entity in list(node.iter(etree.Entity)):
                drop(entity, unescape(entity.text or ""))
            bare.append(node)
    make_formulas(bare)


def _fill(node: Any, text: str) -> None:
    del node[:]
    node.text = text


def without_own_mark(text: str, mark: str) -> str:
    """Return the text of a footnote without the number at its start, such as `1.`, `[1]` or `(1)`."""
    begins = re.match(rf"[\[(]?{re.escape(mark)}[\]).:]?\s+(?=\S)", text)
    return text[begins.end() :] if begins else text


def mark_struck(root: Any, styled: bool) -> None:
    """Put signs around the struck words of a tree, separately in each block.

    With `styled`, also look for words that a style strikes.
    """
    nodes = dict.fromkeys([*root.iter("del", "s", "strike"), *(_STYLED(root) if styled else ())])
    for node in nodes:
        if not any(one.tag in _APART or one in nodes for one in node.iterancestors()):
            for one in _innermost(node):
                _wrap(one)


def _innermost(node: Any) -> list[Any]:
    """Return the blocks within a node that contain no other block, or the node itself."""
    return [one for one in node.iter(*_BLOCKS) if next(one.iterdescendants(*_BLOCKS), None) is None] or [node]


def _wrap(node: Any) -> None:
    if not any(map(str.isalnum, "".join(node.itertext()))):
        return
    said = node.text or ""
    node.text = said[: len(said) - len(said.lstrip())] + STRUCK + said.lstrip()
    if len(node):
        node[-1].tail = _ended(node[-1].tail or "")
    else:
        node.text = _ended(node.text)


def _ended(text: str) -> str:
    words = text.rstrip()
    return words + STRUCK + text[len(words) :]
