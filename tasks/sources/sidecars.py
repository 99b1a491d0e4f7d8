"""Sidecars: files that describe documents: `report.pdf.meta.toml`, and `_metadata.toml` for a folder.

The metadata of a path hold for everything below it: a folder's for its files, an archive's for its members, a mail's
for its attachments. For each key the nearest value counts: the sidecar's, then the nearest folder's, then the source's.
Inside archives and mails such files are ordinary documents: the sender of a mail does not decide who may read it.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, time
from functools import cache
from itertools import filterfalse
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.errors import ConfigError
from docmill.storage.files import remove, write_whole
from docmill.storage.keys import key_of
from docmill.storage.snapshots.tables.row_columns import RowColumns
from docmill.storage.stated_metadata import ACCESS, PROBLEMS, Record, merged, record_of, record_text, with_access
from docmill.tasks.sources.source import ENDINGS, FOLDER_FILE, Listing, Skipped, Source, SourceFile, is_sidecar

Listed = tuple[Source, Listing]

_VERSION = 1  # raise it when the same bytes give another record
_MOST_BYTES = 1 << 16
"""Bytes of a describing file: it is copied into the row of each document, so a larger one is a mistake."""
_DEEPEST = 8
"""Depth of nested tables in a record; JSON of a thousand levels would crash the process that reads it."""


class Sidecars:
    """The records of the describing files, by content, so that a remote one is fetched only once.

    The cache is `cache/sidecars.json`; losing it costs reading these files once.
    """

    def __init__(self, store: Path) -> None:
        self._path = _path_of(store)
        self._seen: dict[str, str] = {}
        with suppress(OSError, ValueError, AttributeError):
            self._seen = {str(key): str(text) for key, text in json.loads(self._path.read_bytes()).items()}
        self._used: dict[str, str] = {}

    def records(self, files: Sequence[SourceFile], bring: Callable[[Iterable[str]], object]) -> dict[str, Record]:
        """Return the record of each file by uri; `bring` fetches files that are not on this machine."""
        bring(file.path for file in files if _key(file) not in self._seen)
        return {file.uri: self._record(file) for file in files}

    def _record(self, file: SourceFile) -> Record:
        key = _key(file)
        record = record_of(self._seen[key]) if key in self._seen else _read(file)
        if file.content_hash and PROBLEMS not in record:  # a problem names its file, so it is not shared by content
            self._used[key] = record_text(record)
        return record

    def save(self) -> None:
        """Keep the records that this run used."""
        if self._used != self._seen:
            write_whole(self._path, json.dumps(self._used, ensure_ascii=False).encode())


def forget(store: Path) -> None:
    """Remove the cache, because a record may reveal something about an erased document."""
    remove(_path_of(store))


def _path_of(store: Path) -> Path:
    return store / "cache" / "sidecars.json"


def described(listings: Sequence[Listed], seen: Sidecars, bring: Callable[[Iterable[str]], object]) -> list[Listed]:
    """Return the listings without describing files, adding their records to the files they describe."""
    return [(source, _described(source, listing, seen, bring)) for source, listing in listings]


def _described(source: Source, listing: Listing, seen: Sidecars, bring: Callable[[Iterable[str]], object]) -> Listing:
    files, sidecars = _parted(listing.found)
    if not sidecars:
        return listing
    records = seen.records(sidecars, bring)
    said = _Beside(records)
    lone = [] if source.pattern or listing.rules is None or listing.rules.options.include else _lone(records, files)
    skipped = [*listing.skipped, *(Skipped(uri, "sidecar", "it describes no file of the source") for uri in lone)]
    return Listing(_with(files, said.of), skipped, listing.rules)


def _parted(files: Sequence[SourceFile]) -> tuple[Sequence[SourceFile], list[SourceFile]]:
    """Return the files that are documents, and the files that describe others."""
    if not isinstance(files, RowColumns):
        return [*filterfalse(_describes, files)], [*filter(_describes, files)]
    uris = files.table.column("uri")
    ends = [pc.ends_with(uris, ending) for ending in (*ENDINGS, FOLDER_FILE)]
    likely = uris.filter(pc.or_(pc.or_(ends[0], ends[1]), ends[2])).to_pylist()
    return files.parted("uri", {uri for uri in likely if is_sidecar(_name(uri))})


def _describes(file: SourceFile) -> bool:
    return not file.place and is_sidecar(_name(file.uri))


def _with(files: Sequence[SourceFile], text_of: Callable[[str], str]) -> Sequence[SourceFile]:
    """Return files with their records as text."""
    if not isinstance(files, RowColumns):
        return [replace(file, described=_both(file.described, text_of(file.uri))) for file in files]
    texts = pa.array([text_of(uri) for uri in files.table.column("uri").to_pylist()], pa.string())
    others = tuple(replace(file, described=text_of(file.uri)) for file in files.others)
    return replace(files, table=files.table.append_column("described", texts), others=others)


def _both(by_source: str, beside: str) -> str:
    """Return the record of a file by its source and by its sidecars, which take precedence."""
    return record_text(merged(record_of(by_source), record_of(beside))) if by_source and beside else by_source or beside


class _Beside:
    """The records for the paths of a source."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        folders = {uri: record for uri, record in records.items() if _name(uri) == FOLDER_FILE}
        self._of_folder = {_folder(uri): record for uri, record in folders.items()}
        # Two sidecars of one file count as one: the second ending takes precedence.
        self._of_path: dict[str, Record] = {}
        for ending in ENDINGS:
            for uri, record in records.items():
                if uri.endswith(ending):
                    path = uri.removesuffix(ending)
                    self._of_path[path] = merged(self._of_path.get(path, {}), record)
        self._below = cache(self._holds)
        self._text = cache(lambda folder: record_text(self._below(folder)))

    def of(self, uri: str) -> str:
        """Return the record of a file, as text."""
        return record_text(self._below(uri)) if uri in self._of_path else self._text(_folder(uri))

    def _holds(self, path: str) -> Record:
        """Return the record that holds for everything below a path."""
        above = self._below(_folder(path)) if path else {}
        return merged(merged(above, self._of_path.get(path, {})), self._of_folder.get(path, {}))


