"""What programs print in ways of their own: marks apart from items, listings side by side, cells in the middle."""

from docmill.storage.schema import Parsed
from tests.kit.pdf_pages import page, read
from tests.kit.writers.pdf import Pdf


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


def test_listings_apart_by_no_whole_line_are_two_and_a_blank_line_is_within_one() -> None:
    pdf = page()
    pdf.text(60, 750, "This is what one types, and below it what one sees after that.")
    low = listing(pdf, 730, ["mkdir docs", "ls docs", "", "cp one.txt docs", "run docs"])
    listing(pdf, low - 20, ["read 1 file", "wrote 2 rows", "took 3 seconds"])
    assert [text.count("\n") for kind, text in kinds(read(pdf)) if kind == "code"] == [6, 4]


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
