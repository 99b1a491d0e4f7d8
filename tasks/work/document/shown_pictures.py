"""Shown pictures: read the files beside a page that it shows, within bounds."""

from collections.abc import Iterator
from dataclasses import replace

from docmill.storage.keys import hash_bytes
from docmill.tasks.parse.pictures.album import MOST_BYTES
from docmill.tasks.parse.pictures.picture_file import MAX_BYTES
from docmill.tasks.paths.content import PictureBeside
from docmill.tasks.work.document.work_item import WorkItem


def read_pictures(work: WorkItem) -> tuple[WorkItem, dict[str, bytes]]:
    """Return the pictures that a page shows by their names, and the work with the hashes of what was read.

    A picture that is gone, or cannot be read, has the hash "": the next run finds another one and reads the page again.
    """
    read, found = dict[str, bytes](), list[PictureBeside]()
    for one, data in _read(work):
        found.append(one)
        if data is not None:
            read[one.name] = data
    return replace(work, pictures=tuple(found)), read


def _read(work: WorkItem) -> Iterator[tuple[PictureBeside, bytes | None]]:
    left = MOST_BYTES
    for one in work.pictures:
        if left < 0:  # no more are kept
            yield one, None
            continue
        try:
            with one.file.open() as file:
                data = file.read(MAX_BYTES + 1)
        except OSError:
            yield replace(one, content_hash=""), None
            continue
        left -= len(data)
        # Of a larger one the beginning says all that counts: that it is too large.
        yield one if len(data) > MAX_BYTES else replace(one, content_hash=hash_bytes(data)), data
