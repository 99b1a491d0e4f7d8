"""The page on sources: every connector with the addresses that it reads, and each key of its settings."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from docmill.flows.cli.commands.start.init_file import toml_value
from docmill.storage.plugins.secret import Secret
from docmill.tasks.connectors.own import CONNECTORS
from tests.kit.making.reference.markdown import code, page, prose, table

HEAD = """\
What docmill reads besides [folders, archives and files](../guides/sources.md) and [buckets](../guides/s3.md). The
settings of a source are in the table `[source.NAME]` of `docmill.toml`. An address such as `loader://NAME` names it;
an address that is the source itself, such as `https://…`, has the name that you give it
(`NAME=ADDRESS`), or else one made from the address. `docmill init --source KIND` writes such a table."""
_NAMES: dict[Any, str] = {
    int: "integer", float: "number", str: "text", bool: "true or false", tuple[str, ...]: "list of texts",
    Secret: "credential", Secret | None: "credential",
}  # fmt: skip


SHARED = """\
## Settings that sources share

A source says above which of these it has, with its default."""
SHARED_BY = 3
"""A setting that as many sources describe alike is described once."""
COLUMNS = ("key", "type", "default", "meaning")
Row = tuple[str, str, str, str]


def made() -> str:
    """Return the page."""
    places = [[*group] for _, group in groupby(CONNECTORS.items(), lambda each: each[1].place)]
    told = Counter(_shared(row) for group in places for row in _rows(group))
    shared = [row for row, number in told.items() if number >= SHARED_BY]
    sections = (part for group in places for part in _section(group, shared))
    return page("Sources", HEAD, *sections, SHARED, table(("key", "type", "meaning"), shared))


def _rows(group: list[tuple[str, Any]]) -> list[Row]:
    return [_row(each) for each in group[0][1].load().settings.model_fields.items()]


def _shared(row: Row) -> tuple[str, str, str]:
    """Return what sources with other defaults may have in common."""
    name, kind, _, meaning = row
    return name, kind, meaning


def _section(group: list[tuple[str, Any]], shared: list[tuple[str, str, str]]) -> Iterator[str]:
    _, connector = group[0]
    plugin = connector.load()
    yield f"## {connector.kind}"
    addresses = ", ".join(code(f"{scheme}://{'…' if one.takes else 'NAME'}") for scheme, one in group)
    yield prose(f"{connector.reads[0].upper()}{connector.reads[1:]}: {addresses}.")
    yield prose(" ".join((plugin.settings.__doc__ or "").split()))
    rows = _rows(group)
    yield table(COLUMNS, [row for row in rows if _shared(row) not in shared])
    also = ", ".join(f"{row[0]} ({row[2]})" for row in rows if _shared(row) in shared)
    yield f"Also {also}." if also else ""


def _row(named: tuple[str, FieldInfo]) -> Row:
    name, field = named
    default = field.get_default()
    plain = list(default) if isinstance(default, tuple) else default
    shown = "required" if field.is_required() else "none" if plain is None else code(toml_value(plain))
    return code(name), _type(field), shown, prose(field.description or "")


def _type(field: FieldInfo) -> str:
    annotation = field.annotation
    if get_origin(annotation) is Literal:
        return " or ".join(code(toml_value(one)) for one in get_args(annotation))
    bounds = [
        f"{word} {getattr(rule, name):g}" for rule in field.metadata for name, word in _BOUNDS if hasattr(rule, name)
    ]
    return ", ".join((_NAMES.get(annotation, "table"), *bounds))


_BOUNDS = (("ge", "at least"), ("gt", "over"), ("le", "at most"))
