"""Original page: a page of the file that a document was read from; one call in a worker process."""

import stat
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from docmill.storage.errors import Rejected
from docmill.storage.keys import hash_bytes
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.parse.pdf.page_picture import PagePicture, draw_page
from docmill.tasks.work.document.preview import Taking, take


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page of a PDF: of the file at `path`, or of its member `inner`, whose bytes must have the hash."""

    path: Path
    inner: str
    content_hash: str
    number: int
    max_bytes: int
    archives: ArchiveOptions
    passwords: tuple[str, ...] = field(default=(), repr=False, metadata={"secret": True})


def original_page(asked: PageRequest) -> PagePicture:
    """Draw a page; raise Rejected if the file is not what the document was read from, or cannot be drawn."""
    data = _member(asked) if asked.inner else _bytes(asked.path, asked.max_bytes)
    if hash_bytes(data) != asked.content_hash:
        raise Rejected("unreadable", "its file was changed after it was read")
    return draw_page(data, asked.number, asked.passwords)


def _member(asked: PageRequest) -> bytes:
    with TemporaryDirectory() as folder:
        target = Path(folder, "member")
        take(Taking(asked.path, asked.inner, target, asked.archives))
        return _bytes(target, asked.max_bytes)


def _bytes(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file: reading a pipe that took its place would wait for ever."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise Rejected("unreadable", "its file was replaced by something else after it was read")
        if status.st_size > most:
            raise Rejected("too_large", f"{status.st_size} bytes, the limit is {most} (discover.max_file_bytes)")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise Rejected("unreadable", "its file was moved or deleted after it was read") from error
    except OSError as error:
        raise Rejected("unreadable", error.strerror or str(error)) from error