def _lone(records: Mapping[str, Record], files: Sequence[SourceFile]) -> list[str]:
    """Return the sidecars that describe nothing in a source."""
    paths = {uri: uri.removesuffix(ending) for uri in records for ending in ENDINGS if uri.endswith(ending)}
    wanted, found = {*paths.values()}, set[str]()
    for uri in _uris(files) if wanted else ():
        found.update(wanted.intersection((uri, *map(str, PurePosixPath(uri).parents))))
    return [uri for uri, path in paths.items() if path not in found]


def _uris(files: Sequence[SourceFile]) -> Iterator[str]:
    if isinstance(files, RowColumns):
        yield from files.table.column("uri").to_pylist()
        files = files.others
    yield from (file.uri for file in files)


def _read(file: SourceFile) -> Record:
    """Return the record in a file; if it cannot be read, a record of the problem that grants nobody access."""
    try:
        with file.local.open() as source:
            data = source.read(_MOST_BYTES + 1)
        return with_access(_plain(_parsed(data, _suffix(file.uri)), _DEEPEST), file.uri)
    except OSError as error:
        problem = file.message or error.strerror or str(error)
    except (ValueError, RecursionError, ConfigError) as error:
        problem = str(error).splitlines()[0]
    return {ACCESS: [], PROBLEMS: [f"{file.uri} cannot be used: {problem}"]}


def _parsed(data: bytes, suffix: str) -> dict[str, Any]:
    if len(data) > _MOST_BYTES:
        raise ValueError(f"more than {_MOST_BYTES:,} bytes")
    text = data.decode("utf-8-sig")
    found = json.loads(text) if suffix == ".json" else tomllib.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"it must be a table of keys and values, got {type(found).__name__}")
    return found


def _plain(value: Any, depth: int) -> Any:
    """Return a value as in JSON: times as ISO 8601, and no numbers that JSON lacks."""
    if depth == 0:
        raise ValueError(f"tables are more than {_DEEPEST} deep")
    if isinstance(value, dict):
        return {key: _plain(value[key], depth - 1) for key in value if not key.startswith("$")}
    if isinstance(value, list):
        return [_plain(one, depth - 1) for one in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    return value if not isinstance(value, float) or isfinite(value) else None


def _key(file: SourceFile) -> str:
    return key_of("sidecar", _VERSION, file.content_hash, _suffix(file.uri))


def _name(uri: str) -> str:
    return uri.rpartition("/")[2]


def _folder(uri: str) -> str:
    return uri.rpartition("/")[0]


def _suffix(uri: str) -> str:
    return f".{uri.rpartition('.')[2]}"
