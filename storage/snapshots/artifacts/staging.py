"""Staging: the finished batches of runs that have not committed, found again by content.

```
staging/<run>/batch-<n>/documents.parquet   one row for each processed file: its result or its reject
                        chunks.parquet      their chunks, before they belong to a uri
                        texts.parquet       a pack of canonical texts and elements
                        figures.parquet     a pack of their pictures
staging/<run>/embeddings-<n>.parquet        a pack of vectors
staging/<run>/embeddings-<n>-<m>-<tokens>.parquet    a portion of such a pack, until all portions are written
```
A batch is written under a temporary name and renamed when it is complete. The next run takes over the batches of
earlier runs, so a killed run loses only its unfinished batches and one portion of vectors.
"""

import errno
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.arrow_schema import DOCUMENTS as COMMITTED
from docmill.storage.errors import BudgetReached
from docmill.storage.failpoints import boundary
from docmill.storage.files import TEMPORARY, adopt, link, remove, settle, write_immutable
from docmill.storage.schema import StagedDocument
from docmill.storage.snapshots.artifacts.packs import FIGURES, TEXTS, Packs, stream_pack
from docmill.storage.snapshots.history.snapshots import SPARSE_VECTORS, StoredFile

FOLDER = "staging"
_KEPT_S = 7 * 24 * 3600  # a stopped run can be resumed for a week
PORTION_TEXTS = 256
"""Texts in a portion. With fewer, the model's batches are too small: a GPU takes 256 texts of 256 tokens at a time."""
PORTION_S = 10.0
"""Seconds that a portion should take. A slow model gets portions with fewer texts."""
LANE_TOKENS = 32_768
"""Tokens in a portion of a lane: seconds of work for a CPU, and enough to keep a GPU busy."""
_FIRST_TEXTS = 32  # in the first portion, when the speed of the model is not yet known
_ARTIFACTS_AT_ONCE = 8  # pictures in memory while a pack is written: 160 MB at most
_GROWTH = 4  # how many times larger a portion may be than the one before, which may have been exceptionally fast
_UNBOUND = ("chunk_id", "document_id", "uri", "parent_id", "children")


_KINDS = {"str": pa.string(), "int": pa.int64(), "bool": pa.bool_()}
_LISTS = {name: COMMITTED.field(name).type for name in ("content_types", "regions", "figures")}
DOCUMENTS = pa.schema(
    [
        (f.name, _LISTS.get(f.name) or _KINDS[f.type if isinstance(f.type, str) else f.type.__name__])
        for f in StagedDocument.__dataclass_fields__.values()
    ]
)
DRAFTS = pa.schema([("chunk_key", pa.string()), *(field for field in CHUNKS if field.name not in _UNBOUND)])
_PACKS = ("embeddings", SPARSE_VECTORS)  # what a run stages next to its batches
_SCHEMAS = {"documents": DOCUMENTS, "chunks": DRAFTS, "texts": TEXTS, "figures": FIGURES}


@dataclass(frozen=True, slots=True)
class Batch:
    """One finished batch."""

    folder: Path

    def documents(self) -> pa.Table:
        """Read the rows of `DOCUMENTS`."""
        return pq.read_table(self.folder / "documents.parquet", partitioning=None)

    def chunks(self, columns: list[str] | None = None) -> pa.Table:
        """Read the rows of `DRAFTS`."""
        return pq.read_table(self.folder / "chunks.parquet", columns=columns, partitioning=None)

    @property
    def texts(self) -> Path:
        """Return the pack of texts."""
        return self.folder / "texts.parquet"

    @property
    def figures(self) -> Path:
        """Return the pack of pictures."""
        return self.folder / "figures.parquet"


