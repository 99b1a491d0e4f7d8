"""What a worker of the tests loads first (`distributed.worker.preload`): the fake model, and files that kill it.

The variable MODEL leads to the folder of the model. A worker dies over each batch with the file `POISON`. The worker
`MORTAL` dies in its third batch of those with a file whose name begins with `DEADLY`, but only once. Once it also dies
over buckets that get a row of a file whose name begins with `HEAVY`.
"""

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from docmill.storage.search.encode import encoder, space
from docmill.tasks.work.remote import worker_steps
from tests.kit import fake_encoder

MODEL, POISON, DEADLY, HEAVY, MORTAL = "TEST_OF_MODEL", "poison.md", "deadly", "heavy", "one"
_THIRD = 3
_DIED, _COLLAPSED = Path("died"), Path("collapsed")  # in the home of a worker


def dask_setup(worker: Any) -> None:
    """Prepare the process of a worker."""
    del worker
    folder = Path(os.environ[MODEL])
    space.FOLDERS[fake_encoder.NAME] = lambda: folder
    encoder.LOADERS[fake_encoder.NAME] = fake_encoder.TokenCounts
    every: Any = worker_steps
    plain, deadly = every.carry_out, [0]

    def carry_out(task: Any, *more: Any) -> Any:
        uris = [work.uri for work in task.works]
        if POISON in uris:
            die()
        deadly[0] += any(uri.startswith(DEADLY) for uri in uris)
        if deadly[0] == _THIRD and worker_steps.worker_name() == MORTAL and not _DIED.exists():
            _DIED.touch()
            die()
        return plain(task, *more)

    every.carry_out = carry_out
    every._STEPS[worker_steps.REWRITE] = partial(rewrite, every._STEPS[worker_steps.REWRITE])


def rewrite(plain: Any, task: Any, sent: Path, folder: Path) -> Any:
    """Rewrite buckets, or die."""
    if worker_steps.worker_name() == MORTAL and not _COLLAPSED.exists():
        with ZipFile(sent) as archive:
            heavy = any(HEAVY.encode() in archive.read(name) for name in archive.namelist() if name.endswith(".arrow"))
        if heavy:
            _COLLAPSED.touch()
            die()
    return plain(task, sent, folder)


def die() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)
