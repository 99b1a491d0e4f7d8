"""The page on commands: what each does, its usage, its arguments and options, and how it can end."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from docmill.flows.cli.app import app
from docmill.flows.cli.program import GROUPS
from docmill.flows.cli.terminal.help_pages import KINDS
from tests.kit.making.reference.markdown import code, entries, page, prose

HEAD = """\
`docmill --help` lists the commands, `docmill COMMAND --help` shows one. Results are printed on standard output,
everything else on standard error. [Exit statuses](exit-statuses.md) says how each command can end. Below, defaults and
bounds are in brackets.

**Every command** takes `--help`, `--config FILE` (the settings file to use instead of the nearest `docmill.toml`) and
`--debug` (show the traceback of an error). `docmill` itself takes `--version`, `--install-completion` and
`--show-completion`."""
SHARED = """\
## Options that commands share

A command says below which of these it takes, too. Every command that works with a store takes `--store` and `--set`.
*The options of a run* are `--engine`, `--wait`, `--include`, `--exclude`, `--embedding-model`, `--max-calls` and
`--max-cost`."""
EVERYWHERE_ELSE = {"`--store`", "`--set`"}
RUN = [
    code(f"--{name}") for name in ("engine", "wait", "include", "exclude", "embedding-model", "max-calls", "max-cost")
]
SHARED_BY = 2
"""An option that as many commands describe in the same words is described once."""
EVERYWHERE = ("help", "config", "debug")
_STATED = re.compile(r"\s*\[(?:default: )?([^\]]*)\]$")
"""What help says at the end of an option: its default and its bounds."""
_BOUNDS = {
    re.compile(r"; x>=(\S+)"): r", at least \1",
    re.compile(r"; (\S+)<=x<=(\S+)"): r", \1 to \2",
    re.compile(r"^x>=(\S+)"): r"at least \1",
    re.compile(r"^(\S+)<=x<=(\S+)"): r"\1 to \2",
}
_TYPE = re.compile(r" <(?:list\[)?([^>\]]*)\]?>")


def made() -> str:
    """Return the page."""
    shared = _shared()
    parts = [HEAD, SHARED, entries(shared)]
    for title, names in GROUPS.items():
        parts.append(f"## {title}")
        for name in names:
            parts += [part for full, command in named(name) for part in _section(full, command, {*shared})]
    return page("Commands", *parts)


@cache
def commands() -> dict[str, Any]:
    """Return the commands that help shows, by name."""
    every: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {name: command for name, command in every.items() if not command.hidden}


def named(name: str) -> Iterator[tuple[str, Any]]:
    """Yield a command and, if it is a group, the commands in it, by their full names."""
    command = commands()[name]
    yield name, command
    yield from ((f"{name} {inner}", one) for inner, one in getattr(command, "commands", {}).items())


def _shared() -> list[tuple[str, str]]:
    """Return the rows of options that several commands describe alike, those of settings included."""
    every = [row for name in commands() for _, command in named(name) for row in _rows(command)]
    frequent = [row for row, number in Counter(every).most_common() if number >= SHARED_BY]
    once = dict(reversed(frequent))
    return [row for row in dict.fromkeys(every) if once.get(row[0]) == row[1]]


def _section(name: str, command: Any, shared: set[tuple[str, str]]) -> Iterator[str]:
    yield f"### {code(f'docmill {name}')}"
    yield prose((command.help or "").strip())
    if hasattr(command, "commands"):
        return
    rows = _rows(command)
    yield entries(row for row in rows if row not in shared)
    also = [_name(row[0]) for row in rows if row in shared]
    run = {*RUN} <= {*also}
    if also := [one for one in also if one not in EVERYWHERE_ELSE and not (run and one in RUN)]:
        yield f"Also {', '.join(also)}{', and the options of a run' * run}."
    elif run:
        yield "Also the options of a run."


def _name(option: str) -> str:
    """Return the longest name of an option without its value."""
    return code(max(re.findall(r"-[\w-]+", option), key=len)) if "-" in option else option


def _rows(command: Any) -> list[tuple[str, str]]:
    """Return the rows of arguments and options of a command."""
    context = typer.Context(command)
    rows: list[tuple[str, str]] = []
    for one in command.get_params(context):
        record = one.get_help_record(context)
        if record is None or one.name in EVERYWHERE:
            continue
        if one.param_type_name == "argument":
            rows.append((code(one.name), prose(f"{one.help or ''}{'' if one.required else ' Optional.'}")))
        elif one.name == "set":
            rows.append((code("--set KEY=VALUE"), "Any [setting](settings.md)."))
        elif one.name.startswith("setting__"):
            rows.append(_setting(one))
        else:
            rows.append(_option(one, record))
    return rows


def _option(one: Any, record: tuple[str, str]) -> tuple[str, str]:
    names, about = record
    bounds = _STATED.search(about)
    stated = _spelled(one, bounds[1]) if bounds else "required" if one.required else ""
    repeated = " May be repeated." if one.multiple and "repeated" not in about else ""
    said = prose(_STATED.sub("", about).strip() + repeated)
    return code(_TYPE.sub(_value, names)), f"{said} ({prose(stated)})" if stated else said


def _spelled(one: Any, stated: str) -> str:
    """Return a default with its bounds in words: `5; x>=1` is "5, at least 1"."""
    if one.secondary_opts:  # of --keep/--no-keep, help names the one that holds
        return "on" if one.default else "off"
    for sign, words in _BOUNDS.items():
        stated = sign.sub(words, stated)
    return stated


def _value(found: re.Match[str]) -> str:
    """Return what stands for a value: the choices, or a word for its type."""
    return f" {KINDS.get(found[1], found[1])}"


def _setting(one: Any) -> tuple[str, str]:
    path = one.name.removeprefix("setting__").split("__")
    return code(one.opts[0]), f"The setting [{code('.'.join(path))}](settings.md#{'_'.join(path)})."
