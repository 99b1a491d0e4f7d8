"""Source: what a source is, the files found in it, and the patterns that select them."""

import errno
import os
import re
import stat
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path
from typing import Literal

from docmill.tasks.paths.patterns import PathPatterns, patterns_in, patterns_of

OUTSIDE = "outside"
"""The reason of links that lead out of the source, in `Skipped`."""
UNREADABLE = "unreadable"
"""The reason of what cannot be looked at, in `Skipped` and in rejects."""

FollowLinks = Literal["inside", "none", "all"]


@dataclass(frozen=True, slots=True)
class DiscoverOptions:
    """Which files of a source become documents. Patterns are those of `.gitignore`, relative to the source.

    A glob that matches no file, and an object-store prefix without objects, are errors unless it `may_be_empty`.
    `store` is the folder of the store, which is not a document; nor are `ignore_file` and `settings_file`, which may
    contain passwords. Of links, `follow_links` follows "all", "none", or those to what is "inside" the source, which
    is listed once: under its own name if the patterns select that, else under the name of the first link.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_file: str = ".docmillignore"
    settings_file: str = "docmill.toml"
    hidden: bool = False
    follow_links: FollowLinks = "inside"
    may_be_empty: bool = False
    store: Path | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file in a source. `uri` is its path within the source, `size` is in bytes.

    For a member, `path` is that of the outermost archive, `place` are the indexes of the members that lead to it, and
    `parent` is the uri of its container. `reason` and `message` say why a file is known to be unusable before it is
    parsed. For an object, `origin` is its address and entity tag, and `path` its future path on disk. `inode` tells a
    file on disk from another one of the same size and time that was moved to its path.
    """

    uri: str
    path: str
    source: str
    size: int
    mtime_ns: int
    place: tuple[int, ...] = ()
    parent: str = ""
    reason: str = ""
    message: str = ""
    origin: str = ""
    inode: int = 0

    @property
    def known_as(self) -> str:
        """Return the name under which facts about the file are cached."""
        return self.origin or readable(self.path)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that is not read, and why.

    The reason is `loop`, `store`, `special`, `broken_link`, `outside`, `unreadable`; in an archive `duplicate`, on an
    object store `unsafe_path`.
    """

    uri: str
    reason: str
    message: str


@dataclass(frozen=True)
class Source:
    """A folder, a glob below a folder, or one file; or the same on an object store, at `url`.

    `name` distinguishes documents of several sources; with `prefix`, it also begins their uris. `pattern` is empty for
    a whole folder.
    """

    name: str
    root: Path
    pattern: str
    prefix: str
    url: str = ""

    def covers(self, uri: str) -> bool:
        """Return whether a document with this uri would come from this source."""
        inner = uri.removeprefix(self.prefix)
        return uri.startswith(self.prefix) and (not self.pattern or self._patterns.match(inner))

    def leads_to(self, inner: str) -> bool:
        """Return whether documents may lie below a folder, given by its path in the source."""
        # A folder is worth listing as long as its path can still become one that the pattern selects.
        names = inner.split("/")[: len(self._leading)]
        return not self._leading or self._leading[len(names) - 1].match("/".join(names))

    def is_file(self, inner: str) -> bool:
        """Return whether the source is one file, of this name."""
        return bool(self.pattern) and self.pattern == literal(inner)

    @cached_property
    def _patterns(self) -> PathPatterns:
        return patterns_of([f"/{self.pattern}"], f"source {self.root}")

    @cached_property
    def _leading(self) -> tuple[PathPatterns, ...]:
        """The pattern up to its first name, its second one, and so on; not beyond a `**`, which is any folders."""
        names = self.pattern.split("/") if self.pattern else []
        fixed = names[: names.index("**")] if "**" in names else names
        ends = range(1, len(fixed) + 1)
        return tuple(patterns_of([f"/{'/'.join(fixed[:end])}"], f"source {self.root}") for end in ends)


@dataclass(frozen=True)
class Listing:
    """The result of a walk: files in the order of their uris, and the paths that were skipped."""

    found: list[SourceFile]
    skipped: list[Skipped]
    rules: "PathRules | None" = None

    @cached_property
    def unseen(self) -> dict[str, Skipped]:
        """The paths that could not be looked at, by uri."""
        return {one.uri: one for one in self.skipped if one.reason == UNREADABLE}

    def unseen_files(self, source: Source) -> list[SourceFile]:
        """Return what could not be looked at as files to reject."""
        return [
            SourceFile(uri, str(source.root / uri.removeprefix(source.prefix)), source.name, 0, 0, (), "", *why)
            for uri, why in ((uri, (one.reason, one.message)) for uri, one in self.unseen.items())
        ]

    def hides(self, uri: str) -> bool:
        """Return whether a document may exist in a place that could not be looked at."""
        while uri and uri not in self.unseen:
            uri = uri.rpartition("/")[0]
        return bool(uri)


_HIDDEN = (".", "~$")  # the latter marks documents open in Office
_LITTER = "__MACOSX"  # the hidden half of each file in an archive made by a Mac


class PathRules:
    """The patterns in effect; an ignore file adds its own for its folder."""

    def __init__(self, options: DiscoverOptions) -> None:
        self.options = options
        self._include = patterns_of(options.include, "[discover] include") if options.include else None
        self._exclude = patterns_of(options.exclude, "[discover] exclude")
        self._local: list[tuple[str, PathPatterns]] = []
        # Once and not by path: symbolic links and mounts give a folder further names.
        self._store = options.store.stat() if options.store and options.store.is_dir() else None

    def is_store(self, folder: os.stat_result) -> bool:
        """Return whether a folder is the store, by whichever path it was reached."""
        return self._store is not None and os.path.samestat(folder, self._store)

    def enter(self, folder: Path, uri: str, names: Container[str]) -> None:
        """Apply the ignore file of a folder, if it is among `names`; raise OSError if it cannot be read."""
        file = folder / self.options.ignore_file
        # It may have gone since its folder was listed.
        if file.name not in names or not os.path.lexists(file):
            return
        try:
            if not stat.S_ISREG(file.stat().st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            text = file.read_text("utf-8", "replace")
        except OSError as error:  # without it, documents would come in that it keeps out
            raise OSError(errno.EIO, f"its {self.options.ignore_file} cannot be read: {error.strerror}") from error
        self.add(uri, text, readable(str(file)))

    def add(self, uri: str, text: str, file: str) -> None:
        """Apply the text of an ignore file, named `file` in errors, below a folder of the source."""
        self._local.append((f"{uri}/" if uri else "", patterns_in(text, file)))

    def drop(self, uri: str, name: str, is_folder: bool) -> bool:
        """Return whether the patterns exclude a path whose folders they include."""
        path = f"{uri}/" if is_folder else uri
        return (
            # The cheapest rules first: most paths are decided by their name alone.
            name in (self.options.ignore_file, self.options.settings_file)
            or self._is_hidden(name)
            or self._is_excluded(path)
            or (not is_folder and not self._is_included(path))  # a folder may hold what is included
            or self._is_ignored(path)
        )

    def _is_hidden(self, name: str) -> bool:
        return name.startswith(_HIDDEN) and not self.options.hidden

    def _is_excluded(self, path: str) -> bool:
        return self._exclude.match(path)

    def _is_included(self, path: str) -> bool:
        return self._include is None or self._include.match(path)

    def _is_ignored(self, path: str) -> bool:
        """Return whether an ignore file in a folder above excludes a path."""
        return any(path.startswith(folder) and rules.match(path[len(folder) :]) for folder, rules in self._local)

    def drop_inner(self, container: str, inner: str) -> bool:
        """Return whether the patterns exclude the path `inner` inside a container."""
        steps = inner.split("/")
        if not self.options.hidden and _LITTER in steps:
            return True
        paths = accumulate(steps, lambda above, step: f"{above}/{step}", initial=container)
        return any(
            self.drop(path, step, is_folder=depth < len(steps))
            for depth, (path, step) in enumerate(zip(islice(paths, 1, None), steps, strict=True), start=1)
        )


def may_exist(path: str) -> bool:
    """Return whether a path exists or cannot be looked at."""
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def readable(name: str) -> str:
    """Return a file name as valid Unicode, with invalid bytes escaped."""
    if name.isascii():  # as most are: a walk asks for each name several times
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def literal(name: str) -> str:
    """Return the pattern that matches one name."""
    return re.sub(r"([*?\[\]!#\\ ])", r"\\\1", name)
