"""Walk: the files below the folder of a source, and the paths that are skipped or cannot be accessed.

Folders may appear and vanish meanwhile. A vanished name counts as gone only if its folder, listed again, lacks it. What
cannot be accessed is skipped as `unreadable`, so that its documents are not taken for deleted.
"""

import errno
import os
import stat
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from docmill.storage.snapshots.tables.row_columns import RowColumns, RowDraft
from docmill.tasks.paths.local_file import Reach
from docmill.tasks.sources.source import (
    OUTSIDE,
    UNREADABLE,
    PathRules,
    Skipped,
    Source,
    SourceFile,
    is_sidecar,
    readable,
)

_STORE = {"lock", "snapshots", "tables", "artifacts", "vectors", "keywords"}
"""Files and folders of every store with a snapshot."""

_LOOKS = 3
"""Listings of a folder with vanished names: a file that is replaced rather than removed is back at the next one."""

_REPLACED = "another folder took its place while it was listed"

Entry = os.DirEntry[str]

_COLUMNS = pa.schema(
    [
        ("uri", pa.large_string()),
        ("path", pa.large_string()),
        ("size", pa.int64()),
        ("mtime_ns", pa.int64()),
        ("inode", pa.uint64()),
    ]
)
"""The columns that differ among the files of a folder, of which there may be millions."""


class _Identity(NamedTuple):
    """What distinguishes a file or folder from all others, whatever its names."""

    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class _WalkedFolder:
    """A folder and, by `above`, the folders through which the walk reached it."""

    uri: str
    path: Path
    identity: _Identity
    above: "_WalkedFolder | None"

    def uri_of(self, name: str) -> str:
        return f"{self.uri}/{readable(name)}" if self.uri else readable(name)

    def is_within(self, identity: _Identity) -> bool:
        """Return whether this is the folder `identity`, or was reached through it."""
        folder: _WalkedFolder | None = self
        while folder and folder.identity != identity:
            folder = folder.above
        return folder is not None


@dataclass(slots=True)
class _Visit:
    """A folder with its entries `left` to look at, last one first; `vanished` are names that were not found.

    `by_link` says that a link inside the source leads to it, so that its content may already be listed; `links` says
    that links in it are followed now.
    """

    folder: _WalkedFolder
    left: list[Entry]
    by_link: bool = False
    links: bool = False
    vanished: set[str] = field(default_factory=set)
    looks: int = 1


