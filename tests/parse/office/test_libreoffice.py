"""Documents that LibreOffice converts: how it is asked, what is made of its answer. The program here is a script."""

import io
import zipfile
from pathlib import Path

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.kit.making.make_golden import CORPUS
from tests.kit.writers.compound import compound_file

DOC = compound_file({"WordDocument": b"\xec\xa5\xc1\0" + bytes(5_000)})
ANSWER = """#!/bin/sh
for argument; do
  case "$argument" in -env:UserInstallation=file://*) profile="${argument#*file://}" ;; esac
  case "$last" in --convert-to) wanted="$argument" ;; --outdir) out="$argument" ;; esac
  last="$argument"
done
grep -q DisableMacrosExecution "$profile/user/registrymodifications.xcu" || exit 9
test -s "$last" || exit 8
"""


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "soffice"
    program.write_text(ANSWER + script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def _read(data: bytes, name: str) -> Parsed:
    return parse(data, FileType(name), ParseOptions())


def test_an_old_document_is_converted_and_read_as_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = CORPUS / "legal/field-safety-policy.docx"
    _install(tmp_path, monkeypatch, f'mkdir -p "$out" && cp "{path}" "$out/document.$wanted"\n')
    assert detect_file_type("a", DOC) == FileType("doc")
    new, old = _read(path.read_bytes(), "docx"), _read(DOC, "doc")
    assert (old.text, old.elements) == (new.text, new.elements)
    assert "created" not in old.metadata


def test_an_old_document_is_converted_in_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(
        tmp_path,
        monkeypatch,
        f'mkdir -p "$out" && cp "{CORPUS / "legal/field-safety-policy.docx"}" "$out/document.$wanted"\n',
    )
    with Pool(Limits(workers=1)) as pool:
        (title,) = pool.map(_title, [DOC])
    assert title == "Field Safety and Travel Policy"


def _title(data: bytes) -> str:
    return _read(data, "doc").title


def test_without_libreoffice_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Rejected, match="not_installed: doc needs LibreOffice: install libreoffice-writer"):
        _read(DOC, "doc")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'Error: source file could not be loaded' >&2\n", "corrupt: .*doc: Error: source file could not be"),
        ("exit 1\n", "corrupt: .*doc: it gives no reason"),
        ("kill -9 $$\n", "crashed: LibreOffice was killed by signal 9"),
        ('mkdir "$out" && echo no > "$out/document.$wanted"\n', "corrupt: .*zip"),
    ],
)
def test_a_failed_conversion_is_a_reject(
    script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, monkeypatch, script)
    with pytest.raises(Rejected, match=message):
        _read(DOC, "doc")


def test_a_conversion_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, monkeypatch, "exec sleep 60\n")
    monkeypatch.setattr("docmill.tasks.parse.pandoc.word.old_word._TIMEOUT_S", 0.3)
    with pytest.raises(Rejected, match=r"timeout: LibreOffice took more than 0\.3 seconds"):
        _read(DOC, "doc")


def test_what_a_conversion_unpacks_to_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(60_000_000))
    (tmp_path / "bomb").write_bytes(bomb.getvalue())
    _install(tmp_path, monkeypatch, f'mkdir -p "$out" && cp "{tmp_path}/bomb" "$out/document.$wanted"\n')
    with pytest.raises(Rejected, match="too_large"):
        _read(DOC, "doc")
