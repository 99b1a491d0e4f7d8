"""Single file: an export in one file, which is replaced in one step, with its stamp in a file beside it."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from docmill.storage.errors import StoreError
from docmill.storage.exports.export_lock import claim
from docmill.storage.exports.last_export import Revision, Stamp, read_stamp
from docmill.storage.exports.row_files import RowFormat
from docmill.storage.failpoints import boundary
from docmill.storage.files import close_to_others, explain_full_disk, hash_file, sync_folder, write_whole


@dataclass(frozen=True, slots=True)
class SingleFile:
    """A file of rows. The stamp is in `NAME.export.json`, with the hash of the file that it describes.

    File and stamp are replaced in two steps. Between them there are the stamps of both files, and the hash says which
    one is valid, so that a crash leaves no doubt.
    """

    path: Path
    rows: RowFormat
    takes_deltas = True

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    @property
    def figures(self) -> Path:
        """The folder `NAME.figures` beside it."""
        return self.path.with_name(f"{self.path.name}.figures")

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other exports of this machine away from the file."""
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder; name a file, or {self.rows.suffix[1:]}:{self.path}")
        with explain_full_disk(self.path), claim(self.path):
            yield

    def stamp(self) -> Stamp | None:
        """Return what the file was exported with."""
        if not self.path.exists():
            return None
        known = self._stamps()
        if not known:
            raise StoreError(f"{self.path} exists, and no export wrote it; name another file, or move it away")
        found = known.get(hash_file(self.path))
        if found is None:
            raise StoreError(f"{self.path} has changed since it was exported; name another file, or move it away")
        return read_stamp(json.dumps(found))

    def held(self) -> pa.Table:
        """Return the chunk ids and digests in the file."""
        return self.rows.held(self.path)

    def apply(self, revision: Revision, rows: Iterator[pa.Table]) -> None:
        """Write the file again, or only its stamp if no row changes."""
        first = next(rows, None)
        if first is None and not revision.gone and not revision.anew and self.path.exists():
            self._write_stamps({hash_file(self.path): revision.stamp})
            return
        old = [] if revision.anew or not self.path.exists() else [self.path]
        draft = self.path.with_name(f".{self.path.name}.draft")
        draft.unlink(missing_ok=True)
        draft.touch(0o600)  # before it has content
        try:
            with boundary("export file"):
                count = _written(self.rows, draft, revision, chain([] if first is None else [first], rows), old)
            revision.check(self.name, count)
            self._write_stamps({hash_file(draft): revision.stamp}, keep=True)
            close_to_others(draft, self.path)
            with boundary("export rename"):
                draft.replace(self.path)
            sync_folder(self.path.parent)
        finally:
            draft.unlink(missing_ok=True)

    @property
    def _beside(self) -> Path:
        return self.path.with_name(f"{self.path.name}.export.json")

    def _stamps(self) -> dict[str, Any]:
        """Return the stamps by the hashes of the files that they describe."""
        try:
            found = json.loads(self._beside.read_text(encoding="utf-8"))
            return {key: value for key, value in found.items() if read_stamp(json.dumps(value)) is not None}
        except (OSError, ValueError, AttributeError):
            return {}

    def _write_stamps(self, stamps: dict[str, Stamp], keep: bool = False) -> None:
        found = {key: json.loads(stamp.as_json()) for key, stamp in stamps.items()}
        if keep and self.path.exists():
            known, now = self._stamps(), hash_file(self.path)
            found = {**{key: value for key, value in known.items() if key == now}, **found}
        write_whole(self._beside, json.dumps(found, ensure_ascii=False, indent=1).encode(), closed=True)


def _written(form: RowFormat, draft: Path, revision: Revision, rows: Iterable[pa.Table], old: list[Path]) -> int:
    """Write the rows and return the number of rows in the file."""
    left = set(revision.gone)

    def noted() -> Iterator[pa.Table]:
        for table in rows:
            left.update(table.column("chunk_id").to_pylist())
            yield table

    return form.write(draft, revision.stamp.schema, noted(), old, lambda key: key not in left)
