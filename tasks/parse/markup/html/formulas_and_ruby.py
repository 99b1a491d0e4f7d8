"""Formulas and ruby: replace formulas and ruby readings within a line by plain words."""

import re
from typing import Any

from lxml import etree

_TEX = etree.XPath(".//*[local-name() = 'annotation'][contains(@encoding, 'tex') or contains(@encoding, 'TeX')]")
_DOCUMENT = re.compile(r"\\begin\{document\}\s*(.*?)\s*\\end\{document\}", re.DOTALL)
_ALTERNATIVES = etree.XPath(".//*[local-name() = 'annotation' or local-name() = 'annotation-xml']")


def make_plain(node: Any) -> None:
    """Replace the content of a formula, or of a ruby reading, by plain words.

    A formula (MathML) becomes its TeX source, between dollars, if it has one; else its signs.
    """
    if node.tag == "rt":  # ruby: how Han characters are read
        text = " ".join("".join(node.itertext()).split())
        _fill(node, f"({text})" if text else "")
        return
    written = _TEX(node)
    tex = " ".join("".join(written[0].itertext() if written else node.get("alttext") or "").split())
    if tex:
        sign = "$$" if node.get("display") == "block" else "$"
        _fill(node, f"{sign}{tex}{sign}")
        return
    for alternative in _ALTERNATIVES(node):
        alternative.getparent().remove(alternative)
    _fill(node, "".join("".join(node.itertext()).split()))


def make_formula(node: Any) -> None:
    """Replace an XML formula by plain words; if it is in TeX and MathML, keep the TeX."""
    parent = node.getparent()
    name = etree.QName(node).localname
    if parent is None:
        return
    if name == "tex-math":
        text = "".join(node.itertext())
        inside = _DOCUMENT.search(text)
        _fill(node, f"${' '.join((inside[1] if inside else text).strip(' $').split())}$")
    elif parent.find("{*}tex-math") is not None:
        _fill(node, "")
    else:
        make_plain(node)


def _fill(node: Any, text: str) -> None:
    for child in list(node):
        node.remove(child)
    node.text = text
