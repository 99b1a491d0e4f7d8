"""Discover: the kinds of sources, including those of plugins, and the source that an argument names."""

import errno
import glob
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from docmill.storage.address import why_foreign
from docmill.storage.errors import ALLOW_DELETE, DocmillError, Rejected, SourceError
from docmill.storage.plugins.registry import Registry, Seam
from docmill.storage.remote.objects.providers import PROVIDERS
from docmill.tasks.paths.local_file import ANYWHERE, Reach
from docmill.tasks.sources.archive_source import ArchiveSource, Opener, begins_as_archive
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.connectors.contract import SourcePlugin
from docmill.tasks.sources.connectors.own_connectors import CONNECTORS, name_by
from docmill.tasks.sources.object_source import open_prefix
from docmill.tasks.sources.plugin_source import Address, SourceKind, Tables, kind_of_connector, kind_of_plugin
from docmill.tasks.sources.source import (
    UNREADABLE,
    DiscoverOptions,
    Listing,
    Passing,
    PathRules,
    Source,
    SourceFile,
    literal,
    may_exist,
    readable,
)
from docmill.tasks.sources.walk import Walk

_PATH = "file"
"""The kind of a source given by a path."""


def open_source(argument: str, tables: Tables = MappingProxyType({}), opener: Opener | None = None) -> Source:
    """Return the source for `PATH`, `GLOB` or `NAME=PATH`.

    A path may be an object address, such as `s3://BUCKET/PREFIX`, or `PLUGIN://SOURCE`, whose settings are in `tables`.
    With an `opener`, an archive on this machine is a source itself; without one, it is a file.
    """
    check_argument(argument)
    name, where = _named(argument)
    source = SOURCES[_scheme(argument, where)].open(Address(argument, where, name), tables)
    if opener and source.folder and begins_as_archive(Path(where)):
        return ArchiveSource(source.name, source.pattern, source.prefix, where, source.folder, source, opener)
    return source


def _open_path(address: Address, _tables: Tables) -> "FolderSource":
    argument, path, name = address.argument, Path(address.where), address.name
    _check_reachable(argument, path)
    # A folder may really be called [drafts], so an existing path is not taken for a glob.
    if glob.has_magic(str(path)) and not path.exists():
        return _glob_source(argument, path, name)
    if not path.exists():
        raise SourceError(f"source {argument!r} does not exist; give a folder, a file or a glob")
    if path.is_dir():
        return _source(name, path, "")
    return replace(_source(name, path.parent, literal(readable(path.name))), is_link=path.is_symlink())


def check_argument(argument: str) -> None:
    """Raise `SourceError` for an argument that cannot name a source, whether or not it exists."""
    _, where = _named(argument)
    if not where:
        raise SourceError("a source is an empty string; give a folder, a file or a glob")
    _scheme(argument, where)


def wrong_settings(arguments: Iterable[str], tables: Tables) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the key and the fault of each wrong setting of plugin sources; nothing is opened."""
    for argument in arguments:
        name, where = _named(argument)
        if not _why_unread(where):
            yield from SOURCES[_scheme(argument, where)].faults(Address(argument, where, name), tables)


def _scheme(argument: str, where: str) -> str:
    """Return the kind of a source; raise `SourceError` for an address that neither docmill nor a plugin can read."""
    if why := _why_unread(where):
        raise SourceError(f"source {argument!r}: {why}, or install a plugin that reads it")
    scheme, separator, _ = where.partition("://")
    return scheme if separator and scheme in SOURCES else _PATH


def _why_unread(where: str) -> str:
    """Return why nothing here can read an address, or "" for a path or a readable address."""
    scheme, separator, _ = where.partition("://")
    return "" if separator and scheme in SOURCES and scheme != _PATH else why_foreign(where)


def _check_reachable(argument: str, path: Path) -> None:
    """Raise `SourceError` if a path may exist but cannot be accessed."""
    try:
        path.stat()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise SourceError(f"source {argument!r} cannot be accessed: {error.strerror}") from error


def is_remote(argument: str) -> bool:
    """Return whether an argument names a source outside this machine."""
    return "://" in _named(argument)[1]


def name_of(argument: str, tables: Tables = MappingProxyType({})) -> str:
    """Return the name of an argument's source, even if its folder is gone."""
    try:
        return open_source(argument, tables).name
    except DocmillError:
        return likely_name(argument)


