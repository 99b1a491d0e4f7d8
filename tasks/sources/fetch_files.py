"""Fetch files: fetch the files of sources that are not on this machine, only if they are new or changed.

Meanwhile, a tally counts what a run lists and fetches from each source.
"""

import glob
import json
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pyarrow.compute as pc

from docmill.storage.address import is_address
from docmill.storage.errors import ALLOW_DELETE, Rejected, SourceError
from docmill.storage.files import remove, temporary, write_whole
from docmill.storage.keys import key_of
from docmill.storage.name_grammar import fault
from docmill.storage.snapshots.history.source_log import SourceCounts
from docmill.storage.snapshots.tables.row_columns import RowColumns
from docmill.storage.stated_metadata import record_text, with_access
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.connectors.contract import SourceItem
from docmill.tasks.sources.source import (
    OBJECTS,
    UNSAFE_PATH,
    DiscoverOptions,
    Listing,
    PathRules,
    Source,
    SourceFile,
    is_origin,
    is_sidecar,
)

_EVERY_S = 0.1
"""Seconds between two reports: displays draw no more often, and a listing may have millions of items."""
Tell = Callable[[str, int, int, int], None]
"""Gets the progress of a source: its name, items done, items to fetch (0 during listing), and bytes."""


class Tally:
    """Counts items and bytes by source. Only one thread at a time may count."""

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell = tell
        self._told = 0.0
        self._counts: dict[str, SourceCounts] = {}

    def passing(self, source: str, items: Iterable[SourceItem]) -> Iterator[SourceItem]:
        """Yield the items of a listing, counting them for progress reports."""
        count = size = 0
        for item in items:
            count, size = count + 1, size + item.size
            self._say(source, count, 0, size)
            yield item
        if self._tell and count:
            self._tell(source, count, 0, size)

    def listed(self, source: Source, files: Sequence[SourceFile]) -> None:
        """Count the files of a source. Sources with the same name are counted together."""
        before = self._of(source.name)
        self._counts[source.name] = replace(
            before, listed=before.listed + len(files), listed_bytes=before.listed_bytes + _bytes(files),
            far=before.far or bool(source.origin),
        )  # fmt: skip

    def fetched(self, source: str, size: int, done: int, total: int) -> None:
        """Count an item that was fetched, number `done` of `total`."""
        before = self._of(source)
        now = replace(before, fetched=before.fetched + 1, fetched_bytes=before.fetched_bytes + size)
        self._counts[source] = now
        self._say(source, done, total, now.fetched_bytes)

    def counts(self) -> list[SourceCounts]:
        """Return the counts of each source, in listing order."""
        return [*self._counts.values()]

    def _of(self, source: str) -> SourceCounts:
        return self._counts.get(source, SourceCounts(source))

    def _say(self, source: str, done: int, total: int, size: int) -> None:
        now = time.monotonic()
        if self._tell and (now - self._told >= _EVERY_S or done == total):
            self._told = now
            self._tell(source, done, total, size)


def _bytes(files: Sequence[SourceFile]) -> int:
    if not isinstance(files, RowColumns):
        return sum(file.size for file in files)
    others: int = sum(file.size for file in files.others)
    return int(pc.sum(files.table.column("size")).as_py() or 0) + others


_AT_ONCE = 16
"""Concurrent downloads: each mostly waits for the source, so fewer leave bandwidth unused; more only share it."""
_NAME_CHARACTERS = 50  # of at most 4 bytes each: a key may be longer than a file name


