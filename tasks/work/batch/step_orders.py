"""Step orders: what a step is to do, as a file, so that a step takes a path wherever it runs.

An order is plain JSON, and its tables lie beside it as Arrow: nothing in staging can do more than be read. It holds no
passwords, which stay in the memory of the process that runs; its steps are threads of that process, with Prefect too.
"""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from docmill.storage.errors import ConfigError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.tasks.work.pool.plain_json import Readers, Unreadable, decode, encode

T = TypeVar("T")

_passwords: dict[Path, tuple[str, ...]] = {}
"""Those of the runs of this process, by the folder of each, for as long as it goes on."""


def save_order(order: Any, path: Path) -> Path:
    """Write an order to a file, and its tables beside it; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = itertools.count()

    def beside(table: pa.Table) -> str:
        name = f"{path.stem}-{next(count)}.arrow"
        with pa.OSFile(str(path.with_name(name)), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return name

    path.write_bytes(encode(order, {pa.Table: beside, StoreFolder: lambda folder: str(folder.root)}))
    return path


def load_order(path: Path, kind: type[T], known: Mapping[Any, type] | None = None) -> T:
    """Read an order that this run has written; `known` are the classes behind fields that are typed as callables."""

    def beside(name: str) -> pa.Table:
        if not isinstance(name, str):
            raise Unreadable("a table is named by its file")
        with pa.OSFile(str(path.with_name(name))) as source, pa.ipc.open_stream(source) as reader:
            return reader.read_all()

    plain = Readers({StoreFolder: _folder})
    others = {hint: plain.of(own) for hint, own in (known or {}).items()}
    order: T = decode(path.read_bytes(), Readers({pa.Table: beside, StoreFolder: _folder, **others}).of(kind))
    return order


def _folder(name: object) -> StoreFolder:
    if not isinstance(name, str):
        raise Unreadable("the folder of a store is named by its path")
    return open_folder(Path(name))


@contextmanager
def passwords_at_hand(folder: Path, passwords: tuple[str, ...]) -> Iterator[None]:
    """Keep the passwords of the run of a folder in memory for its steps, inside of the block."""
    _passwords[folder] = passwords
    try:
        yield
    finally:
        del _passwords[folder]


def passwords_of(folder: Path) -> tuple[str, ...]:
    """Return the passwords of the run of a folder; raise `ConfigError` in a process that is not its own."""
    if folder not in _passwords:
        raise ConfigError(f"{folder}: carry out this order in the process of its run, which alone knows its passwords")
    return _passwords[folder]
