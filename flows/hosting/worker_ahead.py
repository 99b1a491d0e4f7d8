"""Worker ahead: start a process that parses while the modules of the run are still loading, if files have changed.

Whether they have is a guess. A wrong one starts a process in vain, or one that is needed a little later.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.flows.runs.engine import CLUSTERS
from docmill.storage.errors import DocmillError
from docmill.tasks.workers.pool import shared_pool

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings

_MOST_FILES = 10_000
"""Files that are looked at, for 30 ms of CPU time: a run that finds no change must not take longer for a guess."""
_MODULE = "docmill.tasks.document.process"
"""What a worker loads before its first document, in 0.4 s of CPU time."""


def start_worker_ahead(settings: "Settings", sources: Sequence[str]) -> None:
    """Start a worker if a file seems to have changed since the last run."""
    if settings.engine in CLUSTERS:  # whose workers are elsewhere
        return
    with suppress(OSError, ValueError, DocmillError):  # which the run itself will tell of
        if any(changed_files(settings.store, sources or settings.sources)):
            shared_pool(settings.parse.limits()).start_ahead(_MODULE)


def changed_files(store: Path, sources: Sequence[str]) -> Iterator[str]:
    """Yield files in folders that are younger than the last run; of many files, only the first."""
    last = _last_run(store)
    files = (entry for source in sources for entry in _files(Path(source.partition("=")[2] or source), store))
    for entry in islice(files, _MOST_FILES):
        status = entry.stat()
        # A copy may have the time of its original; that of its inode is its own.
        if max(status.st_mtime_ns, status.st_ctime_ns) > last:
            yield entry.path


def _last_run(store: Path) -> int:
    """Return when a run last committed, or noted the files that it had seen, in nanoseconds since 1970; 0 if never."""
    return max(map(_time_of, (store / "snapshots", store / "cache" / "files.parquet")))


def _time_of(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def _files(folder: Path, store: Path) -> "Iterator[os.DirEntry[str]]":
    """Yield the files below a folder, without hidden ones and those of the store; nothing for another source."""
    pending = [str(folder)] if folder.is_dir() else []
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_file(follow_symlinks=False):
                    yield entry
                elif entry.is_dir(follow_symlinks=False) and entry.name != store.name:
                    pending.append(entry.path)
