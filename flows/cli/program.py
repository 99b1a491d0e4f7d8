"""Program: the commands of `docmill` by name. A process loads only the module of the command that it runs."""

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Annotated, Any

import typer

from docmill.flows.cli.terminal.command import add_commands
from docmill.flows.cli.terminal.help_pages import GroupedCommands
from docmill.storage.process.library_threads import set_library_environment
from docmill.storage.process.light_arrow import load_arrow_lightly
from docmill.storage.process.malloc_tuning import prefer_system_pool

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
"""The commands in the order of `docmill --help`."""


MODULES = {
    "init": ("init",),
    "settings": ("settings",),
    "ingest_and_plan": ("ingest", "plan"),
    "watch_and_schedule": ("watch", "schedule"),
    "search_and_sql": ("search", "sql"),
    "list_show_explain": ("list", "show", "explain"),
    "serve_and_report": ("mcp", "serve", "report"),
    "export": ("export",),
    "snapshots": ("history", "publish", "tag", "diff", "restore", "undelete"),
    "judge": ("judge",),
    "queries_and_replay": ("queries", "replay"),
    "evaluate.evaluate_group": ("evaluate",),
    "evaluate.tune_and_learn": ("tune", "learn"),
    "cluster": ("worker", "cluster"),
    "status_and_repair": ("status", "sources", "verify", "repair", "rejects"),
    "doctor_and_plugins": ("doctor", "plugins"),
    "remove_and_erase": ("remove", "erase"),
    "compact_and_reembed": ("vacuum", "compact", "reembed"),
}
"""The modules in `docmill.flows.cli.commands` with the names of their commands."""


_HELP = ("-h", "--help")
_LISTING = (*_HELP, "--version")
"""First words of command lines that run no command."""


class _Program(GroupedCommands):
    groups = GROUPS


class _Titles(typer.Typer):
    """Commands without parameters, for the list of commands: typer takes 0.015 s to read the parameters."""

    def command(self, *given: Any, **named: Any) -> Any:
        """Return a decorator that registers a function with the same name and docstring."""
        register = super().command(*given, **named)

        def register_title(command: Callable[..., Any]) -> Callable[..., Any]:
            def title() -> None: ...

            title.__name__, title.__doc__ = command.__name__, command.__doc__
            register(title)
            return command

        return register_title


def program(modules: Iterable[str] = MODULES, kind: type[typer.Typer] = typer.Typer) -> typer.Typer:
    """Return the program with the commands of these modules."""
    app = kind(
        name="docmill",
        cls=_Program,
        help="Turn files into one searchable snapshot of chunks, vectors and keywords.",
        epilog="`docmill COMMAND --help` says more about a command, `docmill settings` about every setting.",
        context_settings={"help_option_names": [*_HELP]},
        no_args_is_help=True,
        rich_markup_mode=None,  # plain help is faster and wide enough for the flags
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for module in modules:
        add_commands(app, import_module(f"docmill.flows.cli.commands.{module}"))
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
    """Accept the options before a command."""


def loaded() -> typer.Typer:
    """Return the program with the command that the command line names, or with all if it names none."""
    prefer_system_pool()
    set_library_environment()
    load_arrow_lightly()
    # Most command lines name a command, and the other modules would take a tenth of the time of a short one.
    named = [module for module, names in MODULES.items() if {*names} & {*sys.argv[1:2]}]
    return program(named or MODULES, _Titles if {*_LISTING} & {*sys.argv[1:2]} else typer.Typer)


def main() -> None:
    """Run the command line."""
    loaded()()
