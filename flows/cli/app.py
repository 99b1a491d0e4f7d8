"""The `docmill` command."""

import typer

from docmill.flows.cli import answers, evaluation, explain, intake, keeping, past, template, tuning, upkeep

app = typer.Typer(
    name="docmill",
    help="Files in; one snapshot of chunks, vectors and keywords out.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help is quicker to show, and wide enough for the flags
    pretty_exceptions_enable=False,
)
for module in (intake, answers, explain, past, keeping, evaluation, tuning, upkeep, template):
    module.register(app)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
