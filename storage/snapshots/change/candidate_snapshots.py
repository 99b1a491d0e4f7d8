"""Candidate snapshots: snapshots that the gate has held back until a person publishes or discards them.

`candidates/candidate-43.json` has the content that `snapshots/000043.json` would have had. Readers do not see it as
the newest snapshot, runs do not build on it, and sweeps keep its files. The next attempt at the number replaces it.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.errors import QueryError, StoreError
from docmill.storage.files import remove, settle, write_whole
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.vectors import vectors
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.retention import lock_is_held
from docmill.storage.snapshots.history.snapshots import Snapshot, vector_tag
from docmill.storage.snapshots.tables.tables import read_table, write_single
from docmill.storage.snapshots.write.commit import put
from docmill.storage.snapshots.write.current_folder import writing


def keep(made: StoredSnapshot) -> str:
    """Keep a prepared snapshot as a candidate snapshot and return its name; the caller holds the writer's lock."""
    root, folder, snapshot = made.root, made.folder, made.snapshot
    name = _free_name(root, snapshot.number)
    # The tag of the number goes to the next attempt, and compactions remove versions without a tag.
    vectors.tag(root, snapshot.vectors, name)
    # As for a commit: the name may appear only when all files of the snapshot are safely on disk.
    settle()
    write_whole(snapshots.candidate_path(root, name), snapshots.encode(folder.share_candidate(name, snapshot)))
    vectors.untag(root, snapshot.vectors, vector_tag(snapshot.number))
    return name


def _free_name(root: Path, number: int) -> str:
    """Return the name for a number that is not the name of a candidate snapshot that a reader has open."""
    name, more = f"candidate-{number}", 1
    # The content under a name must not change while someone is reading it.
    while name in snapshots.candidates(root) and lock_is_held(snapshots.candidate_path(root, name)):
        more += 1
        name = f"candidate-{number}-{more}"
    return name


def publish(store: str | Path | StoreFolder, name: str, force: bool = False, wait_s: float = 0.0) -> Snapshot:
    """Make a candidate snapshot the newest snapshot and return it.

    Raises `QueryError` if another run has committed since, because publishing would undo its work; `force` allows it.
    """
    folder = open_folder(store).existing()
    root = folder.root
    with writing(folder, wait_s):
        candidate, newest = _read(folder, name), folder.read()
        # On a mirror, some files of the candidate may exist only on the object store.
        folder.complete([candidate.snapshot])
        if not (force or _follows(candidate, newest)):
            raise QueryError(
                f"snapshot {newest.number} was committed after {name}, which lacks its changes; ingest"
                f" again, or go back to what {name} holds: docmill publish {name} --force --store {root}"
            )
        # With `force`, there may be newer snapshots; the candidate gets the number after them.
        number = newest.number + 1
        made = candidate.changed(number=number, created=datetime.now(UTC).isoformat("T", "milliseconds"))
        runs = _renumbered(_own_run(candidate), number)
        runs = pa.concat_tables([read_table(newest, "runs"), runs])
        made = made.changed(tables={**made.snapshot.tables, "runs": write_single(root, "runs", runs)})
        # Before the commit, because an untagged version could be removed while the snapshot needs it.
        vectors.tag(root, made.snapshot.vectors, vector_tag(number))
        put(made, newest)
        # The candidate contains the staged results already, so the next run need not take them over.
        staging.clear(root)
        discard_held(folder, [name])
        return made.snapshot


def _follows(candidate: StoredSnapshot, newest: StoredSnapshot) -> bool:
    """Return whether no run has committed since the candidate's base; compactions and repairs do not count as runs."""
    before = pa.concat_tables([read_table(newest, "runs"), _own_run(candidate)])
    return bool(before.equals(read_table(candidate, "runs")))


def _own_run(candidate: StoredSnapshot) -> pa.Table:
    runs = read_table(candidate, "runs")
    return runs.filter(pc.equal(runs.column("snapshot"), candidate.number))


def _renumbered(run: pa.Table, number: int) -> pa.Table:
    """Return the row of a run with a new snapshot number."""
    place = run.schema.get_field_index("snapshot")
    field = run.schema.field(place)
    return run.set_column(place, field, pa.array([number] * run.num_rows, field.type))


def discard(store: str | Path | StoreFolder, name: str, wait_s: float = 0.0) -> None:
    """Discard a candidate snapshot; the next compaction removes its files."""
    folder = open_folder(store).existing()
    with writing(folder, wait_s):
        _check_name(folder.root, name)
        discard_held(folder, [name])


def discard_held(folder: StoreFolder, names: Iterable[str]) -> list[str]:
    """Remove the candidate snapshots that no reader has open, and return their names.

    The caller holds the writer's lock.
    """
    root = folder.root
    gone = [name for name in names if not lock_is_held(snapshots.candidate_path(root, name))]
    for name in gone:
        with suppress(FileNotFoundError, StoreError):  # damaged; a later compaction removes the tag
            vectors.untag(root, snapshots.read_candidate(root, name).vectors, name)
        folder.unshare(snapshots.CANDIDATES, name)
        remove(snapshots.candidate_path(root, name))
    return gone


def expired(root: Path, keep_days: float) -> list[str]:
    """Return the candidate snapshots that are older than the retention allows."""
    horizon = datetime.now(UTC) - timedelta(days=keep_days)
    return [
        name for name, state in snapshots.held_back(root).items() if datetime.fromisoformat(state.created) < horizon
    ]


def _read(folder: StoreFolder, name: str) -> StoredSnapshot:
    _check_name(folder.root, name)
    return StoredSnapshot(folder, snapshots.read_candidate(folder.root, name))


def _check_name(root: Path, name: str) -> None:
    held = snapshots.candidates(root)
    if name not in held:
        raise QueryError(f"no candidate {name!r}; there are {', '.join(held) or 'none'}")
