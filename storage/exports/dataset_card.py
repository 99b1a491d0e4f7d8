"""Dataset card: a folder that Hugging Face `datasets` loads and its hub shows: `data/` and a card."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from docmill.storage.exports.parts_folder import PartsFolder
from docmill.storage.exports.row_files import PARQUET
from docmill.storage.exports.stamp import Revision, Stamp
from docmill.storage.files import OWNER_ONLY, write_whole

DATA, CARD = "data", "README.md"
_CARD = """\
---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/*.parquet
---

# Chunks of documents

One row for each chunk, written by `docmill export`. `vector` is its embedding by {model}, float32 ({dimension},), of
unit L2 norm. `start_char` and `end_char` are half-open and count code points of the text of the document `uri`.
`figures` are names of pictures in the folder `figures`, without the suffix.
"""


@dataclass(frozen=True)
class DatasetFolder:
    """A dataset's folder. Only `data/` is swapped: a card that a person has written, and `.git`, stay as they are."""

    root: Path
    takes_deltas = True

    @property
    def name(self) -> str:
        """The path of the folder."""
        return str(self.root)

    @property
    def figures(self) -> Path:
        """The folder `figures` in it."""
        return self.root / "figures"

    @property
    def _data(self) -> PartsFolder:
        return PartsFolder(self.root / DATA, PARQUET, "train")

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other exports of this machine away from the folder."""
        self.root.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        with self._data.claimed():
            yield

    def stamp(self) -> Stamp | None:
        """Return what the folder was exported with."""
        return self._data.stamp()

    def held(self) -> pa.Table:
        """Return the chunk ids and digests in the folder."""
        return self._data.held()

    def apply(self, revision: Revision, rows: Iterator[pa.Table]) -> None:
        """Bring `data/` up to date, and write a card where there is none."""
        if not (self.root / CARD).exists():
            stamp = revision.stamp
            write_whole(self.root / CARD, _CARD.format(model=stamp.model, dimension=stamp.dimension).encode())
        self._data.apply(revision, rows)
