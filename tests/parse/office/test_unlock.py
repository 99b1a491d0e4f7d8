"""Locked Office documents open with a password of the settings, and say so where none fits."""

import io
from pathlib import Path

import pytest

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import fill_keys, parse
from docmill.tasks.parse.formats import ParseOptions
from tests.kit.making.make_golden import CORPUS, FOLDER
from tests.kit.workbench import Workbench, summary
from tests.kit.writers.compound import compound_file
from tests.kit.writers.workbook import with_members


def locked(data: bytes, password: str = "sesame") -> bytes:
    from msoffcrypto.format.ooxml import OOXMLFile

    buffer = io.BytesIO()
    OOXMLFile(io.BytesIO(data)).encrypt(password, buffer)
    return buffer.getvalue()


@pytest.fixture(scope="module", params=[CORPUS / "legal/field-safety-policy.docx", FOLDER / "xlsx/readings.xlsx"])
def document(request: pytest.FixtureRequest) -> tuple[Path, bytes]:
    return request.param, locked(request.param.read_bytes())


def test_a_locked_document_is_read_as_an_open_one(document: tuple[Path, bytes]) -> None:
    path, data = document
    open_type = detect_file_type(path.name, path.read_bytes())
    assert detect_file_type(path.name, data) == open_type
    options = ParseOptions(passwords=("wrong", "sesame"))
    assert parse(data, open_type, options) == parse(path.read_bytes(), open_type, options)
    assert parse(data, detect_file_type("unnamed", data), options).text == parse(data, open_type, options).text


@pytest.mark.parametrize(
    ("passwords", "message"),
    [((), r"give it in \[parse.passwords\]"), (("a", "b"), r"none of the 2 in \[parse.passwords\] opens it")],
)
def test_without_its_password_a_document_is_rejected_as_encrypted(
    document: tuple[Path, bytes], passwords: tuple[str, ...], message: str
) -> None:
    path, data = document
    with pytest.raises(Rejected, match=f"encrypted: .*needs a password; {message}"):
        parse(data, detect_file_type(path.name, data), ParseOptions(passwords=passwords))


@pytest.mark.usefixtures("fake_model")
def test_a_locked_document_is_tried_again_once_its_password_is_given(
    document: tuple[Path, bytes], tmp_path: Path
) -> None:
    bench = Workbench(tmp_path, {"parse": {"passwords": ["wrong"]}})
    bench.write({document[0].name: document[1]})
    assert summary(bench.ingest()) == {"rejected": 1, "parsed": 1}
    assert bench.store.sql("SELECT reason FROM rejects").to_pylist() == [{"reason": "encrypted"}]
    assert bench.ingest().parsed == 0
    bench.settings = {"parse": {"passwords": ["wrong", "sesame"]}}
    opened = bench.ingest()
    assert (opened.documents.added, opened.documents.rejected, opened.exit_status) == (1, 0, 0)


def test_a_workbook_locked_by_default_opens_without_a_password() -> None:
    data = locked((FOLDER / "xlsx/readings.xlsx").read_bytes(), "VelvetSweatshop")
    assert parse(data, detect_file_type("a.xlsx", data), ParseOptions()).title == "Snow readings"


def test_a_damaged_lock_is_told_from_a_wrong_password() -> None:
    data = compound_file({"EncryptedPackage": bytes(64), "EncryptionInfo": b"\4\0\4\0\x40\0\0\0<broken"})
    with pytest.raises(Rejected, match=r"encrypted: .*with a damaged header"):
        parse(data, detect_file_type("a.xlsx", data), ParseOptions(passwords=("a",)))


def test_an_encrypted_open_document_workbook_says_so() -> None:
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    data = with_members((FOLDER / "ods/budget.ods").read_bytes(), {"META-INF/manifest.xml": manifest})
    with pytest.raises(Rejected, match="encrypted: the document is encrypted"):
        parse(data, detect_file_type("a.ods", data), ParseOptions())


def test_a_key_longer_than_its_hash_is_filled() -> None:
    from msoffcrypto.method.ecma376_agile import ECMA376Agile

    fill_keys()
    key = ECMA376Agile._derive_encryption_key(b"digest", b"block", "SHA1", 256)
    assert (len(key), key[20:]) == (32, b"\x36" * 12)
    assert len(ECMA376Agile._derive_encryption_key(b"digest", b"block", "SHA512", 128)) == 16
