"""Front matter: the YAML or TOML block that a Markdown file may begin with."""

import datetime
import re
import tomllib
from typing import Any, NamedTuple

_YAML = re.compile(r"---[ \t]*(?:\r\n?|\n)(.*?)^(?:---|\.\.\.)[ \t]*(?=[\r\n]|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*(?:\r\n?|\n)(.*?)^\+\+\+[ \t]*(?=[\r\n]|\Z)", re.DOTALL | re.MULTILINE)
_MAX_CHARACTERS = 100_000
"""Characters in which the block must end. A rule at the top of a file looks like its beginning: with no limit, all
down to the next rule would be tried as YAML, however long; front matter beyond the limit is drawn as text."""
_MAX_DEPTH = 20
"""Lists and mappings inside of one another that are kept. People write a few; deeper values would cost the stack
of all that reads them later, and are dropped."""


class FrontMatter(NamedTuple):
    """The end of the block in the text, and its values, ready for JSON."""

    end: int
    values: dict[str, Any]


def read_front_matter(text: str) -> FrontMatter | None:
    """Return the front matter of a text, or None where there is none that can be read."""
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
    """Return a YAML mapping; aliases, which can make a small block huge, are not followed."""
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, yaml.CSafeLoader)):
            return {}
        values = yaml.load(block, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        # What begins with a key is front matter, even if it cannot be read; other text stood between two rules.
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
