"""Drawings, flat OpenDocument and old Word: what is read of them, and what damage does."""

from pathlib import Path

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.office.flat_document import as_container
from docmill.tasks.parse.pandoc.word.old_word import draw_old_word
from docmill.tasks.parse.signatures import binary_kind
from tests.kit.writers import datasets

GOLDEN = Path(__file__).parents[2] / "golden"
OLD_WORD = Path(__file__).parents[2] / "fixtures" / "mill.doc"
SAMPLES = {
    "odp": GOLDEN / "odp" / "plan.fodp",
    "odg": GOLDEN / "odg" / "map.fodg",
    "odt": GOLDEN / "odt" / "guide.fodt",
    "ods": GOLDEN / "ods" / "budget.fods",
}


def read(name: str, data: bytes) -> Parsed:
    return parse(data, detect_file_type(name, data), ParseOptions())


@pytest.mark.parametrize("form", SAMPLES)
def test_a_flat_file_and_its_container_are_one_document(form: str) -> None:
    flat = SAMPLES[form].read_bytes()
    assert detect_file_type("document.xml", flat) == detect_file_type("x", as_container(flat)) == FileType(form)
    assert read("document.xml", flat).text == read("document", as_container(flat)).text


@pytest.mark.parametrize("form", SAMPLES)
def test_a_flat_file_that_is_cut_off_is_corrupt(form: str) -> None:
    flat = SAMPLES[form].read_bytes()
    with pytest.raises(Rejected, match="corrupt: a flat OpenDocument file that is not well-formed XML"):
        read("document.xml", flat[: -len(flat) // 4])


def test_a_cell_that_states_millions_of_repetitions_is_one() -> None:
    table = b"<table:table-cell table:number-columns-repeated='99999999'/>"
    flat = (
        SAMPLES["odp"]
        .read_bytes()
        .replace(b"<table:table-cell><text:p>year", table + b"<table:table-cell><text:p>year")
    )
    assert "| year | euros |" in read("plan.fodp", flat).text


def test_an_old_word_document_is_read_from_its_pieces() -> None:
    drawn = draw_old_word(OLD_WORD.read_bytes())
    assert drawn.text == (
        "# Guide to the mill\n\nRead this before you come to Küche – it is short.\n\n## What to bring\n\n- Boots\n"
        "  - with nails\n- A hat\n\n| Year | Tonnes |\n| --- | --- |\n| 1911 | 412 |\n\nSee the page of the mill."
    )


def test_old_word_needs_no_other_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    parsed = read("mill.doc", OLD_WORD.read_bytes())
    assert parsed.text.startswith("# Guide to the mill")
    assert parsed.metadata["read_as"] == "pieces of text; doc needs LibreOffice: install libreoffice-writer"


def fate(data: bytes) -> str:
    try:
        return "read" if parse(data, FileType("doc"), ParseOptions()).text else ""
    except Rejected as why:
        return why.reason


def test_damage_to_old_word_is_rejected_or_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    whole = OLD_WORD.read_bytes()
    damaged = (whole[:at] + b"\xff" * 512 + whole[at + 512 :] for at in range(512, len(whole), 512))
    assert {*map(fate, damaged)} == {"read", "not_installed", "encrypted"}


def test_names_of_streams_have_no_case() -> None:
    data = OLD_WORD.read_bytes()
    assert binary_kind(data.replace("WordDocument".encode("utf-16-le"), "WORDDOCUMENT".encode("utf-16-le"))) == "doc"


def test_a_bundle_of_pages_without_a_preview_says_what_to_do() -> None:
    with pytest.raises(Rejected, match="unsupported: this Pages, Numbers or Keynote document holds no PDF preview"):
        read("letter.pages", datasets.pages_file(preview=False))


def test_a_drawing_without_its_pages_is_corrupt() -> None:
    data = datasets.visio_file().replace(b"visio/pages/pages.xml", b"visio/pages/pagesxxml")
    with pytest.raises(Rejected, match=r"corrupt: the drawing has no part visio/pages/pages\.xml"):
        read("water.vsdx", data)
