"""Discover: walk a source and list its files, and the skipped paths with the reason."""

import glob
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docmill.storage.address import is_address
from docmill.storage.errors import SourceError
from docmill.tasks.sources.object_source import open_prefix
from docmill.tasks.sources.source import DiscoverOptions, Listing, PathRules, Skipped, Source, SourceFile, readable

_STORE = {"lock", "snapshots", "tables", "artifacts", "vectors", "keywords"}
"""Files and folders of every store with a snapshot."""

_Item = os.DirEntry[str]


def open_source(argument: str) -> Source:
    """Return the source for `PATH`, `GLOB` or `NAME=PATH`; a path may be an address `s3://BUCKET/PREFIX`."""
    name, where = _named(argument)
    if not where:
        raise SourceError("a source is an empty string; give a folder, a file or a glob")
    if is_address(where):
        return open_prefix(argument, where, name)
    path = Path(where)
    if glob.has_magic(str(path)) and not path.exists():
        return _glob_source(argument, path, name)
    if not path.exists():
        raise SourceError(f"source {argument!r} does not exist; give a folder, a file or a glob")
    if path.is_dir():
        return _source(name, path, "")
    return _source(name, path.parent, re.sub(r"([*?\[\]!#\\ ])", r"\\\1", path.name))


def is_far(argument: str) -> bool:
    """Return whether an argument names a source on an object store."""
    return is_address(_named(argument)[1])


def _named(argument: str) -> tuple[str, str]:
    """Return the name that an argument gives its source, if any, and the path or address."""
    name, _, rest = argument.partition("=")
    named = bool(rest) and "/" not in name and not Path(argument).exists()
    return (name, rest) if named else ("", argument)


def _glob_source(argument: str, path: Path, name: str) -> Source:
    parts = path.parts
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:first]) if first else Path()
    if not root.is_dir():
        raise SourceError(f"source {argument!r}: {root} is not a folder")
    return _source(name, root, "/".join(parts[first:]))


def _source(name: str, root: Path, pattern: str) -> Source:
    resolved = root.resolve()
    return Source(name or resolved.name or "root", resolved, pattern, f"{name}/" if name else "")


def discover(source: Source, options: DiscoverOptions) -> Listing:
    """List the files of a source; follow links but no loops, and skip the store.

    Raises `SourceError` if it cannot be listed, or if a glob or a named file matches nothing.
    """
    rules = PathRules(options)
    listing = Listing([], [], rules)
    try:
        for uri, entry in Walk(source, rules, listing).files("", source.root, ()):
            if source.covers(source.prefix + uri):
                _admit(source, uri, entry, listing)
    except OSError as error:
        raise SourceError(f"source {source.root} cannot be listed: {error.strerror}") from error
    if source.pattern and not listing.found and not options.may_be_empty:
        skipped = "".join(f"; {s.uri}: {s.message}" for s in listing.skipped if source.covers(s.uri))
        raise SourceError(
            f"source {source.root / source.pattern} has no files{skipped}; check its name and [discover],"
            " or give --allow-delete"
        )
    listing.found.sort(key=lambda file: file.uri)
    return listing


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk over a source by some patterns; skipped paths are added to `listing`."""

    source: Source
    rules: PathRules
    listing: Listing

    def files(self, uri: str, folder: Path, above: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, _Item]]:
        """Yield the files below a folder, each with its path in the source; `above` are the folders that lead here."""
        status = folder.stat()
        here = (status.st_dev, status.st_ino)
        if here in above:
            self._skip(uri, "loop", "a link leads back to a folder above it")
            return
        if self.rules.is_store(status):
            self._skip(uri, "store", "it is where the documents go")
            return
        for entry in self._children(uri, folder, required=not above):
            child = f"{uri}/{readable(entry.name)}" if uri else readable(entry.name)
            is_folder = _is_folder(entry)
            if self.rules.drop(child, readable(entry.name), is_folder):
                continue
            if is_folder:
                yield from self.files(child, Path(entry.path), (*above, here))
            else:
                yield child, entry

    def _children(self, uri: str, folder: Path, required: bool) -> list[_Item]:
        """Return the entries of a folder, by name; empty if it cannot be read, unless it is `required`."""
        try:
            with os.scandir(folder) as entries:
                children = sorted(entries, key=lambda entry: entry.name)
            self.rules.enter(folder, uri, [entry.name for entry in children])
        except OSError as error:
            if required:
                raise
            self._skip(uri, "unreadable", error.strerror or str(error))
            return []
        if {entry.name for entry in children} >= _STORE:
            self._skip(uri, "store", "it is a store of docmill's")
            return []
        return children

    def _skip(self, uri: str, reason: str, message: str) -> None:
        self.listing.skipped.append(Skipped(self.source.prefix + uri, reason, message))


def _is_folder(entry: _Item) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _admit(source: Source, uri: str, entry: _Item, listing: Listing) -> None:
    full = source.prefix + uri
    try:
        status = entry.stat()
    except FileNotFoundError:
        listing.skipped.append(Skipped(full, "broken_link", "a link to nothing"))
        return
    except OSError as error:
        reason = "loop" if entry.is_symlink() else "unreadable"
        listing.skipped.append(Skipped(full, reason, error.strerror or str(error)))
        return
    if not stat.S_ISREG(status.st_mode):
        listing.skipped.append(Skipped(full, "special", "not a regular file"))
        return
    listing.found.append(SourceFile(full, entry.path, source.name, status.st_size, status.st_mtime_ns))