class Places:
    """Where the sources are that a store's runs on this machine have read.

    A source without a given name is named after its folder, so two folders may claim one name. The files of one would
    then count as a new state of the other, and whatever only the other has would be deleted. The claims are kept in
    `cache/places.json`. Without that file, or in a copy of the store, the next run accepts any folder with the name."""

    def __init__(self, store: Path | None = None) -> None:
        self._store = store
        self._before = _claims(store) if store else []
        self._now: list[_Claim] = []
        self._empty: list[_Claim] = []

    def claim(self, source: Source, listing: Listing, replaces: bool) -> None:
        """Record where a source is, and raise `SourceError` if another one with its name is elsewhere.

        With `replaces`, it may take over the name of a source that an earlier run read elsewhere.
        """
        claim = _Claim(source.name, source.prefix, source.pattern, source.origin or str(source.folder))
        for other in filter(claim.clashes, self._now):
            raise SourceError(f"{claim.both(other)}; give one of them another name: NAME=PATH")
        standing = [] if replaces else [one for one in self._before if claim.clashes(one) and one.stands()]
        for other in standing:
            raise SourceError(
                f"{claim.both(other)}; to keep both, give this one another name: NAME=PATH;"
                f" to replace the other, {ALLOW_DELETE}"
            )
        (self._now if listing.found else self._empty).append(claim)

    def save(self, lost: Collection[str] = ()) -> None:
        """Keep the claims of this run, and earlier ones that it does not replace; an empty folder has none.

        Claims with names in `lost` are dropped.
        """
        now, empty = ([one for one in claims if one.name not in lost] for claims in (self._now, self._empty))
        kept = [one for one in self._before if not any(map(one.meets, [*now, *empty]))]
        claims = sorted({*kept, *now})
        if self._store and claims != self._before:
            _write(self._store, claims)


class _Claim(NamedTuple):
    """A source and its folder or address."""

    name: str
    prefix: str
    pattern: str
    where: str

    def meets(self, other: "_Claim") -> bool:
        """Return whether a document of one may count as a document of the other: true but for two different files."""
        files = all(one.pattern and not glob.has_magic(one.pattern) for one in (self, other))
        return self.name == other.name and (not files or self.pattern == other.pattern)

    def clashes(self, other: "_Claim") -> bool:
        """Return whether the claims meet at different places by a name that was not given to both."""
        return self.where != other.where and self.meets(other) and not (self.prefix and other.prefix)

    def stands(self) -> bool:
        """Return whether it may still be a source; a folder that was moved or deleted is not."""
        return is_origin(self.where) or Path(self.where).is_dir()

    def both(self, other: "_Claim") -> str:
        """Return a message about two claims that clash."""
        return f"{other.where} and {self.where} are both source {self.name!r} and would delete each other's documents"


def _path_of(store: Path) -> Path:
    return store / "cache" / "places.json"


def _claims(store: Path) -> list[_Claim]:
    """Return the claims that a store keeps, or none if their file is missing, damaged, or from another store.

    People who copy a store may have copied its documents as well.
    """
    try:
        told = json.loads(_path_of(store).read_bytes())
        return [_Claim(*map(str, row)) for row in told["claims"]] if told["store"] == str(store.resolve()) else []
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _write(store: Path, claims: Sequence[_Claim]) -> None:
    told = {"store": str(store.resolve()), "claims": claims}
    write_whole(_path_of(store), json.dumps(told, ensure_ascii=False).encode())


def give_up_places(store: Path, names: Collection[str]) -> None:
    """Forget where the sources with these names are, so that another folder may take such a name."""
    claims = _claims(store)
    kept = [one for one in claims if one.name not in names]
    if kept != claims:
        _write(store, kept)


