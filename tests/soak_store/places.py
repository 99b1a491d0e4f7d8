"""Where the attacked stores lie: in a folder, or in a bucket with the mirrors of several machines."""

import os
import random
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects import lease
from docmill.storage.schema import ChunkRow
from tests.kit.remote_bench import RemoteBench, make_bucket
from tests.kit.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Room:
    """The folder that an attack works in, the folder of the models' files, and its source of chance."""

    folder: Path
    model: Path
    rng: random.Random

    def below(self, name: str) -> "Room":
        """Return the room in a folder below."""
        return replace(self, folder=self.folder / name)


@dataclass(frozen=True, slots=True)
class Place:
    """`make` returns a bench without a store in a folder; `twin` a copy of one with its store, in another folder."""

    name: str
    make: Callable[[Path], Workbench]
    twin: Callable[[Workbench, Path], Workbench]


def in_folder() -> Place:
    """Return the place of stores that are folders."""
    return Place("folder", Workbench, lambda bench, folder: bench.copy(folder))


def in_bucket(environment: dict[str, str]) -> Place:
    """Return the place of stores on the object store that an environment leads to."""

    def make(folder: Path) -> Workbench:
        os.environ.update(environment)
        bucket = f"soak-{secrets.token_hex(6)}"
        make_bucket(bucket)
        return RemoteBench(folder, address=f"s3://{bucket}/store", environment=environment)

    def twin(bench: Workbench, folder: Path) -> Workbench:
        assert isinstance(bench, RemoteBench)
        made = make(folder)
        assert isinstance(made, RemoteBench)
        for key in sorted(bench.keys() - {lease.KEY}):
            made.objects.put(key, bench.objects.read(key))
        open_folder(made.root).refresh()
        shutil.copytree(bench.docs, made.docs, dirs_exist_ok=True)
        return replace(made, settings=dict(bench.settings))

    return Place("bucket", make, twin)


def elsewhere(bench: Workbench, machine: str) -> Workbench:
    """Return a bench of the same store on another machine; a folder stays."""
    if not isinstance(bench, RemoteBench):
        return bench
    made = bench.on(machine)
    open_folder(made.root).refresh()
    return made


def release(bench: Workbench) -> None:
    """Remove the lease of a writer that died, as if its time had run out."""
    if isinstance(bench, RemoteBench):
        bench.objects.delete([lease.KEY])


def on(bench: Workbench, machine: str) -> Workbench:
    """Return a reader's bench: a mirror that nothing was written to, or the folder itself."""
    return bench.on(machine) if isinstance(bench, RemoteBench) else bench


def rows_of(bench: Workbench) -> list[ChunkRow]:
    """Return the chunks of the newest snapshot; a mirror fetches no more than their tables for it."""
    folder = open_folder(bench.root)
    folder.refresh()
    if (stored := folder.newest()) is not None:
        folder.ensure(list(stored.snapshot.table_files()))
    return Workbench.chunks(bench)
