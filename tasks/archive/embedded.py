"""Embedded files: what documents of Office hold as files of their own, and what is attached to PDFs."""

import io
import re
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from docmill.storage.errors import Rejected
from docmill.tasks.archive.archive_options import Share
from docmill.tasks.archive.members import Member, joined, zip_members
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.parse.signatures import binary_kind

PDF_SIGN = b"/EmbeddedFile"
"""What a PDF with attachments has in plain sight: a file is a stream of its own, and its dictionary is not packed."""
_EMBEDDED = re.compile(r"(?:word|ppt|xl)/embeddings/[^/]+")
_CHART = re.compile(r"\w+/charts/_rels/[^/]+\.rels")
_CHART_DATA = re.compile(rb"embeddings/([^\"'/]+)[\"']")
_MAX_RELATIONS = 65_536  # bytes: a chart has a handful, of some hundred bytes each
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_NATIVE = "\x01Ole10Native"
_HEADER = 6  # bytes of sizes and flags before the names in it
_FLAGS = 4
_COUNT = 4


def holds_embedded(archive: zipfile.ZipFile) -> bool:
    """Return whether a document of Office has files in it that may be documents."""
    return any(_EMBEDDED.fullmatch(name) for name in archive.namelist())


def office_members(archive: zipfile.ZipFile, share: Share) -> Iterator[Member]:
    """Yield the files embedded in a document of Office; the data of its charts is a part of the document."""
    charts = {name for path in archive.namelist() if _CHART.fullmatch(path) for name in _chart_data(archive, path)}
    for member in zip_members(archive, share):
        name = PurePosixPath(member.name).name
        if _EMBEDDED.fullmatch(member.name) and name not in charts:
            found = _unwrapped(name, member, share)
            if found is not None:
                yield found


def pdf_members(data: bytes, share: Share) -> Iterator[Member]:
    """Yield the files attached to a PDF."""
    from docmill.tasks.parse.pdf.pdf_file import open_pdf  # a tenth of the modules of a run

    document = open_pdf(data, share.options.passwords)
    try:
        for number in range(document.count_attachments()):
            attached = document.get_attachment(number)
            yield Member(attached.get_name() or f"attachment {number + 1}", partial(_attached, attached, share))
    finally:
        document.close()


def _attached(attached: object, share: Share) -> Iterator[bytes]:
    content = bytes(attached.get_data())  # type: ignore[attr-defined]  # of pypdfium2, which has no types
    share.take(len(content))
    yield content


def _chart_data(archive: zipfile.ZipFile, path: str) -> list[str]:
    with archive.open(path) as member:
        return [name.decode("utf-8", "replace") for name in _CHART_DATA.findall(member.read(_MAX_RELATIONS))]


def _unwrapped(name: str, member: Member, share: Share) -> Member | None:
    """Return an embedded file as itself, without the container of OLE around it; None if it is no document."""
    if not name.endswith(".bin"):
        return Member(name, member.read, member.skip)
    try:
        named, content = _packaged(joined(member.read(), share.options.member_bytes))
    except (Rejected, OSError):
        return Member(name, member.read, member.skip)  # whose reading says why
    kind = binary_kind(content)
    if not named:
        if kind not in FORMATS:
            return None  # an equation or a drawing, which the document shows
        named = f"{PurePosixPath(name).stem}.{kind}"
    return Member(named, partial(iter, (content,)))


def _packaged(data: bytes) -> tuple[str, bytes]:
    """Return the name, which may be empty, and the content of an object of OLE."""
    import olefile

    if not data.startswith(_OLE):
        return "", data
    with olefile.OleFileIO(io.BytesIO(data)) as container:
        if container.exists(_NATIVE):
            return _native(container.openstream(_NATIVE).read())
        stream = next((one for one in ("Package", "CONTENTS") if container.exists(one)), "")
        return "", container.openstream(stream).read() if stream else data


def _native(stream: bytes) -> tuple[str, bytes]:
    """Return the name and content of a packaged file: two names, the path it had, and the file, each after its size."""
    label, _, rest = stream[_HEADER:].partition(b"\0")
    path, _, rest = rest.partition(b"\0")
    name, rest = re.split(r"[\\/]", (label or path).decode("latin-1"))[-1], rest[_FLAGS:]
    for _ in range(2):
        size = int.from_bytes(rest[:_COUNT], "little")
        found, rest = rest[_COUNT : _COUNT + size], rest[_COUNT + size :]
    return name, found
