"""Configuration: gather the settings. Flags override the environment, then docmill.toml, then the defaults."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from docmill.flows.config.section import ConfigSection, KeyField, is_section
from docmill.flows.config.settings import Settings
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import ValidationError

FILE_NAME = "docmill.toml"
PREFIX = "DOCMILL_"
CONFIG_VARIABLE = "DOCMILL_CONFIG"
TOKEN_VARIABLE = "DOCMILL_TOKEN"  # the token that clients of a server send; not a setting, so that it is never shown
TOKENS_VARIABLE = "DOCMILL_TOKENS"  # the file of several tokens, each with its principals

_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)$")  # how `tomllib` ends the message of an error

KeyPath = tuple[str, ...]


_FLAGS = {
    "store": "--store",
    "engine": "--engine",
    "embedding.model": "--embedding-model",
    "discover.include": "--include",
    "discover.exclude": "--exclude",
    "wait_s": "--wait",
    "model.max_calls": "--max-calls",
    "model.max_cost": "--max-cost",
}
"""The settings that have their own flag because people type them often; `--set` takes all others."""


@dataclass(frozen=True, slots=True)
class Key:
    """A setting, with its name in each place that can set it."""

    path: KeyPath
    field: KeyField

    @property
    def dotted(self) -> str:
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        return PREFIX + "__".join(self.path).upper()

    @property
    def flag(self) -> str:
        """Return its flag on the command line, or "" if only `--set` takes it."""
        return _FLAGS.get(self.dotted, "")

    @property
    def is_secret(self) -> bool:
        return not self.field.repr


@cache
def keys() -> tuple[Key, ...]:
    """Return all keys in the order of the model, with the sections flattened."""
    return tuple(_walk(Settings, ()))


def _walk(section: type[ConfigSection], path: KeyPath) -> Iterator[Key]:
    for name, field in section.model_fields.items():
        if is_section(field.annotation):
            yield from _walk(field.annotation, (*path, name))
        else:
            yield Key((*path, name), field)


def load(
    flags: Mapping[KeyPath, Any] | None = None,
    config: Path | None = None,
    *,
    as_flags: bool = True,
    assigned: Mapping[KeyPath, Any] | None = None,
) -> Settings:
    """Return the settings; `flags` and `assigned` map the path of a key to its value.

    Error messages name the keys of `flags` as command-line flags if `as_flags` is set, otherwise as in docmill.toml,
    and the keys of `assigned` as `--set KEY`. A ConfigError has a finding for each wrong value.

    Without `config`, the file is the one that DOCMILL_CONFIG names, or else the docmill.toml in the working folder or
    in the nearest folder above it. Relative paths in the file are relative to its folder.
    """
    _check_environment()
    file = chosen_file(config)
    given = _nest({**(flags or {}), **(assigned or {})})
    values = _merge(given, _anchor(_read_file(file), file.parent) if file else {})
    return _checked(values, ValueOrigins(frozenset(flags or ()), file, as_flags, frozenset(assigned or ())))


def _checked(values: dict[str, Any], origins: "ValueOrigins") -> Settings:
    """Return the settings with these values; raise ConfigError with a finding for each wrong one."""
    try:
        return Settings(**values)
    except ValueError as error:  # pydantic's; pydantic is not imported if all values are right
        wrong = cast("ValidationError", error).errors()
        raise ConfigError(*(_explain(one, origins) for one in wrong)) from None


def spelled(
    wrong: Iterable[tuple[tuple[int | str, ...], str]],
    flags: Mapping[KeyPath, Any],
    config: Path | None,
    assigned: Mapping[KeyPath, Any],
) -> list[str]:
    """Return findings about values of `load(flags, config, assigned=assigned)`, each after the place of its value."""
    origins = ValueOrigins(frozenset(flags), chosen_file(config), assigned=frozenset(assigned))
    return [f"{origins.spell(place)}: {what}" for place, what in wrong]


def with_values(settings: Settings, values: Mapping[KeyPath, Any]) -> Settings:
    """Return settings with some values replaced; raise ConfigError for an unknown key or an invalid value."""
    merged = settings.model_dump()
    for path, value in values.items():
        table = merged
        for step in path[:-1]:
            table = table.setdefault(step, {})
        table[path[-1]] = value
    return _checked(merged, ValueOrigins(frozenset(values), None, as_flags=False))


def find_file(start: Path) -> Path | None:
    """Return the docmill.toml in `start` or in the nearest folder above it."""
    folders = [start.resolve(), *start.resolve().parents]
    return next((path for folder in folders if (path := folder / FILE_NAME).is_file()), None)


def chosen_file(config: Path | None) -> Path | None:
    """Return the settings file in use, or None."""
    variable = os.environ.get(CONFIG_VARIABLE)
    named = config or (Path(variable) if variable else None)
    if named is None:
        return find_file(Path.cwd())
    if not named.is_file():
        raise ConfigError(f"{named}: no such file; `docmill init` writes a {FILE_NAME}")
    return named.resolve()


def _read_file(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text := read_text(path))
    except tomllib.TOMLDecodeError as error:
        what, line = str(error), text.count("\n") + 1  # "(at end of document)" has no number
        if found := _AT_LINE.search(what):
            what, line = what[: found.start()], int(found[1])
        raise ConfigError(f"{path}:{line}: {what}") from None


def read_text(path: Path) -> str:
    """Return the text of a settings file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None


