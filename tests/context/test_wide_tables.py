"""Wide tables: rows have less room where a long header stands in their contexts, so that both fit the model."""

from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
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
    names = [f"level{column} at gate {column}" for column in range(60)]
    row = ["wheel", *[""] * 57, "low", "worn out"]
    parsed = parse("\n".join(",".join(one) for one in (names, *[row] * 40)).encode(), FileType("csv"), ParseOptions())
    found = chunk(parsed, "table", Route("table"), tokenizer(), ChunkOptions(token_limit=LIMIT))
    rows = [one for one in found if one.text.startswith("| wheel")]
    assert rows
    assert all(one.context == f"{names[0]} | {names[58]} | {names[59]}" for one in rows)


def test_a_header_too_long_for_a_chunk_says_the_name_of_a_group_once_and_keeps_a_word_that_two_begin_with() -> None:
    within = "rainfall in each district and in each season of the year, as rain gauges of the state tell"
    groups = [f"{when}: {within.replace(',', ';')}" for when in ("2015", "2016")]
    names = ["state", *(f"{group} {name}" for group in groups for name in ("actual", "normal", "rank"))]
    names += ["total area", "total rain"]
    lines = [",".join(names), *(",".join([f"Bihar {row}", *["12.5"] * 8]) for row in range(60))]
    parsed = parse("\n".join(lines).encode(), FileType("csv"), ParseOptions())
    said = f"state | {groups[0]} actual | normal | rank | {groups[1]} actual | normal | rank"
    found = chunk(parsed, "table", Route("table"), tokenizer(), ChunkOptions(token_limit=LIMIT))
    assert {one.context for one in found[1:]} == {f"{said} | total area | total rain"}


def test_a_bar_in_a_caption_does_not_keep_the_names_of_columns_out() -> None:
    caption = "Table 3. | Distribution of confirmed cases in humans by countries and by the origin of each case"
    rows = "".join(f"<tr><td>Land {row}</td><td>{row}.5</td><td>{row}</td></tr>" for row in range(80))
    head = "<tr><th>Country</th><th>Domestic cases in percent</th><th>Total of cases</th></tr>"
    page = f"<p>{caption}</p><table>{head}{rows}</table>"
    parsed = parse(page.encode(), FileType("html"), ParseOptions())
    found = chunk(parsed, "table", Route("table"), tokenizer(), ChunkOptions(token_limit=LIMIT))
    assert len(found) > 2
    assert all("Country | Domestic cases in percent | Total of cases" in one.context for one in found[2:])


def test_a_header_too_long_beside_its_rows_says_the_names_of_groups_once() -> None:
    groups = [f"Day: {day} of July 2016, since sunrise (tons)" for day in (10, 11, 12)]
    head = [["Number", *(text for group in groups for text in (group, "", ""))]]
    head += [["", *["actual", "normal", "departure"] * 3]]
    canvas = Canvas()
    canvas.table([*head, *([str(row), *["1,234.56"] * 9] for row in range(60))], 2, whole=True)
    found = chunk(canvas.parsed(), "table", Route("table"), tokenizer(), ChunkOptions(token_limit=LIMIT))
    assert len(found) > 3
    assert {one.context.count("departure") for one in found[1:]} == {3}


def test_rows_leave_room_for_a_header_of_two_rows() -> None:
    names = [f"{what} rain in all districts (mm)" for what in ("actual", "normal", "lowest", "highest")]
    head = [["Number", "Day", "", "", "", "Year", "", "", ""], ["", *names * 2]]
    canvas = Canvas()
    canvas.table([*head, *([f"{row}", *["1.5"] * 8] for row in range(60))], 2, whole=True)
    found = chunk(canvas.parsed(), "table", Route("table"), tokenizer(), ChunkOptions(token_limit=LIMIT))
    assert len(found) > 3
    assert all(name in one.context for one in found[1:] for name in ("Number", "Day", "Year", *names))


def test_fewer_rows_stand_in_a_chunk_rather_than_none_of_the_names_of_columns() -> None:
    names = [f"{what} rain in all districts of the state (mm)" for what in ("Least", "Usual", "Most", "Whole", "Odd")]
    canvas = Canvas()
    canvas.paragraph("The rain of the state was measured in each year, as these rows tell.")
    canvas.table([["Year", *names], *([f"{row}", *["1,234.56"] * 5] for row in range(60))], 1, whole=True)
    options = ChunkOptions(token_limit=LIMIT)
    for strategy in ("structure", "table"):
        found = chunk(canvas.parsed(), "document", Route(strategy), tokenizer(), options)
        later = [one for one in found if one.text.startswith("|") and "Usual" not in one.text]
        assert len(later) > 3
        assert all(name in one.context for one in later for name in names)
        assert all(one.text.endswith("|") and one.tokens <= LIMIT for one in later)
