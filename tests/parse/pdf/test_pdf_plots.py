"""Plots of PDFs: a chart or diagram is one figure with its labels as its words, and a text in a frame is none."""

from dataclasses import replace

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pdf.layout.plots import plots, without_plots
from docmill.tasks.parse.pdf.text.line import PLAIN, TextLine
from docmill.tasks.parse.pdf.text.ruling_lines import PageRules
from docmill.tasks.parse.pictures.album import Album
from tests.kit.writers.pdf import Pdf

SIZE = (600.0, 800.0)
PROSE = "The sluices were opened in June, and the lagoon had cleared before the first of the boats came back to it."
Box = tuple[float, float, float, float]


def line(text: str, left: float, top: float, size: float = 10) -> TextLine:
    return TextLine(text, size, PLAIN, (left, top, left + 0.5 * size * len(text), top + 1.2 * size), 1, 0, 0)


BODY = [line(PROSE[:80], 60, 100), line("came back to it.", 60, 112)]
LABELS = [line("Depth", 150, 320), line("Flow", 200, 350)]
AXES = PageRules(level=[(400.0, 100.0, 300.0)], upright=[(100.0, 300.0, 400.0)])


def curves(count: int = 3, segments: int = 2, box: Box = (110, 310, 290, 390)) -> PageRules:
    return replace(AXES, curves=[(box, segments)] * count)


def found(lines: list[TextLine], rules: PageRules | None = None) -> list[list[str]]:
    return [[one.text for one in plot.labels] for plot in plots([*BODY, *lines], rules or curves(), SIZE)]


def test_curves_and_axes_with_short_lines_in_them_are_a_plot() -> None:
    (plot,) = plots([*BODY, *LABELS], curves(), SIZE)
    assert (plot.box, plot.words) == ((100, 300, 300, 400), "Depth; Flow")
    rules = replace(curves(), level=[*AXES.level, (500.0, 100.0, 300.0)])
    lines, left = without_plots([*BODY, *LABELS], rules, [plot])
    assert (lines, left.level, left.upright) == (BODY, [(500.0, 100.0, 300.0)], [])


@pytest.mark.parametrize(("count", "segments", "is_plot"), [(2, 19, False), (3, 2, True), (1, 20, True), (0, 0, False)])
def test_a_few_lines_that_slant_are_no_plot(count: int, segments: int, is_plot: bool) -> None:
    assert bool(found(LABELS, curves(count, segments))) == is_plot


def test_a_plot_has_two_labels_or_more_and_other_text_beside_it() -> None:
    assert not found(LABELS[:1])
    assert not plots(LABELS, curves(), SIZE)


def test_labels_are_short_each_and_together() -> None:
    small = [line(f"{at}", 110 + at, 305) for at in range(8)]
    assert found([*small, line("a" * 60, 110, 330, 4)])
    assert not found([*small, line("a" * 61, 110, 330, 4)])
    assert found([line("a" * 20, 110, 330), line("b" * 20, 110, 350)])
    assert not found([line("a" * 20, 110, 330), line("b" * 21, 110, 350)])
    assert found([line("a" * 20, 110, 305 + at, 4) for at in range(25)])
    assert not found([line("a" * 20, 110, 305 + at, 4) for at in range(26)])


def test_numbers_at_an_axis_are_labels_and_the_text_around_it_is_not() -> None:
    axis = [line("40,000", 60, 310), line("20", 86, 350)]
    assert found([*LABELS, *axis]) == [["Depth", "Flow", "40,000", "20"]]
    assert found([*LABELS, line("40", 75, 310)]) == [["Depth", "Flow"]], "more than 14 points away"
    assert found([*LABELS, line("to 4,000 m", 48, 310)]) == [["Depth", "Flow"]], "only figures may extend further"
    assert found([*LABELS, line("x" * 30, 120, 403)]) == [["Depth", "Flow", "x" * 30]]
    assert found([*LABELS, line("x" * 31, 120, 403)]) == [["Depth", "Flow"]]
    assert found([*LABELS, line("Figure 3: Depths", 120, 403)]) == [["Depth", "Flow"]]
    assert found([*LABELS, line("to it.", 60, 404), line("All of it.", 60, 421.9)]) == [["Depth", "Flow"]]
    below = [line("to it.", 120, 404), line(PROSE[:70], 120, 421.9)]
    assert found([*LABELS, *below]) == [["Depth", "Flow"]], "it begins a paragraph"
    assert found([*LABELS, below[0], line(PROSE[:70], 120, 422.1)]) == [["Depth", "Flow", "to it."]]
    assert found([*LABELS, below[0], line(PROSE[:70], 122.1, 421.9)]) == [["Depth", "Flow", "to it."]]


def test_what_all_of_a_page_stands_on_and_letterheads_are_no_plots() -> None:
    wide = [line("Depth", 150, 250), line("Flow", 200, 350)]
    assert found(wide, PageRules(curves=[((10, 200, 590, 610), 30)]))
    assert not found(wide, PageRules(curves=[((10, 200, 590, 615), 30)]))
    head = [line("Harbour", 110, 20), line("Office", 110, 60)]
    assert not found(head, PageRules(curves=[((100, 10, 300, 95), 30)]))
    assert found(head, PageRules(curves=[((100, 10, 300, 97), 30)])), "it reaches below the edge"
    assert found(head, PageRules(curves=[((60, 10, 300, 95), 30)])), "it is large"
    assert not found(LABELS, PageRules(curves=[((140, 320, 250, 359), 30)])), "it is low"


