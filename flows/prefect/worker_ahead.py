"""Worker ahead: start a process that parses while the modules of the run are still loading, if files have changed.

Whether files have changed is a guess. If it is wrong, a process is started in vain or a little later than possible.
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
"""Maximum number of files to check, in 30 ms of CPU time, so that a run without changes takes hardly longer."""
_MORE_FILES = 500
"""Files to check after a changed one, in 2 ms, to find the formats of other changed files."""
_MODULE = "docmill.tasks.work.document.warm_up"
"""The module that a worker runs before its first document, in 0.2 to 0.3 s of CPU time."""


def start_worker_ahead(settings: "Settings", sources: Sequence[str]) -> None:
    """Start a worker if a file seems to have changed since the last run."""
    if settings.engine == "dask":  # its workers are elsewhere
        return
    with suppress(OSError, ValueError, DocmillError):  # the run itself will report it
        changed = {Path(path).name for path in changed_files(settings.store, sources or settings.sources)}
        if changed:
            model = settings.embedding.model
            tokenizer = FOLDERS[model]() if model in FOLDERS else ""  # finding another one may take long
            shared_pool(settings.parse.limits()).start_ahead(_MODULE, "/".join(changed), str(tokenizer))


def changed_files(store: Path, sources: Sequence[str]) -> Iterator[str]:
    """Yield files in folders that are newer than the last run: the first one, and those among some files after it."""
    last, left = _last_run(store), _MOST_FILES
    for entry in (entry for source in sources for entry in _files(Path(source.partition("=")[2] or source), store)):
        if (left := left - 1) < 0:
            break
        status = entry.stat()
        # A copy may have the modification time of its original, but not its inode's change time.
        if max(status.st_mtime_ns, status.st_ctime_ns) > last:
            left = min(left, _MORE_FILES)
            yield entry.path


def _last_run(store: Path) -> int:
    """Return when a run last committed or recorded the files seen, in nanoseconds since 1970, or 0 if never."""
    marks = (store / "snapshots", store / "cache" / "files.parquet")
    return max((path.stat().st_mtime_ns for path in marks if path.exists()), default=0)


def _files(folder: Path, store: Path) -> "Iterator[os.DirEntry[str]]":
    """Yield the files below a folder, without hidden ones and those of the store; nothing for other sources."""
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
