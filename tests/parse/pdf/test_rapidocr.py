"""OCR by rapidocr: printed pages that were scanned, however they lie, in a worker that may not open a socket."""

from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from docmill.flows.config.from_settings import recipe_of, space_of
from docmill.flows.config.settings import Settings
from docmill.storage.schema import Parsed
from docmill.storage.sql.document_warnings import warnings_in
from docmill.tasks.parse.dispatch import readers
from docmill.tasks.parse.dispatch.readers import RAPIDOCR, engine_for
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.paths.content import FileContent
from docmill.tasks.work.document.recipe import Recipe
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.bench.parsing.ocr.scans import word_f1, words
from tests.kit.pdf_pages import LEFT, RIGHT, page, parts
from tests.kit.workbench import Workbench
from tests.kit.writers.pdf import HEIGHT, WIDTH, Pdf

pytestmark = pytest.mark.slow  # the models that read scans

TITLE = "Rivers of the northern valley"
SEEN = 260  # points of a page from its top: to look for lines takes a second for each 300, and there is nothing below


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    pool = Pool(Limits(workers=1, timeout_s=120, memory_mb=2048))
    yield pool
    pool.close()


def columns() -> Pdf:
    """Return a page with a title above two columns."""
    pdf = page()
    pdf.text(60, 780, TITLE, 20)
    pdf.lines(60, 740, LEFT)
    pdf.lines(320, 740, RIGHT)
    return pdf


def picture(pdf: Pdf, turned: float = 0.0, per_inch: int = 150) -> Image.Image:
    """Return the upper part of the first page of a PDF as a scanner sees it."""
    with closing(pypdfium2.PdfDocument(pdf.to_bytes())) as document:
        grey: Image.Image = (
            document[0].render(scale=per_inch / 72, grayscale=True, crop=(0, HEIGHT - SEEN, 0, 0)).to_pil()
        )
    return grey.rotate(turned, Image.Resampling.BICUBIC, expand=turned % 90 == 0, fillcolor=255)


def file(frame: Image.Image, kind: str = "PNG") -> bytes:
    out = BytesIO()
    frame.save(out, kind, **({"resolution": 150.0} if kind == "PDF" else {"dpi": (150, 150)}))
    return out.getvalue()


def read(data: bytes, form: str = "image") -> Parsed:
    return parse(data, FileType(form), ParseOptions(ocr=True, ocr_engine=engine_for(RAPIDOCR, "eng")))


@pytest.mark.parametrize("turned", [0, 3, 90, 180, 270])
def test_a_page_is_read_in_columns_however_it_lies(pool: Pool, turned: int) -> None:
    [parsed] = pool.map(read, [file(picture(columns(), turned))])  # a worker refuses sockets, and has 2 GB
    assert isinstance(parsed, Parsed)
    assert parsed.title == TITLE
    said = [part for part in parts(parsed) if not part.startswith("![")]  # the picture is a figure, too
    assert len(said) == 3
    for told, found in zip([TITLE, " ".join(LEFT), " ".join(RIGHT)], said, strict=True):
        assert word_f1(words(told), words(found)) >= 0.97
    assert parsed.metadata["ocr_confidence"] >= [90]
    _, left, right = (one.box for one in parsed.elements if one.kind != "figure")
    assert left is not None
    assert right is not None
    if turned == 0:  # on the page as it is displayed
        assert left == pytest.approx((58, 93, 282, 153), abs=4)
    elif turned == 180:
        assert left == pytest.approx((WIDTH - 282, SEEN - 153, WIDTH - 58, SEEN - 93), abs=4)
    elif turned == 90:
        assert left == pytest.approx((93, WIDTH - 282, 153, WIDTH - 58), abs=4)


def test_a_scanned_table_is_a_table() -> None:
    pdf = page()
    pdf.lines(60, 780, LEFT)
    rows = [["Valley", "Mills", "Carts", "Inns"], ["Serrach", "14", "230", "3"], ["Orla", "9", "118", "2"]]
    rows += [["Tarn", "21", "402", "7"], ["Veldt", "5", "77", "1"]]
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            pdf.text(60 + 110 * column, 660 - 16 * at, cell)
    parsed = read(file(picture(pdf), "PDF"), "pdf")
    [table] = [one for one in parsed.elements if one.kind == "table"]
    assert table.attributes["cells"] == rows


def test_scanned_pages_among_others_are_told_with_how_sure_they_are() -> None:
    scan = pypdfium2.PdfDocument(file(picture(columns()), "PDF"))
    mixed = pypdfium2.PdfDocument(page_of_text())
    mixed.import_pages(scan)
    out = BytesIO()
    mixed.save(out)
    parsed = read(out.getvalue(), "pdf")
    assert parsed.metadata["ocr_pages"] == [2]
    [sure] = parsed.metadata["ocr_confidence"]
    told = f"1 of 2 pages were read by OCR (2); it is at least {sure} % sure"
    assert warnings_in(parsed.metadata) == [("ocr_pages", told, False)]


def page_of_text() -> bytes:
    pdf = page()
    pdf.lines(60, 740, LEFT)
    return pdf.to_bytes()


def test_only_scans_are_parsed_again_once_an_engine_is_there(
    tmp_path: Path, fake_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write({"text.pdf": page_of_text(), "scan.png": file(picture(columns())), "a.md": "# Mills\n\nThey grind."})
    monkeypatch.setattr(readers, "find_spec", lambda _name: None)
    assert bench.ingest().documents.rejected == 0  # a picture without words is a figure
    monkeypatch.undo()
    report = bench.ingest()
    assert (report.documents.rejected, report.parsed) == (0, 1)
    assert bench.ingest().documents.unchanged == 3
    row = bench.store.sql("SELECT uri, list_count(warnings) AS told FROM documents WHERE uri = 'scan.png'").to_pylist()
    assert row == [{"uri": "scan.png", "told": 1}]


def test_engines_are_chosen_by_the_setting_the_languages_and_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(*languages: str) -> list[str]:
        wanted = ("auto", "on", "off", "rapidocr", "tesseract")
        return [engine_for(one, "+".join(languages)).partition(" ")[0] for one in wanted]

    monkeypatch.setattr("docmill.tasks.parse.dispatch.readers.shutil.which", lambda name: f"/usr/bin/{name}")
    assert chosen("eng") == chosen("deu", "jpn") == ["rapidocr", "rapidocr", "", "rapidocr", "tesseract"]
    assert chosen("eng", "rus") == ["", "tesseract", "", "rapidocr", "tesseract"]
    monkeypatch.setattr(readers, "find_spec", lambda _name: None)
    assert chosen("eng") == ["", "tesseract", "", "rapidocr", "tesseract"]


def test_a_pdf_of_an_older_store_with_ocr_is_not_parsed_again() -> None:
    def recipe(ocr: str) -> Recipe:
        settings = Settings.model_validate({"parse": {"ocr": ocr}})
        return recipe_of(settings, space_of(settings))

    by_tesseract, pdf, content = recipe("tesseract"), FileType("pdf"), FileContent("hash")
    everything = by_tesseract._text_key("a.pdf", content, pdf, True)  # of any PDF before only scans depended on OCR
    assert by_tesseract.is_current("a.pdf", content, pdf, everything, '{"pages": 2}')
    unread = recipe("off").text_key("a.pdf", content, pdf)
    assert not by_tesseract.is_current("a.pdf", content, pdf, unread, '{"ocr_pages": [1]}')
    versions = {recipe(one).text_key("a.pdf", content, pdf, '{"pages": 2}') for one in ("off", "rapidocr", "tesseract")}
    assert len(versions) == 1
