"""Run the command line with the fake model whose files lie in the folder that is the first argument.

With the variable SLOW, each call of the model takes so many seconds, and begins with a file in the folder MARK. With
STUCK, NAME=SECONDS, the process waits at the boundary of that name, which begins with a file, too. EVERY says after
how many seconds a line of progress follows another where there is no terminal.
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docmill.flows.cli.app import main
from docmill.flows.cli.terminal import progress
from docmill.storage import failpoints
from docmill.storage.embedding import encoder, space
from tests.kit import fake_encoder

MARK, SLOW, STUCK, EVERY = "TEST_OF_MARK", "TEST_OF_SLOW", "TEST_OF_STUCK", "TEST_OF_EVERY"


class SlowCounts(fake_encoder.TokenCounts):
    """The fake model, as slow as the environment says."""

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        Path(os.environ[MARK], "encoding").touch()
        time.sleep(float(os.environ[SLOW]))
        return super().embed(rows)


def wait_at(name: str) -> None:
    """Wait if this is the boundary that the environment names."""
    place, _, seconds = os.environ[STUCK].partition("=")
    if name == place:
        Path(os.environ[MARK], "stuck").touch()
        time.sleep(float(seconds))


if __name__ == "__main__":
    folder = Path(sys.argv.pop(1))
    space.FOLDERS[fake_encoder.NAME] = lambda: folder
    encoder.LOADERS[fake_encoder.NAME] = SlowCounts if os.environ.get(SLOW) else fake_encoder.TokenCounts
    failpoints.watch = wait_at if os.environ.get(STUCK) else None
    progress.EVERY_S = float(os.environ.get(EVERY) or progress.EVERY_S)
    main()
