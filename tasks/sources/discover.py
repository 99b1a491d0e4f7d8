"""Discover: walk a source and list its files, and the skipped paths with the reason."""

import errno
import glob
from pathlib import Path

from docmill.storage.address import is_address
from docmill.storage.errors import ALLOW_DELETE, SourceError
from docmill.storage.foreign_address import why_foreign
from docmill.tasks.sources.object_source import open_prefix
from docmill.tasks.sources.source import DiscoverOptions, Listing, PathRules, Source, literal, may_exist, readable
from docmill.tasks.sources.walk import Walk


def open_source(argument: str) -> Source:
    """Return the source for `PATH`, `GLOB` or `NAME=PATH`; a path may be an address `s3://BUCKET/PREFIX`."""
    name, where = _named(argument)
    if not where:
        raise SourceError("a source is an empty string; give a folder, a file or a glob")
    if is_address(where):
        return open_prefix(argument, where, name)
    if why := why_foreign(where):
        raise SourceError(f"source {argument!r}: {why}")
    path = Path(where)
    _check_reachable(argument, path)
    # A folder may be called [drafts]: what exists under the name itself is meant.
    if glob.has_magic(str(path)) and not path.exists():
        return _glob_source(argument, path, name)
    if not path.exists():
        raise SourceError(f"source {argument!r} does not exist; give a folder, a file or a glob")
    if path.is_dir():
        return _source(name, path, "")
    return _source(name, path.parent, literal(readable(path.name)))


def _check_reachable(argument: str, path: Path) -> None:
    """Raise `SourceError` if a path may exist but cannot be looked at."""
    try:
        path.stat()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise SourceError(f"source {argument!r} cannot be accessed: {error.strerror}") from error


def is_far(argument: str) -> bool:
    """Return whether an argument names a source on an object store."""
    return is_address(_named(argument)[1])


def _named(argument: str) -> tuple[str, str]:
    """Return the name that an argument gives its source, if any, and the path or address."""
    name, _, rest = argument.partition("=")
    # A path may hold an equals sign.
    named = bool(rest) and "/" not in name and not may_exist(argument)
    return (name, rest) if named else ("", argument)


def _glob_source(argument: str, path: Path, name: str) -> Source:
    parts = path.parts
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:first]) if first else Path()
    if not root.is_dir():
        raise SourceError(f"source {argument!r}: {root} is not a folder")
    return _source(name, root, "/".join(parts[first:]))


def _source(name: str, root: Path, pattern: str) -> Source:
    # `docs` and `./docs/` are one source, whose documents must not become those of another.
    resolved = root.resolve()
    return Source(name or resolved.name or "root", resolved, pattern, f"{name}/" if name else "")


def discover(source: Source, options: DiscoverOptions) -> Listing:
    """List the files of a source; what cannot be looked at is skipped with its reason, as are loops and stores.

    Raises `SourceError` if the source's own folder cannot be listed, or if a glob or a named file matches nothing.
    """
    rules = PathRules(options)
    walk = Walk(source, rules)
    try:
        walk.run()
    except OSError as error:
        raise SourceError(f"source {source.root} cannot be listed: {error.strerror}") from error
    found = sorted(walk.found.values(), key=lambda file: file.uri)
    # A file that was skipped under a link may have been found under its own name.
    listing = Listing(found, [one for uri, one in walk.skipped.items() if uri not in walk.found], rules)
    if source.pattern and not (found or listing.unseen or options.may_be_empty):
        skipped = "".join(f"; {s.uri}: {s.message}" for s in listing.skipped if source.covers(s.uri))
        raise SourceError(
            f"source {source.root / source.pattern} has no files{skipped}; check its name and [discover],"
            f" or {ALLOW_DELETE}"
        )
    return listing
