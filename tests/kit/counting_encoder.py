"""A fake model that counts the texts which it embeds, over several processes, and may end its own process."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docmill.storage.embedding import encoder
from tests.kit.fake_encoder import NAME, TokenCounts
from tests.kit.victim import die
from tests.kit.workbench import Workbench


class Counting(TokenCounts):
    """Appends a byte to a file for each text, and ends the process at text number `last`."""

    log = Path(os.devnull)
    last = 0

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        with Counting.log.open("ab") as file:
            file.write(b"." * len(rows))
        if Counting.last and counted(Counting.log) >= Counting.last:
            die()
        return super().embed(rows)


def counted(log: Path) -> int:
    """Return how many texts were embedded."""
    return log.stat().st_size if log.exists() else 0


def ingest_counted(bench: Workbench) -> object:
    """Ingest with a model that counts; the settings of the bench are read, its `last` is the text to end at."""
    Counting.log = bench.folder / "counted"
    Counting.last = int((bench.folder / "last").read_text()) if (bench.folder / "last").exists() else 0
    encoder.LOADERS[NAME] = Counting
    return bench.ingest(allow_delete=True)
