"""Drawn figures: a vector drawing of a PDF that a caption names is a picture; others are plots or none."""

import io

import pytest
from PIL import Image

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pdf import figures
from docmill.tasks.parse.pdf.text.pdfium_calls import MOST_OBJECTS
from docmill.tasks.work.document.process import figure_rows
from tests.kit.writers import figures as writers
from tests.kit.writers.pdf import Pdf

PROSE = "The sluices were opened in June, and the lagoon had cleared before the first of the boats came back to it."
CAPTION = "Figure 3: Bars by month"


def bars(pdf: Pdf, x: float, y: float, heights: tuple[int, ...] = (40, 90, 70, 100), axes: bool = True) -> None:
    """Draw bars above (x, y), with axes and a label for each."""
    for number, height in enumerate(heights):
        pdf.pages[-1].append(f"0.2 0.5 0.5 rg {x + 40 * number + 10} {y} 25 {height} re f 0 g")
        if axes:
            pdf.text(x + 40 * number + 12, y - 12, "MJJA"[number % 4], 8)
    pdf.rule(x, y, 40 * len(heights) + 10)


def page(caption: str = CAPTION, heights: tuple[int, ...] = (40, 90, 70, 100), **drawn: bool) -> Pdf:
    pdf = Pdf({})
    pdf.add_page()
    pdf.lines(60, 740, [PROSE])
    if drawn.get("bars", True):
        bars(pdf, 100, 560, heights)
    pdf.lines(60, 525, [caption])
    pdf.lines(60, 480, ["Soundings were taken in the fog, and they were found to be as deep as those of last year."])
    return pdf


def read(pdf: Pdf) -> Parsed:
    return parse(pdf.to_bytes(), FileType("pdf"), ParseOptions())


def test_a_drawing_with_a_caption_is_a_figure_beside_it() -> None:
    parsed = read(page())
    (row,) = figure_rows(parsed)
    assert (row["page"], row["caption"], row["media_type"]) == (1, CAPTION, "image/png")
    left, top, right, bottom = row["box"]
    assert (left, right) == (97.5, 272.5)
    assert 842 - 662.5 <= top <= 842 - 660
    assert 842 - 547 <= bottom <= 842 - 537, "with its labels, and without its caption"
    (picture,) = parsed.pictures
    image = Image.open(io.BytesIO(picture.data))
    assert image.size == (row["width"], row["height"])
    assert image.size[0] == pytest.approx(2 * (right - left), abs=2)
    assert image.getpixel((2 * 22, image.height - 60)) == (51, 128, 128), "a bar"
    texts = [parsed.text[one.start_char : one.end_char] for one in parsed.elements]
    assert texts.index(CAPTION) - [one.kind for one in parsed.elements].index("figure") == 1
    assert "M; J; J; A" in texts[texts.index(CAPTION) - 1], "its labels are its words"
    assert not {*"MJA"} & {*texts}
    assert read(page()).pictures == parsed.pictures


def test_a_drawing_below_its_caption_is_its_figure() -> None:
    pdf = Pdf({})
    pdf.add_page()
    pdf.lines(60, 740, [PROSE])
    pdf.lines(60, 700, [CAPTION])
    bars(pdf, 100, 560)
    parsed = read(pdf)
    kinds = [one.kind for one in parsed.elements]
    assert figure_rows(parsed)[0]["caption"] == CAPTION
    assert parsed.elements[kinds.index("figure") - 1].kind == "paragraph"


@pytest.mark.parametrize("caption", ["Bars by month", "Table 3: Bars by month", "Figure in the text of the page"])
def test_a_drawing_without_a_caption_of_a_figure_is_none(caption: str) -> None:
    assert read(page(caption, (40, 90, 70))).pictures == ()


def test_a_caption_without_a_drawing_has_no_figure() -> None:
    assert read(page(bars=False)).pictures == ()


def test_rules_a_frame_and_a_table_are_no_drawings() -> None:
    pdf = page(bars=False)
    pdf.box(20, 20, 555, 800)
    pdf.rule(60, 560, 400)
    pdf.rule(60, 556, 400)
    pdf.table(60, 640, [120, 120], [["Month", "Depth"], ["May", "4"], ["June", "5"], ["July", "7"]])
    assert read(pdf).pictures == ()


def test_a_box_around_a_text_is_no_drawing() -> None:
    pdf = Pdf({})
    pdf.add_page()
    for shift in (0, 3, 6):
        pdf.box(55 + shift, 560 - shift, 480, 160)
    pdf.lines(70, 700, [PROSE[:90]] * 9)
    pdf.lines(60, 525, [CAPTION])
    assert read(pdf).pictures == ()


@pytest.mark.parametrize("caption", [CAPTION, "Bars by month"])
def test_one_line_with_axes_is_a_figure_where_a_caption_names_it(caption: str) -> None:
    pdf = page(caption, bars=False)
    pdf.rule(100, 560, 170)
    pdf.pages[-1].append("100 560 m 100 660 l S 110 570 m 150 640 l 240 600 l S")
    assert len(read(pdf).pictures) == (caption == CAPTION)


def test_a_table_that_is_called_a_figure_is_a_table() -> None:
    pdf = page(bars=False)
    pdf.table(60, 640, [120, 120], [["Month", "Depth"], ["May", "4"], ["June", "5"], ["July", "7"], ["August", "9"]])
    parsed = read(pdf)
    assert parsed.pictures == ()
    assert any(one.kind == "table" for one in parsed.elements)


def test_an_image_in_a_frame_that_a_caption_names_is_the_figure() -> None:
    data = writers.pdf(writers.drawn(1, 400, 300, "JPEG"))
    text = b"BT /F 10 Tf 40 270 Td (Soundings were taken in the fog.) Tj ET"
    frame = b"55 335 m 265 335 l 265 495 l 55 495 l h S 55 340 m 60 345 l S".ljust(len(text))
    assert text in data
    parsed = parse(data.replace(text, frame), FileType("pdf"), ParseOptions())
    assert [one.media_type for one in parsed.pictures] == ["image/jpeg"]


def test_two_drawings_have_each_their_own_caption() -> None:
    pdf = page()
    bars(pdf, 100, 300, (90, 20, 60, 30))
    pdf.lines(60, 265, ["Figure 4: Bars by year"])
    first, second = figure_rows(read(pdf))
    assert (first["caption"], second["caption"]) == (CAPTION, "Figure 4: Bars by year")
    assert first["key"] != second["key"]


def test_a_placed_picture_with_a_caption_is_the_only_figure() -> None:
    parsed = parse(writers.pdf(writers.drawn(1, 400, 300, "JPEG")), FileType("pdf"), ParseOptions())
    assert [one.media_type for one in parsed.pictures] == ["image/jpeg"]


def test_a_page_of_a_hundred_thousand_strokes_is_looked_at_in_part() -> None:
    pdf = page()
    strokes = " ".join(
        f"{100 + at % 300} {300 + at % 200} m {101 + at % 300} {301 + at % 200} l S" for at in range(100_000)
    )
    pdf.pages[-1].append(strokes)
    assert len(read(pdf).pictures) <= 1
    assert MOST_OBJECTS == 30_000


def test_a_huge_drawing_is_drawn_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_MOST_PIXELS", 10_000)
    (row,) = figure_rows(read(page()))
    assert 5_000 < row["width"] * row["height"] < 11_000