def write_batch(folder: Path, documents: pa.Table, chunks: pa.Table, texts: pa.Table, figures: pa.Table) -> Batch:
    """Write a batch atomically; keep a batch that is already finished.

    An engine may run a step again if it lost the step's answer. Equal steps write equal batches, so either will do.
    """
    assert documents.schema.equals(DOCUMENTS)
    assert chunks.schema.equals(DRAFTS)
    assert texts.schema.equals(TEXTS)
    assert figures.schema.equals(FIGURES)
    # Next to the batch, because a rename is atomic only within one file system.
    draft = folder.with_name(f"{TEMPORARY}{folder.name}")
    # An earlier attempt at this step may have died while writing.
    remove(draft)
    draft.mkdir(parents=True)
    for name, table in (("documents", documents), ("chunks", chunks), ("texts", texts)):
        with boundary(f"stage {name}"):
            pq.write_table(
                table, draft / f"{name}.parquet", compression="zstd", row_group_size=64 if name == "texts" else None
            )
    with boundary("stage figures"):
        stream_pack(draft / "figures.parquet", [figures], "figures")
    try:
        with boundary("rename batch"):
            draft.replace(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        remove(draft)
    return Batch(folder)


def batches(root: Path) -> list[Batch]:
    """Return the finished batches of all runs in staging."""
    return [Batch(folder) for folder in sorted((root / FOLDER).glob("*/batch-*"))]


def take_over(root: Path) -> bool:
    """Prepare the staged results of earlier runs for use; return whether there are any.

    Results are removed if they are unreadable after a power cut, unfinished, partly removed, written by another docmill
    with other columns, or unused for a week. The caller holds the writer's lock.
    """
    runs = list((root / FOLDER).glob("*"))
    for run in runs:
        if time.time() - run.stat().st_mtime > _KEPT_S:
            remove(run)
    for path in (root / FOLDER).glob(f"*/{TEMPORARY}*"):
        remove(path)
    # Making the results again is safer than repairing them, and costs only time.
    for path in [*_unusable(root)]:
        remove(path)
    for run in (root / FOLDER).glob("*"):
        if not _holds_results(run):
            remove(run)
    return bool(runs)


def _unusable(root: Path) -> Iterator[Path]:
    """Yield the batch folders and packs that are unreadable, incomplete, or have the columns of another docmill."""
    for batch in batches(root):
        # Check all files: a process that was killed while removing a batch leaves some of them.
        if not all(_usable(batch.folder / f"{name}.parquet") for name in _SCHEMAS):
            yield batch.folder
    yield from (pack for kind in _PACKS for pack in staged_packs(root, kind) if not _usable(pack))


def _holds_results(run: Path) -> bool:
    names = ("batch-*", *(f"{kind}-*.parquet" for kind in _PACKS))
    return any(True for name in names for _ in run.glob(name))


def _usable(path: Path) -> bool:
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowInvalid):
        return False
    return path.stem not in _SCHEMAS or bool(schema.equals(_SCHEMAS[path.stem]))


def embedding_packs(root: Path) -> list[Path]:
    """Return the finished packs of vectors of all runs in staging."""
    return staged_packs(root, "embeddings")


def staged_packs(root: Path, kind: str) -> list[Path]:
    """Return the finished packs of a kind that all runs have staged next to their batches."""
    return sorted((root / FOLDER).glob(f"*/{kind}-*.parquet"))


@dataclass(frozen=True, slots=True)
class Portions:
    """How many rows were embedded, and how many seconds it took."""

    rows: int
    seconds: float


def embed_in_portions(
    rows: pa.Table, encode: Callable[[pa.Table], pa.Table], target: Path, seconds: float | None = None, lanes: int = 1
) -> Portions:
    """Embed rows in order, and write their vectors to one pack, `target`.

    `encode` returns the vectors of some rows as a table. Each portion is a pack of its own until all are joined. No
    further portion begins after `seconds`, or after `encode` has raised `BudgetReached`, so some rows may be left;
    the first portion always begins. With several `lanes`, portions are embedded in parallel: `encode` is called from
    several threads, and `seconds` limits the wall time of all of them.
    """
    if lanes > 1:
        return _embed_in_lanes(rows, encode, target, seconds, lanes)
    parts: list[Path] = []
    done, size, began = 0, _FIRST_TEXTS, time.monotonic()
    free = _free_number(target)
    while done < rows.num_rows and not (parts and seconds is not None and time.monotonic() - began >= seconds):
        begun = time.monotonic()
        some = rows.slice(done, size)
        # A single portion with all rows is written as the pack itself.
        alone = not parts and size >= rows.num_rows
        try:
            made = encode(some)
        except BudgetReached:
            if size <= 1:
                break
            size //= 2  # the API may already have charged for some of these texts, whose vectors are kept
            continue
        parts.append(target if alone else _portion(target, free + len(parts), some))
        _write(parts[-1], [made])
        done += some.num_rows
        size = _next_size(some.num_rows, time.monotonic() - begun)
    took = time.monotonic() - began
    _join(parts, target)
    return Portions(done, took)


