"""Bounds: keep an answer within a number of characters, and say what was left out."""

from collections.abc import Mapping, Sequence
from typing import Any

from docmill.flows.serving.json_text import json_text

_LINE_SHARE = 0.2
"""Share of a text that may be given up to end it with a whole line."""
_LEAST = 200
"""Characters of a text that are kept in any case: a shorter excerpt says nothing."""
_LEAST_OF_MANY = 20  # characters of each value of a row that is too long
_COUNTED = 40  # characters of the field `text_left_out`


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, at most `most` characters, which ends with a line where one ends near."""
    if len(text) <= most:
        return text
    end = text.rfind("\n", int(most * (1 - _LINE_SHARE)), most)
    return text[: end + 1 if end >= 0 else most]


def within(items: Sequence[dict[str, Any]], most: int) -> tuple[list[dict[str, Any]], int]:
    """Return the first objects that fit into `most` characters of JSON, and how many do not.

    The first comes in any case. Its field `text` is cut if it is too long, and `text_left_out` says by how much; then
    other values are cut, each of which says so at its end.
    """
    kept: list[dict[str, Any]] = []
    size = 0
    for item in items:
        size += len(json_text(item))
        if size > most:
            break
        kept.append(item)
    if not kept and items:
        kept = [_shortened(items[0], most)]
    return kept, len(items) - len(kept)


def _shortened(item: dict[str, Any], most: int) -> dict[str, Any]:
    text = item.get("text")
    if isinstance(text, str):
        rest = len(json_text({**item, "text": ""}))
        shown = cut(text, max(_LEAST, most - rest))
        item = {**item, "text": shown, "text_left_out": len(text) - len(shown)}
        most += _LEAST  # which the text may have kept beyond the bound
    if len(json_text(item)) <= most + _COUNTED:
        return item
    share = max(_LEAST_OF_MANY, most // len(item))
    return {name: _cut_value(value, share) for name, value in item.items()}


def _cut_value(value: Any, most: int) -> Any:
    """Return a value, or the beginning of its text if that is too long."""
    if isinstance(value, int | float | None):
        return value
    text = value if isinstance(value, str) else json_text(value)
    return value if len(text) <= most else f"{cut(text, most)}... [{len(text) - most:,} characters left out]"


def entries_within(of: Mapping[str, Any], most: int) -> tuple[dict[str, Any], int]:
    """Return the first entries of an object that fit into `most` characters of JSON, and how many do not."""
    kept, left = within([{name: value} for name, value in of.items()], most)
    return {name: value for one in kept for name, value in one.items()}, left


def left_out(count: int, what: str, advice: str) -> dict[str, Any] | None:
    """Return what an answer says of the things that did not fit, or None if all did."""
    return {what: count, "how_to_get_it": advice} if count else None
