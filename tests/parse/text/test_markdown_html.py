"""HTML in Markdown: its tables are tables, cut between rows, and its headings are headings."""

import pytest

from docmill.storage.schema import Draft, Parsed
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.documents import tokenizer

ROWS = "".join(f"<tr><td>Wheel {number}</td><td>{number} m</td></tr>\n" for number in range(40))
TABLE = f"<table>\n<tr><th>Wheel</th><th>Width</th></tr>\n{ROWS}</table>"


def read(text: str) -> Parsed:
    return parse(text.encode(), FileType("markdown"), ParseOptions())


def kinds(text: str) -> list[tuple[str, str]]:
    parsed = read(text)
    return [(one.kind, parsed.text[one.start_char : one.end_char]) for one in parsed.elements]


def split(text: str) -> list[Draft]:
    return chunk(read(text), "table", Route("table", {"size": 100}), tokenizer(), ChunkOptions(256))


@pytest.mark.parametrize("table", [TABLE, TABLE.replace("\n", ""), TABLE.replace("\n<tr><td>", "\n\n    <tr><td>")])
def test_a_table_in_html_is_one_table_cut_between_rows_with_its_header_above(table: str) -> None:
    text = f"# Mill\n\n{table}\n\nEnd.\n"
    only = next(one for one in read(text).elements if one.kind == "table")
    assert len(only.attributes["cells"]) == 41
    assert only.attributes["cells"][0] == ["Wheel", "Width"]
    first, *others = [one for one in split(text) if "<td>" in one.text]
    assert first.text.startswith("<table>") or "# Mill" in first.text
    assert others
    assert all(one.text.startswith("<tr><td>Wheel") and "Wheel | Width" in one.context for one in others)


def test_rows_of_a_header_in_html_stay_together() -> None:
    head = "<thead><tr><th rowspan=2>Wheel</th><th colspan=2>Width</th></tr><tr><th>old</th><th>new</th></tr></thead>"
    rows = "".join(f"<tr><td>Wheel {number}</td><td>{number} m</td><td>1 m</td></tr>" for number in range(40))
    first, *others = split(f"<table>{head}{rows}</table>\n")
    assert first.text.startswith(f"<table>{head}<tr><td>Wheel 0")
    assert all("Wheel | Width old | Width new" in one.context for one in others)


def test_headings_in_html_are_headings_and_what_is_between_them_stays() -> None:
    head = '<div align="center">\n<h1>Mill &amp; Wheel</h1>\n<p>Of oak</p>\n<h1><img src="a.png"></h1>\n</div>'
    text = f"{head}\n\n<h2>Use</h2>\n"
    parsed = read(text)
    assert parsed.title == "Mill & Wheel"
    assert [(one.level, one.attributes["text"]) for one in parsed.elements if one.kind == "title"] == [
        (1, "Mill & Wheel"),
        (2, "Use"),
    ]
    assert [one.line for one in parsed.elements if one.kind == "title"] == [2, 7]
    assert any("Of oak" in words for kind, words in kinds(text) if kind == "text")


def test_a_table_that_lays_out_a_page_and_one_that_never_ends_are_text() -> None:
    for table in ("<table><tr><td>Mill</td></tr></table>", "<table>\n<tr><td>Mill</td><td>Wheel</td></tr>\n\nEnd."):
        assert all(kind != "table" for kind, _ in kinds(table))
        assert "Mill" in " ".join(words for _, words in kinds(table))


def test_tables_without_an_end_take_no_longer_than_their_number() -> None:
    assert len(kinds("<table>\n\n" * 4_000)) > 2_000
    assert [kind for kind, _ in kinds("<table><h1>" * 20_000)] == ["text"]


def test_tags_of_a_long_table_are_no_words() -> None:
    long = f"<table>{'<tr><td>Wheel</td><td>oak</td></tr>' * 1000}</table>"
    (table,) = read(long).elements
    marks = table.attributes["marks"]
    shown = [long[stop:start] for stop, start in zip(marks[1::2], marks[2::2], strict=False)]
    assert set(shown) == {"", "Wheel", "oak"}
