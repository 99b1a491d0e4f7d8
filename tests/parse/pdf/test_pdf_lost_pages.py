"""Pages that cannot be read wholly: what is readable is kept, and the document says what is not."""

import codecs
from pathlib import Path

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.storage.sql.document_warnings import warnings_in
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pdf.text.characters import is_nonsense
from tests.kit.pdf_pages import LEFT, page, parts
from tests.kit.writers.pdf import HEIGHT, WIDTH, Pdf
from tests.parse.pdf.test_ocr import SCRIPT, install

CAPTION = "Table 3. What the river carries"
PICTURE = "q {} 0 0 {} 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q"


def read(pdf: Pdf, ocr: bool = False) -> Parsed:
    # Lines of "no map" stand for text whose font does not say which letters it draws.
    data = pdf.to_bytes().replace(b"no map", b"\\001\\002\\003\\004\\005")
    return parse(data, FileType("pdf"), ParseOptions(ocr=ocr))


def garbled(*kept: str) -> Pdf:
    """Return a page of text and one of text without known letters among lines that have them."""
    pdf = page()
    pdf.lines(60, 740, LEFT)
    pdf.add_page()
    pdf.lines(60, 760, ["no map" * 3] * 9)
    pdf.lines(60, 400, kept)
    return pdf


def scanned(width: float, height: float, text: str = "") -> Pdf:
    pdf = page()
    pdf.lines(60, 740, LEFT)
    pdf.add_page()
    pdf.pages[-1].append(PICTURE.format(width, height))
    if text:
        pdf.text(60, 30, text)
    return pdf


def test_lines_in_other_fonts_of_a_page_without_known_letters_are_kept() -> None:
    parsed = read(garbled(CAPTION))
    assert parts(parsed)[-1] == CAPTION
    assert parsed.elements[-1].page == 2
    assert [one.message for one in warnings_in(parsed.metadata)] == [
        "1 of 2 pages: their fonts do not say which letters they draw"
    ]


def test_a_page_number_alone_is_no_text_of_a_page_without_known_letters() -> None:
    parsed = read(garbled("17"))
    assert (parsed.metadata["garbled_pages"], parsed.metadata["pages_without_text"]) == ([2], [2])
    pdf = page()
    pdf.lines(60, 760, ["no map" * 3] * 9)
    pdf.text(290, 30, "1")
    with pytest.raises(Rejected, match="undecodable"):
        read(pdf)


@pytest.mark.parametrize(
    ("width", "height", "text", "lost"),
    [
        (WIDTH, HEIGHT, "", [2]),
        (WIDTH, HEIGHT, "17", [2]),
        (WIDTH, HEIGHT, "A picture of a mill beside the river, in spring", None),
        (WIDTH / 2, HEIGHT / 2, "", None),
    ],
)
def test_pages_that_are_pictures_of_pages_are_told(width: float, height: float, text: str, lost: list[int]) -> None:
    facts = read(scanned(width, height, text)).metadata
    assert facts.get("scanned_pages") == lost
    told = [("scanned_pages", "1 of 2 pages are pictures: docmill[ocr] reads them", True)] if lost else []
    assert warnings_in(facts) == told


def test_ocr_reads_pages_without_known_letters_and_pages_that_are_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, SCRIPT)
    for pdf in (garbled(CAPTION), scanned(WIDTH, HEIGHT, "17")):
        parsed = read(pdf, ocr=True)
        assert parsed.metadata["ocr_pages"] == [2]
        assert "The interpretation" in parts(parsed)
        told = ("ocr_pages", "1 of 2 pages were read by OCR (2); it is at least 86 % sure", False)
        assert warnings_in(parsed.metadata) == [told]


def test_headers_and_footers_that_are_in_no_chunk_are_counted() -> None:
    pdf = Pdf({})
    for number in range(1, 7):
        pdf.add_page()
        pdf.text(60, 815, "The mills of the Serrach valley")
        pdf.lines(60, 600, [f"{line} ({number})" for line in LEFT])
        pdf.text(290, 30, f"{number}")
    parsed = read(pdf)
    assert parsed.metadata["furniture"] == len([one for one in parsed.elements if one.kind == "furniture"]) == 12
    assert parsed.text.count("The mills of the Serrach valley") == 6


WORDS = "The council met on Monday and agreed that the new heating costs nine hundred and forty pounds for each house. "


def test_pages_of_shifted_letters_are_said_and_make_no_text() -> None:
    shifted = "".join(chr(ord(sign) - 29) if sign > "A" else "#" for sign in 4 * WORDS)
    pdf = page()
    pdf.lines(60, 740, LEFT)
    pdf.add_page()
    pdf.lines(60, 740, [shifted[at : at + 80] for at in range(0, len(shifted), 80)])
    parsed = read(pdf)
    assert parts(parsed) == [" ".join(LEFT)]
    assert parsed.metadata["garbled_pages"] == [2]


def test_what_is_no_language_but_a_list_of_codes_or_a_cipher_is_text() -> None:
    cipher = codecs.encode(4 * WORDS, "rot13")
    codes = " ".join(f"AX{at}-{at * 7919 % 1000:03}b" for at in range(90))
    assert not any(map(is_nonsense, (WORDS * 4, cipher, codes, WORDS.upper() * 4, "Zzyzx Qq")))


def test_words_that_change_between_scripts_are_no_language() -> None:
    glyphs = "".join(chr(0xC0 + 7919 * ord(sign) % 3000) if sign.isalpha() else sign for sign in WORDS)
    assert all(map(is_nonsense, (glyphs, 4 * glyphs + WORDS)))
    russian = (
        "Совет собрался в понедельник и решил, что новое отопление стоит девятьсот сорок фунтов за каждый дом. API v2"
    )
    symbols = "The \u03b1-particle hits \u03b2\u2080; \u0394x = v\u0394t and \u03bcm are small. " * 3
    japanese = "評議会は月曜日に開かれ、新しい暖房は一軒につき九百四十ポンドかかるとのことでした。アルファαとベータβ。"
    assert not any(map(is_nonsense, (russian, symbols, japanese, glyphs[:20])))


def test_lines_of_unknown_letters_on_a_page_of_others_are_left_out_and_said() -> None:
    pdf = page()
    pdf.lines(60, 740, LEFT)
    pdf.text(60, 400, "\x0e\x0f\x10\x11\x12 \x0e\x0f b")
    pdf.text(60, 300, "A sign \x0e within a line.")
    pdf.text(60, 200, "name " + 12 * "\x0e")  # the head of a listing and a rule of signs below it, read as one line
    parsed = read(pdf)
    assert parts(parsed) == [" ".join(LEFT), "A sign \ufffd within a line.", "name"]
    assert parsed.metadata["garbled_pages"] == [1]
