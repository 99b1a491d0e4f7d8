"""The page on sources: every connector with the addresses that it reads, and each key of its settings."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from docmill.flows.cli.commands.init import toml_value
from docmill.storage.plugins.secret import Secret
from docmill.tasks.sources.connectors.own_connectors import CONNECTORS
from tests.kit.making.reference.markdown import bounds, code, entries, page, prose

HEAD = """\
What docmill reads besides [folders, archives and files](../guides/sources.md) and [buckets](../guides/s3.md). The
settings of a source are in the table `[source.NAME]` of `docmill.toml`. An address such as `loader://NAME` names it;
an address such as `https://…` has the name that you give it (`NAME=ADDRESS`), or one made from the address. The
default, in brackets, shows the [type](settings.md)."""
SHARED = """\
## Settings that sources share

A source says above which of these it has, with its default."""
SHARED_BY = 3
"""A setting that as many sources describe alike is described once."""
Row = tuple[str, str, str, str]
"""Key, default, bounds, meaning."""


def made() -> str:
    """Return the page."""
    places = [[*group] for _, group in groupby(CONNECTORS.items(), lambda each: each[1].place)]
    told = Counter(_shared(row) for group in places for row in _rows(group))
    shared = [row for row, number in told.items() if number >= SHARED_BY]
    sections = (part for group in places for part in _section(group, shared))
    return page("Sources", HEAD, *sections, SHARED, entries(shared))


def _rows(group: list[tuple[str, Any]]) -> list[Row]:
    return [_row(each) for each in group[0][1].load().settings.model_fields.items()]


def _shared(row: Row) -> tuple[str, str, str]:
    """Return what sources with other defaults may have in common."""
    name, _, limits, meaning = row
    return name, limits, meaning


def _section(group: list[tuple[str, Any]], shared: list[tuple[str, str, str]]) -> Iterator[str]:
    _, connector = group[0]
    plugin = connector.load()
    yield f"## {connector.kind}"
    addresses = ", ".join(code(f"{scheme}://{'…' if one.takes else 'NAME'}") for scheme, one in group)
    yield prose(f"{connector.reads[0].upper()}{connector.reads[1:]}: {addresses}.")
    yield prose(" ".join((plugin.settings.__doc__ or "").split()))
    rows = _rows(group)
    own = [row for row in rows if _shared(row) not in shared]
    yield entries((name, ", ".join(filter(None, stated)), said) for name, *stated, said in own)
    also = ", ".join(f"{row[0]} ({row[1]})" for row in rows if _shared(row) in shared)
    yield f"Also {also}." if also else ""


def _row(named: tuple[str, FieldInfo]) -> Row:
    name, field = named
    return code(name), _default(field), bounds(field.metadata), prose(field.description or "")


def _default(field: FieldInfo) -> str:
    """Return the default of a setting, or all its values, the default first; a credential has none."""
    default, annotation = field.get_default(), field.annotation
    if get_origin(annotation) is Literal:
        return ", ".join(code(toml_value(one)) for one in sorted(get_args(annotation), key=lambda one: one != default))
    if annotation in (Secret, Secret | None):
        return "credential"
    if field.is_required():
        return "required"
    return code(toml_value(list(default) if isinstance(default, tuple) else default))
