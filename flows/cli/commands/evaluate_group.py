"""The group of commands that measure: `docmill evaluate`, which by itself asks questions."""

from typing import Any

import typer
from typer.core import TyperGroup

from docmill.flows.cli.commands import evaluate_chunks, evaluate_facts, evaluate_questions

DEFAULT = "questions"


class Defaulting(TyperGroup):
    """A group that takes what names none of its commands for arguments of its default one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with the default command before them where none is named."""
        named = args and (args[0] in self.commands or args[0] == "--help")
        return super().parse_args(ctx, args if named else [DEFAULT, *args])


def register(app: typer.Typer) -> None:
    """Add the group to `app`."""
    group = typer.Typer(
        cls=Defaulting,
        help="Measure the search by questions (`evaluate --questions FILE`), and what else the commands below say.",
        rich_markup_mode=None,
    )
    for module in (evaluate_questions, evaluate_chunks, evaluate_facts):
        module.register(group)
    app.add_typer(group, name="evaluate")
