"""Opening: from a file, or the bytes of a nested one, to its members."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from docmill.storage.errors import Rejected
from docmill.tasks.archive.archive_options import Share
from docmill.tasks.archive.embedded import PDF_SIGN, holds_embedded, office_members, pdf_members
from docmill.tasks.archive.kinds import HEAD_BYTES, is_tar, may_hold, packing
from docmill.tasks.archive.members import Member, mail_members, one_member, tar_members, zip_members
from docmill.tasks.archive.names import uncompressed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.signatures import binary_kind, kind_of_zip
from docmill.tasks.paths.local_file import LocalFile

MAIL_FORMATS = ("eml", "msg", "mbox", "emlx", "pst")


@dataclass(frozen=True, slots=True)
class Container:
    """A file that may hold others: on disk, or as bytes if it is nested in another one."""

    name: str
    content: LocalFile | bytes

    @property
    def size(self) -> int:
        """Return its size in bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.size()

    def open(self) -> BinaryIO:
        """Return a stream of its bytes."""
        return io.BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open()

    def read(self) -> bytes:
        """Return its bytes."""
        return self.content if isinstance(self.content, bytes) else self.content.read()

    def head(self) -> bytes:
        """Return its first bytes."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)


@dataclass(frozen=True, slots=True)
class Opened:
    """A container's kind ("archive", "compressed", "mail" or "document") and its members.

    They are `apart` if a damaged one leaves the others readable, as in a zip archive but not in a tar.
    """

    kind: str
    members: Iterator[Member]
    apart: bool = True


@contextmanager
def opened(container: Container, share: Share) -> Iterator[Opened | None]:
    """Open a container; yield None for a file that is not one, such as a document in a zip-based format."""
    head = container.head()
    # By its beginning first: most files are no containers, and need not be read for that.
    held = may_hold(container.name, head)
    with ExitStack() as stack:
        stream = stack.enter_context(container.open())
        if held == "mail":
            yield _mail(container, share)
        elif held == "document":
            yield _pdf(container, share)
        elif not held:
            yield None
        elif how := packing(head):
            content = stack.enter_context(_unpacked(stream, how))
            is_tarred = is_tar(content.read(HEAD_BYTES))  # some streams cannot seek back: open it once more
            again = stack.enter_context(_unpacked(stack.enter_context(container.open()), how))
            yield _compressed(container.name, again, is_tarred, share)
        elif is_tar(head):
            yield Opened("archive", tar_members(stream, share), apart=False)
        else:
            yield _zip(container, stream, share)


def _mail(container: Container, share: Share) -> Opened | None:
    # It has to be read whole to be judged; as a document it is refused for its size, too.
    if container.size > share.options.member_bytes:
        return None
    data = container.read()
    kind = _mail_format(container.name, data)
    return Opened("mail", mail_members(data, kind, share)) if kind else None


def _pdf(container: Container, share: Share) -> Opened | None:
    if container.size > share.options.member_bytes:
        return None
    data = container.read()
    return Opened("document", pdf_members(data, share)) if PDF_SIGN in data else None


def _zip(container: Container, stream: BinaryIO, share: Share) -> Opened | None:
    try:
        archive = zipfile.ZipFile(stream)
        kind = kind_of_zip(archive)
    except MemoryError:
        raise
    except Exception as error:
        # A damaged document is rejected by its parser, a damaged archive here.
        if container.size > share.options.member_bytes or binary_kind(container.read()) == "zip":
            raise Rejected("corrupt", f"the zip archive cannot be opened: {error}") from error
        return None
    if kind != "zip":
        return Opened("document", office_members(archive, share)) if holds_embedded(archive) else None
    return Opened("archive", zip_members(archive, share))


def _compressed(name: str, content: BinaryIO, is_tarred: bool, share: Share) -> Opened:
    if is_tarred:
        return Opened("archive", tar_members(content, share), apart=False)
    return Opened("compressed", one_member(uncompressed(name), content, share), apart=False)


def _unpacked(stream: BinaryIO, how: str) -> BinaryIO:
    """Return the decompressed content of a stream."""
    if how == "zst":
        import pyarrow as pa

        # Python has no module for it before 3.14, and pyarrow is here anyway.
        return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd"))
    if how == "gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=stream))
    return cast(BinaryIO, bz2.BZ2File(stream) if how == "bz2" else lzma.LZMAFile(stream))


def _mail_format(name: str, data: bytes) -> str:
    """Return one of `MAIL_FORMATS` for a mail or a box of mails, "" for another file."""
    try:
        found = detect_file_type(name, data).format
    except Rejected:
        return ""
    return found if found in MAIL_FORMATS else ""
