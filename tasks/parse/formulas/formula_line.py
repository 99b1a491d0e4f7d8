"""Formula line: MathML and the formulas of Office as one line of text, such as `(a+b)/2` or `x^2^`.

Both notations nest the same parts under different names, so one walk writes both. Sources: W3C MathML 3.0;
ISO/IEC 29500-1, 22.1 "Math".
"""

from collections.abc import Callable
from typing import Any

from docmill.tasks.parse.formulas.scripts import lowered, raised

_MAX_DEPTH = 60
"""Nested parts that are written by their meaning: each takes two frames of Python's stack of a thousand."""
_PROPERTIES = frozenset(
    ("rPr", "ctrlPr", "fPr", "sSupPr", "sSubPr", "sSubSupPr", "sPrePr", "radPr", "dPr", "naryPr", "funcPr", "limLowPr",
     "limUppPr", "accPr", "barPr", "boxPr", "borderBoxPr", "eqArrPr", "groupChrPr", "mPr", "phantPr", "oMathParaPr",
     "annotation", "annotation-xml", "mphantom", "#comment")
)  # fmt: skip
_UNSEEN = str.maketrans("", "", "\u2061\u2062\u2063\u2064\u200b")  # function application, invisible times, and so on
_COMMENT = "#comment"
_TOKENS = frozenset(("mi", "mn", "mo", "ms", "mtext", "t"))


def formula_line(node: Any) -> str:
    """Return a formula as one line, without spaces at its ends."""
    return " ".join(_line(node, 0).translate(_UNSEEN).split())


def _line(node: Any, depth: int) -> str:
    name = _name(node)
    parts = [child for child in node if _name(child) not in _PROPERTIES]
    if not parts or name in _TOKENS:
        return _leaf(node, name)
    if depth > _MAX_DEPTH:
        return "".join(node.itertext())
    written = [_line(part, depth + 1) for part in parts]
    write = _WRITERS.get(name)
    return write(node, [one.strip() for one in written]) if write else "".join(written)


def _name(node: Any) -> str:
    """Return the name of an element; that of a comment is among those that are not written."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else _COMMENT


def _leaf(node: Any, name: str) -> str:
    text = "".join(node.itertext())
    if name in ("mtext", "mspace"):
        return f" {text} "  # words between signs
    return text if name == "t" else "".join(text.split())


def _group(text: str) -> str:
    """Return a part of a fraction or under a root in brackets if it is more than a name or a number."""
    simple = text.replace(".", "").replace(",", "").replace("^", "").replace("~", "")
    bracketed = text.startswith("(") and text.find(")") == len(text) - 1
    return text if simple.isalnum() or bracketed or not text else f"({text})"


def _at(parts: list[str], index: int) -> str:
    return parts[index] if index < len(parts) else ""


def _fraction(_: Any, parts: list[str]) -> str:
    return f"{_group(_at(parts, 0))}/{_group(_at(parts, 1))}"


def _superscript(_: Any, parts: list[str]) -> str:
    return _at(parts, 0) + _up(_at(parts, 1))


def _over(_: Any, parts: list[str]) -> str:
    """Write what stands above a part; an accent or an arrow over a letter is left out."""
    above = _at(parts, 1)
    return _at(parts, 0) + (_up(above) if any(map(str.isalnum, above)) else "")


def _subscript(_: Any, parts: list[str]) -> str:
    return _at(parts, 0) + _down(_at(parts, 1))


def _both(_: Any, parts: list[str]) -> str:
    return _at(parts, 0) + _down(_at(parts, 1)) + _up(_at(parts, 2))


def _before(_: Any, parts: list[str]) -> str:
    return _down(_at(parts, 0)) + _up(_at(parts, 1)) + _at(parts, 2)


def _scripts(node: Any, parts: list[str]) -> str:
    """Write pairs of a subscript and a superscript, behind the base and then before it."""
    names = [_name(child) for child in node if _name(child) not in _PROPERTIES]
    at = names.index("mprescripts") if "mprescripts" in names else len(parts)
    behind, before = parts[1:at], parts[at + 1 :]
    return _pairs(before) + _at(parts, 0) + _pairs(behind)


def _pairs(parts: list[str]) -> str:
    return "".join(_up(part) if index % 2 else _down(part) for index, part in enumerate(parts))


def _up(text: str) -> str:
    return raised(text.replace("^", "")) if text != "\u2032" else text  # a prime is raised by itself


def _down(text: str) -> str:
    return lowered(text.replace("~", ""))


def _square_root(_: Any, parts: list[str]) -> str:
    return f"√{_group(''.join(parts))}"


def _root(_: Any, parts: list[str]) -> str:
    return f"{raised(_at(parts, 1))}√{_group(_at(parts, 0))}"


def _office_root(_: Any, parts: list[str]) -> str:
    """Write a root whose degree, which may be empty, comes first."""
    degree, under = ("", *parts)[-2:]
    return f"{raised(degree)}√{_group(under)}"


def _fenced(node: Any, parts: list[str]) -> str:
    opening, closing = str(node.get("open", "(")), str(node.get("close", ")"))
    return opening + f"{node.get('separators', ',')[:1]} ".join(parts) + closing


def _delimited(node: Any, parts: list[str]) -> str:
    """Write what stands between brackets of Office, which its properties name."""
    return _sign(node, "begChr", "(") + f" {_sign(node, 'sepChr', '|')} ".join(parts) + _sign(node, "endChr", ")")


def _large(node: Any, parts: list[str]) -> str:
    """Write a sum, a product or an integral of Office with its limits."""
    return f"{_sign(node, 'chr', '∫')}{_down(_at(parts, 0))}{_up(_at(parts, 1))} {_at(parts, 2)}"


def _sign(node: Any, name: str, default: str) -> str:
    """Return a sign among the properties of a part; one that is stated and empty is not shown."""
    found = next((one for one in node.iterfind(f"{{*}}{_name(node)}Pr/{{*}}{name}")), None)
    if found is None:
        return default
    return next((str(value) for key, value in found.attrib.items() if key.rpartition("}")[2] == "val"), "")


def _rows(_: Any, parts: list[str]) -> str:
    return "; ".join(parts)


def _cells(_: Any, parts: list[str]) -> str:
    return ", ".join(parts)


def _function(_: Any, parts: list[str]) -> str:
    return f"{_at(parts, 0)} {_at(parts, 1)}"


_WRITERS: dict[str, Callable[[Any, list[str]], str]] = {
    **dict.fromkeys(("mfrac", "f"), _fraction),
    **dict.fromkeys(("msup", "sSup"), _superscript),
    **dict.fromkeys(("mover", "limUpp"), _over),
    **dict.fromkeys(("msub", "sSub", "munder", "limLow"), _subscript),
    **dict.fromkeys(("msubsup", "sSubSup", "munderover"), _both),
    "mmultiscripts": _scripts,
    "sPre": _before,
    "msqrt": _square_root,
    "mroot": _root,
    "rad": _office_root,
    "mfenced": _fenced,
    "d": _delimited,
    "nary": _large,
    **dict.fromkeys(("mtable", "m", "eqArr"), _rows),
    **dict.fromkeys(("mtr", "mlabeledtr", "mr"), _cells),
    "func": _function,
}
