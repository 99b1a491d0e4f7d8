"""The page on commands: what each does, its usage, its arguments and options, and how it can end."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from docmill.flows.cli.app import GROUPS, app
from docmill.flows.cli.terminal.exit_statuses import STATUSES_OF
from docmill.flows.cli.terminal.help_pages import KINDS
from tests.kit.making.reference.markdown import code, page, prose, table

HEAD = """\
`docmill --help` lists the commands, `docmill COMMAND --help` shows one. A command prints its results on standard
output, and everything else on standard error.

**Settings on the command line.** A command that lists `--set KEY=VALUE` takes every [setting](settings.md), as
`--set chunk.context_tokens=60`; a few have a flag of their own. Flags override the environment, and the environment
overrides `docmill.toml`.

**Every command** takes `--help`, `--config FILE` (the settings file to use instead of the nearest `docmill.toml`) and
`--debug` (show the traceback of an error). It ends with status 1 after an error, which its message explains, and with 2
after a wrong command line. [Exit statuses](exit-statuses.md) lists them all."""
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
    program = typer.main.get_command(app)
    parts = [HEAD, _overview(), "Options of `docmill` itself:", table(("option", "meaning"), _own(program))]
    for title, names in GROUPS.items():
        parts.append(f"## {title}")
        for name in names:
            parts += [part for full, command in named(name) for part in _section(full, command)]
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


def _overview() -> str:
    rows = [
        (title, f"[{code(name)}](#docmill-{name})", prose(_first(commands()[name])))
        for title, names in GROUPS.items()
        for name in names
    ]
    return table(("group", "command", "does"), rows)


def _own(program: Any) -> list[tuple[str, str]]:
    """Return the options that stand before a command."""
    context = typer.Context(program)
    records = [one.get_help_record(context) for one in program.get_params(context) if one.name != "help"]
    return [(code(record[0]), prose(record[1])) for record in records if record]


def _section(name: str, command: Any) -> Iterator[str]:
    yield f"### {code(f'docmill {name}')}"
    yield prose((command.help or "").strip())
    if hasattr(command, "commands"):
        return
    yield f"```text\n{_usage(name, command)}\n```"
    arguments, options, settings = _parameters(command)
    yield table(("argument", "", "meaning"), arguments)
    yield table(("option", "default", "meaning"), options)
    if settings:
        yield f"Settings: {', '.join(settings)}."
    if name in STATUSES_OF:
        yield _statuses(name)


def _statuses(name: str) -> str:
    said = (f"Exit status {code(status)}: {meaning}." for status, meaning in STATUSES_OF[name].items())
    return " ".join(said)


def _usage(name: str, command: Any) -> str:
    context = command.make_context("docmill", [], resilient_parsing=True)
    return " ".join(["docmill", name, *command.collect_usage_pieces(context)])


def _parameters(command: Any) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]], list[str]]:
    """Return the rows of arguments and of options, and the names of the settings that have flags."""
    context = typer.Context(command)
    arguments: list[tuple[str, ...]] = []
    options: list[tuple[str, ...]] = []
    settings: list[str] = []
    for one in command.get_params(context):
        record = one.get_help_record(context)
        if record is None or one.name in EVERYWHERE:
            continue
        if one.param_type_name == "argument":
            arguments.append((code(one.name), "" if one.required else "optional", prose(one.help or "")))
        elif one.name.startswith("setting__") or one.name == "set":
            settings.append(_setting(one))
        else:
            options.append(_option(one, record))
    return arguments, options, settings


def _option(one: Any, record: tuple[str, str]) -> tuple[str, str, str]:
    names, about = record
    bounds = _STATED.search(about)
    stated = _spelled(one, bounds[1]) if bounds else "required" if one.required else ""
    repeated = " May be repeated." if one.multiple and "repeated" not in about else ""
    return code(_TYPE.sub(_value, names)), prose(stated), prose(_STATED.sub("", about).strip() + repeated)


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


def _setting(one: Any) -> str:
    if one.name == "set":
        return f"{code('--set KEY=VALUE')} for any other"
    path = one.name.removeprefix("setting__").split("__")
    return f"{code(one.opts[0])} ([{code('.'.join(path))}](settings.md#{'_'.join(path)}))"


def _first(command: Any) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split()).partition(". ")[0].removesuffix(".") + "."
