"""Object source: a prefix of an object store as a source."""

import glob
import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from docmill.storage.address import bucket_url
from docmill.storage.errors import ALLOW_DELETE, Rejected, SourceError
from docmill.storage.name_grammar import fault, steps
from docmill.storage.remote.objects.bucket import ObjectEntry, Objects, Vanished, connect
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.connectors.contract import SourceItem
from docmill.tasks.sources.fetch_files import admitted
from docmill.tasks.sources.source import (
    OBJECTS,
    UNREADABLE,
    UNSAFE_PATH,
    DiscoverOptions,
    Listing,
    Passing,
    PathRules,
    Source,
    SourceFile,
    literal,
)

_NS = 1_000_000_000
"""Nanoseconds per second; file times are in nanoseconds."""
_BUCKET_STEP = 2
"""The index of the bucket among the parts of `s3://BUCKET/PREFIX`, after "s3:" and an empty part."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FAULTS: dict[str, Callable[[str], bool]] = {
    "that ends in a slash, as those of folders do": lambda key: key.endswith("/"),
    "with an empty step": lambda key: "/".join(steps(key)) != key,
    "with a control character": lambda key: bool(_CONTROL.search(key)),
}
"""Faults of keys that object stores allow but obstore cannot read as paths."""


@dataclass(frozen=True)
class ObjectSource(Source):
    """A prefix of an object store at `where`, a glob below it, or one object."""

    kind = OBJECTS

    @property
    def origin(self) -> str:
        """The address, which is the start of each object's address."""
        return f"{self.where}/"

    def list(self, options: DiscoverOptions, checkpoints: Checkpoints, passing: Passing = iter) -> Listing:  # noqa: ARG002
        """List the objects as files to fetch. Raise `SourceError` if there are none."""
        objects = connect(self.where)
        entries = _files(objects)
        if not entries and not options.may_be_empty:
            raise SourceError(f"source {self.where} has no objects; check the address, or {ALLOW_DELETE}")
        rules = PathRules(options)
        for key in entries:
            if PurePosixPath(key).name == options.ignore_file and not _fault(key):
                text = objects.read(key).decode("utf-8", "replace")
                rules.add(key.rpartition("/")[0], text, f"{self.where}/{key}")
        return admitted(self, [_item(entry) for entry in entries.values()], rules, fault=_fault)

    def fetch(self, file: SourceFile, path: Path, most_bytes: int) -> None:  # noqa: ARG002  its size is known
        """Download an object; raise `Rejected` if it is gone or its key is not a readable path."""
        objects, key = connect(self.where), self.inner(file)
        try:
            objects.download(key, path)
        except Vanished as error:
            if any(entry.key == f"{key}/" for entry in objects.listed_exactly(key)):
                raise Rejected(UNSAFE_PATH, f"a key {_fault(f'{key}/')}") from error
            raise Rejected(UNREADABLE, "the object was removed after it was listed") from error

    def link(self, file: SourceFile) -> str:
        """Return the address of an object."""
        return f"{self.origin}{self.inner(file)}"


def open_prefix(argument: str, address: str, name: str = "") -> ObjectSource:
    """Return the source for an address such as `s3://BUCKET/PREFIX`, an object, or a glob."""
    url = bucket_url(address)
    above, _, last = url.rpartition("/")
    # Checked first, because a key may contain glob characters.
    if not above.endswith(":/") and connect(above).has(last):
        return _source(name, above, literal(last))
    steps = url.split("/")
    magic = next((place for place, step in enumerate(steps) if glob.has_magic(step)), len(steps))
    if magic <= _BUCKET_STEP:
        raise SourceError(f"source {argument!r}: a bucket name must not contain wildcards")
    return _source(name, "/".join(steps[:magic]), "/".join(steps[magic:]))


def _source(name: str, url: str, pattern: str) -> ObjectSource:
    return ObjectSource(name or url.rpartition("/")[2], pattern, f"{name}/" if name else "", url, None)


def _item(entry: ObjectEntry) -> SourceItem:
    changed = int(entry.modified.timestamp() * _NS)
    # The entity tag identifies the content, so a copy with a new date is not fetched again.
    return SourceItem(entry.key, entry.tag or str(changed), entry.bytes, changed)


def _fault(key: str) -> str:
    """Return why a key cannot be a document's, or "" for a good key."""
    if found := fault(key):
        return found
    return next((f"{why}; copy the object to another key" for why, has_fault in _FAULTS.items() if has_fault(key)), "")


def _files(objects: Objects) -> dict[str, ObjectEntry]:
    """Return the objects below a prefix by key, without placeholders of folders.

    Consoles create these: empty objects with a key that ends in a slash.
    """
    entries = {entry.key: entry for entry in objects.exact_listing()}
    folders = {str(above) for key in entries for above in PurePosixPath(key).parents}
    return {key: entry for key, entry in entries.items() if not _stands_for_folder(entry, folders, objects)}


def _stands_for_folder(entry: ObjectEntry, folders: Container[str], objects: Objects) -> bool:
    if entry.bytes:
        return False
    return entry.key.endswith("/") or entry.key in folders or not (_fault(entry.key) or objects.has(entry.key))
