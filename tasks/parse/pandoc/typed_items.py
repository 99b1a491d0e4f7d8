"""Typed items: paragraphs that begin with a bullet or a number as items, in formats that have no lists."""

import re
from typing import Any

from docmill.tasks.parse.pandoc.inlines import DEEPER_MARK, Node

_BULLETS = frozenset("•◦▪‣●○■")
_FIXED_SPACE = "\u00a0"
_NUMBER = re.compile(r"(\d{1,4})\.")


def with_items(node: Any) -> Any:
    """Return a syntax tree with lists of one item in place of the paragraphs that begin like an item.

    A number begins an item only beside a paragraph with the number before or after it.
    """
    if isinstance(node, dict):
        return {name: with_items(one) for name, one in node.items()}
    if not isinstance(node, list):
        return node
    numbers = [_number(one) for one in node]
    beside = (
        number and (number - 1 in numbers[max(0, at - 1) : at] or number + 1 in numbers[at + 1 : at + 2])
        for at, number in enumerate(numbers)
    )
    return [
        _counted(one) if counted else _bulleted(one) or with_items(one)
        for one, counted in zip(node, beside, strict=True)
    ]


def _words(node: Any) -> list[Node]:
    """Return the inlines of a paragraph of several words, and nothing for all else."""
    words = node.get("c") if isinstance(node, dict) and node.get("t") == "Para" else None
    parted = _parted(words) if isinstance(words, list) and words else []
    return parted if len(parted) > 2 and parted[1]["t"] == "Space" else []


def _parted(words: list[Node]) -> list[Node]:
    """Return inlines whose first word is parted at fixed spaces, as pandoc writes them behind a bullet."""
    if words[0]["t"] != "Str" or _FIXED_SPACE not in words[0]["c"]:
        return words
    parts = ({"t": "Str", "c": part} for part in words[0]["c"].split(_FIXED_SPACE))
    return [inline for part in parts for inline in (part, {"t": "Space"})][:-1] + words[1:]


def _number(node: Any) -> int:
    """Return the number that a paragraph begins with, 0 if it begins with none."""
    words = _words(node)
    found = _NUMBER.fullmatch(str(words[0].get("c"))) if words else None
    return int(found[1]) if found else 0


def _counted(node: Node) -> Node:
    form = [_number(node), {"t": "Decimal"}, {"t": "Period"}]
    return {"t": "OrderedList", "c": [form, [[{"t": "Para", "c": _words(node)[2:]}]]]}


def _bulleted(node: Any) -> Node | None:
    """Return a paragraph with a bullet as a list; it is as deep as it has bullets."""
    words, depth = _words(node), 0
    while len(words) > 2 * depth + 1 and str(words[2 * depth].get("c")) in _BULLETS:
        depth += 1
    if not depth:
        return None
    deeper = {"t": "Str", "c": DEEPER_MARK * (depth - 1)}
    return {"t": "BulletList", "c": [[{"t": "Para", "c": [deeper, *words[2 * depth :]]}]]}
