"""Row columns: keep many rows of a dataclass in memory as columns, which take a tenth of the memory of objects."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import chain, repeat
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

R = TypeVar("R")
_AT_ONCE = 1 << 14
"""Rows that exist as objects at a time: enough for Arrow to be fast, and only a few megabytes."""


@dataclass(frozen=True)
class RowColumns(Sequence[R]):
    """Rows of the dataclass `kind`; each access creates the row object again.

    `table` has a column for each field whose values differ, and `constants` has the values of fields that are equal in
    all of its rows; any other field has its default. Rows that columns cannot represent are `others`, which come last.
    """

    kind: type[R]
    table: pa.Table
    constants: Mapping[str, Any] = field(default_factory=dict)
    others: tuple[R, ...] = ()

    def __len__(self) -> int:
        return int(self.table.num_rows) + len(self.others)

    def __iter__(self) -> Iterator[R]:
        return chain(self._told(self.table), self.others)

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[R]: ...
    def __getitem__(self, place: int | slice) -> R | Sequence[R]:
        if isinstance(place, slice):
            return list(self)[place]
        number = range(len(self))[place]
        inside = number - self.table.num_rows
        return self.others[inside] if inside >= 0 else next(self._told(self.table.slice(number, 1)))

    def of(self, places: npt.NDArray[np.int64]) -> list[R]:
        """Return the rows at ascending places."""
        inside = places < self.table.num_rows
        others = [self.others[place] for place in (places[~inside] - self.table.num_rows).tolist()]
        if not inside.any():  # `take` copies columns of several pieces even if it takes no rows
            return others
        return [*self._told(self.table.take(pa.array(places[inside]))), *others]

    def among(self, name: str, values: Collection[str]) -> pa.Array:
        """Return for each row of the table whether its text in a column is among `values`."""
        column = self.table.column(name)
        return pc.is_in(column, value_set=pa.array(list(values), column.type)).combine_chunks()

    def parted(self, name: str, values: Collection[str]) -> "tuple[RowColumns[R], list[R]]":
        """Split the rows into those whose field is not among `values`, and those whose field is."""
        having = self.having(name, values)
        if not having:  # copy nothing, because a run already keeps these rows twice, before and after
            return self, having
        left = pc.invert(self.among(name, values))
        others = tuple(one for one in self.others if getattr(one, name) not in values)
        return replace(self, table=self.table.filter(left), others=others), having

    def having(self, name: str, values: Collection[str]) -> list[R]:
        """Return the rows whose field is among `values`."""
        if not values:
            return []
        here = self._told(self.table.filter(self.among(name, values)))
        return [*here, *(one for one in self.others if getattr(one, name) in values)]

    def beside(self, rows: Iterable[R]) -> "RowColumns[R]":
        """Return these rows followed by others."""
        return replace(self, others=(*self.others, *rows))

    def _told(self, table: pa.Table) -> Iterator[R]:
        own = fields(self.kind)  # type: ignore[arg-type]
        for batch in table.to_batches(_AT_ONCE):
            told = {name: column.to_pylist() for name, column in zip(batch.schema.names, batch.columns, strict=True)}
            columns = [told.get(one.name) or repeat(self._same(one), batch.num_rows) for one in own]
            yield from map(self.kind, *columns)

    def _same(self, one: Any) -> Any:
        default = None if one.default is MISSING else one.default
        return self.constants.get(one.name, default)


class RowDraft(Generic[R]):
    """Collects rows into columns: `add` takes the values of the columns of `schema`, in order."""

    def __init__(self, kind: type[R], schema: pa.Schema, constants: Mapping[str, Any]) -> None:
        self._kind, self._schema, self._constants = kind, schema, constants
        self._rows: list[tuple[Any, ...]] = []
        self._batches: list[pa.RecordBatch] = []
        self._others: list[R] = []

    def add(self, *values: Any) -> None:
        """Add a row."""
        self._rows.append(values)
        if len(self._rows) == _AT_ONCE:
            self._flush()

    def finish(self, key: str) -> RowColumns[R]:
        """Return the rows sorted by a text column; of rows with equal text there, only the last is kept."""
        self._flush()
        pieces = [[batch.column(place) for batch in self._batches] for place in range(len(self._schema))]
        self._batches.clear()
        # Column by column, so that only one of them is in memory twice.
        nothing = [pa.array([], one.type) for one in self._schema]
        columns = [pa.concat_arrays([none, *pieces.pop(0)]) for none in nothing]
        table = pa.table(columns, schema=self._schema)
        return RowColumns(self._kind, _sorted(table, key), self._constants, tuple(self._others))

    def _flush(self) -> None:
        if self._rows:
            try:
                self._batches.append(self._batch(self._rows))
            except UnicodeEncodeError:  # a row with a name that is not valid Unicode stays an object
                plain = [row for row in self._rows if not self._strange(row)]
                self._batches += [self._batch(plain)] if plain else []
            self._rows = []

    def _batch(self, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
        columns = (
            pa.array(column, one.type) for column, one in zip(zip(*rows, strict=True), self._schema, strict=True)
        )
        return pa.RecordBatch.from_arrays(list(columns), schema=self._schema)

    def _strange(self, row: tuple[Any, ...]) -> bool:
        try:
            self._batch([row])
        except UnicodeEncodeError:
            told = dict(zip(self._schema.names, row, strict=True)) | dict(self._constants)
            self._others.append(self._kind(**told))
            return True
        return False


def _sorted(table: pa.Table, key: str) -> pa.Table:
    """Return a table sorted by a text column; of rows with equal text there, only the last is kept."""
    if table.num_rows < 2:
        return table.combine_chunks()
    if not pc.all(pc.less_equal(*_neighbours(table, key))).as_py():
        table = table.take(pc.sort_indices(table, [(key, "ascending")]))
    last = pc.not_equal(*_neighbours(table, key))
    if not pc.all(last).as_py():
        table = table.filter(pa.chunked_array([*last.chunks, pa.array([True])]))
    return table.combine_chunks()


def _neighbours(table: pa.Table, key: str) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return the texts of all rows but the last, and the texts of all rows but the first."""
    column = table.column(key)
    return column.slice(0, len(column) - 1), column.slice(1)
