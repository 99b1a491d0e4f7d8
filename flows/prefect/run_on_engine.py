"""Run on engine: start a run on the engine of the settings, for the command line and `docmill.ingest`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from docmill.flows.runs.engine import (
    SPARE_THREADS,
    EngineName,
    LocalEngine,
    choose_engine,
    configured_api,
)
from docmill.storage.address import url_of
from docmill.storage.errors import ConfigError
from docmill.storage.lock import check_free

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.flows.runs.phases import Phase
    from docmill.flows.runs.report import Report
    from docmill.flows.runs.run_options import RunOptions


def start_run(
    settings: "Settings",
    sources: Sequence[str],
    options: "RunOptions",
    progress: "Callable[[Phase], None] | None" = None,
    tell: Callable[[str], None] | None = None,
) -> "Report":
    """Run the ingest and return its report. By default, the sources are those of the settings.

    The local engine calls `progress` with the current phase, and `tell` with a line for each of several commits. Raises
    the errors of `docmill.flows.runs.pipeline.ingest`, `ConfigError` if no source is named, and `StoreError` if there
    is a file at the path of the store.
    """
    named = sources_of(settings, sources)
    if url_of(settings.store) is None:
        check_free(settings.store)  # before starting a Prefect server, which takes seconds
    if engine_of(settings, options) == "prefect":
        from docmill.flows.prefect.prefect_run import run_prefect

        return run_prefect(settings, named, **asdict(options))
    from docmill.flows.runs.pipeline import ingest

    if settings.engine != "dask" or options.dry_run:
        with LocalEngine(progress, tell) as engine:
            return ingest(settings, named, engine, **asdict(options))
    from docmill.flows.cluster.cluster_engine import MOST_SLOTS, on_cluster

    with LocalEngine(progress, tell, MOST_SLOTS + SPARE_THREADS) as engine, on_cluster(engine, settings) as placed:
        return ingest(settings, named, placed, **asdict(options))


@contextmanager
def ready_for_runs(settings: "Settings") -> Iterator[None]:
    """Keep the embedded Prefect server, if needed, during the block, so that several runs share it."""
    if choose_engine(settings.engine) == "prefect" and configured_api() is None:
        from docmill.flows.prefect.prefect_server import embedded_server

        with embedded_server():
            yield
    else:
        yield


def engine_of(settings: "Settings", options: "RunOptions") -> EngineName:
    """Return the engine that records a run. With "auto" and on a cluster, a dry run uses threads."""
    if options.dry_run and settings.engine in ("auto", "dask"):
        return "local"
    return choose_engine(settings.engine)


def sources_of(settings: "Settings", named: Sequence[str]) -> list[str]:
    """Return the given sources, else those of the settings; raise `ConfigError` if there are none."""
    if not (sources := list(named or settings.sources)):
        raise ConfigError("no source given; name a folder, or set `sources` in docmill.toml")
    return sources
