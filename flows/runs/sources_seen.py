"""Sources seen: show, report and log what a run lists in its sources and fetches from them."""

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
    """Return a function that reports the progress of listing or fetching a source to an engine."""

    def tell(source: str, done: int, total: int, size: int) -> None:
        engine.progress(Phase(FETCH if total else LIST, done, total, "items", source=source, bytes=size))

    return tell


def count_sources(report: Report, tally: Tally) -> None:
    """Report what was listed and fetched of the sources that the run reached."""
    away = {one.source for one in report.unreached}
    report.sources = [one for one in tally.counts() if one.source not in away]


def log_run(store: Path, report: Report, sources: Sequence[Source]) -> None:
    """Log what a finished run saw of its sources."""
    places = {one.name: (_place(one), one.kind) for one in sources}
    with suppress(OSError):  # a run does not need its log
        log_sources(store, report.sources, places, _away(report))


@contextmanager
def failure_logged(store: Path, report: Report) -> Iterator[None]:
    """If a run fails during the block because of unreachable sources, log these."""
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
    """Return where a source is: its address, or its path with the pattern of its files."""
    return source.origin.removesuffix("/") or str(Path(source.folder or "", source.pattern))
