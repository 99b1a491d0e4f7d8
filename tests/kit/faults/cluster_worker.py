"""What a worker of the tests loads first (`distributed.worker.preload`): the fake model, and files that kill it.

The variable MODEL leads to the folder of the model. A worker dies over each batch with the file `POISON`. The worker
`MORTAL` dies in its third batch of those with a file whose name begins with `DEADLY`, but only once.
"""

import os
import signal
from pathlib import Path
from typing import Any

from docmill.storage.embedding import encoder, space
from docmill.tasks.carrying import perform
from tests.kit import fake_encoder

MODEL, POISON, DEADLY, MORTAL = "TEST_OF_MODEL", "poison.md", "deadly", "one"
_THIRD = 3
_DIED = Path("died")  # in the home of a worker


def dask_setup(worker: Any) -> None:
    """Prepare the process of a worker."""
    del worker
    folder = Path(os.environ[MODEL])
    space.FOLDERS[fake_encoder.NAME] = lambda: folder
    encoder.LOADERS[fake_encoder.NAME] = fake_encoder.TokenCounts
    every: Any = perform
    plain, deadly = every.carry_out, [0]

    def carry_out(task: Any, *more: Any) -> Any:
        uris = [work.uri for work in task.works]
        if POISON in uris:
            die()
        deadly[0] += any(uri.startswith(DEADLY) for uri in uris)
        if deadly[0] == _THIRD and perform.worker_name() == MORTAL and not _DIED.exists():
            _DIED.touch()
            die()
        return plain(task, *more)

    every.carry_out = carry_out


def die() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)
