"""Source: what a source is, the files found in it, and the patterns that select them."""

import errno
import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path
from threading import Event
from typing import Literal

from docmill.tasks.paths.content import FileContent, PictureBeside, content_of
from docmill.tasks.paths.local_file import ANYWHERE, LocalFile, Reach
from docmill.tasks.paths.patterns import PathPatterns, patterns_in, patterns_of
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.connectors.contract import SourceItem

OBJECTS = "an object store"
"""The kind of a source whose files have addresses that other machines can read."""
OUTSIDE = "outside"
"""The `Skipped` reason of links that lead outside the source."""
UNREADABLE = "unreadable"
"""The reason of paths that cannot be accessed, in `Skipped` and in rejects."""
UNSAFE_PATH = "unsafe_path"
"""The reason of names that are not a path within the source."""
FOLDER_FILE = "_metadata.toml"
"""The name of a file that describes the files in its folder and below."""
ENDINGS = (".meta.toml", ".meta.json")
"""Endings of sidecars, which describe the file with the rest of the name."""

_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*://")  # a path is absolute and begins with a slash

Passing = Callable[[Iterable[SourceItem]], Iterable[SourceItem]]
"""Yields the items of a listing as they come, for a run that counts them."""
FollowLinks = Literal["inside", "none", "all"]


@dataclass(frozen=True, slots=True)
class DiscoverOptions:
    """Which files of a source become documents. Patterns are those of `.gitignore`, relative to the source.

    A glob that matches no file, and an object-store prefix without objects, are errors unless the source
    `may_be_empty`. `store` is the folder of the store, which is not a document; nor are `ignore_file` and
    `settings_file`, which may contain passwords. `follow_links` says which links are followed: "all", "none", or those
    to targets "inside" the source. A target is listed once: under its own name if the patterns select that, else under
    the name of the first link."""

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
    parsed. For a file that is not on this machine, `origin` is its address and version, and `path` is "" until its
    future local path is known. `inode` distinguishes a file on disk from another one of the same size and time that was
    moved to its path. `link` is the URL where a person opens the original, or "". `item` is the item that the source
    listed. `content_hash`, and what the file `holds`, see `Fingerprint`, are "" until a run has read the file or
    remembers it. `described` is the metadata that sidecars and the source give, see `docmill.storage.stated_metadata`.
    `reach` limits where links in `path` may lead. `pictures` are files of the source that the file shows."""

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
    link: str = ""
    item: SourceItem | None = None
    content_hash: str = ""
    holds: str = ""
    described: str = ""
    reach: Reach = ANYWHERE
    pictures: tuple[PictureBeside, ...] = ()

    @property
    def content(self) -> FileContent:
        """The part of the file that decides its results."""
        return content_of(self.content_hash, self.pictures)

    @property
    def local(self) -> LocalFile:
        """The local file to read."""
        return LocalFile(self.path, self.reach)

    @property
    def known_as(self) -> str:
        """Return the name under which facts about the file are cached."""
        return self.origin or readable(self.path)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that is not read, and why.

    The reason is `loop`, `store`, `special`, `broken_link`, `outside` or `unreadable`; in an archive `duplicate`.
    """

    uri: str
    reason: str
    message: str


