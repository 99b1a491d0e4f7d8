"""Superscripts: superscripts and subscripts as text, so that 10^6^ is not read as 106, nor H~2~O as H2O."""

import re
from collections.abc import Iterable

_ORDINALS = frozenset(("st", "nd", "rd", "th", "er", "re", "ère", "e", "ème", "o", "a", "os", "as", "º", "ª"))
_COUNTED = re.compile(r"(?:\d|\b[IVXLC]+|\b[Nn])\Z")  # what an ordinal's letters follow: 1st, XXe, No
_MADE_SMALL = frozenset("®™©℠")  # have the same meaning, raised or not
_LONGEST = 40  # characters: longer text is a passage in small letters, not a superscript or subscript
_FRACTION = re.compile(r"(\d?)\^(\d{1,4})\^\s?[\u2044/\u2215]\s?(?:~(\d{1,4})~|(\d{1,4})\b)")
_READ = re.compile(r"[^\W_]|[+\-\u2212*†‡§∞\u2032]")
"""Text that is marked: a comma beside a note's mark is raised with it, and means nothing."""
_LINES = ("\n", "\ue00a")
_ALONE = re.compile(r"(?:\{\})?([\^_])\s*(?:\{\s*(?:\\(?:text|mathrm|rm)\s*\{?)?([\w+\-]{1,6})\}{0,2}|(\w))\s*")
_SPACE_AT_END = re.compile(r"(?<!\\)(?:\\\s)+\Z")  # would hide the dollar sign after it
_STYLED = re.compile(r"\{\\(?:display|text)style\s+(.*)\}", re.DOTALL)
_RULE = re.compile(r"\.([\w-]+)\s*\{([^{}]{1,1000})\}")
_ALIGNED = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)
_SHIFTED = re.compile(r"(?<![\w-])(top|bottom)\s*:\s*(-?)\s*0?\.\d+em", re.IGNORECASE)
_SMALLER = re.compile(r"font-size\s*:\s*(?:0?\.[5-8]\d*em|[5-8]\d(?:\.\d+)?%)", re.IGNORECASE)
_MAX_RULES = 20_000  # of one style sheet: more belong to a whole website, not to a document


def raised(text: str, before: str = "") -> str:
    """Return a superscript within text: `^6^`; the letters of an ordinal, as in 1st, are not marked.

    `before` is the text before it. A reference such as "[1]" or "[^1]" is not an exponent and needs no marks.
    """
    core = text.strip()
    plain = core in _MADE_SMALL or (core.lower() in _ORDINALS and _COUNTED.search(before[-8:]) is not None)
    return text if plain else _between("^", text, core)


def lowered(text: str) -> str:
    """Return a subscript within text: `~2~`."""
    return _between("~", text, text.strip())


def note_mark(text: str) -> str:
    """Return a footnote mark, `[^1]`, or "" if a text is too long to be one; its own brackets are kept."""
    core = text.strip()
    if not core or len(core) > _LONGEST // 10 + 2 or " " in core:
        return ""
    return core if core.startswith("[") else f"[^{core.strip('()')}]"


def between_dollars(tex: str, apart: bool) -> str:
    """Return TeX within a line of text, or `apart` on a line of its own; "m$^2$" is not a formula but a superscript."""
    if script := _ALONE.fullmatch(tex.strip()):
        return (raised if script[1] == "^" else lowered)(script[2] or script[3])
    sign = "$$" if apart else "$"
    return f"{sign}{' '.join(_SPACE_AT_END.sub('', tex).split())}{sign}"


def shown_formula(text: str) -> str:
    """Return the TeX source of MediaWiki's formula pictures between dollar signs; other text is unchanged."""
    wrapped = _STYLED.fullmatch(text.strip())
    return f"${wrapped[1]}$" if wrapped else text


def with_fractions(text: str) -> str:
    """Return text with a superscript number over a subscript number as a fraction: 1/2."""
    return _FRACTION.sub(_fraction, text) if "^" in text else text


def _fraction(match: re.Match[str]) -> str:
    whole, above, below, level = match.groups()
    return f"{whole}{' ' if whole else ''}{above}/{below or level}"


def _between(sign: str, text: str, core: str) -> str:
    if len(core) > _LONGEST or core.startswith("[") or any(line in core for line in _LINES) or not _READ.search(core):
        return text
    return text.replace(core, f"{sign}{core}{sign}", 1)


def script_of(style: str) -> str:
    """Return "sup" or "sub" for a style that raises or lowers letters, otherwise ""."""
    aligned = _ALIGNED.search(style)
    if aligned:
        return "sup" if aligned[1].lower() == "super" else "sub"
    shifted = _SHIFTED.search(style)
    if shifted is None or not _SMALLER.search(style):
        return ""
    return "sup" if (shifted[1].lower() == "top") == bool(shifted[2]) else "sub"


def script_classes(sheets: Iterable[str]) -> dict[str, str]:
    """Return the classes in style sheets that raise or lower letters, each with the element that does the same."""
    rules = (rule for sheet in sheets for _, rule in zip(range(_MAX_RULES), _RULE.finditer(sheet), strict=False))
    found = {rule[1]: script_of(rule[2]) for rule in rules}
    return {name: script for name, script in found.items() if script}
