"""Export: update a destination to a snapshot."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from os import close
from pathlib import Path

from docmill.storage.access.visible_part import NarrowedFolder
from docmill.storage.errors import ConfigError
from docmill.storage.exports.chunk_rows import Selection, rows_of, select, since
from docmill.storage.exports.last_export import A_PART, Destination, Revision, Stamp, check_stamp
from docmill.storage.exports.parts_folder import DatasetFolder, PartsFolder
from docmill.storage.exports.row_files import FORMATS, JSON_LINES, PARQUET
from docmill.storage.exports.single_file import SingleFile
from docmill.storage.files import OWNER_ONLY, write_whole
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.tables import bucket_count, read_table

_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_OURS = re.compile(r"([0-9a-f]{32})\.(?:png|jpg|gif|webp)")
_AT_ONCE = 8
"""Pictures in memory at a time: one may have 20 MB."""


def put_figures(stored: StoredSnapshot, folder: Path, keys: Iterable[str]) -> None:
    """Write the pictures that a folder lacks; it is created for the first one."""
    lacking = sorted({*keys} - _held(folder).keys())
    packs = Packs(stored.ensure_packs("figures")) if lacking else Packs([])
    for first in range(0, len(lacking), _AT_ONCE):
        folder.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        for row in packs.take(lacking[first : first + _AT_ONCE]).to_pylist():
            write_whole(folder / f"{row['key']}{_SUFFIXES[row['media_type']]}", row["data"], closed=True)


def drop_figures(folder: Path, keys: Iterable[str]) -> None:
    """Remove the pictures of other keys, and the folder if it is empty then."""
    held = _held(folder)
    for key in held.keys() - {*keys}:
        held[key].unlink()
    if folder.is_dir():
        with suppress(OSError):  # it is not empty
            folder.rmdir()


def _held(folder: Path) -> dict[str, Path]:
    """Return the pictures in a folder by key, without files that are not from an export."""
    names = ((path, _OURS.fullmatch(path.name)) for path in (folder.iterdir() if folder.is_dir() else ()))
    return {found[1]: path for path, found in names if found}


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What to export, and where in a database; `Store.export` explains them."""

    table: str | None = None
    where: str | None = None
    since: int | str | None = None
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did.

    Attributes:
        target: Where it went, without credentials.
        snapshot: The number of the exported snapshot.
        chunks: How many rows the target has now.
        added: Rows that are new.
        changed: Rows that replaced others of the same chunk id.
        removed: Rows of chunks that have left.
        pending: Chunks that were left out, as they wait for their vectors; the next ingest embeds them.
        figures: Pictures in the folder beside it; 0 for a database.
    """

    target: str
    snapshot: int
    chunks: int
    added: int
    changed: int
    removed: int
    pending: int
    figures: int = 0


def export(stored: StoredSnapshot, to: str, options: ExportOptions) -> Exported:
    """Update the destination at an address to a snapshot."""
    destination = destination_of(to, options.table)
    if options.since is not None and not destination.takes_deltas:
        raise ConfigError("--since writes changes into files; a database follows the store by itself")
    with _earlier(stored, options.since) as old, destination.claimed():
        return _exported(stored, old, destination, options)


@contextmanager
def _earlier(stored: StoredSnapshot, at: int | str | None) -> Iterator[StoredSnapshot | None]:
    """Hold the snapshot since which changes are exported."""
    if at is None:
        yield None
        return
    old, handle = stored.folder.hold(at)
    try:
        if old.number > stored.number:
            raise ConfigError(f"--since takes a snapshot before {stored.number}, got {old.number}")
        yield old
    finally:
        close(handle)


def _exported(
    stored: StoredSnapshot, old: StoredSnapshot | None, destination: Destination, options: ExportOptions
) -> Exported:
    held = destination.stamp()
    wanted = _stamp(stored, old, options.where)
    anew = held is None or options.replace
    if held is not None and not options.replace:
        check_stamp(held, wanted, destination.name)
    found = select(stored, options.where)
    if old is not None:
        found = since(select(old, options.where), found)
    there = {} if anew else dict(zip(*(column.to_pylist() for column in destination.held().columns), strict=True))
    parts = bucket_count(len(found.digests), held.parts if held and not anew else 0)
    stamp = replace(wanted, chunks=len(found.digests), parts=min(parts, stored.snapshot.buckets))
    revision = Revision(stamp, sorted(there.keys() - found.digests.keys()), anew)
    return _applied(stored, destination, revision, found, there)


def _applied(
    stored: StoredSnapshot, destination: Destination, revision: Revision, found: Selection, there: dict[str, str]
) -> Exported:
    fresh = {key: digest for key, digest in found.digests.items() if there.get(key) != digest}
    shown = {key for keys in found.figures.values() for key in keys} if destination.figures else set()
    if destination.figures:
        put_figures(stored, destination.figures, shown)  # before any row names one
    destination.apply(revision, rows_of(stored, revision.stamp, fresh))
    if destination.figures:
        drop_figures(destination.figures, shown)
    return Exported(
        target=destination.name,
        snapshot=stored.number,
        chunks=len(found.digests),
        added=len(fresh.keys() - there.keys()),
        changed=len(fresh.keys() & there.keys()),
        removed=len(revision.gone),
        pending=found.pending,
        figures=len(shown),
    )


def _stamp(stored: StoredSnapshot, old: StoredSnapshot | None, where: str | None) -> Stamp:
    """Return the stamp of an export without the count of its rows."""
    space = stored.snapshot.space
    return Stamp(
        store=_first_run(stored),
        snapshot=stored.number,
        chunks=0,
        where=where,
        since=old.number if old else None,
        space=space.id,
        model=space.model,
        dimension=space.dimension,
    )


def _first_run(stored: StoredSnapshot) -> str:
    """Return the id of the store's first run, which only its copies share."""
    if isinstance(stored.folder, NarrowedFolder):
        return f"{_first_run(stored.folder.whole)}{A_PART}"
    runs = read_table(stored, "runs", ["snapshot", "run_id"]).to_pylist()
    return str(min(runs, key=lambda run: run["snapshot"])["run_id"]) if runs else ""


