"""Markdown of the reference: lists of names, tables, code and links, so that nothing in a text breaks a table."""

import re
from collections.abc import Iterable, Sequence

MADE = "<!-- Made from the code by `python -m tests.kit.making.make_reference`; edit the texts there. -->"
_BOUNDS = {"ge": "at least", "gt": "over", "le": "at most"}
_BARE = re.compile(r"(`+[^`]*`+)|([<>])|(?<![\w/])(\[[\w.]+\])(?!\()")


def page(title: str, *parts: str) -> str:
    """Return a page of parts, with an empty line between two."""
    return "\n\n".join([f"# {title}", MADE, *(part.strip("\n") for part in parts if part)]) + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; no table if there is no row."""
    lines = [f"| {' | '.join(cell(one) for one in row)} |" for row in rows]
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join([*head, *lines]) if lines else ""


def entries(rows: Iterable[Sequence[str]]) -> str:
    """Return a list of names with their meanings; what is between them, such as a default, is in brackets."""
    return "\n".join(f"- {name}{''.join(f' ({one})' for one in stated if one)}: {said}" for name, *stated, said in rows)


def cell(value: object) -> str:
    """Return a value as the text of a cell."""
    return " ".join(str(value).replace("|", "\\|").split())


def code(value: object) -> str:
    """Return a value as code, "" for none; a backtick in it needs longer quotes."""
    text = str(value)
    quote = "``" if "`" in text else "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{quote}{pad}{text}{pad}{quote}" if text else ""


def codes(values: Iterable[object]) -> str:
    """Return values as code with commas between them."""
    return ", ".join(map(code, values))


def bounds(rules: Iterable[object]) -> str:
    """Return the bounds of pydantic's rules in words: "1 to 64", "at least 1" or "over 0"."""
    stated = {name: f"{getattr(rule, name):g}" for rule in rules for name in _BOUNDS if hasattr(rule, name)}
    if {*stated} == {"ge", "le"}:
        return f"{stated['ge']} to {stated['le']}"
    return ", ".join(f"{_BOUNDS[name]} {value}" for name, value in stated.items())


def prose(text: str) -> str:
    """Return a text from the code as Markdown: `<`, `>` and names such as [parse] stand for themselves."""
    return _BARE.sub(lambda found: found[1] or {"<": "&lt;", ">": "&gt;"}.get(found[0], f"`{found[0]}`"), text)


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as the site and GitHub make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def block(text: str, language: str = "text") -> str:
    """Return a fenced block."""
    return f"```{language}\n{text.strip(chr(10))}\n```"
