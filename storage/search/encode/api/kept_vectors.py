"""Kept vectors: cache a server's answers by a hash of the text, so that it is not asked again."""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docmill.storage.keys import key_of

_WAIT_S = 30.0
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, made REAL, vector BLOB)"
_MOST_PARAMETERS = 500  # per query; the oldest SQLite takes 999


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long vectors are kept, and how many."""

    seconds: float
    rows: int


KEPT = {"queries": Keeping(90 * 86400, 100_000), "documents": Keeping(86400, 4_096)}
"""Vectors of queries are kept for when they are asked again; 100,000 of 1,536 dimensions take 600 MB.

Vectors of documents are only kept until the store has them: if a run is killed, the next one takes them from here. So
there is room for more than a portion of `embed_in_portions`. `docmill erase` removes them.
"""


class KeptVectors:
    """A file of vectors of one model; if the cache is not writable, nothing is kept. Thread-safe."""

    def __init__(self, path: Path, kind: str) -> None:
        """Open nothing yet; `kind` is a key of `KEPT`."""
        self._path = path
        self._limits = KEPT[kind]

    def take(self, texts: Sequence[str]) -> dict[str, npt.NDArray[np.float32]]:
        """Return the vectors that are in the cache, by text."""
        by_key = {key_of("text", text): text for text in texts}
        keys = [*by_key]
        found: dict[str, npt.NDArray[np.float32]] = {}
        with suppress(OSError, sqlite3.Error), self._opened() as file:
            for first in range(0, len(keys), _MOST_PARAMETERS):
                some = keys[first : first + _MOST_PARAMETERS]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
                found |= {by_key[key]: np.frombuffer(data, "<f4") for key, data in file.execute(query, some)}
        return found

    def put(self, vectors: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Keep the vectors of texts, and drop vectors that are too old or too many."""
        now = time.time()
        rows = [(key_of("text", text), now, one.astype("<f4").tobytes()) for text, one in vectors.items()]
        with suppress(OSError, sqlite3.Error), self._opened() as file, file:
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            file.execute("DELETE FROM vectors WHERE made < ?", (now - self._limits.seconds,))
            # Each written row gets the largest number, so the smallest numbers are the oldest rows.
            file.execute(
                "DELETE FROM vectors WHERE rowid <= (SELECT max(rowid) FROM vectors) - ?", (self._limits.rows,)
            )

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Texts can be guessed from their vectors, so other users of this machine must not read them.
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(self._path, timeout=_WAIT_S)) as file:
            file.execute("PRAGMA secure_delete = ON")
            file.execute(_TABLE)
            yield file
