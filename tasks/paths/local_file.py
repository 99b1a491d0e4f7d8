"""Local file: open a file of a source, but nothing that has replaced it since it was listed.

Anyone who can write into a source may replace a file, or a folder above it, with a link between listing and reading. So
every file of a source is opened here: folder by folder below the source's folder, without following links.
"""

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY  # must not block on a pipe that took its place
_LINK = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})
"""Errors of an open without links at a link: ENOTDIR for a folder, EMLINK on FreeBSD."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a path may lead when it is opened: into the folder `root`, also through links if `links` is set.

    `root` is a resolved path; with "", a path may lead anywhere, like that of a file that a person named.
    """

    root: str = ""
    links: bool = True


ANYWHERE = Reach()


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file on this machine, and where its path may lead."""

    path: str
    reach: Reach = ANYWHERE

    @property
    def name(self) -> str:
        """The last part of its path."""
        return PurePath(self.path).name

    def open(self) -> BinaryIO:
        """Open a regular file for reading; raise OSError for anything else, and for a link that `reach` excludes."""
        handle = _opened(self)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "not a regular file", self.path)
        return os.fdopen(handle, "rb")

    def size(self) -> int:
        """Return its size in bytes."""
        with self.open() as file:
            return os.fstat(file.fileno()).st_size

    def read(self) -> bytes:
        """Return its content."""
        with self.open() as file:
            return file.read()


def _opened(file: LocalFile) -> int:
    reach = file.reach
    if not reach.root:
        return os.open(file.path, _FILE)
    try:
        return _without_links(reach.root, file.path)
    except OSError as error:
        if error.errno not in _LINK:
            raise
        if not reach.links:
            raise _swapped(file.path, "a link took its place after it was listed") from None
    # A link that the listing followed still leads there, unless someone has changed it since.
    real = os.path.realpath(file.path, strict=True)
    try:
        return _without_links(reach.root, real)
    except OSError as error:
        if error.errno not in _LINK:
            raise
        raise _swapped(file.path, "a link took its place while it was read") from None


def _without_links(root: str, path: str) -> int:
    """Open a file below a folder; raise OSError, with an errno of `_LINK`, if a part of the path is a link."""
    if not PurePath(path).is_relative_to(root):
        raise _swapped(path, "a link leads out of the source")
    handle = os.open(root, _FOLDER)
    *folders, name = PurePath(path).relative_to(root).parts
    for step, flags in (*((folder, _FOLDER) for folder in folders), (name, _FILE | os.O_NOFOLLOW)):
        above = handle
        try:
            handle = os.open(step, flags, dir_fd=above)
        finally:
            os.close(above)
    return handle


def _swapped(path: str, what: str) -> OSError:
    return OSError(errno.EXDEV, what, path)
