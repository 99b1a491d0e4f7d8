"""Assignments: read the values of `--set KEY=VALUE`, which are written as in docmill.toml."""

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from docmill.flows.config.configuration import Key, KeyPath, keys
from docmill.storage.errors import ConfigError

MOST_NEAR = 3  # the most names that are suggested for a wrong one, so that they fit in a line
_NOT_TEXT = (int, float, bool)


def read_assignments(given: Iterable[str]) -> dict[KeyPath, Any]:
    """Return the values of `KEY=VALUE` texts by the path of their keys; if a key is repeated, the last value counts.

    A value is TOML, or a bare string if it is not TOML or its key takes text. Raises ConfigError with a finding for
    each text that is not an assignment, or whose key does not exist.
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
    """Return the setting at a path, or the one whose table contains it, as `split` contains `split.recursive.size`."""
    for key in keys():
        inside = len(path) > len(key.path) and isinstance(key.field.get_default(), dict) and all(path)
        if path == key.path or (inside and path[: len(key.path)] == key.path):
            return key
    return None


def _value(text: str, key: Key, *, whole: bool) -> Any:
    """Return the value parsed as TOML, or else the text itself. `whole` is false inside a table with free keys."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        # A bare string is accepted, so that TOML's quotes need not be escaped in the shell.
        return text.strip()
    value = parsed.pop("value")
    fits = isinstance(value, str | list | dict) or key.field.annotation in _NOT_TEXT or not whole
    # If the text has a line break, `parsed` may have more, so it is no single value. And 2024 may be a model's name.
    return text.strip() if parsed or not fits else value


def _overlaps(read: Mapping[KeyPath, Any]) -> list[str]:
    """Return a finding for each key that is set both as a whole and in part."""
    return [
        f"--set {'.'.join(part)} and --set {'.'.join(whole)} contradict each other; give one of them"
        # In sorted order, a whole key comes directly before its parts.
        for whole, part in pairwise(sorted(read))
        if part[: len(whole)] == whole
    ]


def nearest_keys(name: str) -> str:
    """Return a phrase with the keys that are similar to `name`, or whose last part is."""
    names = [key.dotted for key in keys()]
    last = name.rpartition(".")[2]
    ends = [dotted for dotted in names if get_close_matches(last, [dotted.rpartition(".")[2]], 1, 0.7)]
    near = list(dict.fromkeys([*get_close_matches(name, names, MOST_NEAR, 0.7), *ends]))[:MOST_NEAR]
    listed = "`docmill settings` lists all"
    return f"the nearest: {', '.join(near)}; {listed}" if near else listed