@dataclass(frozen=True)
class Source(ABC):
    """Where documents come from: a folder, an archive, a prefix of an object store, or what a plugin reads.

    `name` distinguishes the documents of several sources, and `where` names the source in messages. `prefix` is the
    start of its documents' uris: the name and a slash if a person gave the name, else "". `pattern` says which of its
    files are used, as in `.gitignore`; "" for all. `folder` on this machine contains its files; None if they are
    elsewhere. Users of a source call these methods; only `discover.open_source` knows which kinds there are.
    """

    name: str
    pattern: str
    prefix: str
    where: str
    folder: Path | None

    @property
    @abstractmethod
    def kind(self) -> str:
        """The kind of source, as messages call it."""

    @property
    @abstractmethod
    def origin(self) -> str:
        """The start of each file's `origin`; "" if the files are on this machine."""

    @abstractmethod
    def list(self, options: DiscoverOptions, checkpoints: Checkpoints, passing: Passing = iter) -> "Listing":
        """List its files; raise `SourceError` or `Transient` if it cannot be reached, or has none although it must.

        `checkpoints` has what it listed before, for a source that can list changes only. `passing` gets the items of a
        source that may take long to list.
        """

    @abstractmethod
    def fetch(self, file: SourceFile, path: Path, most_bytes: int) -> None:
        """Write the bytes of one of its files to `path`.

        Raise `Rejected` if this file cannot be fetched, and `Transient` if the source cannot be reached. A source that
        does not know sizes in advance stops after `most_bytes`, unless the file is an archive.
        """

    @abstractmethod
    def link(self, file: SourceFile) -> str:
        """Return the URL where a person opens the original of a file, or "" if there is none."""

    @property
    def watch_s(self) -> float:
        """Seconds between two checks of a watch; 0 for the common interval."""
        return 0.0

    def mark(self) -> str | None:
        """Return a text that changes whenever a listing would, but is cheap; None if only a listing shows changes."""
        return None

    def wait(self, seconds: float, ended: Event) -> bool:  # noqa: ARG002
        """Wait until the source itself reports a change, or the time is over; return False at once if it cannot."""
        return False

    def covers(self, uri: str) -> bool:
        """Return whether a document with this uri would come from this source."""
        inner = uri.removeprefix(self.prefix)
        return uri.startswith(self.prefix) and (not self.pattern or self._patterns.match(inner))

    def inner(self, file: SourceFile) -> str:
        """Return the path of a file within the source."""
        return file.uri.removeprefix(self.prefix)

    def leads_to(self, inner: str) -> bool:
        """Return whether documents may be below a folder, given by its path in the source."""
        # A folder is worth listing as long as its path can be the start of one that the pattern selects.
        names = inner.split("/")[: len(self._leading)]
        return not self._leading or self._leading[len(names) - 1].match("/".join(names))

    def is_file(self, inner: str) -> bool:
        """Return whether the source is a single file with this name."""
        return bool(self.pattern) and self.pattern == literal(inner)

    @cached_property
    def _patterns(self) -> PathPatterns:
        return patterns_of([f"/{self.pattern}"], f"source {self.where}")

    @cached_property
    def _leading(self) -> tuple[PathPatterns, ...]:
        """The pattern up to its first name, its second one, and so on, but not beyond a `**`, which is any folders."""
        names = self.pattern.split("/") if self.pattern else []
        fixed = names[: names.index("**")] if "**" in names else names
        ends = range(1, len(fixed) + 1)
        return tuple(patterns_of([f"/{'/'.join(fixed[:end])}"], f"source {self.where}") for end in ends)


@dataclass(frozen=True)
class Listing:
    """The result of a walk: files in the order of their uris, and the paths that were skipped.

    For a folder, which may have many files, `found` is `RowColumns`.
    """

    found: Sequence[SourceFile]
    skipped: list[Skipped]
    rules: "PathRules | None" = None

    @cached_property
    def unseen(self) -> dict[str, Skipped]:
        """The paths that could not be accessed, by uri."""
        return {one.uri: one for one in self.skipped if one.reason == UNREADABLE}

    def unseen_files(self, source: Source) -> list[SourceFile]:
        """Return the paths that could not be accessed, as files to reject."""
        return [
            SourceFile(uri, uri, source.name, 0, 0, (), "", *why)
            for uri, why in ((uri, (one.reason, one.message)) for uri, one in self.unseen.items())
        ]

    def hides(self, uri: str) -> bool:
        """Return whether a document may exist in a place that could not be accessed."""
        while uri and uri not in self.unseen:
            uri = uri.rpartition("/")[0]
        return bool(uri)


_HIDDEN = (".", "~$")  # the latter marks documents that are open in Office
_LITTER = "__MACOSX"  # the hidden half of each file in an archive made by a Mac


