"""Commands that fill the store: ingest, plan, serve."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.terminal.command import settings_of, takes
from docmill.flows.cli.terminal.output import note, print_json, print_text
from docmill.flows.cli.terminal.progress import progress_bar
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.flows.runs.report import Report

Sources = Annotated[
    list[str] | None, typer.Argument(help="Folders, globs, files, s3://BUCKET/PREFIX, or NAME=PATH; else `sources`.")
]
AllowDelete = Annotated[bool, typer.Option("--allow-delete", help="Accept that a source lost many documents.")]
RefreshContexts = Annotated[
    bool, typer.Option("--refresh-contexts", help="Ask the model again where a context is stale or could not be used.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for command in (ingest, plan, serve):
        app.command(cls=takes("*"))(command)


def ingest(
    context: typer.Context,
    sources: Sources = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    allow_delete: AllowDelete = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try documents again that were rejected before.")] = False,
    refresh_contexts: RefreshContexts = False,
    as_json: AsJson = False,
) -> None:
    """Bring the store up to date with its sources, in one snapshot."""
    order = IngestOrder(tuple(sources or ()), dry_run, allow_delete, retry, refresh_contexts)
    print_report(run(settings_of(context), order), as_json)


def plan(
    context: typer.Context,
    sources: Sources = None,
    allow_delete: AllowDelete = False,
    refresh_contexts: RefreshContexts = False,
    as_json: AsJson = False,
) -> None:
    """Say what `ingest` would do, with the chunks and tokens to embed."""
    order = IngestOrder(tuple(sources or ()), True, allow_delete, refresh_contexts=refresh_contexts)
    print_report(run(settings_of(context), order), as_json)


def serve(
    context: typer.Context,
    cron: Annotated[str, typer.Option("--cron", help='When to ingest, as in "0 3 * * *".')],
    sources: Sources = None,
) -> None:
    """Ingest on a schedule, with Prefect, in this one process."""
    settings = settings_of(context)
    named = _sources(settings, sources or ())
    from docmill.flows.hosting.cron import serve as serve_flow

    serve_flow(settings, named, cron)


@dataclass(frozen=True, slots=True)
class IngestOrder:
    """What one run is asked to do; no sources are those of the settings."""

    sources: tuple[str, ...] = ()
    dry_run: bool = False
    allow_delete: bool = False
    retry: bool = False
    refresh_contexts: bool = False


def run(settings: "Settings", order: IngestOrder) -> "Report":
    """Ingest, on the engine that the settings name; `auto` plans without Prefect."""
    from docmill.flows.runs.engine import choose_engine

    sources = _sources(settings, order.sources)
    engine = "local" if order.dry_run and settings.engine == "auto" else choose_engine(settings.engine)
    how = {name: value for name, value in asdict(order).items() if name != "sources"}
    if settings.engine == "auto" and not order.dry_run:
        note(f"engine {engine}, chosen by --engine auto")
    return _run_in_prefect(settings, sources, how) if engine == "prefect" else _run_here(settings, sources, how)


def _sources(settings: "Settings", named: Sequence[str]) -> list[str]:
    if not (sources := list(named or settings.sources)):
        raise ConfigError("no source is named; name a folder, or set `sources` in docmill.toml")
    return sources


def _run_in_prefect(settings: "Settings", sources: list[str], how: dict[str, Any]) -> "Report":
    from docmill.flows.hosting.prefect_run import run_prefect

    return run_prefect(settings, sources, **how)


def _run_here(settings: "Settings", sources: list[str], how: dict[str, Any]) -> "Report":
    from docmill.flows.runs.engine import LocalEngine
    from docmill.flows.runs.pipeline import ingest as run_pipeline

    with progress_bar() as progress, LocalEngine(progress) as engine:
        return run_pipeline(settings, sources, engine, **how)


def print_report(report: "Report", as_json: bool) -> None:
    """Print what a run did, and end with its exit status."""
    if as_json:
        print_json(report.as_json())
        for problem in report.problems:
            note(problem)
    else:
        print_text(report.as_text())
    raise typer.Exit(report.exit_status)
