"""Open archives: from a file, or the bytes of a nested one, to its members.

Office documents and PDFs are opened for the files embedded in them.
"""

import bz2
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from docmill.storage.errors import Rejected
from docmill.tasks.archive.archive_kinds import HEAD_BYTES, is_tar, may_hold, packing
from docmill.tasks.archive.archive_options import Share
from docmill.tasks.archive.member_names import uncompressed
from docmill.tasks.archive.members import Member, joined, mail_members, one_member, tar_members, zip_members
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.parse.signatures import binary_kind, kind_of_zip
from docmill.tasks.paths.local_file import LocalFile

PDF_SIGN = b"/EmbeddedFile"
"""Text that a PDF with attachments always has uncompressed: a file is a separate stream with a plain dictionary."""
_EMBEDDED = re.compile(r"(?:word|ppt|xl)/embeddings/[^/]+")
_CHART = re.compile(r"\w+/charts/_rels/[^/]+\.rels")
_CHART_DATA = re.compile(rb"embeddings/([^\"'/]+)[\"']")
_MAX_RELATIONS = 65_536  # bytes: a chart has a handful, of some hundred bytes each
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_NATIVE = "\x01Ole10Native"
_HEADER = 6  # bytes of sizes and flags before the names
_FLAGS = 4
_COUNT = 4


def holds_embedded(archive: zipfile.ZipFile) -> bool:
    """Return whether an Office document has embedded files that may be documents."""
    return any(_EMBEDDED.fullmatch(name) for name in archive.namelist())


def office_members(archive: zipfile.ZipFile, share: Share) -> Iterator[Member]:
    """Yield the files embedded in an Office document; the data of charts are part of the document itself."""
    charts = {name for path in archive.namelist() if _CHART.fullmatch(path) for name in _chart_data(archive, path)}
    for member in zip_members(archive, share):
        name = PurePosixPath(member.name).name
        if _EMBEDDED.fullmatch(member.name) and name not in charts:
            found = _unwrapped(name, member, share)
            if found is not None:
                yield found


def pdf_members(data: bytes, share: Share) -> Iterator[Member]:
    """Yield the files attached to a PDF."""
    from docmill.tasks.parse.pdf.reader import open_pdf  # a tenth of a run's modules

    document = open_pdf(data, share.options.passwords)
    try:
        for number in range(document.count_attachments()):
            attached = document.get_attachment(number)
            yield Member(attached.get_name() or f"attachment {number + 1}", partial(_attached, attached, share))
    finally:
        document.close()


def _attached(attached: object, share: Share) -> Iterator[bytes]:
    content = bytes(attached.get_data())  # type: ignore[attr-defined]  # pypdfium2 has no types
    share.take(len(content))
    yield content


def _chart_data(archive: zipfile.ZipFile, path: str) -> list[str]:
    with archive.open(path) as member:
        return [name.decode("utf-8", "replace") for name in _CHART_DATA.findall(member.read(_MAX_RELATIONS))]


def _unwrapped(name: str, member: Member, share: Share) -> Member | None:
    """Return an embedded file without the OLE container around it; None if it is not a document."""
    if not name.endswith(".bin"):
        return Member(name, member.read, member.skip)
    try:
        named, content = _packaged(joined(member.read(), share.options.member_bytes))
    except (Rejected, OSError):
        return Member(name, member.read, member.skip)  # reading it gives the reason
    kind = binary_kind(content)
    if not named:
        if kind not in FORMATS:
            return None  # an equation or a drawing, which the document shows
        named = f"{PurePosixPath(name).stem}.{kind}"
    return Member(named, partial(iter, (content,)))


def _packaged(data: bytes) -> tuple[str, bytes]:
    """Return the name, which may be empty, and the content of an OLE object."""
    import olefile

    if not data.startswith(_OLE):
        return "", data
    with olefile.OleFileIO(io.BytesIO(data)) as container:
        if container.exists(_NATIVE):
            return _native(container.openstream(_NATIVE).read())
        stream = next((one for one in ("Package", "CONTENTS") if container.exists(one)), "")
        return "", container.openstream(stream).read() if stream else data


def _native(stream: bytes) -> tuple[str, bytes]:
    """Return the name and content of a packaged file: two names, its old path, and the file, each after its size."""
    label, _, rest = stream[_HEADER:].partition(b"\0")
    path, _, rest = rest.partition(b"\0")
    name, rest = re.split(r"[\\/]", (label or path).decode("latin-1"))[-1], rest[_FLAGS:]
    for _ in range(2):
        size = int.from_bytes(rest[:_COUNT], "little")
        found, rest = rest[_COUNT : _COUNT + size], rest[_COUNT + size :]
    return name, found


MAIL_FORMATS = ("eml", "msg", "mbox", "emlx", "pst")


@dataclass(frozen=True, slots=True)
class Container:
    """A file that may contain others: on disk, or as bytes if it is nested in another file."""

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

    They are `apart` if a damaged member leaves the others readable, as in a zip archive but not in a tar.
    """

    kind: str
    members: Iterator[Member]
    apart: bool = True


@contextmanager
def opened(container: Container, share: Share) -> Iterator[Opened | None]:
    """Open a container; yield None for any other file, such as a document in a zip-based format."""
    head = container.head()
    # Check its beginning first: most files are not containers, and need not be read for that.
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
            is_tarred = is_tar(content.read(HEAD_BYTES))  # some streams cannot seek back, so it is opened once more
            again = stack.enter_context(_unpacked(stack.enter_context(container.open()), how))
            yield _compressed(container.name, again, is_tarred, share)
        elif is_tar(head):
            yield Opened("archive", tar_members(stream, share), apart=False)
        else:
            yield _zip(container, stream, share)


def _mail(container: Container, share: Share) -> Opened | None:
    # It must be read whole to be judged; as a document it would be rejected for its size, too.
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

        # Python has no module for it before 3.14, and pyarrow is installed anyway.
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
