"""Key lines: find the line of each key in a TOML file, which `tomllib` does not report."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

KeyPlace = tuple[int | str, ...]
"""Where a value is in a document: names of keys and places in arrays, like `loc` in pydantic."""


def key_lines(text: str) -> dict[KeyPlace, int]:
    """Return the line, from 1, of each table and key of a valid TOML document; keys of an inline table have its line.

    If a value spans several lines, the line of its key is the first of them.
    """
    lines: dict[KeyPlace, int] = {}
    counts: dict[KeyPlace, int] = {}
    table: KeyPlace = ()
    for number, statement in _statements(text):
        parsed = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            table = _table(parsed, counts)
            places = [table]
        else:
            places = [(*table, *path) for path in _paths(parsed)]
        for place in places:
            for length in range(1, len(place) + 1):
                lines.setdefault(place[:length], number)
    return lines


def line_of(place: KeyPlace, lines: Mapping[KeyPlace, int]) -> int:
    """Return the line of a place, or else of the nearest table or array around it; 0 if the file has none of them."""
    return next((lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in lines), 0)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each header, and each key with its value, with the line where it begins.

    A statement ends as soon as it can be parsed; a value that spans several lines cannot be parsed before its last.
    """
    begun: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):  # the only line end that TOML counts
        # Skip such lines only between statements; within a multi-line string they belong to the value.
        if not begun and line.strip()[:1] in ("", "#"):
            continue
        begun.append(line.removesuffix("\r"))
        statement = "\n".join(begun)
        if _is_whole(statement):
            yield number - len(begun) + 1, statement
            begun = []


def _is_whole(statement: str) -> bool:
    try:
        tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _table(header: Mapping[str, Any], counts: dict[KeyPlace, int]) -> KeyPlace:
    """Return the place that a header opens; `[[name]]` opens the next item of its array; `counts` numbers them."""
    place: KeyPlace = ()
    value: Any = header
    while value:
        (name, value), *_ = value.items()
        place = (*place, name)
        if isinstance(value, list):
            # Each [[routes]] opens the next item of its array.
            counts[place] = counts.get(place, -1) + 1
            value = None
        if place in counts:
            place = (*place, counts[place])
    return place


def _paths(value: Any) -> Iterator[KeyPlace]:
    """Yield the place of every value in a parsed statement; a table comes before the values in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (name,)
        yield from ((name, *path) for path in _paths(inner))
