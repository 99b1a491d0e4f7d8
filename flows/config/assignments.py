"""Assignments: the values of `--set KEY=VALUE`, written as in docmill.toml."""

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from docmill.flows.config.configuration import Key, KeyPath, keys
from docmill.storage.errors import ConfigError

MOST_NEAR = 3  # names that are offered for a wrong one: they fit in a line
_NOT_TEXT = (int, float, bool)


def read_assignments(given: Iterable[str]) -> dict[KeyPath, Any]:
    """Return the values of `KEY=VALUE` texts by the path of their keys; of a repeated key, the last counts.

    A value is TOML, or a bare string where it is not TOML or its key holds text. Raises ConfigError with a finding for
    each text that is no assignment, or whose key does not exist.
    """
    read: dict[KeyPath, Any] = {}
    wrong: list[str] = []
    for one in given:
        name, separator, text = one.partition("=")
        path = tuple(part.strip() for part in name.split("."))
        key = key_at(path)
        if not separator:
            wrong.append(f"--set must be KEY=VALUE, such as chunk.context_tokens=60, got {name!r}")
        elif key is None:
            wrong.append(f"--set {name.strip()}: no such key; {nearest_keys(name.strip())}")
        else:
            read[path] = _value(text, key, whole=path == key.path)
    wrong += _overlaps(read)
    if wrong:
        raise ConfigError(*wrong)
    return read


def key_at(path: KeyPath) -> Key | None:
    """Return the setting at a path, or the one whose table holds it, as `split` holds `split.recursive.size`."""
    for key in keys():
        inside = len(path) > len(key.path) and isinstance(key.field.get_default(), dict) and all(path)
        if path == key.path or (inside and path[: len(key.path)] == key.path):
            return key
    return None


def _value(text: str, key: Key, *, whole: bool) -> Any:
    """Return the value as TOML reads it, else the text itself. `whole` is false inside a table of free keys."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        # A bare string, so that a shell's quotes need not be quoted once more.
        return text.strip()
    value = parsed.pop("value")
    fits = isinstance(value, str | list | dict) or key.field.annotation in _NOT_TEXT or not whole
    # `parsed` holds more if the text has a line end: then it is no single value. And 2024 may be the name of a model.
    return text.strip() if parsed or not fits else value


def _overlaps(read: Mapping[KeyPath, Any]) -> list[str]:
    """Return a finding for each key that is set both whole and in part."""
    return [
        f"--set {'.'.join(part)} and --set {'.'.join(whole)} contradict each other; give one of them"
        # Sorted, a whole key stands directly before its parts.
        for whole, part in pairwise(sorted(read))
        if part[: len(whole)] == whole
    ]


def nearest_keys(name: str) -> str:
    """Return a phrase with the keys that look like `name`, or whose last part does."""
    names = [key.dotted for key in keys()]
    last = name.rpartition(".")[2]
    ends = [dotted for dotted in names if get_close_matches(last, [dotted.rpartition(".")[2]], 1, 0.7)]
    near = list(dict.fromkeys([*get_close_matches(name, names, MOST_NEAR, 0.7), *ends]))[:MOST_NEAR]
    listed = "`docmill settings` lists all"
    return f"the nearest: {', '.join(near)}; {listed}" if near else listed