class Walk:
    """One walk over a source: `run` returns its files, and `skipped` are the paths that are not read, by uri."""

    def __init__(self, source: Source, root: Path, rules: PathRules, reach: Reach) -> None:
        self.skipped: dict[str, Skipped] = {}
        self._source, self._root, self._rules = source, root, rules
        self._follow = rules.options.follow_links
        self._found = RowDraft(SourceFile, _COLUMNS, {"source": source.name, "reach": reach})
        # Inodes by device, because there may be millions; only links need them.
        self._listed: dict[int, array[int]] = defaultdict(partial(array, "Q"))
        self._met: dict[int, set[int]] = defaultdict(set)
        self._links: list[tuple[_WalkedFolder, Entry]] = []

    def run(self) -> RowColumns[SourceFile]:
        """Return the files by uri; raise OSError if the source's own folder cannot be listed or is replaced.

        Links wait until everything is listed under its own name, and are then followed in the order of their uris.
        """
        path = self._root
        root = self._open("", path, path.stat(), None)
        self._visit(root)
        while self._links:
            # The target of a link may contain further links, which wait for the next round.
            due, self._links = self._links, []
            for folder, entry in sorted(due, key=lambda link: link[0].uri_of(link[1].name)):
                self._visit(_Visit(folder, [entry], by_link=True, links=True))
        found = self._found.finish("uri")
        # A file that was skipped under a link may have been found under its own name.
        for uri in found.table.column("uri").filter(found.among("uri", self.skipped)).to_pylist():
            del self.skipped[uri]
        return found

    def _visit(self, first: _Visit | None) -> None:
        """Look at all entries of a folder and below; a stack, as folders may be nested deeper than Python calls."""
        stack = [first] if first else []
        while stack:
            visit = stack[-1]
            if visit.left:
                deeper = self._look(visit, visit.left.pop())
                stack += [deeper] if deeper else []
            elif visit.vanished:
                self._look_again(stack)
            else:
                stack.pop()

    def _look(self, visit: _Visit, entry: Entry) -> _Visit | None:
        """Look at an entry of a folder; return a visit if it is a folder to list."""
        uri = visit.folder.uri_of(entry.name)
        try:
            return self._take(visit, entry, uri)
        except FileNotFoundError:
            # The listing still knows that it was a link, although the link itself may be gone.
            if entry.is_symlink() and os.path.lexists(entry.path):
                self._skip(uri, "broken_link", "a link to nothing")
            else:
                visit.vanished.add(entry.name)
        except OSError as error:
            if error.errno == errno.ELOOP:
                self._skip(uri, "loop", "links that lead to each other")
            elif not self._leads_out(entry, uri):
                self._skip(uri, UNREADABLE, error.strerror or str(error))
        return None

    def _take(self, visit: _Visit, entry: Entry, uri: str) -> _Visit | None:
        """Add a file to those found, or return the visit of a folder; raise OSError if it cannot be accessed."""
        if entry.is_symlink() and not self._is_due(visit, entry, uri):
            return None
        if not self._is_wanted(entry, uri):
            return None
        status = entry.stat()
        if self._leads_out(entry, uri):
            return None
        if stat.S_ISDIR(status.st_mode):
            return self._open(uri, Path(entry.path), status, visit)
        if not stat.S_ISREG(status.st_mode):
            self._skip(uri, "special", "not a regular file")
        elif not self._is_known(_identity(status), visit):
            full = self._source.prefix + uri
            size, mtime_ns, inode = status.st_size, status.st_mtime_ns, status.st_ino
            self._found.add(full, entry.path, size, mtime_ns, inode)
            self._remember(_identity(status))
        return None

    def _is_due(self, visit: _Visit, entry: Entry, uri: str) -> bool:
        """Return whether to follow a link now; a link that stays inside the source waits for its turn."""
        if self._follow == "all" or self._source.is_file(uri) or visit.links:
            return True
        if self._follow == "inside":
            self._links.append((visit.folder, entry))
        return False

    def _is_wanted(self, entry: Entry, uri: str) -> bool:
        """Return whether the patterns select a path; if its kind is unknown, whether they select it as a folder."""
        try:
            is_folder = entry.is_dir()
        except OSError:
            is_folder = True
        if self._rules.drop(uri, readable(entry.name), is_folder):
            return False
        if is_folder:
            return self._source.leads_to(uri)
        return self._source.covers(self._source.prefix + uri) or is_sidecar(entry.name)

    def _leads_out(self, entry: Entry, uri: str) -> bool:
        """Skip a link that leads out of the source, unless the settings or the source ask for it."""
        if self._follow != "inside" or not entry.is_symlink() or self._source.is_file(uri):
            return False
        leads_out = os.path.commonpath([self._root, os.path.realpath(entry.path)]) != str(self._root)
        if leads_out:
            self._skip(uri, OUTSIDE, "a link that leads out of the source")
        return leads_out

    def _is_known(self, identity: _Identity, visit: _Visit | None) -> bool:
        """Return whether a link leads to something already listed; hard links count as separate files."""
        if visit is None or not visit.by_link:
            return False
        for device, inodes in self._listed.items():
            self._met[device].update(inodes)
        self._listed.clear()
        return identity.inode in self._met[identity.device]

    def _remember(self, identity: _Identity) -> None:
        if self._follow == "inside":
            self._listed[identity.device].append(identity.inode)

    def _open(self, uri: str, path: Path, status: os.stat_result, above: _Visit | None) -> _Visit | None:
        """Return the visit of a folder, unless it contains itself, is a store, or is already listed."""
        folder = _WalkedFolder(uri, path, _identity(status), above.folder if above else None)
        if above and above.folder.is_within(folder.identity):
            self._skip(uri, "loop", "a link leads back to a folder above it")
        # By device and inode, because the store may have other names through links or mounts.
        elif self._rules.is_store(status):
            self._skip(uri, "store", "it is where the documents go")
        elif not self._is_known(folder.identity, above):
            entries = _entries(path)
            names = {entry.name for entry in entries}
            self._rules.enter(path, uri, names)
            if _identity(path.stat()) != folder.identity:  # the names may be those of a folder outside the source
                raise OSError(errno.ESTALE, _REPLACED)
            # Not the store of this run but another store: its Parquet files and their copies in current/ are not
            # documents.
            if names >= _STORE:
                self._skip(uri, "store", "it is a store of docmill's")
                return None
            self._remember(folder.identity)
            return _Visit(folder, entries, above is not None and above.by_link)
        return None

    def _look_again(self, stack: list[_Visit]) -> None:
        """List a folder again for vanished names; entries that are back are looked at again."""
        visit = stack[-1]
        folder, vanished = visit.folder, visit.vanished
        visit.vanished = set()
        try:
            # In a new folder of the same name, everything that vanished would look deleted.
            is_same = _identity(folder.path.stat()) == folder.identity
            entries = [entry for entry in _entries(folder.path) if entry.name in vanished]
        except FileNotFoundError as error:
            stack.pop()
            if not stack:
                self._lose(folder, error)
            else:
                stack[-1].vanished.add(folder.path.name)  # the parent folder shows whether it is gone
        except OSError as error:
            self._lose(folder, error)
        else:
            self._try_again(visit, entries, is_same)

    def _try_again(self, visit: _Visit, entries: list[Entry], is_same: bool) -> None:
        if not is_same:
            self._lose(visit.folder, OSError(errno.ESTALE, _REPLACED))
        elif visit.looks < _LOOKS:
            visit.looks += 1
            visit.left = entries
        else:
            for entry in entries:
                self._skip(visit.folder.uri_of(entry.name), UNREADABLE, "it is listed, but cannot be found")

    def _lose(self, folder: _WalkedFolder, error: OSError) -> None:
        """Record a folder that can no longer be listed; without the source's own folder, nothing is certain."""
        if not folder.uri:
            raise error
        self._skip(folder.uri, UNREADABLE, error.strerror or str(error))

    def _skip(self, uri: str, reason: str, message: str) -> None:
        full = self._source.prefix + uri
        self.skipped[full] = Skipped(full, reason, message)


def is_store(folder: Path) -> bool:
    """Return whether a folder has the files of a store."""
    return all((folder / name).exists() for name in _STORE)


def _identity(status: os.stat_result) -> _Identity:
    return _Identity(status.st_dev, status.st_ino)


def _entries(path: Path) -> list[Entry]:
    """Return the entries of a folder, last name first."""
    with os.scandir(path) as entries:
        return sorted(entries, key=lambda entry: entry.name, reverse=True)  # the walk takes them from the end
