"""Forms of PDFs: boxes with a label each become lines of label and value; tables and headers of tables stay tables."""

from itertools import chain

import pytest

from docmill.tasks.parse.pdf.layout.grid_cells import Cell, is_form
from docmill.tasks.parse.pdf.text.line import PLAIN, TextLine
from tests.kit.pdf_pages import page, parts, read
from tests.kit.writers.pdf import Pdf

Row = list[tuple[float, str]]  # widths of boxes and their labels

FORM: list[Row] = [
    [(200, "Family name"), (180, "First name"), (120, "Initial")],
    [(260, "Street and number"), (90, "Flat"), (150, "Town")],
    [(150, "Date of birth"), (250, "Telephone"), (100, "Post code")],
]


def boxed(pdf: Pdf, rows: list[Row], high: float = 30, x: float = 50, y: float = 700) -> list[tuple[float, float]]:
    """Draw boxes with their labels at the top left; return where a value may stand in each."""
    places = []
    for row in rows:
        left, y = x, y - high
        for width, label in row:
            pdf.box(left, y, width, high)
            pdf.text(left + 3, y + high - 8, label, 7)
            places.append((left + 3, y + 5))
            left += width
    return places


def test_boxes_of_a_form_are_read_as_their_labels_and_values() -> None:
    pdf = page()
    places = boxed(pdf, FORM)
    pdf.text(*places[0], "Arkwright")
    pdf.text(*places[3], "12 Mill Lane", 7, "mono")
    pdf.field(*places[7], 80, "/Subtype /Widget /FT /Tx /T (telephone) /V (0161 496 0000)")
    parsed = read(pdf)
    assert parts(parsed) == [
        "Family name: Arkwright",
        "First name",
        "Initial",
        "Street and number: 12 Mill Lane",
        "Flat",
        "Town",
        "Date of birth",
        "Telephone: 0161 496 0000",
        "Post code",
    ]
    assert parsed.elements[1].box == (250, 142, 430, 172)


def test_the_columns_of_a_form_are_read_one_after_the_other() -> None:
    pdf = page()
    boxed(pdf, [[(120, "Name"), (80, "Age")], [(90, "Town"), (110, "County")], [(140, "Trade"), (60, "Since")]], 30)
    boxed(pdf, [[(150, "Bank"), (150, "Branch")], [(100, "Account"), (200, "Holder")]], 45, 250)
    labels = ["Name", "Age", "Town", "County", "Trade", "Since", "Bank", "Branch", "Account", "Holder"]
    assert parts(read(pdf)) == labels


def test_a_label_ends_before_what_is_set_otherwise_and_has_its_number_with_it() -> None:
    pdf = page()
    places = boxed(pdf, [[(width, "") for width, _ in row] for row in FORM])
    for number, ((x, y), (_, label)) in enumerate(zip(places, chain.from_iterable(FORM), strict=True), 1):
        pdf.text(x, y + 17, str(number), 7, "bold")
        pdf.text(x + 9, y + 17, label + ("?" if number == 3 else ""), 7)
    pdf.text(*places[2], "None", 10)
    assert parts(read(pdf))[:4] == ["1 Family name", "2 First name", "3 Initial? None", "4 Street and number"]


@pytest.mark.parametrize("high", [12, 30])
def test_boxes_that_stand_below_one_another_are_cells_of_a_table(high: float) -> None:
    pdf = page()
    boxed(pdf, [[(150, f"row {row}"), (200, "said"), (100, "done")] for row in range(4)], high)
    assert [one.kind for one in read(pdf).elements] == ["table"]


def test_a_header_over_two_columns_makes_no_form() -> None:
    pdf = page()
    boxed(pdf, [[(200, "Income"), (200, "Costs")], [(100, "2023"), (100, "2024"), (100, "2023"), (100, "2024")]])
    assert [one.kind for one in read(pdf).elements] == ["table"]


def box(wide: bool = True, above: float = 1, below: float = 20, left: float = 2, second: float = 0) -> Cell:
    """Return a box with a label of size 10, so far from its sides, and a second line of another size."""
    lines = [TextLine("Town", 10, PLAIN, (left, above, left + 40, above + 12), 1, 0, 0)]
    if second:
        lines.append(TextLine("York", second, PLAIN, (left, above + 13, left + 40, above + 25), 1, 0, 0))
    return Cell((0, 0), (0, int(wide)), (0, 0, 100, lines[-1].box[3] + below), lines)


def are_form(*boxes: Cell) -> bool:
    return is_form([*boxes], 6)


def test_four_boxes_or_more_are_a_form() -> None:
    assert are_form(*[box()] * 4)
    assert not are_form(*[box()] * 3)


def test_half_of_the_boxes_of_a_form_are_wide_and_half_have_labels() -> None:
    for other in (box(wide=False), box(below=2)):
        assert are_form(*[box()] * 5, *[other] * 5)
        assert not are_form(*[box()] * 4, *[other] * 6)


@pytest.mark.parametrize(
    ("labelled", "other"),
    [
        (box(above=5, below=25), box(above=7, below=25)),
        (box(left=18), box(left=22)),
        (box(below=11), box(below=9)),
        (box(above=5.5, below=11.5), box(above=5.5, below=10.5)),
        (box(below=0, second=8.8), box(below=0, second=9.2)),
    ],
)
def test_a_label_stands_at_the_top_left_above_room_or_what_is_set_otherwise(labelled: Cell, other: Cell) -> None:
    assert are_form(*[labelled] * 4)
    assert not are_form(*[other] * 4)
