"""Style sheets: which classes raise or lower letters, as word processors write them in HTML and EPUB."""

import re
from collections.abc import Iterable

_RULE = re.compile(r"\.([\w-]+)\s*\{([^{}]{1,1000})\}")
_ALIGNED = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)
_SHIFTED = re.compile(r"(?<![\w-])(top|bottom)\s*:\s*(-?)\s*0?\.\d+em", re.IGNORECASE)
_SMALLER = re.compile(r"font-size\s*:\s*(?:0?\.[5-8]\d*em|[5-8]\d(?:\.\d+)?%)", re.IGNORECASE)
_MAX_RULES = 20_000  # of one sheet: more are those of a whole site, and none of a document


def script_of(style: str) -> str:
    """Return "sup" or "sub" for the properties of raised or lowered letters, "" for all others."""
    aligned = _ALIGNED.search(style)
    if aligned:
        return "sup" if aligned[1].lower() == "super" else "sub"
    shifted = _SHIFTED.search(style)
    if shifted is None or not _SMALLER.search(style):
        return ""
    return "sup" if (shifted[1].lower() == "top") == bool(shifted[2]) else "sub"


def script_classes(sheets: Iterable[str]) -> dict[str, str]:
    """Return the classes of style sheets that raise or lower letters, each with the element that does so."""
    rules = (rule for sheet in sheets for _, rule in zip(range(_MAX_RULES), _RULE.finditer(sheet), strict=False))
    found = {rule[1]: script_of(rule[2]) for rule in rules}
    return {name: script for name, script in found.items() if script}
