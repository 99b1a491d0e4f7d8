"""Diff: the changes between two snapshots, by document and by chunk."""

import difflib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from docmill.storage.arrow_schema import from_table
from docmill.storage.schema import ChunkRow, DocumentRow, indexed_text
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.tables import read_stored_file

KINDS = ("added", "removed", "changed", "moved")


@dataclass(frozen=True, slots=True)
class Change:
    """A document or a chunk that differs; `kind` is one of `KINDS`.

    `before` and `after` name it: a document by its uri, a chunk as `uri[start:end]`. `before` is None if it was added,
    `after` if it was removed. `text` has the lines of a unified diff for a changed chunk and is empty otherwise.
    """

    kind: str
    before: str | None
    after: str | None
    text: tuple[str, ...] = ()


Pair = tuple[ChunkRow | None, ChunkRow | None]
"""A chunk of the old snapshot and the chunk in its place in the new one; either may be None."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes from snapshot `old` to snapshot `new`, ordered by uri and position.

    `vectors` are the shares of chunks that have vectors in `old` and in `new`, from 0 to 1.
    """

    old: int
    new: int
    documents: tuple[Change, ...]
    chunks: tuple[Change, ...]
    vectors: tuple[float, float] = (1.0, 1.0)


def diff(old: StoredSnapshot, new: StoredSnapshot, texts: bool = False) -> Difference:
    """Compare two snapshots of a store.

    A document has moved if its bytes are now under another uri. A chunk has moved if its text is now elsewhere in the
    same document or in another; it has changed if another text took its place. Files that both snapshots share are
    not read.
    """
    before, after = _documents(old, new), _documents(new, old)
    moved = _moves(before, after)
    documents = tuple(_document_changes(before, after, moved))
    chunks = _chunk_changes(_chunks(old, new), _chunks(new, old), moved, texts)
    return Difference(old.number, new.number, documents, tuple(chunks), (old.snapshot.covered, new.snapshot.covered))


def _own(stored: StoredSnapshot, other: StoredSnapshot, name: str) -> list[pa.Table]:
    """Read the files of a table that `other` does not have; buckets with equal rows are equal files."""
    shared = {piece.file.path for piece in other.pieces(name)}
    return [read_stored_file(stored.root, piece) for piece in stored.pieces(name) if piece.file.path not in shared]


def _documents(stored: StoredSnapshot, other: StoredSnapshot) -> dict[str, DocumentRow]:
    rows = [row for table in _own(stored, other, "documents") for row in from_table(table, DocumentRow)]
    return {row.uri: row for row in sorted(rows, key=lambda row: row.uri)}


def _chunks(stored: StoredSnapshot, other: StoredSnapshot) -> dict[str, list[ChunkRow]]:
    found: dict[str, list[ChunkRow]] = {}
    for table in _own(stored, other, "chunks"):
        for row in from_table(table, ChunkRow):
            found.setdefault(row.uri, []).append(row)
    return {uri: sorted(found[uri], key=lambda row: row.ordinal) for uri in sorted(found)}


def _moves(before: dict[str, DocumentRow], after: dict[str, DocumentRow]) -> dict[str, str]:
    """Return the former uri of each document that has moved."""
    gone = {row.content_hash: uri for uri, row in reversed(before.items()) if uri not in after}
    fresh = (uri for uri in after if uri not in before)
    return {uri: gone.pop(after[uri].content_hash) for uri in fresh if after[uri].content_hash in gone}


def _document_changes(
    before: dict[str, DocumentRow], after: dict[str, DocumentRow], moved: dict[str, str]
) -> Iterator[Change]:
    left = set(moved.values())
    for uri in sorted(before.keys() | after.keys()):
        was, now = before.get(uri), after.get(uri)
        if was is None:
            yield Change("moved", moved[uri], uri) if uri in moved else Change("added", None, uri)
        elif now is None:
            if uri not in left:
                yield Change("removed", uri, None)
        elif _content(was) != _content(now):
            yield Change("changed", uri, uri)


def _content(row: DocumentRow) -> tuple[str, ...]:
    return row.content_hash, row.text_key, row.chunk_key, row.status


def _chunk_changes(
    before: dict[str, list[ChunkRow]], after: dict[str, list[ChunkRow]], moved: dict[str, str], texts: bool
) -> Iterator[Change]:
    pairs = list(_pairs(before, after, moved))
    origins = _origins([pair for pair in pairs if not _same(*pair)])
    taken = {row.chunk_id for row in origins.values()}
    for was, now in pairs:
        if was and now and _same(was, now):
            yield from _moved(was, now)
        else:
            yield from _replaced(was, now, origins, taken, texts)


