"""Temporary folder: other processes leave it alone while its owner lives, and remove it once the owner is dead.

The owner holds a lock on the folder, which the kernel frees however the owner dies. A worker's folder is owned by the
worker's parent.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import finalize

from docmill.storage.process.shutdown import at_end

PREFIX, SPOOLED, PLANNED = "docmill-worker-", "docmill-spool-", "docmill-planned-"
"""Name prefixes of the folders of workers, of files from sources, and of plans."""
_AS_IT_IS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW  # in a shared folder, others may create links of this name


@dataclass(frozen=True, slots=True)
class WorkerFolder:
    """A folder and the open file that holds its lock."""

    path: Path
    handle: int

    def remove(self) -> None:
        """Remove the folder with its contents."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.handle)


def make_folder(prefix: str = PREFIX) -> WorkerFolder:
    """Return a new, locked folder; try again if another process sweeps it before it is locked."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix))
        with suppress(FileNotFoundError):
            handle = os.open(path, _AS_IT_IS)
            # Before it was locked, another process may have swept it as a dead owner's.
            if not _is_taken(handle, unknown=False) and path.exists():
                return WorkerFolder(path, handle)
            os.close(handle)


def folder_of(owner: object) -> Path:
    """Return a new folder that is removed together with an object, or when this process is stopped."""
    sweep_folders()
    folder = make_folder(SPOOLED)
    finalize(owner, _give_up, folder, at_end(folder.remove))
    return folder.path


def _give_up(folder: WorkerFolder, forget: Callable[[], object]) -> None:
    forget()
    if folder.path.exists():  # else the end of the process has removed it already
        folder.remove()


def sweep_folders() -> None:
    """Remove the folders of this user whose owners are dead."""
    place = Path(tempfile.gettempdir())
    for path in [path for prefix in (PREFIX, SPOOLED, PLANNED) for path in place.glob(f"{prefix}*")]:
        with suppress(OSError):
            handle = os.open(path, _AS_IT_IS)
            try:
                # Without locks nothing is removed, because the owner may be alive.
                if os.fstat(handle).st_uid == os.geteuid() and not _is_taken(handle, unknown=True):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)


def _is_taken(handle: int, unknown: bool) -> bool:
    """Lock a folder; return whether another process has it, or `unknown` if the file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return unknown
    return False
