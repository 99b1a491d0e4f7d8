"""Compaction and vacuum: remove snapshots beyond the retention, and rewrite many small files as few large ones.

Both rewrite artifact packs without the artifacts that no kept snapshot names.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.errors import StoreError
from docmill.storage.files import disk_use, write_immutable
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects.lance_manifest import named_by_version
from docmill.storage.search.keywords import keyword_writer
from docmill.storage.search.keywords.segments.state import KeywordState
from docmill.storage.search.vectors import vectors
from docmill.storage.search.vectors.vectors import FOLDER, VectorState
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS
from docmill.storage.snapshots.artifacts.packs import Packs, figure_keys, stream_pack
from docmill.storage.snapshots.change.candidate_snapshots import discard_held
from docmill.storage.snapshots.change.candidate_snapshots import expired as expired_candidates
from docmill.storage.snapshots.history import snapshots, tags
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.garbage import garbage, named_files, sweep
from docmill.storage.snapshots.history.retention import Retention, expired, is_held, removable
from docmill.storage.snapshots.history.snapshots import Snapshot, StoredFile, vector_tag
from docmill.storage.snapshots.tables.deleted_documents import without_expired
from docmill.storage.snapshots.tables.tables import bucket_counts, read_stored_file, read_table, rebucket
from docmill.storage.snapshots.write import current_folder
from docmill.storage.snapshots.write.commit import put
from docmill.storage.snapshots.write.current_folder import writing
from docmill.storage.snapshots.write.pending_vectors import COLUMNS, with_vectors
from docmill.storage.snapshots.write.posting_rows import stored_rows
from docmill.storage.snapshots.write.vector_rows import vector_rows

MOST_PACKS = 32
"""Packs of a kind that a snapshot may name. A reader searches them one after the other. With a smaller number, packs
are merged, which copies them, after every few ingests."""
MOST_GARBAGE = 0.5
"""Share of unused rows above which a pack is rewritten. With a smaller share, more bytes are copied than freed; with a
larger one, a store keeps more than twice what it needs."""
_SMALL_BYTES = 32 << 20
"""Packs up to this size are merged to reduce their number; larger ones take too long to copy."""
_ROWS_AT_ONCE = {
    "texts": 256,
    "embeddings": 1 << 14,
    "figures": 8,
    "picture_vectors": 1 << 14,
    "sparse_vectors": 1 << 14,
}  # rows in memory while a pack is written
_BY_VECTOR = tuple((table, key) for table in ("chunks", "deleted_chunks") for key in KEYS)
_NAMED_BY = {
    "texts": (("documents", "text_key"), ("deleted", "text_key")),
    "figures": (("documents", "figures"), ("deleted", "figures")),
    "picture_vectors": (("documents", "figures"), ("deleted", "figures")),
    "embeddings": _BY_VECTOR,
    "sparse_vectors": _BY_VECTOR,
}


def crowded(snapshot: Snapshot) -> bool:
    """Return whether a snapshot names so many packs that look-ups are slow."""
    return any(len(pieces) > MOST_PACKS for pieces in snapshot.artifacts.values())


def prune(stored: StoredSnapshot, kind: str, everything: bool = False) -> tuple[StoredFile, ...]:
    """Return the packs of a kind after rewriting small and mostly unused packs as one.

    An artifact is used if any kept snapshot names it. `everything` rewrites every pack with an unused artifact.
    """
    root, pieces = stored.root, stored.snapshot.artifacts[kind]
    wanted = _wanted(root, kind)
    chosen = _chosen(root, pieces, wanted, everything)
    if not chosen:
        return pieces
    kept = tuple(piece for piece in pieces if piece not in chosen)
    groups = _by_schema(root, [piece for piece in pieces if piece in chosen])
    merged = [made for group in groups for made in _merge(root, group, kept, wanted, kind)]
    return (*kept, *merged)


def _chosen(root: Path, pieces: Sequence[StoredFile], wanted: pa.Array, everything: bool) -> set[StoredFile]:
    """Return the packs to rewrite: those with too many unused rows, and small ones if there are too many packs."""
    most_garbage, most_small = (0.0, 1) if everything else (MOST_GARBAGE, MOST_PACKS // 2)
    worn = {piece for piece in pieces if _garbage(root, piece, wanted) > most_garbage}
    small = [piece for piece in pieces if piece.file.bytes <= _SMALL_BYTES]
    return worn.union(small) if len(small) > most_small else worn


def _by_schema(root: Path, pieces: Sequence[StoredFile]) -> list[list[StoredFile]]:
    """Group packs that can be merged into one file: vectors may differ in dimension or number type."""
    groups: dict[str, list[StoredFile]] = {}
    for piece in pieces:
        groups.setdefault(str(pq.read_schema(root / piece.file.path)), []).append(piece)
    return list(groups.values())


def _wanted(root: Path, kind: str) -> pa.Array:
    """Return the artifact keys in the tables of all kept snapshots and candidate snapshots."""
    # A set, because snapshots share most of their files, and each is read once.
    pieces = {
        (piece, column)
        for state in snapshots.needed(root)
        for table, column in _NAMED_BY[kind]
        for piece in state.tables.get(table, ())
    }
    columns = [_flat(read_stored_file(root, piece, [column]).column(0)) for piece, column in pieces]
    return pc.unique(pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string()))


def _flat(keys: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_list(keys.type):
        return keys
    return figure_keys(keys) if pa.types.is_struct(keys.type.value_type) else pc.list_flatten(keys)


def _keys(root: Path, piece: StoredFile) -> pa.ChunkedArray:
    return pq.read_table(root / piece.file.path, columns=["key"], partitioning=None).column("key")


def _garbage(root: Path, piece: StoredFile, wanted: pa.Array) -> float:
    """Return the share of unused rows in a pack."""
    named = pc.sum(pc.is_in(_keys(root, piece), value_set=wanted)).as_py() or 0
    return 1 - named / piece.rows if piece.rows else 1.0


def _merge(
    root: Path, chosen: list[StoredFile], kept: tuple[StoredFile, ...], wanted: pa.Array, kind: str
) -> tuple[StoredFile, ...]:
    """Write the wanted rows of packs as one pack, without rows that the kept packs contain."""
    held = [_keys(root, piece).combine_chunks() for piece in chosen]
    keys = pc.unique(pa.chunked_array(held, pa.string()))
    keys = keys.filter(pc.is_in(keys, value_set=wanted))
    # A key is in several packs if two runs made the same artifact.
    left = Packs([root / piece.file.path for piece in kept]).absent(keys)
    if not len(left):
        return ()
    packs = Packs([root / piece.file.path for piece in chosen])
    file = write_immutable(
        root, f"artifacts/{kind}", ".parquet", lambda path: stream_pack(path, _parts(packs, left, kind), kind)
    )
    return (StoredFile(file, len(left)),)


def _parts(packs: Packs, keys: pa.StringArray, kind: str) -> Iterator[pa.Table]:
    step, schema = _ROWS_AT_ONCE[kind], pq.read_schema(packs.paths[0])
    for first in range(0, len(keys), step):
        yield packs.take(keys[first : first + step]).cast(schema)


SLACK = 16
"""Expired snapshots that may accumulate before a run removes them automatically."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """The result or forecast: snapshots removed, bytes freed, and the number of the committed snapshot, if any.

    If any snapshots are `damaged`, every file that they may need is kept.
    """

    removed: tuple[int, ...]
    bytes: int
    snapshot: int | None
    damaged: tuple[int, ...] = ()


def due(made: StoredSnapshot, retention: Retention) -> bool:
    """Return whether a store has so many files or expired snapshots that a compaction pays off.

    Return False if a tag is damaged: a person must repair it first, and a run does not wait for that.
    """
    try:
        tags.check(made.root)
    except StoreError:
        return False
    # Checked first, because the rest reads every snapshot.
    if crowded(made.snapshot):
        return True
    beyond = len(snapshots.numbers(made.root)) - max(1, retention.keep_snapshots)
    return beyond >= SLACK and len(removable(made.root, retention)) >= SLACK


def vacuum(
    store: str | Path | StoreFolder, retention: Retention, dry_run: bool = False, wait_s: float = 0.0
) -> Compaction:
    """Remove the snapshots beyond the retention, and the files that no remaining snapshot names.

    Snapshots that have a tag or are being read stay. A dry run only counts.
    """
    folder = open_folder(store).existing()
    if dry_run:
        gone = removable(folder.root, retention)
        return Compaction(tuple(gone), _bytes(folder.root, gone), None, tuple(snapshots.damaged(folder.root)))
    with writing(folder, wait_s):
        return _reduced(folder, retention, lambda gone: (_tidy(folder, retention, False) if gone else None, []))


def compact(store: str | Path | StoreFolder, retention: Retention, wait_s: float = 0.0) -> Compaction:
    """Do what `vacuum` does, and rewrite the small files of many commits as a few large ones.

    Also remove deleted documents that the retention no longer keeps.
    """
    folder = open_folder(store).existing()
    with writing(folder, wait_s):
        _forget_deleted(folder, retention)
        done = compact_held(folder, retention, replace_all=True)
        current_folder.remove_former(folder.root)
        return done


def _forget_deleted(folder: StoreFolder, retention: Retention) -> None:
    """Commit a snapshot without the deleted documents that can no longer be restored.

    This is done before files are rewritten, so that the new files contain nothing of these documents.
    """
    folder.complete()
    base = folder.read()
    left = without_expired(base, retention.undelete_days)
    if left is not base:
        put(_next(left), base)


def _next(made: StoredSnapshot) -> StoredSnapshot:
    """Return a snapshot under the next number, whose vectors are tagged for it."""
    number = made.number + 1
    vectors.tag(made.root, made.snapshot.vectors, vector_tag(number))
    return made.changed(number=number, created=datetime.now(UTC).isoformat("T", "milliseconds"))


def compact_held(
    folder: StoreFolder, retention: Retention, replace_all: bool = False, vectors_anew: bool = False
) -> Compaction:
    """Compact for a caller that holds the writer's lock.

    Without `replace_all`, large files stay as they are. `vectors_anew` writes the vectors of the snapshot into a new
    table, because LanceDB leaves the rows of removed chunks in its files if they are few.
    """

    def tidy(_gone: list[int]) -> tuple[int | None, list[int]]:
        done = _tidy(folder, retention, replace_all, vectors_anew)
        return done, _drop_former(folder, retention) if done else []

    return _reduced(folder, retention, tidy)


def _reduced(
    folder: StoreFolder, retention: Retention, tidy: Callable[[list[int]], tuple[int | None, list[int]]]
) -> Compaction:
    """Remove expired snapshots; sweep unnamed files both before and after calling `tidy`.

    `tidy` takes the removed snapshots. It returns the number of the snapshot that it committed, or None, and the
    snapshots that it removed.
    """
    root = folder.root
    before = disk_use(root)
    discard_held(folder, expired_candidates(root, retention.keep_days))
    gone = folder.drop(removable(root, retention))
    sweep(root)  # first, because a full disk may be the reason for this call
    done, more = tidy(gone)
    sweep(root)
    freed = folder.collect(retention.grace_hours)
    folder.expire_aside(retention.undelete_days)
    damaged = tuple(snapshots.damaged(root))
    return Compaction((*gone, *more), freed or max(0, before - disk_use(root)), done, damaged)


def _drop_former(folder: StoreFolder, retention: Retention) -> list[int]:
    """Remove the snapshots that the new one replaces, so that data is not stored twice for long."""
    root = folder.root
    gone = folder.drop(removable(root, retention))
    if gone:
        newest = folder.read()
        vectors.prune(root, newest.snapshot.vectors, _kept_versions(newest, retention))
    return gone


def _tidy(folder: StoreFolder, retention: Retention, replace_all: bool, vectors_anew: bool = False) -> int | None:
    """Commit the content of the newest snapshot in fewer files; return the new number, or None if nothing changed."""
    root = folder.root
    folder.complete(tables_of=snapshots.needed(root))
    base = folder.read()
    check_present(base)
    before, number = base.snapshot, base.number + 1
    changed = base.changed(
        artifacts={kind: prune(base, kind, replace_all) for kind in before.artifacts},
        keywords=_keywords(base) if replace_all else before.keywords,
    )
    tag = vector_tag(number)
    if vectors_anew:
        changed = changed.changed(vectors=_vectors_anew(changed, tag))
    else:
        kept = _kept_versions(base, retention)
        changed = changed.changed(vectors=vectors.clean(root, before.vectors, before.space, kept, tag))
    if replace_all:
        changed = _spread(changed)
    if changed == base:
        return None
    put(changed.changed(number=number, created=datetime.now(UTC).isoformat("T", "milliseconds")), base)
    return number


def _vectors_anew(made: StoredSnapshot, tag: str) -> VectorState:
    """Write the vectors of a snapshot into a new table."""
    rows = vector_rows(made.packs("embeddings"), with_vectors(made, read_table(made, "chunks", [*COLUMNS])))
    return vectors.rebuild(made.root, made.snapshot.space, rows, tag)


def _spread(base: StoredSnapshot) -> StoredSnapshot:
    """Return the snapshot with as many buckets as a new store of its size would have."""
    before = base.snapshot
    buckets = bucket_counts(before.rows("documents"), before.rows("chunks"), None)
    spread = {
        name: rebucket(base.root, base.pieces(name), name, count)
        for name, count in buckets.items()
        if count != before.buckets_of(name)
    }
    if not spread:
        return base
    return base.changed(
        buckets=buckets["chunks"], document_buckets=buckets["documents"], tables={**before.tables, **spread}
    )


def _keywords(base: StoredSnapshot) -> KeywordState:
    """Return the postings in fewer files; postings of an older docmill are rebuilt."""
    before = base.snapshot.keywords
    if before.outdated:
        return keyword_writer.rebuild(base.root, stored_rows(base), before.language)
    return keyword_writer.compact(base.root, before)


def _kept_versions(base: StoredSnapshot, retention: Retention) -> dict[str, int]:
    """Return the vector versions that snapshots need, by their tags.

    The version of a snapshot that only its tag keeps is left out, because it would keep all versions in between.
    Such a snapshot is searched without the index.
    """
    root = base.root
    retired = {n for n in expired(root, retention) if n in tags.tags(root).values() and not is_held(root, n)}
    states = {vector_tag(state.number): state for state in snapshots.each(root) if state.number not in retired}
    states |= snapshots.held_back(root)
    lost = [*map(vector_tag, snapshots.damaged(root)), *snapshots.damaged_candidates(root)]
    unknown = dict.fromkeys(lost, 0)  # so that no version is removed
    return unknown | {
        tag: s.vectors.version for tag, s in states.items() if s.vectors.table == base.snapshot.vectors.table
    }


def _bytes(root: Path, gone: list[int]) -> int:
    """Return the total size of the files that only these snapshots name, without the vector tables."""
    if not snapshots.all_known(root):
        return 0
    states = [state for state in snapshots.each(root) if state.number not in gone]
    states += snapshots.held_back(root).values()
    return sum(path.stat().st_size for path in garbage(root, states))


def check_present(stored: StoredSnapshot) -> None:
    """Raise `StoreError` if a file that a snapshot needs is missing; the message names it."""
    for path in _needed(stored):
        if not path.is_file():
            name = path.relative_to(stored.root)
            raise StoreError(f"{name} is missing; rebuild it with: docmill repair --store {stored.folder.name}")


def _needed(stored: StoredSnapshot) -> Iterator[Path]:
    """Yield the files that a snapshot names, and those of its version of the vector table."""
    yield from (stored.root / file.path for _, file in named_files(stored.snapshot))
    vectors = stored.snapshot.vectors
    yield from named_by_version(stored.root / FOLDER / f"{vectors.table}.lance", vectors.version)
