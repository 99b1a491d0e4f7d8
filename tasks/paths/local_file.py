"""Local file: open a file of a source, and nothing that took its place since it was listed.

Whoever can write into a source may put a link in place of a file, or of a folder above it, between the listing and the
reading. So whatever reads a file of a source opens it here: folder by folder below that of the source, without links.
"""

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY  # a pipe that took its place must not be waited for
_LINK = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})
"""What an open without links fails with at a link: ENOTDIR for a folder, EMLINK on FreeBSD."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a path may lead when it is opened: into the folder `root`, by its links too if these are followed.

    `root` is a resolved path; with "", a path may lead anywhere, as the one of a file that a person named.
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
        """The last step of its path."""
        return PurePath(self.path).name

    def open(self) -> BinaryIO:
        """Open a regular file for reading; raise OSError for anything else, and for a link that its reach excludes."""
        handle = _opened(self)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "not a regular file", self.path)
        return os.fdopen(handle, "rb")

    def size(self) -> int:
        """Return its bytes."""
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
    # A link that the listing has followed leads there still, unless somebody has changed it since.
    real = os.path.realpath(file.path, strict=True)
    try:
        return _without_links(reach.root, real)
    except OSError as error:
        if error.errno not in _LINK:
            raise
        raise _swapped(file.path, "a link took its place while it was read") from None


def _without_links(root: str, path: str) -> int:
    """Open a file below a folder; raise OSError, with a number of `_LINK`, if a step of the way is a link."""
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
