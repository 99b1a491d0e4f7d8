"""The commands that fill the store: ingest, plan."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.terminal.command import checked_settings_of, command
from docmill.flows.cli.terminal.output import note, print_json, print_text
from docmill.flows.cli.terminal.progress import progress_shown

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.flows.runs.report import Report
    from docmill.flows.runs.run_options import RunOptions

Sources = Annotated[
    list[str] | None,
    typer.Argument(
        help="Folders, globs, files, s3://BUCKET/PREFIX or NAME=PATH. The default is the setting `sources`."
    ),
]
AllowDelete = Annotated[
    bool, typer.Option("--allow-delete", help="Allow a source to lose more documents than max_delete_fraction.")
]
RefreshContexts = Annotated[
    bool, typer.Option("--refresh-contexts", help="Ask the model again for stale or unusable contexts.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

PLAN_KEPT = "a plan keeps nothing, and the store is as it was"


@command("*")
def ingest(
    context: typer.Context,
    sources: Sources = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")] = False,
    allow_delete: AllowDelete = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try rejected documents again.")] = False,
    refresh_contexts: RefreshContexts = False,
    as_json: AsJson = False,
) -> None:
    """Update the store from its sources and commit one snapshot."""
    from docmill.flows.runs.run_options import RunOptions

    options = RunOptions(dry_run, allow_delete, retry, refresh_contexts)
    print_report(run(_settings(context, sources or ()), sources or (), options), as_json)


@command("*")
def plan(
    context: typer.Context,
    sources: Sources = None,
    allow_delete: AllowDelete = False,
    refresh_contexts: RefreshContexts = False,
    as_json: AsJson = False,
) -> None:
    """Show what `ingest` would do, and count the chunks and tokens to embed."""
    from docmill.flows.runs.run_options import RunOptions

    options = RunOptions(True, allow_delete, refresh_contexts=refresh_contexts)
    print_report(run(_settings(context, sources or ()), sources or (), options), as_json)


def _settings(context: typer.Context, sources: Sequence[str]) -> "Settings":
    """Return the checked settings. Meanwhile a worker process starts if there seems to be work."""
    from docmill.flows.prefect.worker_ahead import start_worker_ahead

    return checked_settings_of(context, lambda settings: start_worker_ahead(settings, sources))


def run(settings: "Settings", sources: Sequence[str], options: "RunOptions") -> "Report":
    """Run the ingest with a progress display, and print which engine was chosen. A signal ends the process."""
    from docmill.flows.cli.terminal.interruption import interruptible, kept_of
    from docmill.flows.prefect.run_on_engine import engine_of, sources_of, start_run

    named = sources_of(settings, sources)
    if settings.engine == "auto" and not options.dry_run:
        note(f"engine {engine_of(settings, options)}, chosen by --engine auto")
    with (
        interruptible(lambda: PLAN_KEPT if options.dry_run else kept_of(settings.store)),
        progress_shown("discover") as progress,
    ):
        return start_run(settings, named, options, progress, note)


def print_report(report: "Report", as_json: bool) -> None:
    """Print the report of a run, and exit with its exit status."""
    if as_json:
        print_json(report.as_json())
        for problem in report.told():
            note(problem)
    else:
        print_text(report.as_text())
    raise typer.Exit(report.exit_status)
