"""The command group `docmill evaluate`, whose default command is `questions`."""

from typing import Any

import typer

from docmill.flows.cli.commands.evaluate import evaluate_chunks, evaluate_facts, evaluate_questions
from docmill.flows.cli.terminal.command import add_commands
from docmill.flows.cli.terminal.help_pages import GroupedCommands

DEFAULT = "questions"


class Defaulting(GroupedCommands):
    """A command group with a default command, which gets arguments that name no command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. If they name no command, the default command is put first."""
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else [DEFAULT, *args])


group = typer.Typer(
    name="evaluate",
    cls=Defaulting,
    help="Measure search quality. Without a subcommand, runs `evaluate questions`.",
    rich_markup_mode=None,
)
for _module in (evaluate_questions, evaluate_chunks, evaluate_facts):
    add_commands(group, _module)
