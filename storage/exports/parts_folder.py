"""Parts folder: an export in a folder of files. A change writes only the affected files, then swaps the folder.

With a card beside `data/`, it is a dataset that Hugging Face `datasets` loads and its hub shows.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from docmill.storage.errors import StoreError
from docmill.storage.exports.columns import HELD
from docmill.storage.exports.export_lock import claim
from docmill.storage.exports.folder_swap import draft_of, settle_swap, swap
from docmill.storage.exports.last_export import INSTEAD, Revision, Stamp, read_stamp
from docmill.storage.exports.row_files import PARQUET, RowFormat
from docmill.storage.failpoints import boundary
from docmill.storage.files import (
    OWNER_ONLY,
    close_to_others,
    explain_full_disk,
    hash_file,
    link,
    open_to_readers,
    remove,
    sync_folder,
    write_whole,
)
from docmill.storage.keys import bucket_of

MANIFEST = "_export.json"
"""The file with the folder's stamp and file names. Programs that read folders skip names with `_`."""
_DIGITS = 8  # of the content's hash in a file name, so that a name is never reused for other content


class PartFile(NamedTuple):
    """A file of a folder: its name, number of rows, and size in bytes."""

    name: str
    rows: int
    bytes: int


class Manifest(NamedTuple):
    """The content of a folder: its stamp, and its files by bucket."""

    stamp: Stamp
    parts: dict[int, PartFile]

    def encode(self) -> bytes:
        """Return the content of the manifest file."""
        return self.stamp.as_json(parts=self.parts).encode()


