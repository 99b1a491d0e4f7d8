"""Snapshots: the files and indexes of one committed state of the store.

`snapshots/000042.json` names every file of the state; the highest number is the newest snapshot.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef
from docmill.storage.keys import hash_bytes
from docmill.storage.lock import TAKEN
from docmill.storage.name_grammar import UnsafeName, check_table
from docmill.storage.plain_values import plain
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.keywords.segments.state import KeywordState
from docmill.storage.search.vectors.vectors import VectorState

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = 2  # raised when an older docmill must not read a snapshot; no release wrote format 1
_PENDING_FORMAT = 3  # of a snapshot with pending vectors, on which an older docmill must not build
_BUCKETS_FORMAT = 4  # of a snapshot with `document_buckets`, in which an older docmill would not find a document
FOLDER = "snapshots"
CANDIDATES = "candidates"
PICTURE_VECTORS, SPARSE_VECTORS = OF_ONE_MODEL = "picture_vectors", "sparse_vectors"
"""The optional artifacts: vectors of pictures, and learned terms of texts."""
_CHECKSUM = b',\n "checksum": "'
_KEPT, _LARGEST_KEPT = 32, 1 << 16
"""Snapshots kept in memory, and the file size of the largest in bytes, because a run reads the same files repeatedly.

Reading them again took 6 % of the CPU time of runs on small stores. Keeping more or larger ones could take more than
20 MB.
"""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One immutable Parquet file of a table or pack: its count of rows, and its bucket in a table (0 in a pack)."""

    file: FileRef
    rows: int
    bucket: int = 0


