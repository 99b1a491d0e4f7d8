"""Patents in XML: their parts, the codes of their classes, the numbers of their claims (WIPO ST.36, ST.96, ST.32)."""

import re
from typing import Any

from docmill.tasks.parse.markup.xml.xml_nodes import name_of, words_of

_CLASSES = frozenset(
    f"classification-{system}" for system in ("ipc", "ipcr", "cpc", "national", "locarno", "ecla", "ipc-primary")
).union(("b511", "b512", "b521", "b522"))
GROUPS = _CLASSES | frozenset(
    (
        "classifications-ipcr",
        "classifications-cpc",
        "classifications-national",
        "b510",
        "b520",
        "b510ep",
        "b520ep",
        "b000",
    )
)
"""Elements that hold nothing but codes."""
_PARTS = {"abstract": "Abstract", "description": "Description", "claims": "Claims", "sdocl": "Claims"}
_MAX_CODES = 100  # of one patent: hundreds are a file of many patents, in which they are data
_STATED = re.compile(r"\s*([0-9]{1,6})\s*")
_NUMBER = re.compile(r"\s*([0-9]{1,4})\s*[.)]\s*")


def classifications(root: Any) -> list[str]:
    """Return the codes of a patent's classes as they are cited, such as "F03B 7/00", each once."""
    codes = (_code(node) for node in root.iter("{*}*") if name_of(node).lower() in _CLASSES)
    return list(dict.fromkeys(filter(None, codes)))[:_MAX_CODES]


def _code(node: Any) -> str:
    parts = {name_of(part).lower(): words_of(part) for part in node.iterdescendants("{*}*")}
    if "text" in parts:  # the version and the office follow the symbol
        return " ".join(parts["text"].split()[:2])
    if "section" in parts:
        symbol = "".join(parts.get(name, "") for name in ("section", "class", "subclass"))
        return f"{symbol} {parts.get('main-group', '')}/{parts.get('subgroup', '')}".strip(" /")
    return parts.get("main-classification") or parts.get("pdat") or ("" if len(node) else words_of(node))


def choose_title(root: Any) -> None:
    """Leave one title of a patent that has titles in several languages: that in its own, else the first."""
    own = (root.get("lang") or "").lower()
    for titles in root.iter("{*}B540"):
        chosen = _chosen(list(titles.iterchildren("{*}B542")), own)
        for child in list(titles) if chosen is not None else ():
            if child is not chosen:
                titles.remove(child)


def _chosen(titles: list[Any], language: str) -> Any:
    """Return the title below its own language, the first if none is, or None of none."""
    said = (one.getprevious() for one in titles)
    languages = [words_of(before).lower() if before is not None else "" for before in said]
    return titles[languages.index(language) if language in languages else 0] if titles else None


def part_of(node: Any) -> str:
    """Return the name of a part of a patent that states no title of its own, such as "Claims"; "" for what is none."""
    name = _PARTS.get(name_of(node).lower(), "")
    return name if name and is_patent(name_of(node.getroottree().getroot())) else ""


def is_patent(root: str) -> bool:
    """Return whether the name of a root is that of a patent or of an application for one."""
    return "patent" in root.lower() or root == "PATDOC"


def claim_of(node: Any) -> tuple[str, str] | None:
    """Return the number of a claim with its stop, and its text without it; None for what is no claim."""
    name = name_of(node).lower()
    if name != "clm" and (name != "claim" or next(node.iterchildren("{*}claim-text"), None) is None):
        return None
    text = words_of(node)
    written = _NUMBER.match(text)
    stated = _STATED.fullmatch(node.get("num") or "")
    number = stated or written
    return (f"{int(number[1])}." if number else "-"), (text[written.end() :] if written else text)
