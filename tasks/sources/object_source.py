"""Object sources: list a prefix of an object store, and download only objects that are new or changed."""

import glob
import re
from collections.abc import Container, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath

from docmill.storage.address import url_of
from docmill.storage.errors import ALLOW_DELETE, SourceError
from docmill.storage.files import remove, temporary
from docmill.storage.keys import key_of
from docmill.storage.names import fault
from docmill.storage.objects.bucket import ObjectEntry, Objects, Vanished, connect
from docmill.tasks.sources.source import DiscoverOptions, Listing, PathRules, Skipped, Source, SourceFile

_AT_ONCE = 16
"""Concurrent downloads: each waits for the store, so fewer leave the line idle; more only share it."""
_NAME_CHARACTERS = 50  # of at most 4 bytes each: a key may be longer than a file name
_NS = 1_000_000_000
"""Nanoseconds of a second; file times are in nanoseconds."""
_BUCKET_STEP = 2
"""The index of the bucket among the steps of `s3://BUCKET/PREFIX`: after "s3:" and an empty one."""


def open_prefix(argument: str, address: str, name: str = "") -> Source:
    """Return the source for an address `s3://BUCKET/PREFIX`, an object, or a glob."""
    url = url_of(address) or ""
    above, _, last = url.rpartition("/")
    # First, because a key may have the characters of a glob.
    if above != "s3:/" and connect(above).has(last):
        return _source(name, above, re.sub(r"([*?\[\]!#\\ ])", r"\\\1", last))
    steps = url.split("/")
    magic = next((place for place, step in enumerate(steps) if glob.has_magic(step)), len(steps))
    if magic <= _BUCKET_STEP:
        raise SourceError(f"source {argument!r}: a bucket name must not contain wildcards")
    return _source(name, "/".join(steps[:magic]), "/".join(steps[magic:]))


def _source(name: str, url: str, pattern: str) -> Source:
    return Source(name or url.rpartition("/")[2], Path(url), pattern, f"{name}/" if name else "", url)


class Incoming:
    """The downloaded objects of a run's sources, in a folder until the run ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._offered: dict[str, tuple[Objects, str]] = {}

    def discover(self, source: Source, options: DiscoverOptions) -> Listing:
        """List the objects of a source as files to download. Raises `SourceError` if there are none."""
        objects = connect(source.url)
        entries = _files(objects)
        if not entries and not options.may_be_empty:
            raise SourceError(f"source {source.url} has no objects; check the address, or {ALLOW_DELETE}")
        rules = PathRules(options)
        for key in entries:
            if PurePosixPath(key).name == options.ignore_file:
                folder = key.rpartition("/")[0]
                text = objects.read(key).decode("utf-8", "replace")
                rules.add(folder, text, f"{source.url}/{key}")
        kept = (entry for entry in entries.values() if source.covers(source.prefix + entry.key))
        listing = Listing([], [], rules)
        for entry in kept:
            if not _left_out(entry.key, rules):
                self._admit(source, objects, entry, listing)
        listing.found.sort(key=lambda file: file.uri)
        return listing

    def bring(self, paths: Iterable[str]) -> None:
        """Download objects, given their future paths; skip paths that are not objects, exist, or have vanished."""
        lacking = [path for path in dict.fromkeys(paths) if path in self._offered and not Path(path).exists()]
        with ThreadPoolExecutor(_AT_ONCE, "docmill-incoming") as pool:
            list(pool.map(self._fetch, lacking))

    def remove(self) -> None:
        """Remove the downloads: what a later run needs of them is in the store."""
        remove(self._folder)

    def _admit(self, source: Source, objects: Objects, entry: ObjectEntry, listing: Listing) -> None:
        if why := fault(entry.key):
            listing.skipped.append(Skipped(source.prefix + entry.key, "unsafe_path", f"a key {why}"))
        else:
            listing.found.append(self._offer(source, objects, entry))

    def _offer(self, source: Source, objects: Objects, entry: ObjectEntry) -> SourceFile:
        changed = int(entry.modified.timestamp() * _NS)
        # With the tag an object is known by its content, so a copy with a new date is not fetched again.
        origin = f"{source.url}/{entry.key} {entry.tag or changed}"
        # The end of the name, because the suffix tells the type.
        path = str(self._folder / key_of(origin) / PurePosixPath(entry.key).name[-_NAME_CHARACTERS:])
        self._offered[path] = (objects, entry.key)
        return SourceFile(source.prefix + entry.key, path, source.name, entry.bytes, changed, origin=origin)

    def _fetch(self, path: str) -> None:
        objects, key = self._offered[path]
        # The file is then missing where it is read, and is rejected there with a reason.
        with suppress(Vanished), temporary(self._folder) as draft:
            objects.download(key, draft)
            Path(path).parent.mkdir(exist_ok=True)
            draft.replace(path)


def _files(objects: Objects) -> dict[str, ObjectEntry]:
    """Return the objects below a prefix by key, without placeholders of folders.

    Consoles create these: empty, with a key that ends in a slash.
    """
    entries = {entry.key: entry for entry in objects.listing()}
    folders = {str(above) for key in entries for above in PurePosixPath(key).parents}
    return {key: entry for key, entry in entries.items() if not _stands_for_folder(entry, folders, objects)}


def _stands_for_folder(entry: ObjectEntry, folders: Container[str], objects: Objects) -> bool:
    return not entry.bytes and (entry.key in folders or not objects.has(entry.key))


def _left_out(key: str, rules: PathRules) -> bool:
    steps = key.split("/")
    ends = range(1, len(steps) + 1)
    return any(rules.drop("/".join(steps[:end]), steps[end - 1], is_folder=end < len(steps)) for end in ends)
