"""Front matter: the YAML or TOML block at the start of a Markdown file."""

import datetime
import re
import tomllib
from typing import Any, NamedTuple

_YAML = re.compile(r"---[ \t]*(?:\r\n?|\n)(.*?)^(?:---|\.\.\.)[ \t]*(?=[\r\n]|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*(?:\r\n?|\n)(.*?)^\+\+\+[ \t]*(?=[\r\n]|\Z)", re.DOTALL | re.MULTILINE)
_MAX_CHARACTERS = 100_000
"""Characters within which the block must end.

A rule at the top of a file looks like its beginning: with no limit, all text down to the next rule would be tried as
YAML, however long; longer front matter is drawn as text.
"""
_MAX_DEPTH = 20
"""Maximum nesting of lists and mappings to keep.

People write a few levels; deeper values would exhaust the stack of later readers, and are dropped.
"""


class FrontMatter(NamedTuple):
    """The end of the block in the text, and its values, ready for JSON."""

    end: int
    values: dict[str, Any]


def read_front_matter(text: str) -> FrontMatter | None:
    """Return the front matter of a text, or None if there is none that can be read."""
    if not text.startswith(("---", "+++")):
        return None
    is_yaml = text.startswith("---")
    match = (_YAML if is_yaml else _TOML).match(text, 0, _MAX_CHARACTERS)
    if match is None:
        return None
    values = _read_yaml(match[1]) if is_yaml else _read_toml(match[1])
    return None if values is None else FrontMatter(match.end(), values)


def _read_toml(block: str) -> dict[str, Any] | None:
    try:
        return {key: _plain(value) for key, value in tomllib.loads(block.replace("\r\n", "\n")).items()}
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _read_yaml(block: str) -> dict[str, Any] | None:
    """Return a YAML mapping; aliases, which can make a small block huge, are ignored."""
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, yaml.CSafeLoader)):
            return {}
        values = yaml.load(block, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        # A block that begins with a key is front matter, even if it cannot be read; other text is just between two
        # rules.
        return {} if re.match(r"[\w-]+[ \t]*:", block) else None
    if values is None:
        return {} if not block.strip() else None
    return {str(key): _plain(value) for key, value in values.items()} if isinstance(values, dict) else None


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner, depth + 1) for inner in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value if isinstance(value, str | int | bool) or value is None else str(value)
