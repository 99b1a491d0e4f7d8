"""Formula tex: MathML and Office formulas as TeX between dollars, by pandoc, many in one call.

Sources: W3C MathML 3.0; ISO/IEC 29500-1, 22.1 "Math".
"""

import io
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.tasks.parse.pandoc_program import read_tree
from docmill.tasks.parse.superscripts import between_dollars

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
FORMULA = f"{_MATH}oMath"
"""An Office formula, within a paragraph."""
_MAX_DEPTH = 60  # nested parts of a formula: no author nests 20, and pandoc takes a second for a thousand
_MAX_PARTS = 2_000
"""Parts of a formula: a matrix of 30 by 30 has 1,830. Pandoc's time grows quadratically: 16 s for 20,000."""
_MAX_ALL = 100_000  # parts of the formulas in one call; a book of mathematics has 50,000
_TOKENS = ("mi", "mn", "mo", "ms", "mtext")
_NOT_SHOWN = frozenset(("annotation", "annotation-xml", "mphantom"))
_WORD = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    f' xmlns:m="{_MATH[1:-1]}"><w:body>%s</w:body></w:document>'
)
_WORD_PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r" Target="word/document.xml" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>',
}


def fill_mathml(formulas: Iterable[Any]) -> None:
    """Replace the content of MathML formulas by lines of text; formulas within another are part of it."""
    _fill(list(formulas), "html")


def fill_office_formulas(formulas: Iterable[Any]) -> None:
    """Replace the content of Office formulas, `m:oMath`, by lines of text."""
    _fill(list(formulas), "docx")


def _fill(formulas: list[Any], notation: str) -> None:
    lines = _lines(formulas, notation)
    for formula, line in zip(formulas, lines, strict=True):
        del formula[:]
        formula.text = line


def _lines(formulas: Sequence[Any], notation: str) -> list[str]:
    """Return formulas as TeX, or only their words if pandoc cannot read them or they are too large for it."""
    lines, left = [_words(one) for one in formulas], _MAX_ALL
    plain = dict[int, Any]()
    for number, formula in enumerate(formulas):
        size = _size(formula)
        if size <= min(_MAX_PARTS, left):
            left -= size
            plain[number] = _plain(formula, notation)
    for number, tex in _read(plain, notation) if plain else ():
        if number in plain and tex.strip():
            lines[number] = between_dollars(tex, _is_apart(formulas[number]))
    return lines


def _size(formula: Any) -> int:
    """Return the number of parts of a formula, or a number that is too large if they are nested too deeply."""
    parts = depth = 0
    for event, _ in etree.iterwalk(formula, events=("start", "end")):
        depth += 1 if event == "start" else -1
        parts += event == "start"
        if depth > _MAX_DEPTH or parts > _MAX_PARTS:
            return _MAX_PARTS + 1
    return parts


def _words(formula: Any) -> str:
    texts = list[str]()
    hidden = 0
    for event, node in etree.iterwalk(formula, events=("start", "end")):
        is_unseen = isinstance(node.tag, str) and etree.QName(node).localname in _NOT_SHOWN
        hidden += is_unseen if event == "start" else -is_unseen
        text = node.text if event == "start" else node.tail if node is not formula else ""
        if not hidden and isinstance(node.tag, str):
            texts.append(text or "")
    return " ".join("".join(texts).split())


def _is_apart(formula: Any) -> bool:
    """Return whether a formula is on a line of its own."""
    parent = formula.getparent()
    return formula.get("display") == "block" or (parent is not None and parent.tag == f"{_MATH}oMathPara")


def _plain(formula: Any, notation: str) -> Any:
    """Return a formula as pandoc expects it: for a page, without the prefixes that the page may use."""
    copied = deepcopy(formula)
    copied.tail = None
    etree.strip_elements(copied, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    if notation == "html":
        for node in copied.iter():
            node.tag = etree.QName(node).localname
            for name in [one for one in node.attrib if ":" in one or "}" in one]:
                del node.attrib[name]
        for token in copied.iter(*_TOKENS):
            _flatten(token)
    etree.cleanup_namespaces(copied)
    return copied


def _flatten(token: Any) -> None:
    """Join the words of a MathML token, which may contain markup of the page."""
    if len(token):
        text = "".join(token.itertext())
        del token[:]
        token.text = text


def _read(formulas: dict[int, Any], notation: str) -> Iterator[tuple[int, str]]:
    """Yield the TeX of formulas by number; nothing if all of them together are too much for pandoc."""
    document = (_page if notation == "html" else _word_document)(formulas)
    with suppress(Rejected):
        for block in read_tree(document, notation)["blocks"]:
            inlines = block["c"] if block["t"] in ("Para", "Plain") else []
            math = [one["c"][1] for one in inlines if one["t"] == "Math"]
            if len(math) == 1 and inlines[0]["t"] == "Str" and inlines[0]["c"].isdecimal():
                yield int(inlines[0]["c"]), math[0]


def _page(formulas: dict[int, Any]) -> bytes:
    written = ((number, etree.tostring(one, encoding="unicode")) for number, one in formulas.items())
    return "".join(f"<p>{number} {formula}</p>" for number, formula in written).encode()


def _word_document(formulas: dict[int, Any]) -> bytes:
    written = ((number, etree.tostring(one, encoding="unicode")) for number, one in formulas.items())
    body = "".join(f"<w:p><w:r><w:t>{number} </w:t></w:r>{formula}</w:p>" for number, formula in written)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as container:
        for name, content in (_WORD_PARTS | {"word/document.xml": _WORD % body}).items():
            container.writestr(name, content)
    return buffer.getvalue()
