"""Temporary folder: one that others leave alone while its owner lives, and sweep once that is dead.

The owner, which for that of a worker is the worker's parent, holds a lock on the folder. The kernel frees the lock
however the owner dies.
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
"""What begins the names of the folders of workers, of what sources give, and of plans."""
_AS_IT_IS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW  # others may put links of this name into a shared folder


@dataclass(frozen=True, slots=True)
class WorkerFolder:
    """A folder and the open file that holds its lock."""

    path: Path
    handle: int

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.handle)


def make_folder(prefix: str = PREFIX) -> WorkerFolder:
    """Return a new folder that no other process sweeps; another is made if one sweeps it before it is locked."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix))
        with suppress(FileNotFoundError):
            handle = os.open(path, _AS_IT_IS)
            # Between its making and the lock another process may have taken it for that of a dead owner.
            if not _is_taken(handle, unknown=False) and path.exists():
                return WorkerFolder(path, handle)
            os.close(handle)


def folder_of(owner: object) -> Path:
    """Return a new folder that goes with an object, or with this process if that is stopped."""
    sweep_folders()
    folder = make_folder(SPOOLED)
    finalize(owner, _give_up, folder, at_end(folder.remove))
    return folder.path


def _give_up(folder: WorkerFolder, forget: Callable[[], object]) -> None:
    forget()
    if folder.path.exists():  # else the end of the process was faster
        folder.remove()


def sweep_folders() -> None:
    """Remove the folders of this user whose owners are dead."""
    place = Path(tempfile.gettempdir())
    for path in [path for prefix in (PREFIX, SPOOLED, PLANNED) for path in place.glob(f"{prefix}*")]:
        with suppress(OSError):
            handle = os.open(path, _AS_IT_IS)
            try:
                # Where there are no locks nothing is removed: its owner may be alive.
                if os.fstat(handle).st_uid == os.geteuid() and not _is_taken(handle, unknown=True):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)


def _is_taken(handle: int, unknown: bool) -> bool:
    """Lock a folder, and return whether somebody else has it; `unknown` is for file systems without locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return unknown
    return False
