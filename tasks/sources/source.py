"""Sources: what one is, what it offers, and the patterns that say which of its files count."""

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path

from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class DiscoverOptions:
    """Which files of a source count. Patterns are those of `.gitignore`, relative to the source.

    A glob that matches no file, and a prefix of an object store without an object, is an error unless it
    `may_be_empty`. `store` is the folder that the documents go to, which is no document itself; nor are
    `ignore_file` and `settings_file`, in which passwords may stand.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_file: str = ".docmillignore"
    settings_file: str = "docmill.toml"
    hidden: bool = False
    may_be_empty: bool = False
    store: Path | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A file that a source offers. `uri` is its path within the source, `size` in bytes.

    For a file within a file, `path` is that of the outermost one, `place` the numbers of the members
    that lead to it, and `parent` the uri of the one that it is in. `reason` and `message` say why a
    file is known to be of no use before it is read as a document. Of an object `origin` is the address and
    the entity tag, and `path` where it will lie.
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

    @property
    def known_as(self) -> str:
        """Return the name under which what was found out about the file is remembered."""
        return self.origin or readable(self.path)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that is not read: `loop`, `store`, `special`, `broken_link`, `unreadable`, in an archive `duplicate`."""

    uri: str
    reason: str
    message: str


@dataclass(frozen=True)
class Source:
    """A folder, a glob below a folder, or one file; or the same of an object store, at `url`.

    `name` tells documents of several sources apart; with `prefix` it also begins their uris.
    `pattern` is empty for a whole folder.
    """

    name: str
    root: Path
    pattern: str
    prefix: str
    url: str = ""

    def covers(self, uri: str) -> bool:
        """Say whether a document of this name belongs to what was asked for."""
        inner = uri.removeprefix(self.prefix)
        return uri.startswith(self.prefix) and (not self.pattern or self._spec.match_file(inner))

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        return GitIgnoreSpec.from_lines([f"/{self.pattern}"])


@dataclass(frozen=True, slots=True)
class Listing:
    """What a walk saw: files in the order of their uris, and what it passed over."""

    found: list[Found]
    skipped: list[Skipped]
    rules: "PathRules | None" = None

    def hides(self, uri: str) -> bool:
        """Say whether a document may still exist where the walk could not look."""
        return any(s.reason == "unreadable" and (uri == s.uri or uri.startswith(f"{s.uri}/")) for s in self.skipped)


_HIDDEN = (".", "~$")  # the latter says who has a document of Office open, and is hidden where Office runs
_LITTER = "__MACOSX"  # the hidden half of each file in an archive that a Mac has packed


class PathRules:
    """The patterns in force; an ignore file adds its own for the folder that it lies in."""

    def __init__(self, options: DiscoverOptions) -> None:
        self.options = options
        self._include = GitIgnoreSpec.from_lines(options.include) if options.include else None
        self._exclude = GitIgnoreSpec.from_lines(options.exclude) if options.exclude else None
        self._local: list[tuple[str, GitIgnoreSpec]] = []
        self._store = options.store.stat() if options.store and options.store.is_dir() else None

    def is_store(self, folder: os.stat_result) -> bool:
        """Say whether a folder is the one that the documents go to, by whichever path it was reached."""
        return self._store is not None and os.path.samestat(folder, self._store)

    def enter(self, folder: Path, uri: str, names: list[str]) -> None:
        if self.options.ignore_file in names:
            self.add(uri, (folder / self.options.ignore_file).read_text("utf-8", "replace"))

    def add(self, uri: str, text: str) -> None:
        """Let the text of an ignore file count below a folder of the source."""
        self._local.append((f"{uri}/" if uri else "", GitIgnoreSpec.from_lines(text.splitlines())))

    def drop(self, uri: str, name: str, is_folder: bool) -> bool:
        """Say whether the patterns leave out a path of the source, whose folders they have not left out."""
        path = f"{uri}/" if is_folder else uri
        return (
            name in (self.options.ignore_file, self.options.settings_file)
            or self._is_hidden(name)
            or self._is_excluded(path)
            or (not is_folder and not self._is_included(path))
            or self._is_ignored(path)
        )

    def _is_hidden(self, name: str) -> bool:
        return name.startswith(_HIDDEN) and not self.options.hidden

    def _is_excluded(self, path: str) -> bool:
        return self._exclude is not None and bool(self._exclude.match_file(path))

    def _is_included(self, path: str) -> bool:
        return self._include is None or bool(self._include.match_file(path))

    def _is_ignored(self, path: str) -> bool:
        """Say whether an ignore file in a folder above leaves out a path."""
        return any(path.startswith(folder) and spec.match_file(path[len(folder) :]) for folder, spec in self._local)

    def drop_inner(self, container: str, inner: str) -> bool:
        """Say whether the patterns leave out the path `inner` below a file that holds others."""
        steps = inner.split("/")
        if not self.options.hidden and _LITTER in steps:
            return True
        paths = accumulate(steps, lambda above, step: f"{above}/{step}", initial=container)
        return any(
            self.drop(path, step, is_folder=depth < len(steps))
            for depth, (path, step) in enumerate(zip(islice(paths, 1, None), steps, strict=True), start=1)
        )


def readable(name: str) -> str:
    """Return a file name as valid Unicode; bytes that are none are escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
