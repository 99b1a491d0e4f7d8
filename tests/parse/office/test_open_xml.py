"""The containers of office files: read as `zipfile` reads them, only faster, and written so that it reads them."""

import zipfile
import zlib
from io import BytesIO

import pytest

from docmill.storage.errors import Rejected
from docmill.tasks.parse.office import open_xml
from docmill.tasks.parse.office.open_xml import OfficeContainer, check_container, zipped

MEMBERS = {"a.xml": b"<a>" + b"words " * 500 + b"</a>", "Größe/東京.xml": b"<b/>", "empty.xml": b""}


def packed(method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as container:
        for name, content in MEMBERS.items():
            container.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
@pytest.mark.parametrize("before", [b"", b"a program before the archive"])
def test_members_are_those_that_zipfile_reads(method: int, before: bytes) -> None:
    with OfficeContainer(before + packed(method)) as container:
        assert {name: container.read(name) for name in container.namelist()} == MEMBERS
        assert {one.filename: container.read(one) for one in container.infolist()} == MEMBERS


def test_sound_members_are_read_once_and_without_zipfile(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("zipfile was asked")

    data = packed()
    monkeypatch.setattr(zipfile.ZipFile, "open", refuse)
    with OfficeContainer(data) as container:
        first = container.read("a.xml")
        assert first == MEMBERS["a.xml"]
        assert container.read("a.xml") is first


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_xml._MAX_KEPT <= 20_000_000  # of a worker's memory, beside the document
    monkeypatch.setattr(open_xml, "_MAX_KEPT", 10)
    with OfficeContainer(packed()) as container:
        assert container.read("a.xml") is not container.read("a.xml")
        assert container.read("Größe/東京.xml") is container.read("Größe/東京.xml")


def _in_directory(data: bytes, place: int, value: bytes) -> bytes:
    """Return the archive with other bytes in the entry of its first member in the directory."""
    at = data.index(b"PK\x01\x02") + place
    return data[:at] + value + data[at + len(value) :]


@pytest.mark.parametrize(
    "damaged",
    [
        packed().replace(b"a.xml", b"b.xml", 1),
        _in_directory(packed(), 16, b"\0\0\0\0"),
        _in_directory(packed(), 24, b"\x05\0\0\0"),
        _in_directory(packed(), 42, b"\x10\0\0\0"),
        packed()[:40] + b"\xff" * 8 + packed()[48:],
    ],
    ids=["name", "checksum", "size", "place", "content"],
)
def test_damage_is_what_zipfile_says(damaged: bytes) -> None:
    said = list[str]()
    for opened in (zipfile.ZipFile(BytesIO(damaged)), OfficeContainer(damaged)):
        with opened as container, pytest.raises((zipfile.BadZipFile, zlib.error)) as why:
            container.read(container.namelist()[0])
        said.append(str(why.value))
    assert said[0] == said[1]


def test_a_member_with_a_password_is_refused() -> None:
    data = _in_directory(packed(), 8, b"\x01\x08")
    with pytest.raises(Rejected) as why:
        check_container(data, 10**6)
    assert why.value.reason == "encrypted"
    with OfficeContainer(data) as container, pytest.raises(RuntimeError, match="password"):
        container.read("a.xml")


def test_a_written_container_is_read_by_zipfile() -> None:
    with zipfile.ZipFile(BytesIO(zipped(MEMBERS.items()))) as container:
        assert container.testzip() is None
        assert {name: container.read(name) for name in container.namelist()} == MEMBERS