class Incoming:
    """The fetched files of a run's sources, in a folder that is removed when the run ends."""

    def __init__(
        self, folder: Path, most_bytes: int = sys.maxsize, store: Path | None = None, tell: Tell | None = None
    ) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._offered: dict[str, tuple[Source, SourceFile]] = {}
        self._checkpoints = Checkpoints(store)
        self._places = Places(store)
        self.tally = Tally(tell)

    def listing(self, source: Source, options: DiscoverOptions) -> Listing:
        """List a source, as its own `list` does."""
        return source.list(options, self._checkpoints, partial(self.tally.passing, source.name))

    def admit(self, source: Source, listing: Listing, replaces: bool) -> Listing:
        """Record where a listed source is, and give each file that is elsewhere its future local path.

        Raise `SourceError` for a folder with the name of another one, see `Places`.
        """
        self._places.claim(source, listing, replaces)
        self.tally.listed(source, listing.found)
        if not source.origin:
            return listing
        return replace(listing, found=[self._offer(source, file) for file in listing.found])

    def by_source(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """Return the future local paths of files that are elsewhere, by the names of their sources."""
        found: dict[str, list[str]] = {}
        for path in paths:
            if path in self._offered:
                found.setdefault(self._offered[path][0].name, []).append(path)
        return found

    def bring(self, paths: Iterable[str]) -> dict[str, Rejected]:
        """Fetch files, given their future paths; return why some cannot be fetched.

        Paths of local files, and of files that are already here, are skipped.
        """
        lacking = [path for path in dict.fromkeys(paths) if path in self._offered and not Path(path).exists()]
        refused = dict[str, Rejected]()
        with ThreadPoolExecutor(_AT_ONCE, "docmill-incoming") as pool:
            for done, (path, come) in enumerate(zip(lacking, pool.map(self._fetch, lacking), strict=True), start=1):
                if isinstance(come, Rejected):
                    refused[path] = come
                else:
                    self.tally.fetched(self._offered[path][0].name, come, done, len(lacking))
        return refused

    def count_read(self, sizes: Mapping[str, int]) -> None:
        """Count files as fetched that others read in place; `sizes` gives their bytes by future path."""
        for done, (path, size) in enumerate(sizes.items(), start=1):
            self.tally.fetched(self._offered[path][0].name, size, done, len(sizes))

    def address_of(self, path: str) -> str:
        """Return the `s3://` address of an object, given its future local path; "" for any other file.

        Machines that can read a store in a bucket can read S3; they have no credentials for other providers.
        """
        source, file = self._offered.get(path, (None, None))
        return file.link if source and file and source.kind == OBJECTS and is_address(file.link) else ""

    def save(self, lost: Collection[str] = ()) -> None:
        """Save what the sources listed, and where they are; call this once what was listed is in the store.

        Sources with names in `lost` count as not listed.
        """
        self._checkpoints.save()
        self._places.save(lost)

    def remove(self) -> None:
        """Remove the fetched files: what a later run needs of them is in the store."""
        remove(self._folder)

    def _offer(self, source: Source, file: SourceFile) -> SourceFile:
        if not file.origin:
            return file
        # The end of the name, because the suffix shows the type.
        path = str(self._folder / f"{key_of(file.origin)}-{PurePosixPath(file.uri).name[-_NAME_CHARACTERS:]}")
        placed = replace(file, path=path)
        self._offered[path] = (source, placed)
        return placed

    def _fetch(self, path: str) -> int | Rejected:
        """Fetch a file; return its size in bytes, or why it cannot be fetched."""
        source, file = self._offered[path]
        try:
            with temporary(self._folder) as draft:
                source.fetch(file, draft, self._most_bytes)
                draft.replace(path)
        except Rejected as why:
            return why
        return Path(path).stat().st_size


def admitted(
    source: Source,
    items: Iterable[SourceItem],
    rules: PathRules,
    reader: str = "",
    fault: Callable[[str], str] = fault,
) -> Listing:
    """Return the items of a source that the patterns select, as files to fetch, or to reject for their names.

    `reader` is the version of the reader, if another version might read other bytes. `fault` says why a name cannot be
    a document's.
    """
    found = list[SourceFile]()
    for item in items:
        uri = source.prefix + item.name
        wanted = source.covers(uri) or is_sidecar(PurePosixPath(uri).name)
        if not wanted or rules.drop_item(item.name):
            continue
        why = fault(item.name)
        found.append(_refused(source, uri, item, why) if why else _file(source, uri, item, reader))
    return Listing(sorted(found, key=lambda file: file.uri), [], rules)


def _refused(source: Source, uri: str, item: SourceItem, why: str) -> SourceFile:
    """Return a file that will never be fetched, because it has no `origin`."""
    place = f"{source.origin}{item.name}"
    return SourceFile(
        uri, place, source.name, item.size, item.modified_ns, reason=UNSAFE_PATH, message=f"a key {why}", item=item
    )


def _file(source: Source, uri: str, item: SourceItem, reader: str) -> SourceFile:
    origin = " ".join(filter(None, (f"{source.origin}{item.name}", item.version, reader)))
    file = SourceFile(uri, "", source.name, item.size, item.modified_ns, origin=origin, item=item)
    file = replace(file, described=record_text(with_access(item.metadata, source.name)))
    return replace(file, link=source.link(file))
