"""Listings: the members of containers, cached by content, so that an unchanged archive is not opened again.

The cache is `cache/listings.parquet`; losing it costs opening each container once, but no parsing.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.files import remove, write_whole
from docmill.storage.keys import key_of
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.contents import LISTING_VERSION, ContainedFile, Contents
from docmill.tasks.sources.source import is_origin, may_exist

_SCHEMA = pa.schema([("key", pa.string()), ("path", pa.string()), ("contents", pa.string())])


class Listings:
    """The members of containers by content, suffix, and everything else that they depend on."""

    def __init__(self, store: Path, options: ArchiveOptions) -> None:
        self._path = store / "cache" / "listings.parquet"
        # A higher limit or another password may find members where none were found before.
        self._salt = key_of("listing", LISTING_VERSION, asdict(options))
        self._seen = _read(self._path)
        self._fresh: dict[str, tuple[str, str]] = {}
        self._passing: set[str] = set()

    def key(self, content_hash: str, suffix: str) -> str:
        """Return the key for some content."""
        return key_of(self._salt, content_hash, suffix)

    def get(self, key: str) -> Contents | None:
        """Return the cached contents, or None."""
        known = self._fresh.get(key) or self._seen.get(key)
        return None if known is None else decode_contents(known[1])

    def put(self, key: str, path: str, contents: Contents) -> None:
        """Cache the contents of the file at `path`; only for this run if a program to list some is not installed."""
        self._fresh[key] = (path, encode_contents(contents))
        if any(entry.reason == "not_installed" for entry in contents.entries):
            self._passing.add(key)

    def save(self) -> None:
        """Write new entries; forget those of missing files."""
        if self._fresh.keys() <= self._passing:
            return
        kept = {key: known for key, known in self._seen.items() if is_origin(known[0]) or may_exist(known[0])}
        rows = [(key, *known) for key, known in sorted((kept | self._fresh).items()) if key not in self._passing]
        columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns, schema=_SCHEMA), sink, compression="zstd")
        write_whole(self._path, sink.getvalue().to_pybytes())


def forget(store: Path, uris: Iterable[str]) -> None:
    """Remove the cache if it names one of the documents; each container is then opened once more."""
    path = store / "cache" / "listings.parquet"
    names = {uri.rpartition("/")[2] for uri in uris}
    if any(name in text for row in _read(path).values() for text in row for name in names):
        remove(path)


def encode_contents(contents: Contents) -> str:
    """Return contents as a text."""
    entries = [
        [list(e.place), e.name, e.parent, e.size, e.content_hash, e.reason, e.message, e.skipped]
        for e in contents.entries
    ]
    return json.dumps([contents.kind, entries, contents.reason, contents.message], ensure_ascii=False)


def decode_contents(text: str) -> Contents:
    """Return contents from their text."""
    kind, entries, reason, message = json.loads(text)
    return Contents(kind, tuple(ContainedFile(tuple(place), *rest) for place, *rest in entries), reason, message)


def _read(path: Path) -> dict[str, tuple[str, str]]:
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
    except (OSError, pa.ArrowInvalid):
        return {}
    if not table.schema.equals(_SCHEMA):
        return {}
    keys, paths, texts = (column.to_pylist() for column in table.columns)
    return {key: (path, text) for key, path, text in zip(keys, paths, texts, strict=True)}
