"""Worker ahead: start a process that parses while the modules of the run are still loading, if files have changed.

Whether they have is a guess. A wrong one starts a process in vain, or one that is needed a little later.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.storage.errors import DocmillError
from docmill.storage.search.encode.space import FOLDERS
from docmill.tasks.work.pool.pool import shared_pool

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings

_MOST_FILES = 10_000
"""Files that are looked at, for 30 ms of CPU time: a run that finds no change must not take longer for a guess."""
_MORE_FILES = 500
"""Files that are looked at after a changed one, for 2 ms: they show which formats have changed beside its own."""
_MODULE = "docmill.tasks.work.document.warm_up"
"""What a worker does before its first document, in 0.2 to 0.3 s of CPU time."""


def start_worker_ahead(settings: "Settings", sources: Sequence[str]) -> None:
    """Start a worker if a file seems to have changed since the last run."""
    if settings.engine == "dask":  # whose workers are elsewhere
        return
    with suppress(OSError, ValueError, DocmillError):  # which the run itself will tell of
        changed = {Path(path).name for path in changed_files(settings.store, sources or settings.sources)}
        if changed:
            model = settings.embedding.model
            tokenizer = FOLDERS[model]() if model in FOLDERS else ""  # another may be sought for long
            shared_pool(settings.parse.limits()).start_ahead(_MODULE, "/".join(changed), str(tokenizer))


def changed_files(store: Path, sources: Sequence[str]) -> Iterator[str]:
    """Yield files in folders that are younger than the last run: the first, and those among some files after it."""
    last, left = _last_run(store), _MOST_FILES
    for entry in (entry for source in sources for entry in _files(Path(source.partition("=")[2] or source), store)):
        if (left := left - 1) < 0:
            break
        status = entry.stat()
        # A copy may have the time of its original; that of its inode is its own.
        if max(status.st_mtime_ns, status.st_ctime_ns) > last:
            left = min(left, _MORE_FILES)
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
