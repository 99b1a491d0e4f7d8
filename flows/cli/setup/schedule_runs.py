"""The command `schedule`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.commands.ingest_and_plan import Sources
from docmill.flows.cli.terminal.command import checked_settings_of, takes
from docmill.flows.watching.watch_options import EVERY_S, WatchOptions

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.flows.watching.lookout import Lookout


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command(cls=takes("*"))(schedule)


def schedule(
    context: typer.Context,
    cron: Annotated[
        str, typer.Option("--cron", metavar="CRON", help='Schedule, such as "0 3 * * *" for 3 a.m. every day.')
    ],
    sources: Sources = None,
    watch: Annotated[bool, typer.Option("--watch", help="Also run at the start and after each change.")] = False,
) -> None:
    """Ingest on a schedule with Prefect, in this process."""
    from docmill.flows.hosting.run_on_engine import sources_of

    settings = checked_settings_of(context)
    named = sources_of(settings, sources or ())
    from docmill.flows.hosting.scheduled_runs import serve as serve_flow

    serve_flow(settings, named, cron, _lookout(settings, named) if watch else None)


def _lookout(settings: "Settings", sources: Sequence[str]) -> "Lookout":
    """Return a lookout over sources; raise SourceError if one does not exist.

    It pauses for longer than `docmill watch`: each try that fails is a failed run on Prefect's page.
    """
    from docmill.flows.watching.lookout import Lookout

    lookout = Lookout(settings, sources, WatchOptions(longest_pause_s=EVERY_S))
    lookout.arm()
    return lookout
