"""Diff: what changed between two snapshots, document by document and chunk by chunk."""

import difflib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from docmill.storage.columns import from_table
from docmill.storage.history.snapshots import Snapshot
from docmill.storage.schema import ChunkRow, DocumentRow, indexed_text
from docmill.storage.tables.tables import read_piece

KINDS = ("added", "removed", "changed", "moved")


@dataclass(frozen=True, slots=True)
class Change:
    """A document or a chunk that differs; `kind` is one of `KINDS`.

    `before` and `after` are None where there is none: of a document its uri, of a chunk `uri[start:end]`.
    `text` is a unified diff of a changed chunk's text, line by line, empty for all else.
    """

    kind: str
    before: str | None
    after: str | None
    text: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """What is between snapshots `old` and `new`, in the order of uris and positions."""

    old: int
    new: int
    documents: tuple[Change, ...]
    chunks: tuple[Change, ...]


def diff(root: Path, old: Snapshot, new: Snapshot, texts: bool = False) -> Difference:
    """Compare two snapshots.

    A document has moved when its bytes stand under another uri; a chunk when its text stands elsewhere, in its own
    document or in another. A chunk has changed when another text took its place. Only files that are not in both
    snapshots are read.
    """
    before, after = _documents(root, old, new), _documents(root, new, old)
    moved = _moves(before, after)
    documents = tuple(_document_changes(before, after, moved))
    chunks = _chunk_changes(_chunks(root, old, new), _chunks(root, new, old), moved, texts)
    return Difference(old.number, new.number, documents, tuple(chunks))


def _own(root: Path, snapshot: Snapshot, other: Snapshot, name: str) -> list[pa.Table]:
    """Read the files of a table that `other` does not have; equal rows of a bucket are in equal files."""
    shared = {piece.file.path for piece in other.tables.get(name, ())}
    return [read_piece(root, piece) for piece in snapshot.tables.get(name, ()) if piece.file.path not in shared]


def _documents(root: Path, snapshot: Snapshot, other: Snapshot) -> dict[str, DocumentRow]:
    rows = [row for table in _own(root, snapshot, other, "documents") for row in from_table(table, DocumentRow)]
    return {row.uri: row for row in sorted(rows, key=lambda row: row.uri)}


def _chunks(root: Path, snapshot: Snapshot, other: Snapshot) -> dict[str, list[ChunkRow]]:
    found: dict[str, list[ChunkRow]] = {}
    for table in _own(root, snapshot, other, "chunks"):
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
    gone: dict[str, deque[ChunkRow]] = {}
    for was, now in pairs:
        if was and not (now and _same(was, now)):
            gone.setdefault(_text(was), deque()).append(was)
    elsewhere, taken = _elsewhere(pairs, gone)
    for was, now in pairs:
        if was and now and _same(was, now):
            if _place(was) != _place(now):
                yield Change("moved", _place(was), _place(now))
            continue
        came = elsewhere.get(now.chunk_id) if now else None
        if now and came:
            yield Change("moved", _place(came), _place(now))
        left = was is not None and was.chunk_id in taken
        if was and now and not came and not left:
            yield Change("changed", _place(was), _place(now), tuple(_lines(was, now)) if texts else ())
        else:
            if was and not left:
                yield Change("removed", _place(was), None)
            if now and not came:
                yield Change("added", None, _place(now))


def _elsewhere(
    pairs: Iterable[tuple[ChunkRow | None, ChunkRow | None]], gone: dict[str, deque[ChunkRow]]
) -> tuple[dict[str, ChunkRow], set[str]]:
    """Return where new chunks stood before in another place, by id, and the ids of the chunks that they were."""
    found = {}
    for was, now in pairs:
        if now and not (was and _same(was, now)) and gone.get(_text(now)):
            found[now.chunk_id] = gone[_text(now)].popleft()
    return found, {row.chunk_id for row in found.values()}


def _pairs(
    before: dict[str, list[ChunkRow]], after: dict[str, list[ChunkRow]], moved: dict[str, str]
) -> Iterator[tuple[ChunkRow | None, ChunkRow | None]]:
    """Yield each chunk of a document beside the one in its place in the other snapshot."""
    left = set(moved.values())
    for uri in sorted(before.keys() | after.keys()):
        if uri not in left:
            yield from _align(before.get(moved.get(uri, uri), []), after.get(uri, []))


def _align(before: Sequence[ChunkRow], after: Sequence[ChunkRow]) -> Iterator[tuple[ChunkRow | None, ChunkRow | None]]:
    """Pair equal texts first, then what stands between them, in order."""
    was, now = _keyed(before), _keyed(after)
    between: dict[object, deque[ChunkRow]] = {}
    anchor: object = None
    for key, row in was.items():
        if key in now:
            anchor = key
        else:
            between.setdefault(anchor, deque()).append(row)
    anchor = None
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


def _keyed(rows: Sequence[ChunkRow]) -> dict[object, ChunkRow]:
    """Return chunks by text and how many equal ones came before."""
    seen: dict[str, int] = {}
    keyed: dict[object, ChunkRow] = {}
    for row in rows:
        seen[_text(row)] = seen.get(_text(row), 0) + 1
        keyed[_text(row), seen[_text(row)]] = row
    return keyed


def _same(was: ChunkRow, now: ChunkRow) -> bool:
    return _text(was) == _text(now)


def _text(row: ChunkRow) -> str:
    return indexed_text(row.context, row.text)


def _place(row: ChunkRow) -> str:
    return f"{row.uri}[{row.start}:{row.end}]"


def _lines(was: ChunkRow, now: ChunkRow) -> Iterator[str]:
    """Yield a unified diff of two chunks, contexts included; a chunk's size is bounded, so is the work."""
    old = [*was.context.splitlines(), "", *was.text.splitlines()]
    new = [*now.context.splitlines(), "", *now.text.splitlines()]
    yield from list(difflib.unified_diff(old, new, n=1, lineterm=""))[2:]
