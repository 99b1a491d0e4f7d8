"""What programs print in ways of their own: marks apart from items, listings side by side, cells in the middle."""

from docmill.storage.schema import Parsed
from tests.kit.pdf_pages import page, parts, read
from tests.kit.writers.pdf import Pdf, text_width


def kinds(parsed: Parsed) -> list[tuple[str, str]]:
    return [(one.kind, parsed.text[one.start_char : one.end_char]) for one in parsed.elements]


def listing(pdf: Pdf, y: float, lines: list[str]) -> float:
    for at, line in enumerate(lines):
        if line:
            pdf.text(60, y - 12 * at, line, 10, "mono")
    return y - 12 * (len(lines) - 1)


def test_numbers_that_are_drawn_after_the_text_of_a_list_begin_its_items() -> None:
    pdf = page()
    for y, line in ((740, "Open the upper gate and wait for"), (728, "the wheel."), (710, "Close the lower gate.")):
        pdf.text(80, y, line)
    for y, number in ((740, "1."), (710, "2.")):
        pdf.text(66, y, number)
    pdf.text(60, 680, "That is all.")
    assert kinds(read(pdf))[-3:] == [
        ("list_item", "1. Open the upper gate and wait for the wheel."),
        ("list_item", "2. Close the lower gate."),
        ("paragraph", "That is all."),
    ]


def test_a_bullet_in_larger_letters_begins_the_whole_item() -> None:
    pdf = page()
    pdf.text(60, 740, "We take these things with us:")
    pdf.text(60, 720, "\u2022", 13)
    pdf.text(88, 720, "rope, of which we need so much that two people carry")
    pdf.text(88, 708, "it between them")
    (item,) = (text for kind, text in kinds(read(pdf)) if kind == "list_item")
    assert item.endswith("two people carry it between them")