@dataclass(frozen=True, slots=True)
class PendingVectors:
    """Chunks of a snapshot that have no vectors yet, their tokens, and how fast the run embedded (0 if unknown)."""

    chunks: int
    tokens: int
    tokens_per_s: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """Return how long embedding the rest takes at this speed, or None if the speed is unknown."""
        return self.tokens / self.tokens_per_s if self.tokens_per_s else None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One committed state.

    `tables` and `artifacts` are the data; `vectors` and `keywords` are indexes that can be rebuilt from them.
    `buckets` is the number of buckets of the chunks table, a power of two. `document_buckets` is the number of buckets
    of the documents table and divides `buckets`; 0 means the same number. `columns` is the key of the columns of all
    table files; it is empty in a snapshot of the first release. `keys` are the keys of [metadata] with their types.
    `inventory` names the files of its vectors on an object store. `pending` is None if every chunk has its vectors.
    """

    number: int
    created: str
    run_id: str
    buckets: int
    tables: dict[str, tuple[StoredFile, ...]]
    artifacts: dict[str, tuple[StoredFile, ...]]
    space: EmbeddingSpace
    vectors: VectorState
    keywords: KeywordState
    format: int = FORMAT
    columns: str = ""
    inventory: FileRef | None = None
    pending: PendingVectors | None = None
    document_buckets: int = 0
    keys: dict[str, str] = field(default_factory=dict)

    def buckets_of(self, table: str) -> int:
        """Return the number of buckets of the documents or chunks table."""
        return self.document_buckets or self.buckets if table == "documents" else self.buckets

    @property
    def covered(self) -> float:
        """The share of the chunks that have their vectors, from 0 to 1."""
        return 1.0 - self.pending.chunks / self.rows("chunks") if self.pending else 1.0

    def vector_state(self) -> dict[str, float | int | None]:
        """Return the information of `spelled_vectors` for programs; see `Store.status`."""
        if self.pending is None:
            return {"share": 1.0, "pending": 0, "minutes": 0.0}
        seconds = self.pending.seconds_left
        minutes = None if seconds is None else round(seconds / 60, 1)
        return {"share": round(self.covered, 4), "pending": self.pending.chunks, "minutes": minutes}

    def spelled_vectors(self) -> str:
        """Return how many chunks have vectors and how long the rest takes, as text for people."""
        seconds = self.pending.seconds_left if self.pending else None
        minutes = max(1, round((seconds or 0) / 60))
        left = "" if seconds is None else f", about {minutes:,} minute{'s' if minutes > 1 else ''} left"
        return f"{int(100 * self.covered)} %{left}"

    def rows(self, table: str) -> int:
        """Return the number of rows of a table."""
        return sum(piece.rows for piece in self.tables.get(table, ()))

    def table_files(self) -> list[FileRef]:
        """Return the Parquet files of all tables."""
        return [piece.file for pieces in self.tables.values() for piece in pieces]


@cache
def _adapter() -> "TypeAdapter[Snapshot]":
    from pydantic import TypeAdapter

    return TypeAdapter(Snapshot)


def path_of(root: Path, number: int) -> Path:
    """Return the file of a snapshot."""
    return root / FOLDER / f"{number:06d}.json"


def vector_tag(number: int) -> str:
    """Return the LanceDB tag that keeps the vectors of a snapshot."""
    return f"snapshot-{number:06d}"


def numbers(root: Path) -> list[int]:
    """Return the numbers of the snapshots that can be opened, oldest first."""
    folder = root / FOLDER
    found = folder.iterdir() if folder.is_dir() else ()
    # The folder may also have temporary files of a commit, and files that a person has put there.
    return sorted(int(file.stem) for file in found if re.fullmatch(r"\d{6,}\.json", file.name))


def read(root: Path, number: int | None = None, name: str = "") -> Snapshot:
    """Return the snapshot `number`, or the newest; errors call the store `name`, or else by its folder."""
    kept = numbers(existing(root, name))
    wanted = kept[-1] if number is None else number
    if wanted not in kept:
        raise StoreError(f"{name or root} has no snapshot {wanted}; it has {', '.join(_ranges(kept))}")
    return decode(path_of(root, wanted))


def candidates(root: Path) -> list[str]:
    """Return the names of the candidate snapshots, see `storage/snapshots/change/candidate_snapshots.py`."""
    found = (root / CANDIDATES).glob("candidate-*.json")
    # By length first: candidate-10 comes after candidate-9.
    return sorted((file.stem for file in found), key=lambda name: (len(name), name))


def candidate_path(root: Path, name: str) -> Path:
    """Return the file of a candidate snapshot."""
    return root / CANDIDATES / f"{name}.json"


def read_candidate(root: Path, name: str) -> Snapshot:
    """Return a candidate snapshot."""
    return decode(candidate_path(root, name))


def held_back(root: Path) -> dict[str, Snapshot]:
    """Return the undamaged candidate snapshots, by name."""
    states = {}
    for name in candidates(root):
        with suppress(FileNotFoundError, StoreError):
            states[name] = read_candidate(root, name)
    return states


def needed(root: Path) -> list[Snapshot]:
    """Return every snapshot whose files must stay: kept and candidate snapshots, without damaged ones."""
    return [*each(root), *held_back(root).values()]


def damaged(root: Path) -> list[int]:
    """Return the numbers of the snapshots that cannot be read, so that the files they name are unknown."""
    return [number for number in numbers(root) if not _is_whole(path_of(root, number))]


def damaged_candidates(root: Path) -> list[str]:
    """Return the names of the candidate snapshots that cannot be read."""
    return [name for name in candidates(root) if not _is_whole(candidate_path(root, name))]


def all_known(root: Path) -> bool:
    """Return whether every file that must stay is known: no snapshot and no candidate snapshot is damaged."""
    return not damaged(root) and not damaged_candidates(root)


def _is_whole(file: Path) -> bool:
    try:
        decode(file)
    except FileNotFoundError:  # removed since it was listed
        return True
    except StoreError:
        return False
    return True


def each(root: Path, last: int | None = None) -> Iterator[Snapshot]:
    """Yield the kept snapshots up to number `last`, oldest first; skip damaged ones and those removed meanwhile."""
    for number in numbers(root):
        if last is None or number <= last:
            with suppress(FileNotFoundError, StoreError):
                yield decode(path_of(root, number))


def existing(root: Path, name: str = "") -> Path:
    """Return `root` after checking that it is a store; errors call it `name`, or else by its folder."""
    if not numbers(root):
        where = name or root
        if root.is_file():
            raise StoreError(TAKEN.format(root=where))
        raise StoreError(f"{where} has no snapshot; create one with: docmill ingest SOURCE --store {where}")
    return root


def _ranges(kept: list[int]) -> Iterator[str]:
    """Yield ranges of consecutive numbers as text, such as 3 or 5 to 9."""
    here = set(kept)
    firsts = [n for n in kept if n - 1 not in here]
    lasts = [n for n in kept if n + 1 not in here]
    yield from (f"{a} to {b}" if a < b else f"{a}" for a, b in zip(firsts, lasts, strict=True))


def newest(root: Path) -> Snapshot | None:
    """Return the newest snapshot, or None before the first commit."""
    return read(root) if numbers(root) else None


def decode(path: Path) -> Snapshot:
    """Return the snapshot in a file; refuse a format that this version cannot read."""
    data = path.read_bytes()
    return _parsed(data, path) if len(data) <= _LARGEST_KEPT else parse(data, path)


@lru_cache(_KEPT)
def _parsed(data: bytes, where: Path) -> Snapshot:
    return parse(data, where)


def parse(data: bytes, where: Path | str) -> Snapshot:
    """Return the snapshot in `data`; `where` names its origin in errors."""
    import json

    try:
        # First of all: a file of a newer format may lack fields, and must not be reported as damaged.
        version = (values := json.loads(data))["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{where} is not a snapshot: {error}; restore it from a copy or remove it") from error
    if version not in range(FORMAT, _BUCKETS_FORMAT + 1):
        way = "use a newer docmill" if version != 1 else "ingest into a new store"
        raise StoreError(
            f"{where} has store format {version}, this docmill reads formats {FORMAT} to {_BUCKETS_FORMAT}; {way}"
        )
    try:
        _check_sum(data)
        found = _plain(values) or _adapter().validate_json(data)
        # The name becomes a path, and in a file from a bucket it could point outside the store.
        check_table(found.vectors.table)
        return found
    except (ValueError, UnsafeName) as error:
        raise StoreError(f"{where} is damaged: {error}") from error


def _plain(values: dict[str, Any]) -> Snapshot | None:
    """Return the snapshot with these values, or None if they need pydantic to convert or reject them."""
    with suppress(ValueError):
        whole: Snapshot = plain({name: one for name, one in values.items() if name != "checksum"}, Snapshot)
        return whole
    return None


def is_sound(data: bytes) -> bool:
    """Return whether the content of a snapshot's file is undamaged; a newer docmill may have written it."""
    try:
        # The first release wrote no checksum, so parsing is the only check.
        if _CHECKSUM not in data:
            parse(data, "")
        _check_sum(data)
    except (StoreError, ValueError):
        return False
    return True


