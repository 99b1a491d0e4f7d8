"""The command `schedule`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.commands.start.ingest_and_plan import Sources
from docmill.flows.cli.terminal.command import checked_settings_of, command
from docmill.flows.watching.watch_options import EVERY_S, WatchOptions

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.flows.watching.observer import Observer


@command("*")
def schedule(
    context: typer.Context,
    cron: Annotated[
        str, typer.Option("--cron", metavar="CRON", help='Schedule, such as "0 3 * * *" for 3 a.m. every day.')
    ],
    sources: Sources = None,
    watch: Annotated[bool, typer.Option("--watch", help="Also run at the start and after each change.")] = False,
    learn: Annotated[bool, typer.Option("--learn", help="Learn from judged queries instead of ingesting.")] = False,
) -> None:
    """Ingest on a schedule with Prefect, in this process."""
    if watch and learn:
        raise typer.BadParameter("give either --watch or --learn; learning runs at night, in a process of its own")
    from docmill.flows.prefect.run_on_engine import sources_of

    settings = checked_settings_of(context)
    named = sources_of(settings, sources or ())
    from docmill.flows.prefect.scheduled_runs import serve as serve_flow

    observer = _observer(settings, named) if watch else None
    serve_flow(settings, named, cron, observer, _file_of(context) if learn else None)


def _file_of(context: typer.Context) -> Path:
    """Return the file that learning reads and changes."""
    from docmill.flows.config.configuration import FILE_NAME, chosen_file

    return (chosen_file(context.meta["config"]) or Path(FILE_NAME)).absolute()


def _observer(settings: "Settings", sources: Sequence[str]) -> "Observer":
    """Return an observer over sources; raise SourceError if one does not exist.

    It pauses for longer than `docmill watch`: each try that fails is a failed run on Prefect's page.
    """
    from docmill.flows.watching.observer import Observer

    observer = Observer(settings, sources, WatchOptions(longest_pause_s=EVERY_S))
    observer.arm()
    return observer
