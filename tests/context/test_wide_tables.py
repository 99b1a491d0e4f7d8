"""Wide tables: rows have less room where a long header stands in their contexts, so that both fit the model."""

from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.format import FileType, ParseOptions
from tests.kit.documents import tokenizer

LIMIT = 256


def test_every_chunk_of_a_wide_table_names_all_columns() -> None:
    for columns, named in ((6, True), (20, True), (50, False)):
        names = [f"level at gate {column}" for column in range(columns)]
        lines = [",".join(names), *(",".join(f"{row} {column}" for column in range(columns)) for row in range(40))]
        parsed = parse("\n".join(lines).encode(), FileType("csv"), ParseOptions())
        found = chunk(parsed, "table", Route("table"), tokenizer(), ChunkOptions(token_limit=LIMIT))
        assert len(found) > 2
        assert {" | ".join(names) in one.context for one in found[1:]} == {named}
        assert all(one.tokens <= LIMIT and one.text.startswith("|") for one in found)


def test_rows_of_a_table_too_wide_for_its_header_name_the_columns_that_they_fill() -> None:
    names = [f"level at gate {column}" for column in range(60)]
    row = ["wheel", *[""] * 57, "low", "worn out"]
    parsed = parse("\n".join(",".join(one) for one in (names, *[row] * 40)).encode(), FileType("csv"), ParseOptions())
    found = chunk(parsed, "table", Route("table"), tokenizer(), ChunkOptions(token_limit=LIMIT))
    rows = [one for one in found if one.text.startswith("| wheel")]
    assert rows
    assert all(one.context == f"{names[0]} | {names[58]} | {names[59]}" for one in rows)