def test_a_cell_in_the_middle_of_its_row_stands_beside_all_lines_of_the_others() -> None:
    pdf = page()
    pdf.text(60, 760, "How long things are kept is said by settings:")
    for x, cell in ((60, "what"), (200, "how long"), (320, "setting")):
        pdf.text(x, 740, cell, 10, "bold")
    for top, lines, middle in (
        (720, ["a draft", "that was held", "back"], ["30 days", "keep_days"]),
        (670, ["a file", "that went", "later"], ["one hour", "grace_hours"]),
        (620, ["a page", "deleted", "today"], ["one week", "undelete_days"]),
    ):
        for at, line in enumerate(lines):
            pdf.text(60, top - 12 * at, line)
        for x, cell in zip((200, 320), middle, strict=True):
            pdf.text(x, top - 12, cell)
    (table,) = (one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes["cells"][1:] == [
        ["a draft that was held back", "30 days", "keep_days"],
        ["a file that went later", "one hour", "grace_hours"],
        ["a page deleted today", "one week", "undelete_days"],
    ]


def cells_of(parsed: Parsed) -> list[list[list[str]]]:
    return [one.attributes["cells"] for one in parsed.elements if one.kind == "table"]


def dot(pdf: Pdf, x: float, y: float) -> None:
    pdf.pages[-1].append(f"{x} {y} 3 3 re f")


def beside(pdf: Pdf, x: float, y: float, texts: list[str], gap: float) -> None:
    """Write texts so far apart."""
    for text in texts:
        pdf.text(x, y, text)
        x += text_width(text, 10) + gap


def test_drawn_bullets_begin_items_on_a_page_that_begins_within_a_list() -> None:
    pdf = page()
    pdf.text(80, 760, "and so ends the item of the page before.")
    for at in range(3):
        pdf.text(80, 740 - 16 * at, f"Item {at} says what to do.")
        dot(pdf, 70, 742 - 16 * at)
    pdf.text(60, 680, "That is all.")
    assert parts(read(pdf), "list_item") == [f"- Item {at} says what to do." for at in range(3)]


def test_upper_roman_numbers_begin_items() -> None:
    pdf = page()
    for at, number in enumerate(("I.", "II.", "III.")):
        pdf.text(60, 740 - 20 * at, f"{number} Open gate number {at}.")
    assert len(parts(read(pdf), "list_item")) == 3


def test_two_lines_of_one_sentence_are_a_paragraph_however_far_apart() -> None:
    pdf = page()
    pdf.text(60, 740, "A pipeline that guesses what it may keep is worse than one that keeps nothing, since on some")
    pdf.text(60, 719, "day it answers from an outdated text.")
    assert len(parts(read(pdf), "paragraph")) == 1


def test_names_at_both_ends_and_in_the_middle_of_a_line_make_it_no_code() -> None:
    pdf = page()
    pdf.text(60, 740, "Some views save you a long statement, so that you need not write it each time.")
    x = 60.0
    for text, font in (
        ("lengths", "mono"),
        (" has the sizes of chunks, ", "regular"),
        ("duplicates", "mono"),
        (" has those that are equal, ", "regular"),
        ("age", "mono"),
    ):
        pdf.text(x, 727, text, font=font)
        x += text_width(text, 10, font)
    pdf.text(60, 714, "shows how old they are.")
    parsed = read(pdf)
    assert [one.kind for one in parsed.elements] == ["paragraph"]


def test_cells_in_the_middle_of_rows_between_rules_are_of_one_row_each() -> None:
    pdf = page()
    said = ["what is done before it ends, then", "what is done behind it, and what", "else there is"]
    rows = [("one", said, "2 August"), ("two", said[:1], "3 August"), ("three", said, "4 August")]
    y = 740.0
    pdf.rule(60, y, 400)
    for name, lines, date in rows:
        high = 13 * len(lines)
        middle = y - high / 2 - 7
        pdf.text(60, middle, name)
        pdf.lines(150, y - 13, lines, 10)
        pdf.text(330, middle, date)
        y -= high + 8
        pdf.rule(60, y, 400)
    assert cells_of(read(pdf)) == [[[name, " ".join(lines), date] for name, lines, date in rows]]


def test_gaps_that_are_no_spaces_part_the_cells_of_rows_that_agree() -> None:
    pdf = page()
    rows = [("tantivy", "0.14 / 1.0 / 12", "a full rebuild"), ("bm25", "0.18 / 0.7 / 11", "a part of it")]
    rows += [("sqlite", "1.43 / 3.4 / 23", "as it comes"), ("ours", "0.41 / 2.1 / 25", "no rebuild at all")]
    for at, (name, figures, text) in enumerate(rows):
        pdf.text(60, 740 - 16 * at, name)
        beside(pdf, 140, 740 - 16 * at, [figures, text], 7.5)
    assert cells_of(read(pdf)) == [[list(row) for row in rows]]


def wrapped(pdf: Pdf, *lines: str) -> None:
    """Draw lines of text; what stands in backquotes is code."""
    for at, line in enumerate(lines):
        x = 60.0
        for number, part in enumerate(line.split("`")):
            font = "mono" if number % 2 else "regular"
            pdf.text(x, 740 - 12 * at, part, 10, font)
            x += text_width(part, 10, font)


def test_code_that_fills_a_line_of_a_paragraph_is_no_listing() -> None:
    pdf = page()
    wrapped(pdf, "To try other strategies beside the route, type `docmill explain`", "`docs/faq.md --fixed`")
    assert parts(read(pdf)) == [
        "To try other strategies beside the route, type docmill explain docs/faq.md --fixed",
    ]


def test_code_between_two_lines_of_a_paragraph_is_no_listing() -> None:
    pdf = page()
    wrapped(
        pdf, "The page says so of the first, second and third run:", "`three files are not read`", "before it ends."
    )
    assert parts(read(pdf)) == [
        "The page says so of the first, second and third run: three files are not read before it ends.",
    ]


def test_a_listing_close_below_a_line_that_is_not_full_stays_one() -> None:
    pdf = page()
    wrapped(pdf, "Whoever wants all of the mill at once, as the miller does, can type `build`", "`build all`", "`wait`")
    pdf.text(60, 690, "and then goes to the river, to the hills above it, and to the three towns, and comes back.")
    assert [kind for kind, _ in kinds(read(pdf))] == ["paragraph", "code", "paragraph"]


def test_a_drawn_bullet_stays_where_a_box_around_code_cuts_its_line() -> None:
    pdf = page()
    pdf.text(60, 760, "Do this:")
    leads = ["Run", "Then run the command", "At last, run"]
    for at, lead in enumerate(leads):
        y = 740 - 24 * at
        dot(pdf, 70, y + 2)
        pdf.text(80, y, lead)
        x = 80 + text_width(f"{lead} ", 10)
        pdf.text(x + 3, y, "build all", font="mono")
        end = x + 6 + text_width("build all", 10, "mono")
        for side in (x, end):
            pdf.pages[-1].append(f"{side} {y - 4} 0.5 14 re f")
        pdf.text(end + 3, y, "and wait.")
    for side in (300, 400):  # a table elsewhere, for which rules are looked for
        pdf.text(side, 640, "a cell")
        pdf.text(side, 620, "a cell")
    assert parts(read(pdf), "list_item") == [f"- {lead} build all and wait." for lead in leads]


def test_a_written_bullet_stays_one_where_its_line_is_cut() -> None:
    pdf = page()
    for y, name, text in ((740, "Noise", "Time of day"), (722, "Leak", "Share of the water"), (704, "Wear", "Years")):
        pdf.text(60, y, name)
        pdf.text(200, y, "\u2022")
        pdf.text(214, y, text)
    assert "\u2022 \u2022" not in read(pdf).text
