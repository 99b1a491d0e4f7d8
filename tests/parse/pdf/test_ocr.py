"""OCR: pages and images that tesseract reads, here a script that prints what tesseract would."""

import sys
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from docmill.flows.config.from_settings import recipe_of, space_of
from docmill.flows.config.input_settings import ParseSettings
from docmill.flows.config.settings import Settings
from docmill.storage.errors import Rejected
from docmill.storage.sql.document_warnings import warnings_in
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.readers import parser_key
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.writers.pdf import Pdf

OCR = ParseOptions(ocr=True)
WORDS = [  # block, paragraph, line, left, top, width, height, confidence, text
    (1, 1, 1, 150, 100, 600, 90, 95, "Scanned"),
    (1, 1, 1, 800, 100, 300, 90, 95, "title"),
    (2, 1, 1, 150, 300, 200, 30, 91, "The"),
    (2, 1, 1, 400, 300, 200, 30, 92, "inter-"),
    (2, 1, 2, 150, 345, 200, 30, 93, "pretation"),
    (3, 1, 1, 150, 500, 100, 30, 8, "~~|"),
    (4, 1, 1, 150, 700, 20, 30, 90, "\u2022"),
    (4, 1, 1, 200, 700, 90, 30, 90, "item"),
]
SCRIPT = """\
import sys
sys.stdin.buffer.read()
if "-l" not in sys.argv or sys.argv[sys.argv.index("-l") + 1] != "eng":
    sys.exit("Error opening data file tur.traineddata")
sys.stdout.buffer.write({table!r})
"""


def table() -> bytes:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    rows = [["1", "1", "0", "0", "0", "0", "0", "0", "2480", "3508", "-1", ""]]
    rows += [["5", "1", *map(str, row[:3]), "1", *map(str, row[3:])] for row in WORDS]
    return (head + "".join("\t".join(row) + "\n" for row in rows)).encode()


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    code, program = folder / "tesseract.py", folder / "tesseract"
    code.write_text(script.format(table=table()), encoding="utf-8")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{code}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.fixture
def tesseract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, SCRIPT)


def scan(*texts: str) -> bytes:
    """Return a PDF with a page for each text, or a drawn page where it is empty."""
    pdf = Pdf({})
    for text in texts:
        pdf.add_page()
        if text:
            pdf.text(60, 700, text)
        else:
            pdf.rule(60, 700, 100)
    return pdf.to_bytes()


def image(kind: str, pages: int = 1) -> bytes:
    frames = [Image.new("L", (1240, 1754), 255) for _ in range(pages)]
    out = BytesIO()
    more = {"save_all": True, "append_images": frames[1:]} if pages > 1 else {}
    frames[0].save(out, kind, **more)
    return out.getvalue()


@pytest.mark.usefixtures("tesseract")
def test_scanned_pages_are_read_and_pages_with_text_are_kept() -> None:
    parsed = parse(scan("A page with text of its own.", "", "Another one."), FileType("pdf"), OCR)
    assert [(one.kind, one.page, parsed.text[one.start_char : one.end_char]) for one in parsed.elements] == [
        ("paragraph", 1, "A page with text of its own."),
        ("title", 2, "# Scanned title"),
        ("paragraph", 2, "The interpretation"),
        ("list_item", 2, "- item"),
        ("paragraph", 3, "Another one."),
    ]
    assert parsed.metadata["ocr_pages"] == [2]
    assert parsed.elements[2].box == (36.0, 72.0, 144.0, 90.0)  # 300 dots an inch


def test_without_ocr_what_is_scanned_is_named_and_says_how_to_read_it() -> None:
    with pytest.raises(
        Rejected, match=r"no_text: none of 2 pages holds text; what is scanned is read by docmill\[ocr\]"
    ):
        parse(scan("", ""), FileType("pdf"), ParseOptions())
    parsed = parse(scan("", "A page with text of its own."), FileType("pdf"), ParseOptions())
    assert parsed.metadata["pages_without_text"] == [1]
    with pytest.raises(Rejected, match=r"no_text: an image of 1240 × 1754 pixels; its text is read by docmill\[ocr\]"):
        parse(image("TIFF", 2), FileType("image"), ParseOptions())
    (warning,) = warnings_in(parse(image("PNG"), FileType("image"), ParseOptions()).metadata)
    assert warning == ("scanned_pages", "1 of 1 pages are pictures: docmill[ocr] reads them", True)


def test_without_tesseract_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for data, kind in ((scan(""), "pdf"), (image("PNG"), "image")):
        with pytest.raises(Rejected, match="not_installed: OCR needs tesseract: install tesseract-ocr"):
            parse(data, FileType(kind), OCR)


@pytest.mark.usefixtures("tesseract")
def test_a_language_without_data_is_named() -> None:
    with pytest.raises(Rejected, match="not_installed: tesseract has no data for one of 'tur'"):
        parse(scan(""), FileType("pdf"), ParseOptions(ocr=True, ocr_languages="tur"))


def test_a_failure_of_tesseract_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "import sys\nsys.exit('no idea')\n")
    with pytest.raises(Rejected, match="crashed: tesseract ended with status 1: no idea"):
        parse(scan(""), FileType("pdf"), OCR)


@pytest.mark.usefixtures("tesseract")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF"])
def test_images_of_every_kind_are_read(kind: str) -> None:
    data = image(kind)
    file_type = detect_file_type("no-name", data)
    assert file_type == FileType("image")
    parsed = parse(data, file_type, OCR)
    assert parsed.title == "Scanned title"
    (picture,) = parsed.pictures
    assert parsed.text == f"# Scanned title\n\nThe interpretation\n\n- item\n\n![](docmill:figure/{picture.key})"


@pytest.mark.usefixtures("tesseract")
def test_each_frame_of_a_tiff_is_a_page() -> None:
    parsed = parse(image("TIFF", 3), FileType("image"), OCR)
    assert {one.page for one in parsed.elements} == {1, 2, 3}
    assert parsed.metadata["pages"] == 3


@pytest.mark.usefixtures("tesseract")
def test_images_that_are_too_large_or_broken_are_rejected() -> None:
    def chunk(name: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")

    size = (12_000).to_bytes(4, "big")
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size + size + b"\1\0\0\0\0") + chunk(b"IDAT", zlib.compress(bytes(9)))
    with pytest.raises(Rejected, match="too_large: an image of 12000 × 12000 pixels, the limit is 80000000"):
        parse(data, FileType("image"), OCR)
    with pytest.raises(Rejected, match="corrupt"):
        parse(image("JPEG")[:600], FileType("image"), OCR)
    with pytest.raises(Rejected, match="corrupt: cannot be read as an image"):
        parse(b"GIF89a", FileType("image"), OCR)


def test_switching_ocr_on_changes_the_keys_of_what_it_may_read() -> None:
    for kind in ("pdf", "image"):
        keys = {
            parser_key(FileType(kind), one)
            for one in (ParseOptions(), OCR, ParseOptions(ocr=True, ocr_languages="deu"))
        }
        assert len(keys) == 3
    assert parser_key(FileType("markdown"), OCR) == parser_key(FileType("markdown"), ParseOptions())
    settings = Settings()
    space = space_of(settings)
    scanning = settings.model_copy(update={"parse": ParseSettings(ocr="tesseract", ocr_languages="deu")})
    assert recipe_of(scanning, space).parse == ParseOptions(ocr=True, ocr_languages="deu")
    recipes = (recipe_of(scanning, space), recipe_of(settings, space))
    assert len({recipe.attempt_key("no_text", "pdf 2") for recipe in recipes}) == 2
