"""The command `schedule`, and `serve`, its name of the past."""

import shlex
from typing import Annotated

import typer

from docmill.flows.cli.commands.ingest_and_plan import Sources
from docmill.flows.cli.terminal.command import checked_settings_of, takes
from docmill.flows.cli.terminal.output import note

WRONG_USAGE = 2


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command(cls=takes("*"))(schedule)
    anything = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
    app.command(hidden=True, add_help_option=False, context_settings=anything)(serve)


def schedule(
    context: typer.Context,
    cron: Annotated[
        str, typer.Option("--cron", metavar="CRON", help='Schedule, such as "0 3 * * *" for 3 a.m. every day.')
    ],
    sources: Sources = None,
) -> None:
    """Ingest on a schedule with Prefect, in this process."""
    from docmill.flows.hosting.run_on_engine import sources_of

    settings = checked_settings_of(context)
    named = sources_of(settings, sources or ())
    from docmill.flows.hosting.scheduled_runs import serve as serve_flow

    serve_flow(settings, named, cron)


def serve(context: typer.Context) -> None:
    """Say the name that the command has now."""
    note(f"`serve` is now `schedule`: {shlex.join(['docmill', 'schedule', *context.args])}")
    raise typer.Exit(WRONG_USAGE)
