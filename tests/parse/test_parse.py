"""What holds of every parser: exact spans, true reasons, no dependence on anything but the bytes."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import Rejected
from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.parser import faults
from docmill.tasks.parse.dispatch.readers import parser_key
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FORMATS, FileType, ParseOptions
from tests.kit.drawing import examples

CORPUS = Path(__file__).parents[1] / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())
ITSELF = ("text", "markdown", "code")
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:5af6b1678cae46ec\nsize 370\n"


def parse_file(path: Path, options: ParseOptions | None = None) -> tuple[FileType, Parsed]:
    data = path.read_bytes()
    file_type = detect_file_type(path.name, data)
    return file_type, parse(data, file_type, options or ParseOptions())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_elements_are_exact_ordered_and_nested(path: Path) -> None:
    file_type, parsed = parse_file(path)
    assert faults(parsed) == []
    assert parsed.elements
    if file_type.format in ITSELF:
        assert parsed.text == path.read_bytes().decode("utf-8-sig")


@pytest.mark.parametrize(
    ("fault", "elements"),
    [
        ("outside of a text of 10 characters", [Element("text", 0, 11)]),
        ("or empty", [Element("text", 4, 4)]),
        ("begins before the one before it, at 5", [Element("text", 5, 9), Element("text", 0, 4)]),
        ("overlaps one that ends at 6", [Element("quote", 0, 6), Element("text", 5, 9)]),
        ("page 1 or line 0 after 2 and 0", [Element("text", 0, 4, page=2), Element("text", 5, 9, page=1)]),
        ("page 0 or line 1 after 0 and 2", [Element("text", 0, 4, line=2), Element("text", 5, 9, line=1)]),
        ("kind is none of answer, code", [Element("prose", 0, 4)]),
    ],
)
def test_a_parser_that_breaks_its_promise_is_found_out(
    monkeypatch: pytest.MonkeyPatch, fault: str, elements: list[Element]
) -> None:
    broken = Parsed("Some text.", tuple(elements))
    monkeypatch.setitem(FORMATS, "text", replace(FORMATS["text"], parse=lambda *_: broken))
    with pytest.raises(Rejected, match=f"crashed: the text parser returned invalid elements: element [01], .*{fault}"):
        parse(b"Some text.", FileType("text"), ParseOptions())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_is_written_outside_of_an_element(path: Path) -> None:
    _, parsed = parse_file(path)
    position, outside = 0, ""
    for element in parsed.elements:
        outside += parsed.text[position : element.start_char]
        position = max(position, element.end_char)
    assert not (outside + parsed.text[position:]).strip()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_lines_are_those_of_the_canonical_text(path: Path) -> None:
    _, parsed = parse_file(path)
    assert [one.line for one in parsed.elements] == [
        parsed.text.count("\n", 0, one.start_char) + 1 for one in parsed.elements
    ]


_LETTERS_ONCE = "".join(map(chr, range(0x80, 0xA0)))  # controls that are read as letters of Windows


@examples(60)
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0" + _LETTERS_ONCE), min_size=1),
    st.sampled_from(sorted(FORMATS)),
)
def test_any_text_is_parsed_or_rejected_with_a_reason(text: str, name: str) -> None:
    try:
        parsed = parse(text.encode(), FileType(name, "python" if name == "code" else ""), ParseOptions())
    except Rejected as error:
        reason = error.reason
    else:
        reason = ""
        assert faults(parsed) == []
        assert name not in ITSELF or parsed.text == text.removeprefix("\ufeff")
    assert reason in ("", "empty", "no_text", "corrupt", "undecodable", "not_installed")


_LINES = [
    "# a",
    "text b",
    "- c",
    "  - d",
    "1. e",
    "> f",
    "```py",
    "```",
    "| g | h |",
    "|---|---|",
    "    i",
    "",
    "---",
    "<b>",
]


@examples(150)
@given(
    st.lists(st.sampled_from([*_LINES, "<Tab>", "</Tab>", "import x from 'y'", "\t- j", "===", "*k*"])),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_any_markdown_has_exact_spans_and_loses_nothing(lines: list[str], newline: str) -> None:
    text = newline.join([*lines, "end"])
    parsed = parse(text.encode(), FileType("markdown"), ParseOptions())
    covered = {at for one in parsed.elements for at in range(one.start_char, one.end_char)}
    assert parsed.text == text
    assert all(text[at].isspace() for at in set(range(len(text))) - covered)


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"", "a.txt", "empty"),
        (b" \r\n\t\n", "a.md", "empty"),
        (b"\0" * 100, "a.txt", "empty"),
        (b"%PDF-1.4\nnothing", "a.pdf", "corrupt"),
        (b"PK\x03\x04" + b"word/" * 40, "a.docx", "unsupported"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "a.png", "corrupt"),
        (bytes(range(256)) * 4, "a.txt", "undecodable"),
        (bytes(range(256)) * 4, "a.dat", "unsupported"),
        (b"<html><body><script>1</script></body></html>", "a.html", "no_text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "a.docx", "encrypted"),
        (b'{"cells": [], "nbformat": 4}', "a.ipynb", "no_text"),
        (LFS_POINTER, "a.csv", "unreadable"),
        (LFS_POINTER, "a.png", "unreadable"),
    ],
)
def test_what_cannot_be_used_is_rejected_with_a_true_reason(data: bytes, name: str, reason: str) -> None:
    with pytest.raises(Rejected) as why:
        parse(data, detect_file_type(name, data), ParseOptions())
    assert why.value.reason == reason
    assert why.value.message


def test_a_text_that_begins_like_a_pointer_of_git_lfs_is_read() -> None:
    text = LFS_POINTER + b"A pointer has three lines. " * 40
    assert "three lines" in parse(text, FileType("text"), ParseOptions()).text


def test_a_text_longer_than_allowed_is_rejected() -> None:
    with pytest.raises(Rejected, match="too_large: 10 characters, the limit is 9"):
        parse(b"0123456789", FileType("text"), ParseOptions(max_characters=9))


def test_an_unknown_format_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(Rejected, match="text, markdown, html"):
        parse(b"x", FileType("scroll"), ParseOptions())


def test_a_parsers_key_names_format_version_and_language_and_no_password() -> None:
    options = ParseOptions(passwords=("a",), max_characters=5)
    assert parser_key(FileType("pdf"), options) == parser_key(FileType("pdf"), ParseOptions())
    keys = {parser_key(FileType("code", language), options) for language in ("go", "rust")}
    assert len(keys | {parser_key(FileType("text"), options)}) == 3


def test_the_title_comes_from_the_document_and_never_from_a_name() -> None:
    for name in ("report-2025.txt", "notes.md", "table.csv"):
        data = b"a,b\n1,2\n"
        assert parse(data, detect_file_type(name, data), ParseOptions()).title == ""