TABLE = "chunks"
"""The default name of a table or collection."""
FORMS = (
    "NAME.jsonl or NAME.parquet for one file",
    "jsonl:FOLDER, parquet:FOLDER or hf:FOLDER for a folder of files",
    "lancedb:FOLDER",
    "qdrant:FOLDER or qdrant:http://HOST:PORT",
    "postgresql://[USER@]HOST[:PORT]/DATABASE",
)
"""The forms of an export's address."""
KINDS_OF_FOLDER = "jsonl:FOLDER, parquet:FOLDER, hf:FOLDER, lancedb:FOLDER or qdrant:FOLDER"
_TABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_KIND = re.compile(r"(?P<kind>[A-Za-z][A-Za-z0-9+]+):(?P<rest>.*)", re.DOTALL)
_PASSWORD = re.compile(r"//[^/@]*:[^/@]*@|[?&](?:ssl)?password=", re.IGNORECASE)
_SERVER = re.compile(r"https?://[^/]+")
_HOST = re.compile(r"//[^/].*|[^/]+:\d+/?", re.DOTALL)
"""A host in place of a folder: `//HOST` or `HOST:PORT`. As a path it would be a new folder with that name."""


def destination_of(to: str, table: str | None) -> Destination:
    """Return the destination at an address; raise `ConfigError` for an invalid one."""
    found = _KIND.fullmatch(to)
    kind, rest = (found["kind"], found["rest"]) if found else ("", to)
    if kind in _WITH_TABLE:
        return _WITH_TABLE[kind](_given(to, rest), _checked(table))
    if table is not None:
        raise ConfigError(f"--table names a table in lancedb:, qdrant: or postgresql://; {to} has none")
    if kind in _FOLDERS:
        return _FOLDERS[kind](_folder(to, rest))
    if kind or Path(to).suffix not in FORMATS:
        why = "nothing is written into a bucket: export to a folder, and copy it; " if kind == "s3" else "write "
        raise ConfigError(f"cannot export to {to!r}; {why}{'; '.join(FORMS)}")
    return SingleFile(Path(to), FORMATS[Path(to).suffix])


def path_of(to: str) -> Path:
    """Return the path of a file or folder given without a kind; raise `ConfigError` for an address."""
    if _KIND.match(to):
        raise ConfigError(f"{to} names no file or folder of this machine; write its path")
    return Path(to)


def _given(to: str, rest: str) -> str:
    if not rest.strip("/"):
        raise ConfigError(f"{to} names no place; write {'; '.join(FORMS[2:])}")
    if _PASSWORD.search(rest):
        instead = "set QDRANT_API_KEY" if to.startswith("qdrant") else "set PGPASSWORD or write it into ~/.pgpass"
        raise ConfigError(
            "an address must not contain a password, as every user of this machine can read it: leave it out, and"
            f" {instead}"
        )
    return rest


def _folder(to: str, rest: str) -> Path:
    folder = Path(rest)
    if "://" in rest or not rest or _HOST.fullmatch(rest) or folder.resolve() == folder.resolve().parent:
        server = (
            f"; a server is qdrant:http://{rest.strip('/')}" if _HOST.fullmatch(rest) and to[:7] == "qdrant:" else ""
        )
        raise ConfigError(f"{to} names no folder of this machine; write {KINDS_OF_FOLDER}{server}")
    # A swap needs a folder with a name. Otherwise the path stays as typed, for messages.
    return folder.resolve() if folder.is_symlink() or folder.name in ("", "..") else folder


def _checked(table: str | None) -> str:
    name = TABLE if table is None else table
    if not _TABLE_NAME.fullmatch(name):
        raise ConfigError(f"--table takes letters, digits and _, at most 63 and no digit first, got {name!r}")
    return name


def _lancedb(rest: str, table: str) -> Destination:
    from docmill.storage.exports.lance_table import LanceTable

    return LanceTable(_folder(f"lancedb:{rest}", rest), table)


def _postgres(rest: str, table: str) -> Destination:
    from docmill.storage.exports.postgres_table import PostgresTable

    return PostgresTable(f"postgresql:{rest}", table)


def _qdrant(rest: str, table: str) -> Destination:
    from docmill.storage.exports.qdrant_collection import QdrantCollection

    return QdrantCollection(rest if _SERVER.match(rest) else str(_folder(f"qdrant:{rest}", rest)), table)


_WITH_TABLE: dict[str, Callable[[str, str], Destination]] = {
    "lancedb": _lancedb,
    "postgres": _postgres,
    "postgresql": _postgres,
    "qdrant": _qdrant,
}
_FOLDERS: dict[str, Callable[[Path], Destination]] = {
    "hf": DatasetFolder,
    "jsonl": lambda root: PartsFolder(root, JSON_LINES),
    "parquet": lambda root: PartsFolder(root, PARQUET),
}