def fault_of(data: bytes) -> str:
    """Return why the content of a snapshot's file from elsewhere is refused, or "" if it is good.

    If a newer docmill has written it, only its checksum is checked.
    """
    import json

    try:
        _check_sum(data)
        if not json.loads(data)["format"] > _BUCKETS_FORMAT:
            parse(data, "it")
    except (StoreError, ValueError, KeyError, TypeError) as error:
        return str(error)
    return ""


def encode(snapshot: Snapshot) -> bytes:
    """Return the content of a snapshot's file: JSON whose last key is the hash of everything before it."""
    body = _adapter().dump_json(replace(snapshot, format=_format(snapshot)), indent=1).removesuffix(b"\n}")
    return body + _CHECKSUM + f'{hash_bytes(body)}"\n}}'.encode()


def _format(snapshot: Snapshot) -> int:
    """Return the lowest format such that every docmill that reads this format understands the snapshot."""
    if snapshot.buckets_of("documents") != snapshot.buckets:
        return _BUCKETS_FORMAT
    return _PENDING_FORMAT if snapshot.pending else FORMAT


def _check_sum(data: bytes) -> None:
    """Raise `ValueError` if the checksum of a snapshot is wrong; snapshots of older releases have none."""
    body, found, end = data.rpartition(_CHECKSUM)
    if found and end != f'{hash_bytes(body)}"\n}}'.encode():
        raise ValueError("its checksum is wrong")
