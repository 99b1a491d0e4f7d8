"""A plan says how many pages OCR would read and what that takes; a run says what it has read."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from docmill.flows.runs.report import OcrWork, Report
from tests.kit.workbench import Workbench
from tests.parse.pdf.test_ocr import tesseract as tesseract  # a fixture

pytestmark = pytest.mark.usefixtures("fake_model", "tesseract")


def scan(pages: int) -> bytes:
    """Return a scan of some pages, of which tesseract says what the fixture says."""
    first, *others = [Image.new("L", (2480, 3508), 200 + number) for number in range(pages)]
    first.save(buffer := BytesIO(), "TIFF", save_all=True, append_images=others, dpi=(300, 300))
    return buffer.getvalue()


def test_a_plan_counts_the_pages_that_ocr_would_read(tmp_path: Path) -> None:
    # Workers of other limits are new ones: those that other tests have started know another tesseract.
    bench = Workbench(tmp_path / "bench", {"parse": {"ocr": "tesseract", "timeout_s": 77}})
    bench.write({"three.tiff": scan(3), "copy.tiff": scan(3), "two.tiff": scan(2), "notes.md": "# Notes\n"})
    planned = bench.ingest(dry_run=True)
    assert (planned.ocr.pages, planned.ocr.minutes > 0) == (5, True), planned.problems
    assert "OCR        5 pages (under 1 min of one process) would be read" in planned.as_text()
    done = bench.ingest()
    assert done.ocr.pages == 5
    assert done.as_json()["ocr"] == {"pages": 5, "minutes": round(done.ocr.minutes, 1), "figures": 0}
    again = bench.ingest(dry_run=True)
    assert again.ocr == OcrWork()
    assert "OCR" not in again.as_text()


def test_minutes_are_said_from_one_on() -> None:
    assert "120 pages (about 4 min of one process) read" in Report(ocr=OcrWork(120, 3.6)).as_text()
