"""Last export: the record of the last export in a destination, and the changes that update it."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from docmill.storage.errors import StoreError
from docmill.storage.exports.columns import row_schema

VERSION = 2
"""The version of the rows and of their digests. An export of another version is replaced as a whole."""
_KEY = "docmill_export"
INSTEAD = "name another target, or replace it with --replace (in Python: replace=True)"
"""The ways out when a target cannot be updated."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The description of an export, which a destination stores beside its rows.

    `store` is the first run of the store, which its copies share. `chunks` counts the exported rows. `since` is the
    snapshot since which the rows are changes, or None for all rows. `space` is the id of the embedding space. `parts`
    is the number of files among which a folder divides its rows.
    """

    store: str
    snapshot: int
    chunks: int
    where: str | None
    since: int | None
    space: str
    model: str
    dimension: int
    parts: int = 1
    version: int = VERSION

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows."""
        return row_schema(self.dimension, self.since is not None)

    def as_json(self, **more: Any) -> str:
        """Return the stamp as JSON with further keys."""
        return json.dumps({_KEY: asdict(self), **more}, ensure_ascii=False, indent=1)


def read_stamp(text: str | None) -> Stamp | None:
    """Return the stamp in a JSON text, or None if there is none."""
    try:
        found = json.loads(text or "null")
        values = found[_KEY]
        return Stamp(**{field.name: values[field.name] for field in fields(Stamp) if field.name in values})
    except (ValueError, TypeError, KeyError):
        return None


@dataclass(frozen=True, slots=True)
class Revision:
    """The changes that update a destination, without the new rows.

    `gone` are the ids of chunks to remove. With `anew`, the destination removes everything first.
    """

    stamp: Stamp
    gone: Sequence[str]
    anew: bool

    def check(self, name: str, count: int) -> None:
        """Raise `StoreError` unless the destination has as many rows as the snapshot has chunks for it."""
        if count != self.stamp.chunks:
            raise StoreError(
                f"{name} would have {count:,} rows, not {self.stamp.chunks:,}: another program has written to it;"
                f" {INSTEAD}"
            )


A_PART = ", a part"
"""The end of a store's name in the stamp of an export limited to what some principals may see."""


class Destination(Protocol):
    """A destination of an export. All methods but `claimed` are called within the block of `claimed`."""

    @property
    def name(self) -> str:
        """The name for messages, without credentials."""

    @property
    def takes_deltas(self) -> bool:
        """Whether it can contain the changes since a snapshot instead of all chunks."""

    @property
    def figures(self) -> Path | None:
        """The folder for the pictures of its rows; None for a database, whose rows have only keys."""

    def claimed(self) -> AbstractContextManager[None]:
        """Open it and lock it against other exports; raise `Locked` if one is running."""

    def stamp(self) -> Stamp | None:
        """Return the stamp of its last export, None for a new one; raise `StoreError` if it contains something else."""

    def held(self) -> pa.Table:
        """Return its chunk ids and digests in the columns of `HELD`."""

    def apply(self, revision: Revision, rows: Iterator[pa.Table]) -> None:
        """Apply a change and check the number of rows.

        `rows` are new or replace others with the same ids, in the schema of the stamp. Each table has
        all rows of one of `revision.stamp.parts` buckets. If nothing changes, there are none.
        """


def check_stamp(held: Stamp, wanted: Stamp, name: str) -> None:
    """Raise `StoreError` if an export must not be updated by another."""
    for said in filter(None, (rule(held, wanted) for rule in _RULES)):
        raise StoreError(f"{name} {said}; {INSTEAD}")


def _version(held: Stamp, wanted: Stamp) -> str:
    return "" if held.version == wanted.version else "was exported by another docmill, with other columns"


def _store(held: Stamp, wanted: Stamp) -> str:
    if held.store == wanted.store:
        return ""
    if held.store.removesuffix(A_PART) != wanted.store.removesuffix(A_PART):
        return "holds an export of another store"
    return f"was exported {'with' if held.store.endswith(A_PART) else 'without'} --principal"


def _space(held: Stamp, wanted: Stamp) -> str:
    if held.space == wanted.space:
        return ""
    return f"holds vectors of {_model(held)}, the store has others, of {_model(wanted)}"


def _option(name: str, held: Stamp, wanted: Stamp) -> str:
    before, now = getattr(held, name), getattr(wanted, name)
    return "" if before == now else f"was exported {_condition(name, before)}, not {_condition(name, now)}"


def _newer(held: Stamp, wanted: Stamp) -> str:
    if held.snapshot <= wanted.snapshot:
        return ""
    return f"was exported from snapshot {held.snapshot}, which is newer than snapshot {wanted.snapshot}"


_RULES: Iterable[Callable[[Stamp, Stamp], str]] = (
    _version, _store, _space, partial(_option, "where"), partial(_option, "since"), _newer,
)  # fmt: skip
"""The reasons why an export cannot be updated by another, the most fundamental first."""


def _model(stamp: Stamp) -> str:
    return f"{stamp.model} ({stamp.dimension} numbers)"


def _condition(option: str, value: object) -> str:
    return f"without --{option}" if value is None else f"with --{option} {str(value)!r}"
