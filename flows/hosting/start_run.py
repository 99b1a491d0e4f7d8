"""Start a run on the engine that the settings name, as the command line and `docmill.ingest` do."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from docmill.flows.runs.engine import EngineName, LocalEngine, choose_engine
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.flows.runs.report import Report
    from docmill.flows.runs.run_options import RunOptions


def start_run(
    settings: "Settings",
    sources: Sequence[str],
    options: "RunOptions",
    progress: Callable[[int, int], None] | None = None,
) -> "Report":
    """Run the ingest and return its report; without `sources` it takes those of the settings.

    `progress(done, total)` hears how many documents are done, on the local engine. Raises what
    `docmill.flows.runs.pipeline.ingest` raises, and `ConfigError` where no source is named.
    """
    named = sources_of(settings, sources)
    if engine_of(settings, options) == "prefect":
        from docmill.flows.hosting.prefect_run import run_prefect

        return run_prefect(settings, named, **asdict(options))
    from docmill.flows.runs.pipeline import ingest

    with LocalEngine(progress) as engine:
        return ingest(settings, named, engine, **asdict(options))


def engine_of(settings: "Settings", options: "RunOptions") -> EngineName:
    """Return the engine of a run; where the settings leave it open, a dry run does without Prefect."""
    if options.dry_run and settings.engine == "auto":
        return "local"
    return choose_engine(settings.engine)


def sources_of(settings: "Settings", named: Sequence[str]) -> list[str]:
    """Return the sources that a call names, else those of the settings; raise ConfigError where there are none."""
    if not (sources := list(named or settings.sources)):
        raise ConfigError("no source is named; name a folder, or set `sources` in docmill.toml")
    return sources
