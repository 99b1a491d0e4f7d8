"""The trees that ingest benchmarks run on, and the processes that they time."""

import json
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docmill.storage.keys import hash_bytes
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import indexed_text
from docmill.storage.snapshots.tables.tables import read_table
from tests.bench.documents import edit_tree, write_tree


@dataclass(frozen=True, slots=True)
class Tree:
    """Two versions of a folder: those of `data` (`v1` and `v2`), or generated pages where it is None.

    `share` takes that part of the files, chosen by their paths, so that a file is in both versions or in none.
    """

    data: Path | None
    documents: int
    share: float = 1.0

    def lay(self, folder: Path) -> None:
        """Write the first version."""
        if self.data is None:
            write_tree(folder, self.documents)
        else:
            self._copy(self.data / "v1", folder)

    def change(self, folder: Path) -> None:
        """Turn the first version into the second."""
        if self.data is None:
            edit_tree(folder)
        else:
            shutil.rmtree(folder)
            self._copy(self.data / "v2", folder)

    def _copy(self, source: Path, folder: Path) -> None:
        for path in sorted(source.rglob("*")):
            inner = path.relative_to(source)
            if path.is_file() and int(hash_bytes(str(inner).encode())[:8], 16) < self.share * 2**32:
                (folder / inner).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, folder / inner)


def run(command: list[str]) -> tuple[float, str]:
    """Run a process; return its wall clock in seconds and its standard output."""
    start = time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return time.perf_counter() - start, done.stdout


def ingest(docmill: list[str], source: Path, store: Path, *more: str) -> tuple[float, dict[str, Any]]:
    """Ingest a folder by the command `docmill`; return the wall clock in seconds and the report."""
    arguments = ["ingest", str(source), "--store", str(store), "--engine", "local", "--json", *more]
    seconds, output = run([*docmill, *arguments])
    return seconds, json.loads(output)


def indexed(store: Path) -> set[str]:
    """Return the distinct indexed texts of the newest snapshot."""
    table = read_table(open_folder(store).read(), "chunks", ["context", "text"])
    return set(map(indexed_text, *(column.to_pylist() for column in table.columns)))
