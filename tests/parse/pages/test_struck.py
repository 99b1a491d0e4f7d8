"""Struck words are marked alike in every format."""

import pytest

from docmill.tasks.parse.canvas import struck
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions

PAGES = [
    ("<p>Valid from <del>April </del>May.</p>", "Valid from ~~April~~ May."),
    ("<p>Costs <s>$<b>5</b></s> $4</p>", "Costs ~~$5~~ $4"),
    ('<p>Costs <span style="text-decoration: line-through">$5</span> $4</p>', "Costs ~~$5~~ $4"),
    ("<del><p>Old</p><p>fee</p></del><p>New</p>", "~~Old~~\n\n~~fee~~\n\nNew"),
    ('<p><s style="text-decoration: line-through">Old</s> fee</p>', "~~Old~~ fee"),
    ("<del><s>Old</s> fee</del> New", "~~Old fee~~ New"),
    ("<p>A<del> - </del>B</p>", "A - B"),
    ("<p>Type <code><s>x</s></code></p>", "Type `x`"),
]


@pytest.mark.parametrize(("page", "text"), PAGES)
def test_struck_words_of_a_page_stand_between_signs(page: str, text: str) -> None:
    assert parse(page.encode(), FileType("html"), ParseOptions()).text == text


def test_struck_cells_of_a_table_are_marked_each() -> None:
    page = "<table><tr><th>Fee</th><th>Euro</th></tr><tr><td><del>Old</del></td><td>5</td></tr></table>"
    assert "| ~~Old~~ | 5 |" in parse(page.encode(), FileType("html"), ParseOptions()).text


def test_struck_words_of_rich_text_and_of_org_are_marked_as_those_of_pages() -> None:
    rich = rb"{\rtf1\ansi Valid from {\strike April} May.\par}"
    assert parse(rich, FileType("rtf"), ParseOptions()).text == "Valid from ~~April~~ May."
    assert parse(b"Valid from +April+ May.\n", FileType("org"), ParseOptions()).text == "Valid from ~~April~~ May."


def test_signs_stand_beside_the_words_and_around_no_blank() -> None:
    assert [struck(" April "), struck("- "), struck("")] == [" ~~April~~ ", "- ", ""]
