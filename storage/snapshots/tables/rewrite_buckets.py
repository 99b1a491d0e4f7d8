"""Rewrite buckets: remove documents from a table and add others; each bucket concerned is rewritten.

Buckets can be rewritten on other machines: any `Rewriting` makes the same files as `rewrite_here`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.keys import bucket_of
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.tables.spill import Rows, parts
from docmill.storage.snapshots.tables.tables import Ints, at_once, bucket_numbers, read_stored_file, split, write_bucket

_PASSES = 32  # the most passes over the new rows; fewer passes keep more rows in memory
_ROWS_AT_ONCE = 4_096  # new rows in memory while their buckets are written


@dataclass(frozen=True, slots=True)
class BucketTable:
    """A table before an exchange: its files, and the number of buckets over which its rows are spread."""

    name: str
    pieces: tuple[StoredFile, ...]
    buckets: int


@dataclass(frozen=True, slots=True)
class Leaving:
    """The documents whose rows leave a table, and which parts of these rows the caller wants back.

    The caller gets `columns` of all of them, and the whole rows of the documents `whole`.
    """

    documents: Collection[str]
    columns: Sequence[str] = ("document_id",)
    whole: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The files after an exchange, and the wanted parts of the rows that left, in no order."""

    pieces: tuple[StoredFile, ...]
    left: pa.Table
    whole: pa.Table


@dataclass(frozen=True, slots=True)
class BucketChange:
    """A bucket to rewrite: its `old` file, the ids of the documents that leave it, and its `new` rows.

    `whole` are the documents whose whole rows are wanted.
    """

    bucket: int
    old: StoredFile | None
    gone: tuple[str, ...]
    whole: tuple[str, ...]
    new: pa.Table | None


@dataclass(frozen=True, slots=True)
class TableChange:
    """Buckets of the table `name` to rewrite, and the wanted `columns` of the rows that leave."""

    name: str
    columns: tuple[str, ...]
    buckets: tuple[BucketChange, ...]


Rewriting: TypeAlias = Callable[[Path, TableChange], Exchanged]
"""Writes the buckets of a change into the store below a path, and returns their files in the order of the buckets."""


def replace_documents(
    root: Path,
    pieces: tuple[StoredFile, ...],
    name: str,
    buckets: int,
    gone: Collection[str],
    added: Rows,
) -> tuple[StoredFile, ...]:
    """Return the table without the rows of the documents `gone` and with the rows `added`.

    Only buckets with such rows are written, and only the rows of some buckets are in memory at a time.
    """
    return exchange_documents(root, BucketTable(name, pieces, buckets), Leaving(gone), added).pieces


def rewrite_here(root: Path, change: TableChange) -> Exchanged:
    """Rewrite buckets with threads of this process."""
    made = at_once(partial(_rewritten, root, change), change.buckets)
    return joined(change.name, change.columns, made)


def exchange_documents(
    root: Path, table: BucketTable, leaving: Leaving, added: Rows, rewriting: Rewriting = rewrite_here
) -> Exchanged:
    """Do what `replace_documents` does, and also return the wanted parts of the rows that left."""
    name, buckets, columns = table.name, table.buckets, tuple(leaving.columns)
    numbers = [bucket_numbers(part, buckets) for part in parts(added, ["document_id"])]
    entering = np.bincount(np.concatenate([np.zeros(0, np.int32), *numbers]), minlength=buckets)
    gone, whole = _by_bucket(leaving.documents, buckets), _by_bucket(leaving.whole, buckets)
    touched = sorted({*gone, *np.flatnonzero(entering).tolist()})
    old = {piece.bucket: piece for piece in table.pieces}

    def changed(group: Sequence[int]) -> TableChange:
        new = _rows_of(added, numbers, group, SCHEMAS[name])
        some = (BucketChange(one, old.get(one), gone.get(one, ()), whole.get(one, ()), new.get(one)) for one in group)
        return TableChange(name, columns, tuple(some))

    fresh = joined(name, columns, [rewriting(root, changed(group)) for group in _groups(touched, entering)])
    unchanged = [piece for piece in table.pieces if piece.bucket not in set(touched)]
    made = sorted([*unchanged, *fresh.pieces], key=lambda piece: piece.bucket)
    return Exchanged(tuple(made), fresh.left, fresh.whole)


def joined(name: str, columns: Sequence[str], made: Iterable[Exchanged]) -> Exchanged:
    """Return the results of several exchanges of a table as one."""
    held, nothing = list(made), SCHEMAS[name].empty_table()
    return Exchanged(
        tuple(chain.from_iterable(one.pieces for one in held)),
        pa.concat_tables([nothing.select(list(columns)), *(one.left for one in held)]),
        pa.concat_tables([nothing, *(one.whole for one in held)]),
    )


def _rewritten(root: Path, change: TableChange, own: BucketChange) -> Exchanged:
    """Rewrite one bucket; an empty bucket has no file."""
    nothing = SCHEMAS[change.name].empty_table()
    held = read_stored_file(root, own.old) if own.old else nothing
    gone, whole = pa.array(own.gone, pa.string()), pa.array(own.whole, pa.string())
    table = pa.concat_tables([*_without(held, gone), *([own.new] if own.new is not None else [])])
    pieces = (write_bucket(root, change.name, table, own.bucket),) if table.num_rows else ()
    left = _of(held.select(list(change.columns)), gone)
    return Exchanged(pieces, left, _of(held, whole) if own.whole else nothing)


def _by_bucket(documents: Collection[str], buckets: int) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for key in documents:
        found.setdefault(bucket_of(key, buckets), []).append(key)
    return {bucket: tuple(own) for bucket, own in found.items()}


def _groups(touched: Sequence[int], entering: Ints) -> Iterator[list[int]]:
    """Yield groups of buckets whose new rows fit into memory; each group takes one pass over all new rows."""
    most = max(_ROWS_AT_ONCE, int(entering.sum()) // _PASSES)
    group, rows = list[int](), 0
    for bucket, own in zip(touched, entering[touched].tolist(), strict=True):
        if group and rows + own > most:
            yield group
            group, rows = [], 0
        group.append(bucket)
        rows += own
    if group:
        yield group


def _rows_of(added: Rows, numbers: Sequence[Ints], group: Sequence[int], schema: pa.Schema) -> dict[int, pa.Table]:
    """Return the new rows of the buckets in `group`, by bucket."""
    low, high = group[0], group[-1]
    own = [(part >= low) & (part <= high) for part in numbers]
    found = [
        part.filter(pa.array(mask)) for part, mask in zip(parts(added, schema.names), own, strict=True) if mask.any()
    ]
    if not found:
        return {}
    return split(pa.concat_tables(found), np.concatenate([part[mask] for part, mask in zip(numbers, own, strict=True)]))


def _without(table: pa.Table, documents: pa.Array) -> list[pa.Table]:
    """Return the rows of other documents as slices, which are not copied."""
    leaves = pc.is_in(table.column("document_id"), value_set=documents).to_numpy()
    edges = [0, *(np.flatnonzero(np.diff(leaves)) + 1).tolist(), table.num_rows]
    kept = [table.slice(first, last - first) for first, last in pairwise(edges) if last > first and not leaves[first]]
    return kept or [table.slice(0, 0)]


def _of(table: pa.Table, documents: pa.Array) -> pa.Table:
    # A filter copies, so that these rows do not keep the rest of their file in memory.
    return table.filter(pc.is_in(table.column("document_id"), value_set=documents))