def test_a_logo_at_the_end_of_a_rule_is_no_plot() -> None:
    assert found(LABELS, curves(box=(250, 320, 300, 390)))
    assert not found(LABELS, curves(box=(251, 320, 300, 390)))


def test_what_is_drawn_fourteen_points_apart_is_no_one_drawing() -> None:
    def apart(gap: float) -> int:
        other = (300 + gap, 300.0, 500 + gap, 400.0)
        rules = PageRules(curves=[((100, 300, 300, 400), 30), (other, 30)])
        return len(found([*LABELS, line("Depth", 400, 320), line("Flow", 400, 350)], rules))

    assert (apart(5), apart(15)) == (1, 2)


BARS = [
    ((40, 90, 70, 100), True),
    ((40, 90, 90, 40), False),
    ((40, 90, 70), False),
    ((90, 90, 90, 90), False),
    ((40, 90, 70, 90, 90, 90, 90), False),  # cells of a column: few lengths for so many
]


@pytest.mark.parametrize("level", [False, True])
@pytest.mark.parametrize(("lengths", "is_plot"), BARS)
def test_four_bars_of_many_lengths_on_one_line_are_a_plot(lengths: tuple[int, ...], is_plot: bool, level: bool) -> None:
    pdf = Pdf({})
    pdf.add_page()
    pdf.lines(60, 740, [PROSE])
    for number, length in enumerate(lengths):
        name = "MJJASON"[number]
        if level:
            pdf.pages[-1].append(f"0.2 0.5 0.5 rg 110 {680 - 30 * number} {length} 9 re f 0 g")
            pdf.text(100, 680 - 30 * number, name, 8)
            pdf.text(220, 680 - 30 * number, str(length), 8)
        else:
            pdf.pages[-1].append(f"0.2 0.5 0.5 rg {110 + 40 * number} 560 9 {length} re f 0 g")
            pdf.text(112 + 40 * number, 548, name, 8)
    if level:
        pdf.pages[-1].append(f"0.5 w 108 700 m 108 {680 - 30 * len(lengths)} l S")
    else:
        pdf.rule(100, 560, 40 * len(lengths) + 10)
    words = [one.attributes["alt"] for one in read(pdf).elements if one.kind == "figure"]
    shown = "; ".join(f"{name}; {length}" if level else name for name, length in zip("MJJA", lengths, strict=False))
    assert words == ([shown] if is_plot else [])


def page() -> Pdf:
    pdf = Pdf({})
    pdf.add_page()
    pdf.lines(60, 740, [PROSE])
    pdf.lines(60, 700, ["Soundings were taken in the fog, and they were found to be as deep as those of last year."])
    draw(pdf)
    return pdf


def draw(pdf: Pdf) -> None:
    """Draw a chart with a grid, three curves, a title and the numbers of its axes."""
    for step in range(5):
        pdf.rule(100, 400 + 40 * step, 300)
        pdf.pages[-1].append(f"{100 + 75 * step} 400 m {100 + 75 * step} 560 l S")
        pdf.text(85, 397 + 40 * step, f"{10 * step}", 8)
        pdf.text(95 + 75 * step, 385, f"{2020 + step}", 8)
    for shift in (0, 20, 40):
        pdf.pages[-1].append(f"100 {410 + shift} m 200 {500 + shift} l 300 {430 + shift} l 400 {490 + shift} l S")
    pdf.text(210, 545, "Depth of the lagoon", 9)


def read(pdf: Pdf) -> Parsed:
    return parse(pdf.to_bytes(), FileType("pdf"), ParseOptions())


def test_a_chart_is_one_figure_with_its_labels_and_no_table() -> None:
    parsed = read(page())
    assert [one.kind for one in parsed.elements] == ["paragraph", "paragraph", "figure"]
    alt = parsed.elements[-1].attributes["alt"]
    assert {"Depth of the lagoon", "2020", "2024", "10", "40"} <= {*alt.split("; ")}
    assert parsed.text.count("Depth of the lagoon") == 1
    (picture,) = parsed.pictures
    assert (picture.media_type, picture.key) == ("image/png", parsed.elements[-1].attributes["key"])


def test_the_words_of_a_plot_stay_where_its_picture_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Album, "add", lambda *_: None)
    parsed = read(page())
    assert [one.kind for one in parsed.elements] == ["paragraph"] * 3
    assert "Depth of the lagoon" in parsed.text


def test_the_words_of_a_plot_that_three_pages_show_stay() -> None:
    pdf = page()
    for _ in range(2):
        pdf.add_page()
        pdf.lines(60, 740, [PROSE])
        draw(pdf)
    parsed = read(pdf)
    assert parsed.text.count("Depth of the lagoon") == 3
    assert parsed.pictures == ()


def test_a_turned_page_keeps_its_lines() -> None:
    pdf = Pdf({})
    pdf.add_page(turn=90)
    pdf.lines(60, 740, [PROSE])
    draw(pdf)
    assert read(pdf).pictures == ()
