"""The page on sources: every connector with the addresses that it reads, and each key of its settings."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from docmill.flows.cli.commands.init_file import toml_value
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


def made() -> str:
    """Return the page."""
    places = groupby(CONNECTORS.items(), lambda each: each[1].place)
    return page("Sources", HEAD, *(part for _, group in places for part in _section([*group])))


def _section(group: list[tuple[str, Any]]) -> Iterator[str]:
    _, connector = group[0]
    plugin = connector.load()
    yield f"## {connector.kind}"
    addresses = ", ".join(code(f"{scheme}://{'…' if one.takes else 'NAME'}") for scheme, one in group)
    yield prose(f"{connector.reads[0].upper()}{connector.reads[1:]}: {addresses}.")
    yield prose(" ".join((plugin.settings.__doc__ or "").split()))
    yield table(("key", "type", "default", "meaning"), map(_row, plugin.settings.model_fields.items()))


def _row(named: tuple[str, FieldInfo]) -> tuple[str, str, str, str]:
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
