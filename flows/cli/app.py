"""The `docmill` command."""

from typing import Annotated

import typer

from docmill.flows.cli import doctor
from docmill.flows.cli.commands import (
    evaluate_group,
    explain_document,
    ingest_and_plan,
    init_file,
    judge_searches,
    list_and_show,
    maintenance,
    search_and_sql,
    status_and_repair,
    tag_and_diff,
    tune_settings,
)
from docmill.flows.cli.setup import (
    export_chunks,
    join_cluster,
    list_settings,
    schedule_runs,
    serve_stores,
    show_plugins,
    watch_sources,
    write_report,
)
from docmill.flows.cli.terminal.help_pages import GroupedCommands
from docmill.storage.process.arrow_without_pandas import leave_pandas_out
from docmill.storage.process.malloc_tuning import prefer_system_pool
from docmill.storage.process.sleeping_threads import let_threads_sleep

GROUPS = {
    "Start": ("init", "settings", "ingest", "plan", "watch", "schedule"),
    "Ask": ("search", "list", "show", "sql", "explain", "mcp", "serve", "report", "export"),
    "Versions": ("history", "diff", "tag", "restore", "undelete", "publish"),
    "Quality": ("judge", "evaluate", "tune"),
    "Cluster": ("worker", "cluster"),
    "Maintenance": (
        "status",
        "doctor",
        "verify",
        "rejects",
        "repair",
        "remove",
        "erase",
        "vacuum",
        "compact",
        "reembed",
        "plugins",
    ),
}
"""The commands in the order in which `docmill --help` shows them."""


class _Program(GroupedCommands):
    groups = GROUPS


app = typer.Typer(
    name="docmill",
    cls=_Program,
    help="Turn files into one searchable snapshot of chunks, vectors and keywords.",
    epilog="`docmill COMMAND --help` says more about a command, `docmill settings` about every setting.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help is quicker to show, and wide enough for the flags
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"docmill {version('docmill')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Take the options that stand before a command."""


for module in (
    ingest_and_plan,
    watch_sources,
    schedule_runs,
    serve_stores,
    export_chunks,
    write_report,
    join_cluster,
    search_and_sql,
    list_and_show,
    explain_document,
    tag_and_diff,
    maintenance,
    judge_searches,
    evaluate_group,
    tune_settings,
    status_and_repair,
    init_file,
    doctor,
    list_settings,
    show_plugins,
):
    module.register(app)


def main() -> None:
    """Run the command line."""
    prefer_system_pool()
    let_threads_sleep()
    leave_pandas_out()
    app()


if __name__ == "__main__":
    main()