def _moved(was: ChunkRow, now: ChunkRow) -> Iterator[Change]:
    """Yield a move if a chunk kept its text but changed its place."""
    if _place(was) != _place(now):
        yield Change("moved", _place(was), _place(now))


def _replaced(
    was: ChunkRow | None, now: ChunkRow | None, origins: dict[str, ChunkRow], taken: set[str], texts: bool
) -> Iterator[Change]:
    """Yield the changes at a place whose text differs; a chunk that only moved is neither added nor removed."""
    if now and now.chunk_id in origins:
        yield Change("moved", _place(origins[now.chunk_id]), _place(now))
        now = None
    if was and was.chunk_id in taken:
        was = None  # reported with the place that it moved to
    if was and now:
        yield Change("changed", _place(was), _place(now), tuple(_lines(was, now)) if texts else ())
    elif was:
        yield Change("removed", _place(was), None)
    elif now:
        yield Change("added", None, _place(now))


def _origins(replaced: Iterable[Pair]) -> dict[str, ChunkRow]:
    """Return the old chunk with the same text, by the id of the new chunk, for new chunks that have one.

    `replaced` are the pairs with different texts. Each old chunk is the origin of at most one new chunk.
    """
    replaced = list(replaced)
    gone: dict[str, deque[ChunkRow]] = {}
    for was, _ in replaced:
        if was:
            gone.setdefault(_text(was), deque()).append(was)
    found = {}
    for _, now in replaced:
        if now and gone.get(_text(now)):
            found[now.chunk_id] = gone[_text(now)].popleft()
    return found


def _pairs(
    before: dict[str, list[ChunkRow]], after: dict[str, list[ChunkRow]], moved: dict[str, str]
) -> Iterator[Pair]:
    """Yield the chunks of all documents, each paired with the chunk in its place in the other snapshot."""
    left = set(moved.values())
    for uri in sorted(before.keys() | after.keys()):
        if uri not in left:
            yield from _align(before.get(moved.get(uri, uri), []), after.get(uri, []))


def _align(before: Sequence[ChunkRow], after: Sequence[ChunkRow]) -> Iterator[Pair]:
    """Pair equal texts first, then the chunks between them, in order."""
    was, now = _keyed(before), _keyed(after)
    between = _between(was, now)
    anchor: object = None
    for key, row in now.items():
        if key in was:
            yield from ((left, None) for left in between.pop(anchor, ()))
            anchor = key
            yield was[key], row
        else:
            waiting = between.get(anchor)
            yield (waiting.popleft() if waiting else None), row
    for rows in between.values():
        yield from ((left, None) for left in rows)


def _between(was: dict[object, ChunkRow], now: dict[object, ChunkRow]) -> dict[object, deque[ChunkRow]]:
    """Return the old chunks that are gone, grouped by the key of the last remaining chunk before them."""
    between: dict[object, deque[ChunkRow]] = {}
    anchor: object = None  # before the first remaining chunk
    for key, row in was.items():
        if key in now:
            anchor = key
        else:
            between.setdefault(anchor, deque()).append(row)
    return between


def _keyed(rows: Sequence[ChunkRow]) -> dict[object, ChunkRow]:
    """Return chunks by text and by their number among equal texts, because a document may repeat a text."""
    seen: dict[str, int] = {}
    keyed: dict[object, ChunkRow] = {}
    for row in rows:
        seen[_text(row)] = seen.get(_text(row), 0) + 1
        keyed[_text(row), seen[_text(row)]] = row
    return keyed


def _same(was: ChunkRow | None, now: ChunkRow | None) -> bool:
    return was is not None and now is not None and _text(was) == _text(now)


def _text(row: ChunkRow) -> str:
    return indexed_text(row.context, row.text)


def _place(row: ChunkRow) -> str:
    return f"{row.uri}[{row.start_char}:{row.end_char}]"


def _lines(was: ChunkRow, now: ChunkRow) -> Iterator[str]:
    """Yield a unified diff of two chunks with their contexts. The work is bounded because chunks are."""
    old = [*was.context.splitlines(), "", *was.text.splitlines()]
    new = [*now.context.splitlines(), "", *now.text.splitlines()]
    yield from list(difflib.unified_diff(old, new, n=1, lineterm=""))[2:]
