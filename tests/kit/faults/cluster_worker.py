"""What a worker of the tests loads first (`dask worker --preload`): the fake model, and a file that kills it.

The variable MODEL leads to the folder of the model. A worker dies over a batch with a file of the name in POISON.
"""

import os
from pathlib import Path
from typing import Any

from docmill.storage.embedding import encoder, space
from docmill.tasks.carrying import perform
from tests.kit import fake_encoder

MODEL, POISON = "TEST_OF_MODEL", "TEST_OF_POISON"


def dask_setup(worker: Any) -> None:
    """Prepare the process of a worker."""
    del worker
    folder = Path(os.environ[MODEL])
    space.FOLDERS[fake_encoder.NAME] = lambda: folder
    encoder.LOADERS[fake_encoder.NAME] = fake_encoder.TokenCounts
    every: Any = perform
    plain = every.carry_out

    def carry_out(task: Any, *more: Any) -> Any:
        if any(work.uri == os.environ.get(POISON) for work in task.works):
            os._exit(9)
        return plain(task, *more)

    every.carry_out = carry_out
