"""The command `settings`: every key with its value, the origin of the value, its meaning and its default."""

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.init import toml_value
from docmill.flows.cli.terminal.command import assigned_of, command
from docmill.flows.cli.terminal.output import AsJson, plain, print_json
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.flows.config.configuration import Key
    from docmill.flows.config.setting_origins import Present

HIDDEN = "(not shown)"
_INDENT = " " * 6
NARROWEST = 40  # columns; a narrower terminal wraps lines itself
_ACCOUNT = re.compile(r"(?<=://)[^/@\s\"]+(?=@)")
"""The name and password in a URL such as http://user:password@host/."""
SEARCH = typer.Argument(help="Show only keys whose name or meaning has these words.", metavar="SEARCH")


@command("*")
def settings(
    context: typer.Context,
    search: Annotated[list[str] | None, SEARCH] = None,
    as_json: AsJson = False,
) -> None:
    """Show the settings: value, where it comes from, meaning, default.

    A flag overrides an environment variable, which overrides docmill.toml. Passwords are not
    shown.
    """
    from docmill.flows.config.assignments import nearest_keys
    from docmill.flows.config.setting_origins import present

    words = [word.casefold() for part in search or () for word in part.split()]
    every = present(context.meta["flags"], assigned_of(context), context.meta["config"])
    found = [one for one in every if _matches(one.key, words)]
    if as_json:
        print_json([_as_row(one) for one in found])
    elif not found:
        asked = " ".join(search or ())
        raise ConfigError(f"no setting has {asked!r} in its name or meaning; {nearest_keys(asked)}")
    else:
        typer.echo("\n".join(_page(found, max(NARROWEST, shutil.get_terminal_size().columns))))


def _matches(key: "Key", words: Sequence[str]) -> bool:
    text = f"{key.dotted} {key.field.description}".casefold()
    return all(word in text for word in words)


def _as_row(one: "Present") -> dict[str, Any]:
    value = None if one.key.is_secret else _bare(one.value)
    return {
        "key": one.key.dotted,
        "value": _without_accounts(value),
        "default": _bare(one.key.field.get_default()),
        "meaning": one.key.field.description,
        "variable": one.key.variable,
        "origin": one.origin,
        "place": one.place,
    }


def _page(found: Sequence["Present"], width: int) -> Iterator[str]:
    """Yield the lines of the page: the sections with their keys in order."""
    from docmill.flows.config.settings import Settings

    ordered = sorted(found, key=lambda one: len(one.key.path) > 1)
    for number, (section, members) in enumerate(groupby(ordered, key=lambda one: one.key.path[:-1])):
        if number:
            yield ""
        if section:
            meaning = (Settings.model_fields[section[0]].annotation.__doc__ or "").strip()
            yield from _wrapped(f"[{'.'.join(section)}] {meaning}", "", width, "")
        for one in members:
            yield from _entry(one, width)


def _entry(one: "Present", width: int) -> Iterator[str]:
    """Yield the lines of a key: its value, its meaning and the origin of the value."""
    yield from _wrapped(f"{one.key.dotted} = {_shown(one)}", "  ", width)
    yield from _wrapped(one.key.field.description or "", _INDENT, width)
    said = (
        "default"
        if one.origin == "default"
        else f"from {one.place}; default {toml_value(_bare(one.key.field.get_default()))}"
    )
    said += "" if one.origin == "environment" else f"; variable {one.key.variable}"
    yield from _wrapped(said, _INDENT, width)


def _wrapped(text: str, indent: str, width: int, further: str = _INDENT) -> list[str]:
    return textwrap.wrap(
        plain(text),
        width,
        initial_indent=indent,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _shown(one: "Present") -> str:
    if one.key.is_secret and one.origin != "default":
        return HIDDEN
    return toml_value(_without_accounts(_bare(one.value)))


def _without_accounts(value: Any) -> Any:
    """Return a value with "***" in place of the name and password of each URL."""
    if isinstance(value, str):
        return _ACCOUNT.sub("***", value)
    if isinstance(value, dict):
        return {name: _without_accounts(one) for name, one in value.items()}
    return [_without_accounts(one) for one in value] if isinstance(value, list) else value


def _bare(value: Any) -> Any:
    """Return a value with models replaced by types that JSON has."""
    from docmill.flows.config.section import ConfigSection

    if isinstance(value, ConfigSection):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, tuple | list):
        return [_bare(one) for one in value]
    return value if isinstance(value, str | int | float | dict) else str(value)
