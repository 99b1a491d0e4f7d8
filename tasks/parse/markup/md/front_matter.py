"""Front matter: what a Markdown file states about itself above its text, in YAML, TOML, JSON or fields.

A comment, such as a licence, may be above it.
"""

import datetime
import json
import re
import tomllib
from collections.abc import Callable
from typing import Any, NamedTuple

_YAML = re.compile(r"---[ \t]*(?:\r\n?|\n)(.*?)^(?:---|\.\.\.)[ \t]*(?=[\r\n]|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*(?:\r\n?|\n)(.*?)^\+\+\+[ \t]*(?=[\r\n]|\Z)", re.DOTALL | re.MULTILINE)
_JSON = re.compile(r"(\{[ \t]*(?:\r\n?|\n).*?^\})[ \t]*(?=[\r\n]|\Z)", re.DOTALL | re.MULTILINE)
_FIELDS = re.compile(r"((?i:title):[ \t]+\S.*(?:(?:\r\n?|\n)[A-Za-z][\w -]{0,40}:[ \t]+\S.*)+)(?=(?:\r\n?|\n){2}|\Z)")
_COMMENT = re.compile(r"(?:<!--(?:(?!-->).)*-->\s*)+", re.DOTALL)
_MAX_CHARACTERS = 100_000
"""Characters within which the block must end. A rule at the top of a file looks like its beginning: without a limit,
all text down to the next rule would be tried as YAML, however long. Longer front matter is drawn as text."""
_MAX_DEPTH = 20
"""Maximum nesting of lists and mappings to keep. People write a few levels; deeper values would exhaust the stack of
later readers and are dropped."""


class FrontMatter(NamedTuple):
    """The end of the block in the text, and its values, ready for JSON."""

    end: int
    values: dict[str, Any]


def read_front_matter(text: str) -> FrontMatter | None:
    """Return the front matter of a text, or None if there is none that can be read."""
    comment = _COMMENT.match(text, 0, _MAX_CHARACTERS)
    start = comment.end() if comment else 0
    for pattern, read in _KINDS:
        if match := pattern.match(text, start, start + _MAX_CHARACTERS):
            values = read(match[1])
            return None if values is None else FrontMatter(match.end(), values)
    return None


def _read_json(block: str) -> dict[str, Any] | None:
    try:
        values = json.loads(block)
    except (ValueError, RecursionError):
        return None
    return _plain(values) if isinstance(values, dict) else None


def _read_fields(block: str) -> dict[str, Any]:
    """Return the fields above a text of MultiMarkdown or Pelican, such as `Title: On mills`."""
    pairs = (line.partition(":") for line in block.splitlines())
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


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
        # A block that begins with a key is front matter, even if it cannot be read; other text is merely between two
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


_KINDS: tuple[tuple[re.Pattern[str], Callable[[str], dict[str, Any] | None]], ...] = (
    (_YAML, _read_yaml), (_TOML, _read_toml), (_JSON, _read_json), (_FIELDS, _read_fields),
)  # fmt: skip
