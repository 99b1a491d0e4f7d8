"""Step orders: what a step has to do, written to a file, so that a step takes only a path wherever it runs.

An order is plain JSON with its tables next to it as Arrow, so reading staging never executes anything. Orders contain
no passwords: these stay in the memory of the run's process. Its steps are threads of that process, also under Prefect.
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
"""Passwords of each run of this process by its folder, while the run lasts."""


def save_order(order: Any, path: Path) -> Path:
    """Write an order to a file, with its tables next to it; return its path."""
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
    """Read an order that this run has written; `known` gives the classes of fields that are typed as callables."""

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
    """Keep the passwords of a run in memory for its steps while the block runs; `folder` is the run's."""
    _passwords[folder] = passwords
    try:
        yield
    finally:
        del _passwords[folder]


def passwords_of(folder: Path) -> tuple[str, ...]:
    """Return the passwords of the run with this folder; raise `ConfigError` in any process but the run's own."""
    if folder not in _passwords:
        raise ConfigError(f"{folder}: carry out this order in the process of its run, which alone knows its passwords")
    return _passwords[folder]