class PathRules:
    """The patterns in effect; an ignore file adds its own for its folder."""

    def __init__(self, options: DiscoverOptions) -> None:
        self.options = options
        self._include = patterns_of(options.include, "[discover] include") if options.include else None
        self._exclude = patterns_of(options.exclude, "[discover] exclude")
        self._local: list[tuple[str, PathPatterns]] = []
        # Once and not by path, because symbolic links and mounts give a folder further names.
        self._store = options.store.stat() if options.store and options.store.is_dir() else None

    def is_store(self, folder: os.stat_result) -> bool:
        """Return whether a folder is the store, by whichever path it was reached."""
        return self._store is not None and os.path.samestat(folder, self._store)

    def enter(self, folder: Path, uri: str, names: Container[str]) -> None:
        """Apply the ignore file of a folder if it is among `names`; raise OSError if it cannot be read."""
        file = folder / self.options.ignore_file
        # It may have been removed after its folder was listed.
        if file.name not in names or not os.path.lexists(file):
            return
        try:
            if not stat.S_ISREG(file.stat().st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            text = file.read_text("utf-8", "replace")
        except OSError as error:  # without it, excluded documents would be ingested
            raise OSError(errno.EIO, f"its {self.options.ignore_file} cannot be read: {error.strerror}") from error
        self.add(uri, text, readable(str(file)))

    def add(self, uri: str, text: str, file: str) -> None:
        """Apply the text of an ignore file, named `file` in errors, below a folder of the source."""
        self._local.append((f"{uri}/" if uri else "", patterns_in(text, file)))

    def drop(self, uri: str, name: str, is_folder: bool, *, in_container: bool = False) -> bool:
        """Return whether the patterns exclude a path whose folders they include.

        Describing files need not be included; in a container, they are files like others.
        """
        path = f"{uri}/" if is_folder else uri
        return (
            # The cheapest rules come first: most paths are decided by their name alone.
            name in (self.options.ignore_file, self.options.settings_file)
            or self._is_hidden(name)
            or self._exclude.match(path)
            # A folder may contain included files.
            or not (is_folder or self._is_included(path) or (is_sidecar(name) and not in_container))
            or any(path.startswith(folder) and rules.match(path[len(folder) :]) for folder, rules in self._local)
        )

    def _is_hidden(self, name: str) -> bool:
        return name.startswith(_HIDDEN) and not self.options.hidden

    def _is_included(self, path: str) -> bool:
        return self._include is None or self._include.match(path)

    def drop_item(self, name: str) -> bool:
        """Return whether the patterns exclude a path or a folder above it."""
        steps = name.split("/")
        ends = range(1, len(steps) + 1)
        return any(self.drop("/".join(steps[:end]), steps[end - 1], is_folder=end < len(steps)) for end in ends)

    def drop_inner(self, container: str, inner: str) -> bool:
        """Return whether the patterns exclude the path `inner` inside a container."""
        steps = inner.split("/")
        if not self.options.hidden and _LITTER in steps:
            return True
        paths = accumulate(steps, lambda above, step: f"{above}/{step}", initial=container)
        return any(
            self.drop(path, step, is_folder=depth < len(steps), in_container=True)
            for depth, (path, step) in enumerate(zip(islice(paths, 1, None), steps, strict=True), start=1)
        )


def is_sidecar(name: str) -> bool:
    """Return whether a file with this name describes others, and so is not a document."""
    return name == FOLDER_FILE or (name.endswith(ENDINGS) and not name.startswith(ENDINGS))


def is_origin(known_as: str) -> bool:
    """Return whether the name under which a file's facts are cached is an `origin` rather than a path."""
    return _ORIGIN.match(known_as) is not None


def may_exist(path: str) -> bool:
    """Return whether a path exists or cannot be accessed."""
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def readable(name: str) -> str:
    """Return a file name as valid Unicode, with invalid bytes escaped."""
    if name.isascii():  # most are, and a walk asks for each name several times
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def literal(name: str) -> str:
    """Return the pattern that matches exactly one name."""
    return re.sub(r"([*?\[\]!#\\ ])", r"\\\1", name)
