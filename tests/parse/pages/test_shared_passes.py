"""Shared passes: what is done once for all formats gives the same in each: numbers of items, bounds of links, spans."""

import json

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import MOST_LINKS
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.external_programs import last_line
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.passes.numbering import LevelNumbers
from docmill.tasks.parse.passes.table_rows import MOST_SPANNED, spread
from docmill.tasks.parse.xml_trees import whole, words_in, xml_tree

_ITEM = {"type": "listItem", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "oil"}]}]}
_LIST = {"type": "orderedList", "attrs": {"order": 3}, "content": [_ITEM, _ITEM]}
LISTS = {
    "html": "<ol start=3><li>oil</li><li>oil</li></ol>",
    "rst": "3. oil\n4. oil\n",
    "asciidoc": "[start=3]\n. oil\n. oil\n",
    "boxnote": json.dumps({"doc": {"type": "doc", "content": [_LIST]}}),
}
_LINK = "http://mill.example/"
LINKED = {
    "html": "<p>" + "".join(f"<a href='{_LINK}{at}'>mill {at}</a> " for at in range(MOST_LINKS + 1)) + "</p>",
    "xml": "<article><para>All "
    + "".join(f"<ulink url='{_LINK}{at}'>mill {at}</ulink> of " for at in range(MOST_LINKS + 1))
    + "them</para></article>",
    "rst": " ".join(f"`mill {at} <{_LINK}{at}>`__" for at in range(MOST_LINKS + 1)) + "\n",
}


def read(form: str, text: str) -> Parsed:
    return parse(text.encode(), FileType(form), ParseOptions())


@pytest.mark.parametrize("form", LISTS)
def test_a_list_that_begins_at_three_is_numbered_alike(form: str) -> None:
    assert read(form, LISTS[form]).text == "3. oil\n4. oil"


@pytest.mark.parametrize("form", LINKED)
def test_a_block_has_so_many_links_and_no_more(form: str) -> None:
    links = read(form, LINKED[form]).elements[0].attributes["links"]
    assert (len(links), links[-1]["text"]) == (MOST_LINKS, f"mill {MOST_LINKS - 1}")


def test_a_block_without_links_has_no_such_attribute() -> None:
    assert "links" not in read("html", "<p>Nothing leads on.</p>").elements[0].attributes


def test_deeper_levels_begin_anew_and_a_level_may_restart() -> None:
    counts = LevelNumbers()
    assert [counts.count(level) for level in (1, 2, 2, 1, 2)] == [1, 1, 2, 2, 1]
    assert [counts.count(1, 7, restarts=True), counts.count(1), counts.count(3, 5)] == [7, 8, 5]


def test_cells_stand_in_all_their_rows_and_columns() -> None:
    rows = [[("year", 2, 1), ("tons", 1, 2)], [("rye", 1, 1), ("oats", 1, 1)], [("all", 1, 3)]]
    assert spread(rows, 2, "") == [["year", "tons", "tons"], ["year", "rye", "oats"], ["all", "", ""]]
    assert spread(rows[:2], 0, "", lambda _: "=") == [["year", "tons", ""], ["=", "rye", "oats"]]
    assert len(spread([[("wide", 1, 10_000)]], 0, "")[0]) == MOST_SPANNED


@pytest.mark.parametrize(
    ("stated", "number"), [("12", 12), (" 7 ", 7), ("999999999", 999_999_999), ("1234567890", -1), ("-2", -1), ("", -1)]
)
def test_an_attribute_states_a_whole_number_or_nothing(stated: str, number: int) -> None:
    assert whole(stated, -1) == number
    assert whole(None, 3) == 3


def test_entities_of_a_file_are_not_expanded() -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "mill"><!ENTITY c "&b;&b;">]><a> The <i>wheel</i>\n turns &c;</a>'
    assert words_in(xml_tree(bomb)).startswith("The wheel turns")
    assert "mill" not in words_in(xml_tree(bomb))


def test_the_last_line_of_a_program_is_its_reason_cut_where_it_is_long() -> None:
    assert (last_line("begin\n no input \n\n"), last_line("\n"), len(last_line("x" * 999))) == ("no input", "", 200)
