"""Compaction and vacuum: what the retention keeps no longer goes, and what is left lies in few files."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.files import disk_use
from docmill.storage.history import snapshots, tags
from docmill.storage.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.history.garbage import garbage, sweep
from docmill.storage.history.retention import Retention, expired, is_held, removable
from docmill.storage.history.snapshots import vector_tag
from docmill.storage.keywords import keyword_writer
from docmill.storage.lance import vectors
from docmill.storage.mirror.mirror_folder import open_folder
from docmill.storage.tables.tables import bucket_count, rebucket
from docmill.storage.upkeep.pruning import crowded, prune
from docmill.storage.versions.candidates import discard_held
from docmill.storage.versions.candidates import expired as expired_candidates
from docmill.storage.writer.commit import put

SLACK = 16
"""So many snapshots may be there beyond those that the retention keeps before they are removed unasked."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """What was done, or would be: snapshots removed, bytes freed, and the snapshot committed, None without one.

    Where a snapshot is `damaged`, no file has gone that it may need.
    """

    removed: tuple[int, ...]
    bytes: int
    snapshot: int | None
    damaged: tuple[int, ...] = ()


def due(made: StoredSnapshot, retention: Retention) -> bool:
    """Say whether a store has grown so many files or snapshots that a compaction pays.

    Not where a tag is damaged: that waits for a person, and a run does not.
    """
    try:
        tags.check(made.root)
    except StoreError:
        return False
    if crowded(made.snapshot):
        return True
    beyond = len(snapshots.numbers(made.root)) - max(1, retention.keep_snapshots)
    return beyond >= SLACK and len(removable(made.root, retention)) >= SLACK


def vacuum(
    store: str | Path | StoreFolder, retention: Retention, dry_run: bool = False, wait_s: float = 0.0
) -> Compaction:
    """Remove the snapshots that the retention does not keep, and the files that none names any more.

    What a tag names or a reader holds stays. A dry run counts and touches nothing.
    """
    folder = open_folder(store).existing()
    if dry_run:
        gone = removable(folder.root, retention)
        return Compaction(tuple(gone), _bytes(folder.root, gone), None, tuple(snapshots.damaged(folder.root)))
    with folder.lock(wait_s):
        return _reduced(folder, retention, lambda gone: (_tidy(folder, retention, False) if gone else None, []))


def compact(store: str | Path | StoreFolder, retention: Retention, wait_s: float = 0.0) -> Compaction:
    """Do what `vacuum` does, and write anew in few files what many commits have left in many."""
    folder = open_folder(store).existing()
    with folder.lock(wait_s):
        return compact_held(folder, retention, replace_all=True)


def compact_held(folder: StoreFolder, retention: Retention, replace_all: bool = False) -> Compaction:
    """Do the same for a caller that holds the writer's lock; unless `replace_all` leave what is large as it is."""

    def tidy(_gone: list[int]) -> tuple[int | None, list[int]]:
        done = _tidy(folder, retention, replace_all)
        return done, _drop_former(folder, retention) if done else []

    return _reduced(folder, retention, tidy)


def _reduced(
    folder: StoreFolder, retention: Retention, tidy: Callable[[list[int]], tuple[int | None, list[int]]]
) -> Compaction:
    """Remove what has expired, and the files that are named no more before and after `tidy`.

    That takes the snapshots removed, and returns the number of the one that it commits, and which it removes.
    """
    root = folder.root
    before = disk_use(root)
    discard_held(folder, expired_candidates(root, retention.keep_days))
    gone = folder.drop(removable(root, retention))
    sweep(root)  # first, as it may be for want of room that somebody calls this
    done, more = tidy(gone)
    sweep(root)
    freed = folder.collect(retention.grace_hours)
    damaged = tuple(snapshots.damaged(root))
    return Compaction((*gone, *more), freed or max(0, before - disk_use(root)), done, damaged)


def _drop_former(folder: StoreFolder, retention: Retention) -> list[int]:
    """Remove what the snapshot just committed has made superfluous, so that nothing is there twice for long."""
    root = folder.root
    gone = folder.drop(removable(root, retention))
    if gone:
        newest = folder.read()
        vectors.prune(root, newest.snapshot.vectors, _kept_versions(newest, retention))
    return gone


def _tidy(folder: StoreFolder, retention: Retention, replace_all: bool) -> int | None:
    """Commit the newest snapshot's content in fewer files; return its number, None where there was nothing to do."""
    root = folder.root
    folder.complete(tables_of=snapshots.needed(root))
    base = folder.read()
    before, number = base.snapshot, base.number + 1
    changed = base.changed(
        artifacts={kind: prune(base, kind, replace_all) for kind in before.artifacts},
        keywords=keyword_writer.compact(root, before.keywords) if replace_all else before.keywords,
        vectors=vectors.clean(root, before.vectors, _kept_versions(base, retention), vector_tag(number)),
    )
    buckets = bucket_count(before.rows("chunks"), 0) if replace_all else before.buckets
    if buckets != before.buckets:
        spread = {name: rebucket(root, base.pieces(name), name, buckets) for name in ("documents", "chunks")}
        changed = changed.changed(buckets=buckets, tables={**before.tables, **spread})
    if changed == base:
        return None
    put(changed.changed(number=number, created=datetime.now(UTC).isoformat("T", "milliseconds")))
    return number


def _kept_versions(base: StoredSnapshot, retention: Retention) -> dict[str, int]:
    """Return the tags and versions of the vectors that snapshots need.

    A snapshot that is only kept for its tag is searched without the index: its version would keep all between.
    """
    root = base.root
    retired = {n for n in expired(root, retention) if n in tags.tags(root).values() and not is_held(root, n)}
    states = {vector_tag(state.number): state for state in snapshots.each(root) if state.number not in retired}
    states |= snapshots.held_back(root)
    lost = [*map(vector_tag, snapshots.damaged(root)), *snapshots.damaged_candidates(root)]
    unknown = dict.fromkeys(lost, 0)  # so that no version goes
    return unknown | {
        tag: s.vectors.version for tag, s in states.items() if s.vectors.table == base.snapshot.vectors.table
    }


def _bytes(root: Path, gone: list[int]) -> int:
    """Return the bytes of the files that only these snapshots name; what the vectors hold is not counted."""
    if not snapshots.all_known(root):
        return 0
    states = [state for state in snapshots.each(root) if state.number not in gone]
    states += snapshots.held_back(root).values()
    return sum(path.stat().st_size for path in garbage(root, states))
