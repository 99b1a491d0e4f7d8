"""A source and a store in one folder, and the pipeline between them, for tests."""

import os
import shutil
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.flows.runs.report import Report
from docmill.storage.arrow_schema import CHUNKS, from_table
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import ChunkRow
from docmill.storage.snapshots.clean.compact import vacuum
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.history.snapshots import newest
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.storage.snapshots.tables.tables import read_table
from tests.kit.fake_encoder import NAME

Files = Mapping[str, str | bytes | None]
"""Contents by the names of files."""


@dataclass
class Workbench:
    """`docs` is the source, `root` the store; `settings` are flags over the defaults."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def docs(self) -> Path:
        return self.folder / "docs"

    @property
    def root(self) -> Path:
        return self.folder / "store"

    @property
    def store(self) -> Store:
        return open_store(self.root)

    def copy(self, folder: Path) -> Self:
        """Return a bench in another folder, of the same source and store; names of one file stay so."""
        made: dict[int, str] = {}

        def copied(source: str, target: str) -> str:
            number = os.lstat(source).st_ino
            if number in made:
                os.link(made[number], target)
            else:
                made[number] = shutil.copy2(source, target, follow_symlinks=False)
            return target

        shutil.copytree(self.folder, folder, symlinks=True, dirs_exist_ok=True, copy_function=copied)
        return replace(self, folder=folder, settings=deepcopy(self.settings))

    def write(self, files: Files) -> None:
        """Write files below the source; None in place of a content removes one."""
        for name, content in files.items():
            path = self.docs / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def ingest(self, *sources: str, **options: Any) -> Report:
        """Run the pipeline on this process's threads."""
        settings = Settings(store=self.root, **{"embedding": {"model": NAME}, **self.settings})
        with LocalEngine() as engine:
            return ingest(settings, sources or [str(self.docs)], engine, **options)

    def chunks(self) -> list[ChunkRow]:
        """Return the chunks of the newest snapshot."""
        return from_table(read_table(open_folder(self.root).newest(), "chunks", CHUNKS.names), ChunkRow)

    def files(self, table: str) -> list[str]:
        """Return the hashes of a table's files: equal for equal rows."""
        snapshot = newest(self.root)
        assert snapshot is not None
        return [piece.file.hash for piece in snapshot.tables[table]]


MakeBench = Callable[..., Workbench]
"""The fixture `make_bench`: takes the files of each snapshot, and settings by their names."""


def all_is_past(bench: Workbench) -> bool:
    """Say whether the newest snapshot is whole, and nothing is wrong any more once the older ones are gone."""
    found = verify(bench.root, deep=True)
    vacuum(bench.root, Retention(keep_snapshots=1))
    return {finding.kind for finding in found} <= {"past"} and not verify(bench.root, deep=True)


def summary(report: Report) -> dict[str, int]:
    """Return what changed, without zeros."""
    values = report.as_json()
    counts = {**values["documents"], "parsed": values["parsed"], "embedded": values["embedded"]}
    return {name: count for name, count in counts.items() if count}
