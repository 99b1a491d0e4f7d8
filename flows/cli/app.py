"""The `docmill` command."""

import typer

from docmill.flows.cli import doctor
from docmill.flows.cli.commands import (
    evaluate_group,
    explain_document,
    ingest_and_plan,
    init_file,
    maintenance,
    search_and_sql,
    status_and_repair,
    tag_and_diff,
    tune_settings,
)
from docmill.storage.process.malloc_tuning import prefer_system_pool

app = typer.Typer(
    name="docmill",
    help="Turn files into one searchable snapshot of chunks, vectors and keywords.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help is quicker to show, and wide enough for the flags
    pretty_exceptions_enable=False,
)
for module in (
    ingest_and_plan,
    search_and_sql,
    explain_document,
    tag_and_diff,
    maintenance,
    evaluate_group,
    tune_settings,
    status_and_repair,
    init_file,
    doctor,
):
    module.register(app)


def main() -> None:
    """Run the command line."""
    prefer_system_pool()
    app()


if __name__ == "__main__":
    main()
