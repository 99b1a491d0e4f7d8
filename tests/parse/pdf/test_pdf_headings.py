"""Headings of PDFs: which lines are one, how deep they are, and which is the title of the document."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pdf.text.line import _named
from tests.kit.pdf_pages import LEFT, RIGHT, page, parts, read
from tests.kit.writers.pdf import Pdf, text_width

Lines = list[tuple[str, float, str]]  # text, size and font


def written(*blocks: tuple[str, float, str], cover: str = "", info: str = "") -> Pdf:
    """Return pages on which each block stands apart, with a paragraph below each but those of kind "alone"."""
    pdf = Pdf({"Title": info} if info else {})
    pdf.add_page()
    if cover:
        pdf.text(60, 600, cover, 44, "bold")
        pdf.add_page()
    y = 790.0
    for text, size, font in blocks:
        if y < 170:
            pdf.add_page()
            y = 790.0
        alone = font.endswith("!")
        y -= 2 * size
        pdf.text(60, y, text, size, font.removesuffix("!"))
        y = pdf.lines(60, y - 15, LEFT) - 6 if not alone else y
    return pdf


def headings(parsed: Parsed) -> list[tuple[int, str]]:
    return [(one.level, one.attributes["text"]) for one in parsed.elements if one.kind == "title"]


def test_numbers_of_headings_tell_their_levels_where_all_are_set_alike() -> None:
    pdf = written(
        ("A survey of mills", 18, "bold"),
        ("1 Scope", 10, "bold"),
        ("1.1 Places", 10, "bold"),
        ("1.1.1 Gates", 10, "bold"),
        ("2 Results", 10, "bold"),
        ("References", 10, "bold"),
    )
    assert headings(read(pdf)) == [
        (1, "A survey of mills"),
        (2, "1 Scope"),
        (3, "1.1 Places"),
        (4, "1.1.1 Gates"),
        (2, "2 Results"),
        (2, "References"),
    ]


def test_slanted_headings_and_those_that_end_with_a_stop_are_found() -> None:
    pdf = written(
        ("The mill", 16, "bold"),
        ("Governing law.", 10, "bold"),
        ("Cold weather", 10, "italic"),
        ("After", 10, "italic"),
    )
    assert headings(read(pdf)) == [(1, "The mill"), (2, "Governing law."), (3, "Cold weather"), (3, "After")]


def test_the_name_of_a_work_may_slant_within_a_title_of_several_lines() -> None:
    pdf = page()
    pdf.text(60, 780, "Launching and carrying out the", 20, "bold")
    pdf.text(60, 756, "National Strategy of Mills", 20, "bold-italic")
    pdf.lines(60, 700, LEFT)
    assert parts(read(pdf), "title") == ["# Launching and carrying out the National Strategy of Mills"]


def test_what_only_stands_out_is_no_heading() -> None:
    """Each of these was one: items, captions, names to sign, quotations and labels of drawings."""
    pdf = written(
        ("The mill", 16, "bold"),
        ("1. Open the gate", 10, "bold!"),
        ("2. Wait for the wheel", 10, "bold!"),
        ("3. Close the gate", 10, "bold"),
        ("Figure 3. Flow at the gate", 10, "bold"),
        ("\u2022 Oak for the paddles", 14, "bold"),
        ("Harriet Lowell", 10, "bold!"),
        ("Chair of the Board", 10, "bold!"),
        ("Third of these names", 10, "bold"),
        ("Nobody who has stood below the wheel in March forgets it.", 14, "bold"),
    )
    pdf.add_page()
    for x, y, label in (
        (80, 700, "Reservoir"),
        (320, 700, "Upper gate"),
        (80, 620, "Turbine"),
        (320, 620, "Mill race"),
    ):
        pdf.box(x - 8, y - 8, 120, 30)
        pdf.text(x, y, label, 13, "bold")
    pdf.lines(60, 560, RIGHT)
    assert headings(read(pdf)) == [(1, "The mill")]


def test_the_largest_of_the_first_headings_is_the_title_however_short_it_is() -> None:
    blocks = (("Report on rivers and weirs", 22.0, "bold"), ("Repairs", 14.0, "bold"), ("Accounts", 14.0, "bold"))
    parsed = read(written(*blocks, cover="Invoice"))
    assert parsed.title == "Invoice"
    deeper = [(2, "Report on rivers and weirs"), (3, "Repairs"), (3, "Accounts")]
    assert headings(parsed) == [(1, "Invoice"), *deeper]


@pytest.mark.parametrize(("size", "title"), [(13, "On mills"), (11, "Gates")])
def test_a_first_heading_nearly_as_large_as_all_others_is_the_title(size: float, title: str) -> None:
    sections = [(name, 14.0, "bold") for name in ("Gates", "Sluices", "Weirs")]
    assert read(written(("On mills", size, "bold"), *sections)).title == title


def test_an_address_is_no_title_however_large_it_is() -> None:
    assert read(written(("Report on mills", 18, "bold"), ("example.com/mills", 40, "bold"))).title == "Report on mills"


def test_a_stated_title_holds_unless_it_is_that_of_a_template() -> None:
    blocks = (("Report on rivers", 22.0, "bold"), ("Repairs", 14.0, "bold"))
    assert read(written(*blocks, info="Report on rivers and weirs")).title == "Report on rivers and weirs"
    assert read(written(*blocks, info="Quarterly Newsletter Template")).title == "Report on rivers"


def test_text_in_slanted_letters_within_paragraphs_is_no_heading() -> None:
    pdf = page()
    y = pdf.lines(60, 760, LEFT)
    pdf.text(60, y, "As the poet says of it", 10, "italic")
    pdf.lines(60, y - 12.5, [line[0].lower() + line[1:] for line in RIGHT])
    assert headings(read(pdf)) == []


@pytest.mark.parametrize(
    ("name", "bold", "italic"),
    [
        ("ABCDEF+SFBX1000", True, False),
        ("ECBX1200", True, False),
        ("CMSSBX10", True, False),
        ("CMBXTI10", True, True),
        ("SFTI1000", None, True),
        ("NimbusRomNo9L-ReguItal", None, True),
        ("MyriadPro-It", None, True),
        ("CMR10", None, False),
        ("CMSY10", None, False),
        ("Digital-Regular", False, False),
        ("ABCDEF+LMMono10-Regular", False, False),
        ("ITCSouvenir", None, False),
    ],
)
def test_fonts_are_bold_and_slanted_by_their_names(name: str, bold: bool | None, italic: bool) -> None:
    assert _named(name.encode())[::2] == (bold, italic)


def test_headings_with_nothing_but_tables_between_them_are_no_list() -> None:
    pdf = page()
    pdf.lines(60, 800, LEFT)
    pdf.text(60, 720, "Events of the gate", 14, "bold")
    for at, name in enumerate(("Resource", "Related", "Payload", "Variants")):
        pdf.text(60, 690 - 80 * at, name, 10, "bold")
        pdf.table(60, 680 - 80 * at, (100, 120), [["Label", "Meaning"], [f"gate {at}", "opens"], ["mill", "turns"]])
    assert [text for _, text in headings(read(pdf))] == [
        "Events of the gate",
        "Resource",
        "Related",
        "Payload",
        "Variants",
    ]


def test_bold_capitals_a_little_smaller_than_the_text_are_headings() -> None:
    pdf = written(("Mills of the valley", 18, "bold"), ("THE UPPER MILL", 8.3, "bold"), ("THE LOWER MILL", 8.3, "bold"))
    assert [text for _, text in headings(read(pdf))] == ["Mills of the valley", "THE UPPER MILL", "THE LOWER MILL"]


def _paper(*byline: str, below: str = "", size: float = 12) -> Pdf:
    """Return a paper with a title, a byline in plain letters larger than the text, and a section."""
    pdf = page()
    pdf.text(200, 790, "On the millers of the river", 17)
    for at, line in enumerate(byline):
        pdf.text(250, 755 - 24 * at, line, size)
    y = 745.0 - 24 * len(byline)
    if below:
        pdf.text(60, y, below, 10, "bold")
        y -= 20
    y = pdf.lines(60, y, LEFT) - 30
    pdf.text(60, y, "1 The mill", 14, "bold")
    pdf.lines(60, y - 20, RIGHT)
    return pdf


@pytest.mark.parametrize(
    ("byline", "below"),
    [
        (("Ada Keller", "May 2024"), ""),
        (("Ada Keller", "Bruno Frei"), "Abstract"),
        (("Zurich, 3 May 2024",), "Contents"),
    ],
)
def test_authors_and_a_date_below_a_title_are_no_headings(byline: tuple[str, ...], below: str) -> None:
    found = [text for _, text in headings(read(_paper(*byline, below=below)))]
    assert not {*byline} & {*found}
    assert found[0] == "On the millers of the river"
    assert found[-1] == "1 The mill"


def test_a_heading_below_a_title_stays_though_it_is_set_in_plain_letters() -> None:
    assert (2, "What millers say") in [
        (min(level, 2), text) for level, text in headings(read(_paper("What millers say")))
    ]


def test_a_double_spaced_title_is_one_heading_where_its_lines_clearly_continue() -> None:
    pdf = page()
    for place, line in ((790, "A Comparison of"), (742, "Water Wheels and Turbines"), (694, "in old mills")):
        pdf.text(60, place, line, 24)
    y = pdf.lines(60, 650, LEFT)
    for below, line in ((40, "Water Wheels"), (88, "Turbines")):
        pdf.text(60, y - below, line, 24)
    pdf.lines(60, y - 120, LEFT)
    title, *others = headings(read(pdf))
    assert title == (1, "A Comparison of Water Wheels and Turbines in old mills")
    assert [text for _, text in others] == ["Water Wheels", "Turbines"]


@pytest.mark.parametrize("formula", ["f(x) = (d / 2c) + T", "max E X 1"])
def test_a_formula_is_no_heading_however_large_its_brackets_are(formula: str) -> None:
    pdf = page()
    y = pdf.lines(60, 760, LEFT) - 20
    pdf.text(200, y, formula, 22)
    pdf.lines(60, y - 40, RIGHT)
    assert headings(read(pdf)) == []


def test_the_mark_of_a_note_is_no_part_of_a_title() -> None:
    pdf = page()
    pdf.text(60, 790, "On the millers", 17, "bold")
    pdf.text(60 + text_width("On the millers", 17, "bold"), 797, "*", 10)
    pdf.lines(60, 750, LEFT)
    parsed = read(pdf)
    assert (headings(parsed), parsed.title) == ([(1, "On the millers")], "On the millers")


def test_a_title_is_written_as_its_heading_is() -> None:
    pdf = page()
    pdf.text(60, 790, "Power of 10", 20, "bold")
    pdf.text(60 + text_width("Power of 10", 20, "bold"), 798, "6", 12, "bold")
    pdf.text(60, 766, "turning mill-", 20, "bold")
    pdf.text(60, 742, "stones", 20, "bold")
    pdf.lines(60, 700, LEFT)
    parsed = read(pdf)
    assert headings(parsed) == [(1, parsed.title)] == [(1, "Power of 10^6^ turning millstones")]


@pytest.mark.parametrize(("style", "size"), [("mono-bold", 8), ("mono-italic", 10)])
def test_comments_in_code_are_no_headings(style: str, size: int) -> None:
    pdf = page()
    y = pdf.lines(60, 760, LEFT) - 10
    for line, font in (("# The mill", style), ("Grind()", "mono"), ("", ""), ("# Flour", style), ("Bake()", "mono")):
        if line:
            pdf.text(60, y, line, size, font)
        y -= size + 2
    pdf.lines(60, y - 20, RIGHT)
    assert [one.kind for one in read(pdf).elements] == ["paragraph", "code", "paragraph"]


def test_headings_in_small_capitals_are_of_one_level_whatever_their_numbers_are() -> None:
    pdf = page()
    y = 780.0
    for number, name in (("I.", "Scope"), ("II.", "Methods"), ("III.", "Of it"), ("IV.", "Results")):
        x = 60.0
        for text, size in ((f"{number} {name[0]}", 10), (name[1:].upper(), 8)):
            pdf.text(x, y, text, size)
            x += text_width(text, size)
        y = pdf.lines(60, y - 25, LEFT) - 25
    found = headings(read(pdf))
    assert len(found) == 4
    assert len({level for level, _ in found}) == 1


def test_the_looks_of_a_cover_take_no_levels_from_the_text() -> None:
    pdf = written(
        ("Mills of the valley", 18, "bold!"),
        ("A survey", 40, "bold!"),
        ("The river board", 30, "bold!"),
        ("Preface", 16, "bold"),
        ("Mills", 16, "bold"),
        ("Their gates", 13, "bold"),
        ("Roads", 16, "bold"),
        ("Their stones", 13, "bold"),
    )
    levels = {text: level for level, text in headings(read(pdf))}
    chapter = levels["Preface"]
    assert chapter == levels["Mills"] == levels["Roads"] <= 3
    assert levels["Their gates"] == levels["Their stones"] == chapter + 1


def test_a_label_with_a_number_does_not_lift_the_numbered_headings() -> None:
    pdf = written(
        ("SECTION 2", 14, "bold!"),
        ("ENGINES", 18, "bold!"),
        ("1 General", 12, "bold"),
        ("1.1 Use", 10, "bold"),
        ("2 Design", 12, "bold"),
    )
    assert headings(read(pdf))[1:] == [(1, "ENGINES"), (2, "1 General"), (3, "1.1 Use"), (2, "2 Design")]


@pytest.mark.parametrize(
    ("name", "mono"),
    [("NimbusMonL-Regu", True), ("BCDEEE+LetterGothicStd", True), ("Monaco", True), ("t1xtt", True), ("CMR10", False)],
)
def test_fonts_for_code_are_told_by_their_names(name: str, mono: bool) -> None:
    assert _named(name.encode())[1] is mono


def test_the_text_of_an_item_is_no_heading_though_its_sign_is_in_another_font() -> None:
    pdf = page()
    pdf.text(60, 780, "The river", 24, "bold")
    for y in (740, 690):
        pdf.text(80, y, "*", 20)
        pdf.text(104, y, "Its water is brown in spring and is", 20, "bold")
        pdf.text(104, y - 21, "Green in autumn", 20, "bold")
    pdf.lines(60, 600, LEFT + RIGHT)
    parsed = read(pdf)
    assert headings(parsed) == [(1, "The river")]
    assert parts(parsed, "list_item") == ["- Its water is brown in spring and is Green in autumn"] * 2


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("Exhibit 1. Mills by their age", 10),
        ("left blank by those who came before.", 14),
    ],
)
def test_sentences_and_captions_are_no_headings(text: str, size: float) -> None:
    pdf = written(("The mill", 18, "bold"), (text, size, "bold"))
    assert headings(read(pdf)) == [(1, "The mill")]


@pytest.mark.parametrize(("size", "font"), [(16, "regular"), (10, "bold")])
def test_a_version_and_its_date_are_a_heading_without_a_word(size: float, font: str) -> None:
    pdf = page()
    pdf.text(60, 780, "What has changed", 24, "bold")
    for y, release in ((740, "3.4.1 (2025-01-27)"), (600, "3.4.0 (2024-11-18)")):
        pdf.text(60, y, release, size, font)
        pdf.lines(60, y - 24, LEFT)
    assert headings(read(pdf)) == [(1, "What has changed"), (2, "3.4.1 (2025-01-27)"), (2, "3.4.0 (2024-11-18)")]


def test_an_outline_without_numbers_names_headings_that_have_some() -> None:
    pdf = page()
    pdf.outline = [(1, "Scope", 0, 0.0), (2, "Gates of the mill", 0, 0.0)]
    for y, line in ((790, "1. Scope"), (690, "1.1 Gates of"), (676, "the mill"), (590, "2. Sluices")):
        pdf.text(60, y, line, 10)
        pdf.lines(60, y - 30, LEFT)
    assert headings(read(pdf)) == [(1, "1. Scope"), (2, "1.1 Gates of the mill")]


def test_a_seldom_font_of_unknown_style_marks_headings_where_the_usual_one_is_unknown_too() -> None:
    pdf = written(("1. Scope", 10, "bold"), ("2. Results", 10, "bold"), ("See the mill", 10, "regular"))

    def named(regular: bytes, bold: bytes) -> list[tuple[int, str]]:
        data = pdf.to_bytes().replace(b"/BaseFont /Helvetica-Bold ", b"/BaseFont /" + bold + b" ")
        data = data.replace(b"/BaseFont /Helvetica ", b"/BaseFont /" + regular + b" ")
        return headings(parse(data, FileType("pdf"), ParseOptions()))

    found = [(1, "1. Scope"), (1, "2. Results")]
    assert named(b"EOFADN+AdvPS6F00", b"EOFAEB+AdvPS6F01") == named(b"CIDFont+F1", b"CIDFont+F2") == found
    assert named(b"AdvPS6F00", b"AdvPS6F00") == named(b"Arial", b"TT2") == []