def _embed_in_lanes(
    rows: pa.Table, encode: Callable[[pa.Table], pa.Table], target: Path, seconds: float | None, lanes: int
) -> Portions:
    """Embed portions of about equally many tokens in parallel; a free lane takes the next portion."""
    free, began = _free_number(target), time.monotonic()

    def embed(number: int, some: pa.Table) -> Path | None:
        if number and seconds is not None and time.monotonic() - began >= seconds:
            return None
        path = _portion(target, free + number, some)
        try:
            _write(path, [encode(some)])
        except BudgetReached:
            return None
        return path

    portions = list(_by_tokens(rows, lanes))
    with ThreadPoolExecutor(lanes, "docmill-embed") as threads:
        written = list(threads.map(embed, range(len(portions)), portions))
    parts = [path for path in written if path]
    done = sum(some.num_rows for some, path in zip(portions, written, strict=True) if path)
    took = time.monotonic() - began
    _join(parts, target)
    return Portions(done, took)


def _by_tokens(rows: pa.Table, lanes: int) -> Iterator[pa.Table]:
    """Cut rows, in order, into portions of about `LANE_TOKENS`, or smaller ones so that every lane has work."""
    tokens = rows.column("tokens").to_pylist()
    most = min(LANE_TOKENS, max(sum(tokens) // lanes, 1))
    first, held = 0, 0
    for place, count in enumerate(tokens):
        if held and held + count > most:
            yield rows.slice(first, place - first)
            first, held = place, 0
        held += count
    yield rows.slice(first)


def _free_number(target: Path) -> int:
    """Return the first free portion number: a repeated step must not replace the portions of its first attempt."""
    return max((numbers[0] + 1 for numbers in _portions(target)), default=0)


def is_portion(path: Path, target: Path) -> bool:
    """Return whether a file is a portion of a pack."""
    return path.parent == target.parent and path.stem.startswith(f"{target.stem}-")


def settled_tokens(target: Path) -> int:
    """Return how many tokens the finished portions of an unfinished pack have."""
    return sum(sum(numbers[1:]) for numbers in _portions(target))


def _portion(target: Path, number: int, rows: pa.Table) -> Path:
    """Return the path of a portion; its tokens are in the name, so that progress can be read without opening files."""
    return target.with_stem(f"{target.stem}-{number:05d}-{sum(rows.column('tokens').to_pylist())}")


def _portions(target: Path) -> Iterator[list[int]]:
    """Yield the number and tokens of each portion of a pack; earlier releases wrote no tokens into the name."""
    for path in target.parent.glob(f"{target.stem}-*{target.suffix}"):
        yield [*map(int, path.stem.removeprefix(f"{target.stem}-").split("-"))]


def _next_size(texts: int, took_s: float) -> int:
    """Return how many texts take `PORTION_S` seconds at the speed of the last portion, within the limits."""
    in_time = int(texts * PORTION_S / max(took_s, 1e-6))
    return max(1, min(PORTION_TEXTS, in_time, texts * _GROWTH))


def _join(parts: Sequence[Path], target: Path) -> None:
    """Join portions into one pack, because a look-up searches all packs one after the other.

    float32 and float16 vectors stay in separate packs. The smaller group keeps the file name of its first portion.
    """
    if parts in ([], [target]):
        return
    groups: dict[str, list[Path]] = {}
    for path in parts:
        groups.setdefault(str(pq.read_schema(path)), []).append(path)
    *others, largest = sorted(groups.values(), key=len)
    for group, place in [(largest, target), *((group, group[0]) for group in others)]:
        _write(place, [pq.read_table(path, partitioning=None) for path in group])
        for path in group:  # if the process is killed before this, some vectors are stored twice, which does no harm
            if path != place:
                remove(path)


def _write(target: Path, tables: Sequence[pa.Table], kind: str = "embeddings") -> None:
    draft = target.with_name(TEMPORARY + target.name)
    stream_pack(draft, tables, kind)
    with boundary("rename vectors"):
        draft.replace(target)


def remove_unfinished(run: Path) -> None:
    """Remove a run's half-written files, and the files that it has unpacked or fetched."""
    for path in run.glob(f"{TEMPORARY}*"):
        remove(path)


def finished(root: Path) -> tuple[int, int]:
    """Return how many parsed documents and how many vectors are in staging."""
    documents = [batch.folder / "documents.parquet" for batch in batches(root)]
    return _rows(documents), _rows(embedding_packs(root))


def _rows(paths: Sequence[Path]) -> int:
    return sum(pq.read_metadata(path).num_rows for path in paths)


def text_packs(root: Path) -> list[Path]:
    """Return the packs of texts of all runs in staging."""
    return [batch.texts for batch in batches(root)]


def promote(root: Path, pictures: Sequence[Path]) -> dict[str, tuple[StoredFile, ...]]:
    """Link all staged artifacts into the store, including those of earlier runs: they are addressed by content.

    `pictures` are the store's packs of figures; pictures that are already in them are skipped.
    """
    promoted = {
        kind: tuple(_promote(root, kind, paths))
        for kind, paths in (("texts", text_packs(root)), ("embeddings", embedding_packs(root)))
    }
    promoted["figures"] = tuple(_promote_new(root, "figures", [batch.figures for batch in batches(root)], pictures))
    settle()  # because another process may commit them
    return promoted


def write_further(folder: Path, kind: str, table: pa.Table) -> None:
    """Write a pack of an optional kind, such as learned terms, into the folder of a run."""
    number = len(list(folder.glob(f"{kind}-*.parquet")))
    _write(folder / f"{kind}-{number:05d}.parquet", [table], kind)


def promote_further(root: Path, kind: str, paths: list[Path]) -> tuple[StoredFile, ...]:
    """Link staged packs of an optional kind into the store."""
    promoted = tuple(_promote(root, kind, paths))
    settle()  # because another process may commit them
    return promoted


def _promote_new(root: Path, kind: str, staged: list[Path], held: Sequence[Path]) -> Iterator[StoredFile]:
    """Write one pack of the artifacts that are not yet in the store."""
    packs = Packs([path for path in staged if pq.read_metadata(path).num_rows])
    new = Packs(held).absent(packs.keys())
    if len(new):
        parts = (packs.take(new[at : at + _ARTIFACTS_AT_ONCE]) for at in range(0, len(new), _ARTIFACTS_AT_ONCE))
        with boundary("link artifact"):
            file = write_immutable(root, f"artifacts/{kind}", ".parquet", lambda path: stream_pack(path, parts, kind))
        yield StoredFile(file, len(new))


def _promote(root: Path, kind: str, paths: list[Path]) -> Iterator[StoredFile]:
    for path in paths:
        rows = pq.read_metadata(path).num_rows
        # Skip empty packs: every later look-up would have to open them.
        if rows:
            twin = path.with_name(f"{TEMPORARY}{path.name}")
            remove(twin)
            with boundary("link artifact"):
                # Link rather than move: staging stays complete until the commit, so the next run can take it over.
                link(path, twin)
            yield StoredFile(adopt(root, f"artifacts/{kind}", ".parquet", twin), rows)


def clear(root: Path) -> None:
    """Remove staging after a commit."""
    remove(root / FOLDER)
