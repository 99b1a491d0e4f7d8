"""Sources seen: show, report and log what a run lists and fetches of its sources."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from docmill.flows.runs.engine import Engine
from docmill.flows.runs.phases import FETCH, LIST, Phase
from docmill.flows.runs.report import Report
from docmill.storage.errors import DocmillError
from docmill.storage.snapshots.history.source_log import log_sources
from docmill.tasks.sources.fetch_files import Tally, Tell
from docmill.tasks.sources.source import Source


def shown_by(engine: Engine) -> Tell:
    """Return what tells an engine how far the listing or the fetching of a source is."""

    def tell(source: str, done: int, total: int, size: int) -> None:
        engine.progress(Phase(FETCH if total else LIST, done, total, "items", source=source, bytes=size))

    return tell


def count_sources(report: Report, tally: Tally) -> None:
    """Report what was listed and fetched of the sources that the run had."""
    away = {one.source for one in report.unreached}
    report.sources = [one for one in tally.counts() if one.source not in away]


def log_run(store: Path, report: Report, sources: Sequence[Source]) -> None:
    """Log what a run that has ended saw of its sources."""
    places = {one.name: (_place(one), one.kind) for one in sources}
    with suppress(OSError):  # without its log, the run is as good
        log_sources(store, report.sources, places, _away(report))


@contextmanager
def failure_logged(store: Path, report: Report) -> Iterator[None]:
    """Log which sources a run lacks, if it fails for that during the block."""
    try:
        yield
    except DocmillError:
        if report.unreached and not report.dry_run and (store / "cache").is_dir():
            with suppress(OSError):
                log_sources(store, (), {}, _away(report))
        raise


def _away(report: Report) -> dict[str, str]:
    return {one.source: one.message for one in report.unreached}


def _place(source: Source) -> str:
    """Return where a source is: its address, or its path with the pattern of what is taken."""
    return source.origin.removesuffix("/") or str(Path(source.folder or "", source.pattern))