@dataclass(frozen=True)
class PartsFolder:
    """A folder of files with rows. A row is in the file of its id's bucket, of which there are `Stamp.parts`.

    The new folder is created beside the old one, with links to unchanged files, and replaces it in one step.
    """

    root: Path
    rows: RowFormat
    stem: str = "part"
    takes_deltas = True

    @property
    def name(self) -> str:
        """The path of the folder."""
        return str(self.root)

    @property
    def figures(self) -> Path:
        """The folder `NAME.figures` beside it."""
        return self.root.with_name(f"{self.root.name}.figures")

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other exports of this machine away from the folder."""
        if self.root.exists() and not self.root.is_dir():
            raise StoreError(f"{self.root} is a file; name a folder")
        with explain_full_disk(self.root), claim(self.root):
            settle_swap(self.root)
            yield

    def stamp(self) -> Stamp | None:
        """Return what the folder was exported with."""
        found = {path.name for path in self.root.iterdir()} if self.root.is_dir() else set()
        manifest = self._manifest()
        own = {MANIFEST, *(part.name for part in manifest.parts.values())} if manifest else set()
        if strange := sorted(found - own):
            raise StoreError(
                f"{self.root} holds {strange[0]!r}, which no export wrote; name a new folder, or move it away"
            )
        return manifest.stamp if manifest else None

    def held(self) -> pa.Table:
        """Return the chunk ids and digests in the folder."""
        parts = self._whole().parts.values()
        return pa.concat_tables([HELD.empty_table(), *(self.rows.held(self.root / part.name) for part in parts)])

    def apply(self, revision: Revision, rows: Iterator[pa.Table]) -> None:
        """Create the new folder and swap it with the old one, or write only the manifest if no row changes."""
        before = None if revision.anew else self._whole()
        draft = draft_of(self.root)
        with boundary("export parts"):
            after = Manifest(revision.stamp, dict(self._made(draft, revision, before, rows)))
        revision.check(self.name, sum(part.rows for part in after.parts.values()))
        if before is not None and before.parts == after.parts:
            remove(draft)
            return write_whole(self.root / MANIFEST, after.encode())
        write_whole(draft / MANIFEST, after.encode())
        close_to_others(draft, self.root, OWNER_ONLY)
        sync_folder(draft)
        return swap(draft, self.root)

    def _made(
        self, draft: Path, revision: Revision, before: Manifest | None, rows: Iterator[pa.Table]
    ) -> Iterator[tuple[int, PartFile]]:
        """Yield the files of the new folder by bucket, without empty ones."""
        count, done = revision.stamp.parts, set()
        for table in rows:
            bucket = bucket_of(table.column("chunk_id")[0].as_py(), count)
            done.add(bucket)
            yield from self._part(draft, revision, before, bucket, [table])
        if before is None:
            return
        is_same = before.stamp.parts == count
        touched = {bucket_of(key, count) for key in revision.gone} if is_same else set(range(count))
        for bucket in sorted(touched - done):
            yield from self._part(draft, revision, before, bucket, [])
        for bucket in sorted({*before.parts} - touched - done if is_same else ()):
            link(self.root / before.parts[bucket].name, draft / before.parts[bucket].name)
            yield bucket, before.parts[bucket]

    def _part(
        self, draft: Path, revision: Revision, before: Manifest | None, bucket: int, rows: Sequence[pa.Table]
    ) -> Iterator[tuple[int, PartFile]]:
        """Write the file of a bucket: new rows, and the remaining rows of older files."""
        count, path = revision.stamp.parts, draft / f"{bucket:05d}"
        left = {*revision.gone, *(key for table in rows for key in table.column("chunk_id").to_pylist())}

        def stays(key: str) -> bool:
            return key not in left and bucket_of(key, count) == bucket

        written = self.rows.write(path, revision.stamp.schema, rows, self._sources(before, bucket, count), stays)
        if written:
            name = f"{self.stem}-{bucket:05d}-of-{count:05d}-{hash_file(path)[:_DIGITS]}{self.rows.suffix}"
            open_to_readers(path)
            yield bucket, PartFile(name, written, path.rename(draft / name).stat().st_size)
        else:
            path.unlink()

    def _sources(self, before: Manifest | None, bucket: int, count: int) -> list[Path]:
        """Return the files that may contain rows of a bucket; both numbers of buckets are powers of two."""
        if before is None:
            return []
        shared = min(count, before.stamp.parts)
        return [self.root / part.name for key, part in before.parts.items() if key % shared == bucket % shared]

    def _whole(self) -> Manifest:
        """Return the manifest; raise `StoreError` if a file was changed."""
        manifest = self._manifest()
        if manifest is None:
            raise StoreError(f"{self.root} is no export any more; another program has changed it")
        for part in manifest.parts.values():
            path = self.root / part.name
            if path.suffix != self.rows.suffix:
                raise StoreError(
                    f"{self.root} was exported as {path.suffix[1:]}, not {self.rows.suffix[1:]}; {INSTEAD}"
                )
            if not path.is_file() or path.stat().st_size != part.bytes:
                raise StoreError(
                    f"{path} is missing or has changed since it was exported; write all again with --replace"
                    " (in Python: replace=True)"
                )
        return manifest

    def _manifest(self) -> Manifest | None:
        try:
            text = (self.root / MANIFEST).read_text(encoding="utf-8")
            stamp, parts = read_stamp(text), json.loads(text)["parts"]
            return Manifest(stamp, {int(key): PartFile(*part) for key, part in parts.items()}) if stamp else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


DATA, CARD = "data", "README.md"
_CARD = """\
---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/*.parquet
---

# Chunks of documents

One row for each chunk, written by `docmill export`. `vector` is its embedding by {model}, float32 ({dimension},), of
unit L2 norm. `start_char` and `end_char` are half-open and count code points of the text of the document `uri`.
`figures` are names of pictures in the folder `figures`, without the suffix.
"""


class DatasetFolder(PartsFolder):
    """A dataset's folder. Only `data/` is swapped; a card written by the user and `.git` do not change."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / DATA, PARQUET, "train")

    @property
    def name(self) -> str:
        """The path of the folder."""
        return str(self.root.parent)

    @property
    def figures(self) -> Path:
        """The folder `figures` in it."""
        return self.root.parent / "figures"

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other exports of this machine away from the folder."""
        self.root.parent.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        with super().claimed():
            yield

    def apply(self, revision: Revision, rows: Iterator[pa.Table]) -> None:
        """Update `data/`, and write a card if there is none."""
        card = self.root.parent / CARD
        if not card.exists():
            stamp = revision.stamp
            write_whole(card, _CARD.format(model=stamp.model, dimension=stamp.dimension).encode())
        super().apply(revision, rows)
