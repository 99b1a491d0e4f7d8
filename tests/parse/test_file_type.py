"""A file is what its content says; its name decides only where the content leaves it open."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch import file_type
from docmill.tasks.parse.dispatch.file_type import classify, detect_file_type
from docmill.tasks.parse.dispatch.text_signs import regular
from docmill.tasks.parse.formats import FileType
from docmill.tasks.parse.programming_languages import LANGUAGES
from docmill.tasks.parse.signatures import KINDS, binary_kind

CORPUS = Path(__file__).parents[1] / "corpus"

PYTHON = "import os\n\n\ndef size(path: str) -> int:\n    return os.stat(path).st_size\n"
GO = 'package main\n\nimport "fmt"\n\nfunc main() {\n\tname := "x"\n\tfmt.Println(name)\n}\n'
MARKDOWN = "# Title\n\nText with [a link](https://example.org).\n\n```sh\nls\n```\n"
HTML = "<!DOCTYPE html>\n<html><body><p>Text</p></body></html>"
PROSE = "It was late, and the rain had not stopped.\nNobody came, nobody called, and so it went on.\n" * 5
TABLE = "name,size,weight\n" + "".join(f"n{i},{i},{i * 2}\n" for i in range(9))
TURN = "{'role': 'user', 'content': 'One, two, three'}"
TALKS = "id,talk\n" + "".join(f'{turns},"[{", ".join([TURN] * turns)}]"\n' for turns in range(1, 6))
TRACES = (
    "2024-03-05 10:00:01,123 ERROR failed\nTraceback (most recent call last):\n  File 'a.py', line 1\nValueError\n" * 6
)
YAML = "name: build\non:\n  push:\n    branches: [main]\njobs:\n  test:\n    runs-on: linux\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", PROSE, FileType("text")),
        ("README", PROSE, FileType("text")),
        ("a.md", MARKDOWN, FileType("markdown")),
        ("a.mdx", PROSE, FileType("markdown")),
        ("a", MARKDOWN, FileType("markdown")),
        ("a.html", HTML, FileType("html")),
        ("a.txt", HTML, FileType("html")),
        ("a.md", HTML, FileType("html")),
        ("a.html", PROSE, FileType("text")),
        ("a.csv", TABLE, FileType("csv")),
        ("a", TABLE, FileType("csv")),
        ("a.csv", PROSE, FileType("text")),
        ("a.csv", "a,b\n", FileType("csv")),
        ("a.py", PYTHON, FileType("code", "python")),
        ("a.py", HTML, FileType("html")),
        ("a", PYTHON, FileType("code", "python")),
        ("a", "#!/usr/bin/env python3\nx\n", FileType("code", "python")),
        ("tool", "#!/bin/sh\nls\n", FileType("code", "shell")),
        ("a.go", GO, FileType("code", "go")),
        ("A.GO", GO, FileType("code", "go")),
        ("a", GO, FileType("code", "go")),
        ("a.yml", YAML, FileType("code", "yaml")),
        ("a", YAML, FileType("code", "yaml")),
        ("a.log", TRACES, FileType("log")),
        ("a.json", '{"a": [1, 2]}', FileType("json")),
        ("a.txt", '{"a": [1, 2]}', FileType("json")),
        ("a.txt", '{"a": 1}\n{"a": 2}\n', FileType("jsonl")),
        ("a.xml", '<?xml version="1.0"?><a>b</a>', FileType("xml")),
        ("Makefile", "all:\n\tls\n", FileType("code", "makefile")),
        ("Dockerfile", "FROM x\nRUN y\n", FileType("code", "dockerfile")),
        ("a.h", "#define A 1\n", FileType("code", "c")),
        ("a.h", "#pragma once\nnamespace a {\nclass B;\n}\n", FileType("code", "cpp")),
        ("mail.txt", "From: a@example.org\nTo: b@example.org\nSubject: Hello\n\nDear B,\n", FileType("eml")),
        (
            "Inbox",
            "From a Mon Jun 01 10:00:00 2026\nFrom: a@b.example\nTo: b@b.example\nSubject: c\n",
            FileType("mbox"),
        ),
        ("a.mbox", "From a Mon Jun 01 10:00:00 2026\n\nHello.\n", FileType("mbox")),
        ("a.fb2", "<?xml version='1.0'?>\n<!-- by hand -->\n<FictionBook><body/></FictionBook>", FileType("fb2")),
    ],
)
def test_text_is_known_by_content_and_name(name: str, text: str, expected: FileType) -> None:
    assert detect_file_type(name, text.encode()) == expected


WRONG_NAMES = ("a.pdf", "a.docx", "a.html", "a.csv", "a.json", "a")


@pytest.mark.parametrize("name", WRONG_NAMES)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PYTHON * 3, FileType("code", "python")),
        (GO * 3, FileType("code", "go")),
        (MARKDOWN * 3, FileType("markdown")),
        (HTML, FileType("html")),
        (YAML * 3, FileType("code", "yaml")),
        (PROSE, FileType("text")),
    ],
)
def test_a_wrong_name_does_not_deceive(name: str, text: str, expected: FileType) -> None:
    assert detect_file_type(name, text.encode()) == expected


SENTENCES = "The owl sat in the oak and was still.\nIt called (twice) at noon, said the miller.\n"


@pytest.mark.parametrize(
    ("name", "text", "asked"),
    [
        ("a.html", HTML, False),
        ("a.md", MARKDOWN * 3, False),
        ("a.json", '{"a": [1, 2]}', False),
        ("a.json", GO * 3, True),
        ("a", GO * 3, True),
        ("a.md", "---\ntitle: The owl\n---\n\n- x = 1;\n", False),
        ("a.txt", SENTENCES, False),
        ("a.md", SENTENCES, False),
        ("a", SENTENCES, False),
        ("a.txt", f"{SENTENCES}Ask @owl now, please.\n", False),  # of a hundred characters, one may be strange
        ("a.txt", f"{SENTENCES}Ask @owl @jay now.\n", True),
        ("a.txt", f"{SENTENCES}ow\nowl\nhoot\ncall\nfly\nsit\nlook\nrest\n", True),  # fewer than 4 words a line
        ("a.txt", f"{SENTENCES}int x;\n", True),
    ],
)
def test_the_classifier_is_asked_only_where_name_and_text_leave_it_open(
    name: str, text: str, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = detect_file_type(name, text.encode())
    questions: list[str] = []

    def recorded(text: str, least: float) -> FileType | None:
        questions.append(text)
        return classify(text, least)

    monkeypatch.setattr(file_type, "classify", recorded)
    assert detect_file_type(name, text.encode()) == expected
    assert bool(questions) == asked
    monkeypatch.setattr(file_type, "classify", lambda *_: FileType("code", "rust"))
    assert (detect_file_type(name, text.encode()) == FileType("code", "rust")) == asked  # then its word counts


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a"])
def test_a_sentence_in_capitals_is_no_sql(name: str) -> None:
    text = "ADDED LAST WORD IN THE TABLE"
    assert classify(text, 0.8) == FileType("code", "sql")
    assert detect_file_type(name, text.encode()) == FileType("markdown" if name == "a.md" else "text")


def test_a_name_decides_between_kinds_that_look_alike() -> None:
    text = "int add(int a, int b) {\n    return a + b;\n}\n"
    assert detect_file_type("a.cpp", text.encode()) == FileType("code", "cpp")
    assert detect_file_type("a.c", text.encode()) == FileType("code", "c")


def test_many_comments_above_a_root_cost_no_time() -> None:
    data = b"<?xml version='1.0'?>" + b"<!-- a -->\n" * 30 + b"<TEI><p>Words.</p></TEI>"  # 2 to the power of 30 ways
    assert detect_file_type("a.bin", data) == FileType("xml")
    assert detect_file_type("a.bin", data.replace(b"TEI", b"html")) == FileType("html")


def test_delimiters_within_quotes_make_no_fields() -> None:
    assert regular(TALKS)
    assert not regular(TALKS.replace('"', ""))


def test_a_text_in_utf_16_is_known_as_if_it_were_utf_8() -> None:
    assert detect_file_type("a", (PYTHON * 3).encode("utf-16")) == FileType("code", "python")


def archive(*names: str, mimetype: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as container:
        if mimetype:
            container.writestr("mimetype", mimetype)
        for name in names:
            container.writestr(name, "x")
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["a.docx", "a.txt", "a", "a.pdf"])
def test_a_container_is_known_by_its_members_whatever_its_name(name: str) -> None:
    assert detect_file_type(name, archive("[Content_Types].xml", "word/document.xml")) == FileType("docx")
    assert detect_file_type(name, archive("visio/document.xml")) == FileType("vsdx")
    assert detect_file_type(name, archive("Index/Document.iwa")) == FileType("iwork")
    drawing = archive("a", mimetype="application/vnd.oasis.opendocument.graphics")
    assert detect_file_type(name, drawing) == FileType("odg")
    assert detect_file_type(name, b"%PDF-1.7\n\x00...") == FileType("pdf")
    assert detect_file_type(name, b"\xff\xd8\xff\xe0" + bytes(20)) == FileType("image")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (archive("AndroidManifest.xml"), "apk"),
        (archive("a.txt"), "zip"),
        (b"\x1f\x8b\x08" + bytes(20), "gzip"),
    ],
)
def test_what_has_no_parser_is_rejected_by_its_own_name(data: bytes, kind: str) -> None:
    with pytest.raises(Rejected, match=f"unsupported: {kind} files are not supported; supported are text, markdown"):
        detect_file_type("a.txt", data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"7z\xbc\xaf\x27\x1c\0\4" + bytes(20), "7z archives are not read; zip and tar archives are"),
        (b"Rar!\x1a\x07\x01\0" + bytes(20), "rar archives are not read"),
        (bytes(4) + b"ftypheic" + bytes(20), "HEIC and AVIF pictures are not read; PNG, JPEG"),
        (bytes(4) + b"ftypavif" + bytes(20), "HEIC and AVIF pictures are not read"),
        (b"\x78\x9f\x3e\x22" + bytes(40), r"winmail.dat, mail wrapped by Outlook \(TNEF\), is not read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "VisioDocument".encode("utf-16-le"), "Visio drawings"),
        (b"ID3" + bytes(20), "sound and video are not read; what is said in them is, as .srt"),
    ],
)
def test_what_holds_text_but_has_no_parser_is_rejected_with_what_is_read_instead(data: bytes, message: str) -> None:
    with pytest.raises(Rejected, match=f"unsupported: {message}"):
        detect_file_type("a.dat", data)


def test_a_pdf_with_a_damaged_header_is_no_text() -> None:
    source = b" %PDF.1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"
    assert detect_file_type("report.pdf", source) == FileType("pdf")
    assert detect_file_type("on-pdf.txt", source) == FileType("text")


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("__init__.py", "# Of the mill\n", "python"),
        ("limits.py", "least = 1\nmost = 2\n", "python"),
        ("run.sh", "mill turn\n", "shell"),
    ],
)
def test_short_source_code_is_what_its_name_says(name: str, text: str, language: str) -> None:
    assert detect_file_type(name, text.encode()) == FileType("code", language)
    assert detect_file_type(name, b"These are words.\nThey say nothing else.\n").format != "code"


def test_a_patch_by_git_is_no_mail() -> None:
    head = f"From {'0a' * 20} Mon Sep 17 00:00:00 2001\nFrom: Ada <a@x.org>\nDate: Mon, 2 Mar 2026\n"
    change = "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-int a;\n+int b;\n"
    patch = f"{head}Subject: [PATCH] Gate\n\nShut it.\n---\n{change}".encode()
    assert detect_file_type("a.patch", patch) == detect_file_type("a", patch) == FileType("code", "diff")


def test_languages_are_many_and_share_no_suffix() -> None:
    suffixes = [suffix for language in LANGUAGES.values() for suffix in language.suffixes]
    assert len(LANGUAGES) > 25
    assert len(suffixes) == len(set(suffixes))


@pytest.mark.parametrize("path", sorted((CORPUS / "src").rglob("*.*")), ids=lambda path: path.name)
def test_source_code_is_known_with_and_without_its_name(path: Path) -> None:
    data = path.read_bytes()
    assert detect_file_type("unnamed", data) == detect_file_type(path.name, data)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.signatures], ids=lambda kind: kind.name)
def test_each_signature_is_found_at_its_place(kind: Any) -> None:
    for offset, signature in kind.signatures:
        first = next(one for one in KINDS if (offset, signature) in one.signatures)
        assert binary_kind(b" " * offset + signature + b" " * 40) in (first.name, "encrypted", "ole", "zip")
