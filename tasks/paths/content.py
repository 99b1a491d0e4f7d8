"""Content: what of a file decides what becomes of it: its bytes, and the pictures beside it that it shows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from docmill.storage.keys import key_of
from docmill.tasks.paths.local_file import ANYWHERE, LocalFile, Reach


class FileContent(NamedTuple):
    """The hash of a file, and the key of the pictures beside it that it shows; "" without any."""

    hash: str
    pictures: str = ""


@dataclass(frozen=True, slots=True)
class PictureBeside:
    """A picture that a page shows: its path relative to the page, the hash of its bytes, and where it is read.

    The path and the hash decide what becomes of the page; where both are does not.
    """

    name: str
    content_hash: str
    path: str
    reach: Reach = ANYWHERE

    @property
    def file(self) -> LocalFile:
        """The file that is read."""
        return LocalFile(self.path, self.reach)


def content_of(digest: str, pictures: Iterable[PictureBeside] = ()) -> FileContent:
    """Return the content of a file of some hash that shows pictures."""
    shown = [(one.name, one.content_hash) for one in pictures]
    return FileContent(digest, key_of("pictures", *shown) if shown else "")
