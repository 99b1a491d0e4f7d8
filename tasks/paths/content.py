"""Content: the part of a file that decides its results: its bytes, and the picture files that it shows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from docmill.storage.keys import key_of
from docmill.tasks.paths.local_file import ANYWHERE, LocalFile, Reach


class FileContent(NamedTuple):
    """The hash of a file, and the key of the picture files that it shows, or ""."""

    hash: str
    pictures: str = ""


@dataclass(frozen=True, slots=True)
class PictureBeside:
    """A picture file that a page shows: its path relative to the page, the hash of its bytes, and where to read it.

    The path and the hash affect the page's results; where the files are does not.
    """

    name: str
    content_hash: str
    path: str
    reach: Reach = ANYWHERE

    @property
    def file(self) -> LocalFile:
        """The file to read."""
        return LocalFile(self.path, self.reach)


def content_of(digest: str, pictures: Iterable[PictureBeside] = ()) -> FileContent:
    """Return the content of a file with this hash that shows these pictures."""
    shown = [(one.name, one.content_hash) for one in pictures]
    return FileContent(digest, key_of("pictures", *shown) if shown else "")
