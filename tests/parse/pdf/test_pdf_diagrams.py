"""Diagrams of PDFs: boxes that stand apart and lines between them are one figure, with the words in the boxes."""

import pytest

from docmill.tasks.parse.pdf.layout.plots import is_diagram
from docmill.tasks.parse.pdf.text.line import PLAIN, TextLine
from docmill.tasks.parse.pdf.text.ruling_lines import PageRules
from tests.kit.pdf_pages import LEFT, page, parts, read

NAMES = ("Mill", "Sluice", "Lagoon", "River", "Weir", "Ford", "Bridge", "Quay")


def drawn(boxes: int, joined: int, wide: float = 60, high: float = 30) -> tuple[PageRules, list[TextLine]]:
    """Return the rules of boxes in two rows, with names in them, some joined with the next and the one above."""
    rules, lines = PageRules(), list[TextLine]()
    for at in range(boxes):
        left, top = 100 + 90.0 * (at // 2), 100 + 70.0 * (at % 2)
        rules.level += [(y, left, left + wide) for y in (top, top + high)]
        rules.upright += [(x, top, top + high) for x in (left, left + wide)]
        lines.append(TextLine(NAMES[at], 8, PLAIN, (left + 10, top + 10, left + 45, top + 20), 1, 0, 0))
        if at < joined:
            rules.level.append((top + 15, left + wide, left + 90))
            rules.upright += [(left + 30, 100 + high, 170)] if at % 2 else []
    return rules, lines


def are_diagram(boxes: int, joined: int, wide: float = 60, high: float = 30, outside: str = "") -> bool:
    rules, lines = drawn(boxes, joined, wide, high)
    beside = [TextLine(outside, 8, PLAIN, (161, 135, 185, 145), 1, 0, 0)] if outside else []
    return is_diagram(rules.level, rules.upright, [*lines, *beside])


def test_boxes_that_stand_apart_with_lines_between_them_are_a_diagram() -> None:
    assert are_diagram(6, 6)


@pytest.mark.parametrize(("boxes", "is_one"), [(4, False), (5, True)])
def test_a_diagram_has_five_boxes_or_more(boxes: int, is_one: bool) -> None:
    assert are_diagram(boxes, boxes) == is_one


def test_boxes_without_lines_between_them_are_no_diagram() -> None:
    assert not are_diagram(8, 0)


def test_boxes_that_touch_are_no_diagram() -> None:
    assert not are_diagram(8, 0, wide=90)


@pytest.mark.parametrize(("high", "is_one"), [(38, True), (48, False)])
def test_the_boxes_of_a_diagram_leave_much_room_around_them(high: float, is_one: bool) -> None:
    assert are_diagram(8, 8, 70, high) == is_one


@pytest.mark.parametrize(("letters", "is_one"), [(18, True), (21, False)])
def test_most_letters_of_a_diagram_are_in_its_boxes(letters: int, is_one: bool) -> None:
    assert sum(map(len, NAMES[:6])) == 29
    assert are_diagram(6, 6, outside="x" * letters) == is_one


def test_a_diagram_is_one_figure_and_the_text_around_it_stays() -> None:
    pdf = page()
    pdf.lines(60, 760, LEFT)
    rules, lines = drawn(8, 8)
    for y, left, right in rules.level:
        pdf.rule(left, 842 - 60 - y, right - left)
    for x, top, bottom in rules.upright:
        pdf.pages[-1].append(f"0.5 w {x} {842 - 60 - top} m {x} {842 - 60 - bottom} l S")
    for line in lines:
        pdf.text(line.left, 842 - 60 - line.box[3], line.text, 8)
    parsed = read(pdf)
    assert [one.kind for one in parsed.elements] == ["paragraph", "figure"]
    assert parsed.elements[1].attributes["alt"].split("; ") == [*NAMES]
    assert parts(parsed, "paragraph")[0].startswith("The left column")