def likely_name(argument: str) -> str:
    """Return the name of an argument's source, as far as the argument shows it."""
    name, where = _named(argument)
    if name or is_remote(argument):
        return name or name_by(where) or where.rstrip("/").rpartition("/")[2]
    steps = Path(where).resolve().parts
    return Path(*takewhile(lambda step: not glob.has_magic(step), steps)).name or where


def _named(argument: str) -> tuple[str, str]:
    """Return the name that an argument gives its source, or "", and the path or address."""
    name, _, rest = argument.partition("=")
    # A path may contain an equals sign. A name of dots would lead out of the store's name space: `../a.md`.
    named = bool(rest) and "/" not in name and name not in (".", "..") and not may_exist(argument)
    return (name, rest) if named else ("", argument)


def _glob_source(argument: str, path: Path, name: str) -> "FolderSource":
    parts = path.parts
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:first]) if first else Path()
    if not root.is_dir():
        raise SourceError(f"source {argument!r}: {root} is not a folder")
    return _source(name, root, "/".join(parts[first:]))


def _source(name: str, root: Path, pattern: str) -> "FolderSource":
    # `docs` and `./docs/` must be the same source, or each would claim the other's documents.
    resolved = root.resolve()
    prefix = f"{name}/" if name else ""
    return FolderSource(name or resolved.name or "root", pattern, prefix, str(resolved), resolved)


@dataclass(frozen=True)
class FolderSource(Source):
    """A folder on this machine, a glob below it, or one file in it, which may be a link to anywhere."""

    folder: Path
    is_link: bool = False

    origin = ""

    @property
    def kind(self) -> str:
        """The kind; the file system can report all changes only for a whole folder."""
        return "not a folder" if self.pattern else "a folder"

    def list(self, options: DiscoverOptions, checkpoints: Checkpoints, passing: Passing = iter) -> Listing:  # noqa: ARG002
        """List the files; skip what cannot be accessed, with the reason, and also loops and stores.

        Raise `SourceError` if the folder cannot be listed, or if a glob or a named file matches nothing.
        """
        rules = PathRules(options)
        walk = Walk(self, self.folder, rules, self._reach(options))
        try:
            found = walk.run()
        except OSError as error:
            raise SourceError(f"source {self.where} cannot be listed: {error.strerror}") from error
        listing = Listing(found, list(walk.skipped.values()), rules)
        if self.pattern and not (found or listing.unseen or options.may_be_empty):
            raise SourceError(self._nothing_found(listing))
        return listing

    def _reach(self, options: DiscoverOptions) -> Reach:
        """Return where links in a file's path may lead when it is read."""
        if self.is_link or options.follow_links == "all":
            return ANYWHERE
        return Reach(str(self.folder), options.follow_links == "inside")

    def _nothing_found(self, listing: Listing) -> str:
        skipped = "".join(f"; {one.uri}: {one.message}" for one in listing.skipped if self.covers(one.uri))
        return (
            f"source {self.folder / self.pattern} has no files{skipped}; check its name and [discover],"
            f" or {ALLOW_DELETE}"
        )

    def fetch(self, file: SourceFile, path: Path, most_bytes: int) -> None:  # noqa: ARG002  it is on this machine
        """Copy a file, which a run reads in place; raise `Rejected` if it cannot be read."""
        try:
            with file.local.open() as found, path.open("wb") as copy:
                shutil.copyfileobj(found, copy)
        except OSError as error:
            raise Rejected(UNREADABLE, error.strerror or str(error)) from error

    def link(self, file: SourceFile) -> str:  # noqa: ARG002
        """Return "": a path means nothing to readers of a store on another machine, and reveals folders of this one.

        `docmill search` links to files on this machine by what its runs have seen here.
        """
        return ""


def discover(source: Source, options: DiscoverOptions) -> Listing:
    """List all files of a source, as its `list` does."""
    return source.list(options, Checkpoints())


def _open_objects(address: Address, _tables: Tables) -> Source:
    return open_prefix(address.argument, address.where, address.name)


def _no_faults(_address: Address, _tables: Tables) -> Iterator[tuple[tuple[str, ...], str]]:
    return iter(())


SOURCES: Registry[SourceKind] = Registry(
    Seam("docmill.sources", "source", SourcePlugin),
    {
        _PATH: SourceKind(_open_path, _no_faults),
        **dict.fromkeys(PROVIDERS, SourceKind(_open_objects, _no_faults)),
        **{scheme: kind_of_connector(scheme, connector) for scheme, connector in CONNECTORS.items()},
    },
    kind_of_plugin,
)
"""The kinds of sources, by the scheme of their addresses."""
