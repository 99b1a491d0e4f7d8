"""Tally: what a run lists and fetches of its sources, counted while it goes on."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow.compute as pc

from docmill.storage.snapshots.history.source_log import SourceCounts
from docmill.storage.snapshots.tables.row_columns import RowColumns
from docmill.tasks.sources.connectors.contract import SourceItem
from docmill.tasks.sources.source import Source, SourceFile

_EVERY_S = 0.1
"""Seconds between two reports: a display draws no more often, and a listing may have millions of items."""
Tell = Callable[[str, int, int, int], None]
"""Hears how far a source is: its name, the items done, of how many to fetch, 0 while it is listed, and their bytes."""


class Tally:
    """Counts items and bytes by source. One thread at a time may count."""

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell = tell
        self._told = 0.0
        self._counts: dict[str, SourceCounts] = {}

    def passing(self, source: str, items: Iterable[SourceItem]) -> Iterator[SourceItem]:
        """Yield the items of a listing while they are counted for those who watch."""
        count = size = 0
        for item in items:
            count, size = count + 1, size + item.size
            self._say(source, count, 0, size)
            yield item

    def listed(self, source: Source, files: Sequence[SourceFile]) -> None:
        """Count the files that a source has. Sources of one name count together."""
        before = self._of(source.name)
        self._counts[source.name] = replace(
            before, listed=before.listed + len(files), listed_bytes=before.listed_bytes + _bytes(files),
            far=before.far or bool(source.origin),
        )  # fmt: skip

    def fetched(self, source: str, size: int, done: int, total: int) -> None:
        """Count an item of a source that has come, the number `done` of `total`."""
        before = self._of(source)
        now = replace(before, fetched=before.fetched + 1, fetched_bytes=before.fetched_bytes + size)
        self._counts[source] = now
        self._say(source, done, total, now.fetched_bytes)

    def counts(self) -> list[SourceCounts]:
        """Return the counts of each source, in the order in which they were listed."""
        return [*self._counts.values()]

    def _of(self, source: str) -> SourceCounts:
        return self._counts.get(source, SourceCounts(source))

    def _say(self, source: str, done: int, total: int, size: int) -> None:
        now = time.monotonic()
        if self._tell and (now - self._told >= _EVERY_S or done == total):
            self._told = now
            self._tell(source, done, total, size)


def _bytes(files: Sequence[SourceFile]) -> int:
    if not isinstance(files, RowColumns):
        return sum(file.size for file in files)
    others: int = sum(file.size for file in files.others)
    return int(pc.sum(files.table.column("size")).as_py() or 0) + others
