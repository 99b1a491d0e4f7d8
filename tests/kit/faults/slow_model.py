"""A fake model that is as slow as the environment says, and a process that waits where it says."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docmill.flows.cli.terminal import progress
from docmill.storage import failpoints
from docmill.storage.search.encode import encoder, space
from tests.kit import fake_encoder
from tests.kit.docmill_with_fake_model import EVERY, MARK, SLOW, STUCK


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


def install(folder: Path) -> None:
    """Make the fake model known, whose files lie in a folder, and do what the variables ask for."""
    space.FOLDERS[fake_encoder.NAME] = lambda: folder
    encoder.LOADERS[fake_encoder.NAME] = SlowCounts if os.environ.get(SLOW) else fake_encoder.TokenCounts
    if os.environ.get(STUCK):
        failpoints.watch = wait_at
    # Without the variable no line comes only because the machine is busy.
    progress.FIRST_S = progress.EVERY_S = float(os.environ.get(EVERY) or "inf")
