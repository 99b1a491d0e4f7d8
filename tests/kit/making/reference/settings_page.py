"""The page on settings: every key of docmill.toml with its default, bounds, unit and meaning."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin

from docmill.flows.cli.commands.init import toml_value
from docmill.flows.config.configuration import Key, keys
from docmill.flows.config.section import ConfigSection, Unit
from docmill.flows.config.settings import AlsoRule, RouteRule, Settings
from tests.kit.making.reference.markdown import block, bounds, code, entries, page, prose

HEAD = """\
`docmill init` writes a `docmill.toml` with every key. `docmill settings WORD` shows the present values and where they
come from. In Python, settings are the fields of [`docmill.Settings`](python.md#docmill.Settings), or
`options={"parse.workers": 2}` of `docmill.ingest`.

Each key can be set in four places. The first that sets it wins:

1. a flag: `--set chunk.context_tokens=60`;
2. an environment variable, named like `DOCMILL_SECTION__KEY`: `DOCMILL_CHUNK__CONTEXT_TOKENS=60`;
3. `docmill.toml`, in the working folder or the nearest folder above it, or the file that `--config` or `DOCMILL_CONFIG`
   names; relative paths in it start at its folder;
4. the default.

A list or a table is JSON in a variable and in a flag: `DOCMILL_SOURCES='["docs", "notes"]'`. A wrong value ends the
command before it does anything.

The default, in brackets below, shows the type: `""` is a text, `[]` a list, `{}` a table, `0` an integer, `0.0` a
number."""
VARIABLES = """\
- `DOCMILL_CONFIG`: The settings file to use instead of the nearest `docmill.toml`.
- `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`: The key of the provider that `[model]` or `[embedding]` names.
- `DOCMILL_RERANK_KEY`: The key of the server that `search.rerank` names.
- `PREFECT_API_URL`: With `engine = "auto"`, its presence runs the steps on that Prefect server."""


def made() -> str:
    """Return the page."""
    ordered = sorted(keys(), key=lambda key: len(key.path) > 1)
    parts = [part for section, members in groupby(ordered, _section_of) for part in _section(section, list(members))]
    return page("Settings", HEAD, *parts, "## `[[routes]]` and its fields", *_routes(), "## Other variables", VARIABLES)


def _section_of(key: Key) -> str:
    return ".".join(key.path[:-1])


def _section(section: str, members: list[Key]) -> Iterator[str]:
    yield f"## {code(f'[{section}]')}" if section else "## Top level"
    if section:
        yield prose((Settings.model_fields[section].annotation.__doc__ or "").strip())
    yield entries(map(_row, members))
    for key in members:
        for example in key.field.examples or ():
            yield block(str(example), "toml")


def _row(key: Key) -> tuple[str, str, str]:
    anchor = f'<a id="{"_".join(key.path)}"></a>'
    meaning = prose(f"{key.field.description or ''}{f' Flag: `{key.flag}`.' if key.flag else ''}")
    return f"{anchor}{code(key.path[-1])}", _values(key), meaning


def _plain(key: Key) -> Any:
    default = key.field.get_default()
    return list(default) if isinstance(default, tuple) else str(default) if isinstance(default, Path) else default


def _values(key: Key) -> str:
    """Return the default of a key with its unit and bounds, or the values that its meaning does not name."""
    default, annotation = code(toml_value(_plain(key))), key.field.annotation
    if get_origin(annotation) is Literal:
        unnamed = [one for one in get_args(annotation) if not one or one not in (key.field.description or "")]
        return ", ".join(dict.fromkeys([default, *(code(toml_value(one)) for one in unnamed)]))
    unit = next((one.name for one in key.field.metadata if isinstance(one, Unit)), "")
    if unit.startswith("from"):
        return f"{default}, {unit}"
    shown = "" if unit in (key.field.description or "").lower() else unit
    return ", ".join(filter(None, [f"{default} {shown}".strip(), bounds([SimpleNamespace(**dict(key.field.bounds))])]))


def _routes() -> Iterator[str]:
    for model in (RouteRule, AlsoRule):
        yield prose((model.__doc__ or "").strip())
        yield f"Its fields are {', '.join(_field(model, name) for name in model.model_fields)}."


def _field(model: type[ConfigSection], name: str) -> str:
    field = model.model_fields[name]
    default = field.get_default()
    return f"{code(name)} ({'required' if field.is_required() else code(toml_value([] if default == () else default))})"