def _anchor(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Resolve the relative paths among a file's values against its folder."""
    anchored = {name: dict(value) if isinstance(value, dict) else value for name, value in values.items()}
    for (*sections, key), rule in _ANCHORS.items():
        table = anchored.get(sections[0]) if sections else anchored
        if isinstance(table, dict) and key in table:
            table[key] = rule(folder, table[key])
    return anchored


def _anchor_path(folder: Path, value: Any) -> Any:
    return _join(folder, value) if isinstance(value, str) and value else value


def _anchor_model(folder: Path, value: Any) -> Any:
    """Resolve a value that is either a path or a name."""
    return _join(folder, value) if isinstance(value, str) and _is_path(value) else value


def _anchor_sources(folder: Path, value: Any) -> Any:
    sources = [value] if isinstance(value, str) else value
    if not isinstance(sources, list):
        return value  # the settings refuse it and give the reason
    return [_anchor_source(folder, source) if isinstance(source, str) else source for source in sources]


def _anchor_tables(folder: Path, value: Any) -> Any:
    """Resolve the values of `[source.NAME]` that begin with a dot or `~`, and the files of credentials."""
    if isinstance(value, dict):
        is_credential = value.keys() == {"file"} and isinstance(value["file"], str)
        rule = _anchor_path if is_credential else _anchor_tables
        return {name: rule(folder, one) for name, one in value.items()}
    if isinstance(value, list):
        return [_anchor_tables(folder, one) for one in value]
    return _join(folder, value) if isinstance(value, str) and value.startswith((".", "~")) else value


def _is_path(value: str) -> bool:
    """Return whether a value is a path, and not the name of a model or an encoding."""
    return value.startswith((".", "~")) or value.endswith(".json")


def _anchor_source(folder: Path, source: str) -> str:
    if not source:
        return source
    name, separator, path = source.partition("=")
    # A folder may be called a=b; if the whole name exists, it is meant.
    if separator and "/" not in name and not (folder / source).exists():
        return f"{name}={_join(folder, path)}"
    return _join(folder, source)


def _join(folder: Path, path: str) -> str:
    # Not `resolve`, so that a symbolic link stays one, even if it later points elsewhere.
    return path if "://" in path else os.path.normpath(folder / Path(path).expanduser())


_ANCHORS: dict[KeyPath, Callable[[Path, Any], Any]] = {
    ("store",): _anchor_path,
    ("mirrors",): _anchor_path,
    ("sources",): _anchor_sources,
    ("source",): _anchor_tables,
    ("gate", "questions"): _anchor_path,
    ("gate", "qrels"): _anchor_path,
    ("embedding", "model"): _anchor_model,
    ("chunk", "tokenizer"): _anchor_model,
    ("search", "rerank"): _anchor_model,
}
"""The keys whose values may be relative paths."""


def _nest(flat: Mapping[KeyPath, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for path, value in flat.items():
        table = nested
        for step in path[:-1]:
            table = table.setdefault(step, {})
        table[path[-1]] = value
    return nested


def _merge(flags: dict[str, Any], from_file: dict[str, Any]) -> dict[str, Any]:
    """Return the merged values: flags override the environment, which overrides the file."""
    return _over(_over(from_file, _from_environment()), flags)


def _from_environment() -> dict[str, Any]:
    """Return the values of the environment variables; an empty variable counts as not set."""
    return _nest({key.path: value for key in keys() if (value := os.environ.get(key.variable))})


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables merged, key by key; if both have a value, that of `above` counts."""
    merged = dict(below)
    for name, value in above.items():
        held = merged.get(name)
        merged[name] = _over(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return merged


@dataclass(frozen=True, slots=True)
class ValueOrigins:
    """Where each value comes from, so that an error message can name the place."""

    flags: frozenset[KeyPath]
    file: Path | None
    as_flags: bool = True
    assigned: frozenset[KeyPath] = frozenset()

    def spell(self, path: tuple[int | str, ...]) -> str:
        """Return the key at `path` as the user wrote it, after the file and line if it is in the file."""
        key = _key_of(path)
        if any(all(map(eq, one, path)) for one in self.assigned):
            return f"--set {_dotted(path)}"
        if key and key.path in self.flags:
            return key.flag if key.flag and self.as_flags else key.dotted
        return _variable(key) or ("" if path in self.flags else self._place(path)) + _dotted(path)

    def _place(self, path: tuple[int | str, ...]) -> str:
        if self.file is None:
            return ""
        from docmill.flows.config.key_lines import key_lines, line_of

        line = line_of(path, key_lines(read_text(self.file)))
        return f"{self.file}:{line}: " if line else f"{self.file}: "


def _key_of(path: tuple[int | str, ...]) -> Key | None:
    """Return the key whose value contains `path`."""
    return next((key for key in keys() if key.path == path[: len(key.path)]), None)


def _variable(key: Key | None) -> str:
    """Return the environment variable that sets a key, or "" if it is not set there."""
    return key.variable if key and os.environ.get(key.variable) else ""


def _explain(error: Mapping[str, Any], origins: ValueOrigins) -> str:
    """Return an error message that says where the value is, what is wrong with it, and what would be right."""
    path = error["loc"]
    if error["type"] == "extra_forbidden":
        return f"{origins.spell(path)}: no such key; {_right_key(path)}"
    wrong = _wrong(error, path)
    key = _key_of(path)
    # Even a wrong password must not end up in a log.
    got = "" if key and key.is_secret else f", got {error['input']!r}"
    return f"{origins.spell(path)}: {wrong[0].lower()}{wrong[1:]}{got}"


_SHAPES = {
    "dict_type": "a table",
    "model_type": "a table",
    "dataclass_type": "a table",
    "tuple_type": "a list",
    "list_type": "a list",
}
"""What a value must be, by pydantic's kind of error, in the terms of docmill.toml instead of Python's."""


def _wrong(error: Mapping[str, Any], path: tuple[int | str, ...]) -> str:
    """Return what is wrong with a value. If its type is wrong, the user may have meant a key of a similar name."""
    if not (shape := _SHAPES.get(error["type"])):
        # pydantic prefixes our own messages with this.
        return str(error["msg"]).removeprefix("Value error, ")
    others = [name for name in Settings.model_fields if name != path[0]] if len(path) == 1 else []
    near = get_close_matches(str(path[0]), others, 1, _SLIP)
    return f"input should be {shape}{f' (or is {near[0]} meant?)' if near else ''}"


_SLIP = 0.8  # `source` and `sources` have a similarity of 0.92; the next pair, `source` and `store`, 0.73


def _dotted(path: Iterable[int | str]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _right_key(path: tuple[int | str, ...]) -> str:
    """Return a hint: the closest key of the table, else a similar key elsewhere, else all keys of the table."""
    table = _table_at(path[:-1])
    wrong = str(path[-1])
    if near := get_close_matches(wrong, table.model_fields, 1):
        return f"the nearest is {_dotted((*path[:-1], near[0]))}"
    if elsewhere := next((key.dotted for key in keys() if get_close_matches(wrong, [key.path[-1]])), ""):
        return f"the nearest is {elsewhere}"
    return f"there are {', '.join(table.model_fields)}"


def _table_at(path: tuple[int | str, ...]) -> type[ConfigSection]:
    """Return the model class of the table at `path`."""
    table: type[ConfigSection] = Settings
    for step in path:
        if isinstance(step, str):
            annotation = table.model_fields[step].annotation
            table = next(a for a in (annotation, *getattr(annotation, "__args__", ())) if is_section(a))
    return table


def _check_environment() -> None:
    known = [key.variable for key in keys()] + [CONFIG_VARIABLE, TOKEN_VARIABLE, TOKENS_VARIABLE]
    # Otherwise a mistyped variable would silently have no effect.
    strange = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
    if strange:
        near = [(get_close_matches(name, known, 1, 0) or known)[0] for name in strange]
        raise ConfigError(
            *(f"{a}: no such environment variable; the nearest is {b}" for a, b in zip(strange, near, strict=True))
        )
