"""Tables that programs print as text, and delimited values with quotation marks that do not fit."""

import pytest

from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.plain_text import drawn_tables

CELLS = [["id", "grain"], ["1", "rye"], ["2", "oats"]]


@pytest.mark.parametrize(
    "drawn",
    [
        " id | grain\n----+-------\n  1 | rye\n  2 | oats\n",
        "+----+-------+\n| id | grain |\n+----+-------+\n|  1 | rye   |\n|  2 | oats  |\n+----+-------+\n",
        "+----+-------+\n| id | grain |\n+====+=======+\n| 1  | rye |\n+----+-------+\n| 2  | oats |\n+----+-------+\n",
        "┌────┬───────┐\n│ id │ grain │\n├────┼───────┤\n│  1 │ rye   │\n│  2 │ oats  │\n└────┴───────┘\n",
        "| id | grain |\n|----|-------|\n| 1 | rye |\n| 2 | oats |\n",
        "id  grain\n--  -----\n1   rye\n2   oats\n",
    ],
)
def test_a_drawn_table_is_an_element_with_its_cells_and_the_text_stays(drawn: str) -> None:
    text = f"Before it.\n\n{drawn}\nAfter it.\n"
    assert detect_file_type("grain.txt", text.encode()) == FileType("text")
    parsed = parse(text.encode(), FileType("text"), ParseOptions())
    table = next(one for one in parsed.elements if one.kind == "table")
    assert table.attributes == {"cells": CELLS, "header_rows": 1}
    assert parsed.text[table.start_char : table.end_char].split() == drawn.split()
    assert parsed.text == text
    mail = f"From: a@mill.example\nTo: b@mill.example\nSubject: Grain\n\n{text}"
    read = parse(mail.encode(), FileType("eml"), ParseOptions())
    assert [one.attributes["cells"] for one in read.elements if one.kind == "table"] == [CELLS]
    page = parse(f"<p>Before it.</p><pre>{drawn}</pre>".encode(), FileType("html"), ParseOptions())
    assert [one.attributes["cells"] for one in page.elements if one.kind == "table"] == [CELLS]


def test_lines_around_a_table_are_paragraphs() -> None:
    parsed = parse(b"Sums:\n a | b\n---+---\n 1 | 2\n(1 row)\n", FileType("text"), ParseOptions())
    assert [(one.kind, one.line) for one in parsed.elements] == [("paragraph", 1), ("table", 2), ("paragraph", 5)]


@pytest.mark.parametrize(
    "text",
    ["Title\n-----\nText | with a bar\n", "a -- b\n--- end ---\n", "+-- lib\n| +-- mill\n+-- src\n", "-----+-----\n",
     "one two\n--- ---\nlonger words cross\n"],
)  # fmt: skip
def test_rules_and_bars_in_prose_make_no_table(text: str) -> None:
    assert not list(drawn_tables(text.splitlines()))


def rows(text: str, name: str = "a.csv") -> list[list[str]]:
    parsed = parse(text.encode(), detect_file_type(name, text.encode()), ParseOptions())
    return [row for one in parsed.elements if one.kind == "table" for row in one.attributes["cells"]]


def test_a_quotation_mark_that_does_not_end_is_a_sign_of_its_field() -> None:
    marks = ['"' if i in (3, 4, 20) else "" for i in range(30)]
    lines = [f"{i}\t{mark}Tube {i} mm\tstock {i}" for i, mark in enumerate(marks)]
    assert rows("\n".join(["id\tname\tnote", *lines]) + "\n", "a.tsv") == [
        ["id", "name", "note"],
        *([str(i), f"{mark}Tube {i} mm", f"stock {i}"] for i, mark in enumerate(marks)),
    ]


def test_a_field_of_several_lines_stays_one() -> None:
    lines = [f'{i},"first\nsecond, third",end' for i in range(9)]
    assert rows("\n".join(["id,text,tail", *lines]) + "\n")[1:] == [
        [str(i), "first second, third", "end"] for i in range(9)
    ]


def test_quotes_with_a_backslash_are_those_of_the_field() -> None:
    lines = [f'{i},"said \\"go, now\\", twice",Ulm' for i in range(5)]
    assert rows("\n".join(["id,comment,city", *lines]) + "\n")[1:] == [
        [str(i), 'said "go, now", twice', "Ulm"] for i in range(5)
    ]
    paths = [f'{i},"C:\\mill\\","he said ""go"""' for i in range(5)]
    assert rows("\n".join(["id,path,said", *paths]) + "\n")[1] == ["0", "C:\\mill\\", 'he said "go"']
