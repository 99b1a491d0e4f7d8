"""Program: the commands of `docmill` by name, of which a process loads the module of the one that it runs."""

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from docmill.flows.cli.terminal.help_pages import GroupedCommands
from docmill.storage.process.arrow_without_pandas import leave_pandas_out
from docmill.storage.process.malloc_tuning import prefer_system_pool
from docmill.storage.process.sleeping_threads import let_threads_sleep

GROUPS = {
    "Start": ("init", "settings", "ingest", "plan", "watch", "schedule"),
    "Ask": ("search", "list", "show", "sql", "explain", "mcp", "serve", "report", "export"),
    "Versions": ("history", "diff", "tag", "restore", "undelete", "publish"),
    "Quality": ("judge", "queries", "replay", "evaluate", "tune", "learn"),
    "Cluster": ("worker", "cluster"),
    "Maintenance": (
        "status",
        "sources",
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


MODULES = {
    "commands.ingest_and_plan": ("ingest", "plan"),
    "setup.watch_sources": ("watch",),
    "setup.schedule_runs": ("schedule",),
    "setup.serve_stores": ("mcp", "serve"),
    "setup.export_chunks": ("export",),
    "setup.write_report": ("report",),
    "setup.join_cluster": ("worker", "cluster"),
    "commands.search_and_sql": ("search", "sql"),
    "commands.list_and_show": ("list", "show"),
    "commands.explain_document": ("explain",),
    "commands.tag_and_diff": ("tag", "diff", "restore"),
    "commands.maintenance": ("remove", "erase", "undelete", "publish", "vacuum", "compact", "reembed"),
    "commands.judge_searches": ("judge",),
    "commands.asked_queries": ("queries", "replay"),
    "commands.evaluate_group": ("evaluate",),
    "commands.tune_settings": ("tune", "learn"),
    "commands.status_and_repair": ("status", "history", "verify", "repair", "rejects"),
    "commands.list_sources": ("sources",),
    "commands.init_file": ("init",),
    "doctor": ("doctor",),
    "setup.list_settings": ("settings",),
    "setup.show_plugins": ("plugins",),
}
"""The modules of `docmill.flows.cli` that register commands, each with the names of these."""


class _Program(GroupedCommands):
    groups = GROUPS


def program(modules: Iterable[str] = MODULES) -> typer.Typer:
    """Return the program with the commands of these modules."""
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
    app.callback()(_options)
    for module in modules:
        import_module(f"docmill.flows.cli.{module}").register(app)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"docmill {version('docmill')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Take the options that are before a command."""


def loaded() -> typer.Typer:
    """Return the program with the command that this process was asked for, or with all if it names none."""
    prefer_system_pool()
    let_threads_sleep()
    leave_pandas_out()
    # Most commands are run by name, and the other modules would take a tenth of the time of a short one.
    named = [module for module, names in MODULES.items() if {*names} & {*sys.argv[1:2]}]
    return program(named or MODULES)


def main() -> None:
    """Run the command line."""
    loaded()()
