"""Help pages: commands in groups and options in panels, for 80 columns and without importing a renderer."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

from typer.core import TyperCommand, TyperGroup

from docmill.flows.cli.terminal.given_values import take_plainly

KINDS = {"path": "PATH", "file": "FILE", "str": "TEXT", "int": "N", "float": "X", "int range": "N", "float range": "X"}
"""The placeholder for a value of each type, as in the options of settings."""
_TYPE = re.compile(r"(?: |^)<(?:list\[)?([^>\]]*)\]?>")
_LONG_NAMES = re.compile(r"(--[\w-]+)(?:, --[\w-]+)+")
"""The long names of an option. All of them work, but only the first is shown."""
_SPACING = 2
_WIDEST = 28  # columns for the name of an option; a longer name gets its own line


class GroupedCommands(TyperGroup):
    """A group of commands, whose help shows them in the order of `groups`.

    A command that is in no group comes last, under "Other". Without groups, all commands are together.
    """

    groups: Mapping[str, Sequence[str]] = {}

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, which need no pydantic for absent or plain values."""
        return take_plainly(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  as typer calls it
        """Write a section for each group."""
        shown = {name: command for name, command in self.commands.items() if not command.hidden}
        width = max(map(len, shown))
        for title, names in self._sections(list(shown)).items():
            _write(formatter, title, [(name.ljust(width), _sentence(shown[name])) for name in names])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the named command; for an unknown name, suggest one."""
        if args and self.groups and args[0] not in self.commands:
            from docmill.flows.cli.terminal.unknown_option import meant_by

            if ours := meant_by(args[0], self.commands):
                ctx.fail(f"No such command {args[0]!r}. Type {ctx.command_path} {ours} instead.")
        return super().resolve_command(ctx, args)

    def _sections(self, shown: Sequence[str]) -> dict[str, list[str]]:
        """Return the names of the visible commands by group."""
        sections = {title: [name for name in names if name in shown] for title, names in self.groups.items()}
        grouped = set(chain.from_iterable(sections.values()))
        rest = "Other" if grouped else "Commands"
        return {**sections, rest: [name for name in shown if name not in grouped]}


class PanelledOptions(TyperCommand):
    """A command whose help shows arguments, options, settings and general options apart."""

    def panel_of(self, parameter: Any) -> str:
        """Return the title of the panel that shows a parameter."""
        if parameter.param_type_name == "argument":
            return "Arguments"
        return "General" if parameter.name in ("help", "debug") else "Options"

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each panel."""
        shown = [(one, record) for one in self.get_params(ctx) if (record := one.get_help_record(ctx))]
        titles = ("Arguments", "Options", "Settings", "General")
        ordered = sorted(shown, key=lambda pair: titles.index(self.panel_of(pair[0])))
        width = min(_WIDEST, max(len(_named(record[0])) for _, record in ordered))
        for title, members in groupby(ordered, key=lambda pair: self.panel_of(pair[0])):
            _write(formatter, title, [(_named(name).ljust(width), said) for _, (name, said) in members])


def _write(formatter: Any, title: str, rows: Iterable[tuple[str, str]]) -> None:
    if rows := list(rows):
        with formatter.section(title):
            formatter.write_dl(rows, col_max=_WIDEST, col_spacing=_SPACING)


def _named(name: str) -> str:
    """Return the name of a parameter with a placeholder for its value: `-k N` for `-k <int range>`."""
    return _TYPE.sub(lambda found: f" {KINDS.get(found[1], found[1])}", _LONG_NAMES.sub(r"\1", name))


def _sentence(command: Any) -> str:
    """Return the first sentence of a command's help."""
    return " ".join((command.help or "").partition("\n\n")[0].split()).partition(". ")[0].removesuffix(".") + "."
