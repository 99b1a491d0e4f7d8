"""Figures whose words OCR reads: once by content, into the chunk of each, where somebody asks for it."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from docmill.flows.runs.report import OcrWork, Report
from docmill.storage.errors import ConfigError
from docmill.storage.snapshots.clean.verify import verify
from docmill.tasks.parse.dispatch.readers import engine_for
from docmill.tasks.parse.pdf.reader import FigureScan, words_in
from docmill.tasks.work.batch import figure_reader
from docmill.tasks.work.pool.pool import Pool
from tests.kit.model_server import ModelServer
from tests.kit.workbench import Workbench
from tests.kit.writers import figures as writers
from tests.kit.writers.figures import data_uri, drawn

ENGINE = engine_for("rapidocr", "eng")


def sign(*lines: str, width: int = 700) -> bytes:
    """Return a picture with lines of printed words."""
    image = Image.new("RGB", (width, 60 + 60 * len(lines)), "white")
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((30, 30 + 60 * number), line, "black", ImageFont.load_default(36))
    image.save(buffer := BytesIO(), "PNG")
    return buffer.getvalue()


SLUICE, TIDE, PLAIN = sign("Sluice gate opens", "at half tide"), sign("Tide gauge Burano"), drawn(7, 200, 200)
PAGE = f"""<h1>Lagoon</h1><p>The bloom of June.</p><img src="{data_uri(SLUICE)}" alt="A photograph">
<p>The soundings of the buoys.</p><img src="{data_uri(TIDE)}"><p>The end of it.</p><img src="{data_uri(PLAIN)}">"""


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of pictures that workers were asked to read."""
    asked, own = list[int](), Pool.map

    def told(pool: Pool, function: object, items: list[object], light: bool = False) -> object:
        if function is words_in:
            asked.append(len(items))
        return own(pool, function, items, light)  # type: ignore[arg-type]

    monkeypatch.setattr(Pool, "map", told)
    return asked


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    settings = {"embedding": {"model": fake_model}, "chunk": {"read_figures": True}, "parse": {"ocr": "rapidocr"}}
    made = Workbench(tmp_path, settings)
    made.write({"lagoon.html": PAGE})
    return made


def said(bench: Workbench) -> list[tuple[str, str]]:
    """Return the last line of the context of each figure's chunk, and its state."""
    return [(row.context.split("\n")[-1], row.context_state) for row in bench.chunks() if row.role == "figure"]


def test_a_picture_is_found_by_the_words_in_it(bench: Workbench, read: list[int]) -> None:
    planned = bench.ingest(dry_run=True)
    assert (planned.ocr.figures, read, "3 figures would be read" in planned.as_text()) == (3, [], True)
    report = bench.ingest()
    assert (report.ocr, read, report.exit_status) == (OcrWork(0, 0.0, 3), [3], 0)
    assert said(bench) == [("Sluice gate opens at half tide", ""), ("Tide gauge Burano", "")], "the third has no words"
    with bench.store as store:
        assert "Burano" not in store.document("lagoon.html").text
        hit = store.search("gauge Burano", 1)[0]
        assert (hit.role, hit.text[:12]) == ("figure", "![](docmill:")
    assert bench.ingest().snapshot is None
    assert verify(bench.root, deep=True) == []


def test_no_picture_is_read_twice(bench: Workbench, read: list[int]) -> None:
    bench.ingest()
    (bench.docs / "lagoon.html").rename(bench.docs / "laguna.html")
    bench.ingest()
    bench.write({"again.md": f"# Again\n\n![]({data_uri(TIDE)})\n", "laguna.html": PAGE.replace("June", "July")})
    bench.ingest()
    bench.settings["chunk"] = {}
    bench.ingest()
    assert said(bench) == []
    bench.settings["chunk"] = {"read_figures": True}
    again = bench.ingest(refresh_contexts=True)
    assert (again.parsed, again.ocr.figures, read) == (0, 0, [3])
    assert len(said(bench)) == 3


def test_a_caption_stays_first_and_a_scan_is_not_read_again(bench: Workbench, read: list[int]) -> None:
    bench.write({"lagoon.html": None, "word.docx": writers.docx(SLUICE), "photo.png": TIDE, "blank.png": PLAIN})
    bench.ingest()
    assert read == [1], "the words of an image file are its text"
    (figure,) = [row for row in bench.chunks() if row.role == "figure" and row.uri == "word.docx"]
    assert figure.text.endswith(writers.CAPTION)
    assert figure.context.split("\n")[-1] == "Sluice gate opens at half tide"
    assert sum("Burano" in row.text + row.context for row in bench.chunks() if row.uri == "photo.png") == 1


def test_a_description_and_the_words_have_each_their_room(bench: Workbench, server: ModelServer) -> None:
    bench.settings["model"] = {"provider": "openai", "model": "loopback", "base_url": f"{server.url}/v1"}
    bench.settings["chunk"] = {"read_figures": True, "describe_figures": True}
    server.sights = {}
    bench.write({"lagoon.html": PAGE.replace(data_uri(SLUICE), data_uri(sign(*["many words of a long sign"] * 40)))})
    bench.ingest()
    first = next(row for row in bench.chunks() if row.role == "figure").context.split("\n")
    assert first[-2].startswith("It shows")
    assert first[-1].startswith("many words of a long sign many words")
    assert len(first[-1].split()) < 130


def test_pictures_that_a_store_has_are_read_without_their_document(bench: Workbench, read: list[int]) -> None:
    bench.settings["chunk"] = {}
    bench.ingest()
    bench.settings["chunk"] = {"read_figures": True}
    report = bench.ingest()
    assert (report.parsed, read, len(said(bench))) == (0, [3], 2)


def test_a_picture_that_cannot_be_read_has_no_words_and_harms_no_other(
    bench: Workbench, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure_reader, "_AT_ONCE", 1)
    gif = BytesIO()
    Image.open(BytesIO(SLUICE)).save(gif, "GIF")
    bench.write({"lagoon.html": PAGE.replace(data_uri(SLUICE), data_uri(gif.getvalue()[:900], "image/gif"))})
    report = bench.ingest()
    assert (report.exit_status, read, len(said(bench))) == (0, [1, 1, 1], 1 + 1), "one by its alt, one by its words"
    bench.write({"other.md": "# Other\n"})
    bench.ingest()
    assert read == [1, 1, 1]


def test_words_stand_row_by_row_and_signs_alone_are_none() -> None:
    assert words_in(FigureScan(sign("one two", "three", "- - -", "four"), ENGINE, "")) == "one two three four"
    assert words_in(FigureScan(PLAIN, ENGINE, "")) == ""


def test_without_ocr_it_says_what_to_install(bench: Workbench) -> None:
    bench.settings["parse"] = {"ocr": False}
    with pytest.raises(ConfigError, match=r"install docmill\[ocr\]"):
        bench.ingest()


def test_a_report_names_pages_and_figures() -> None:
    assert "120 pages (about 4 min of one process) and 1 figure read" in Report(ocr=OcrWork(120, 3.6, 1)).as_text()
