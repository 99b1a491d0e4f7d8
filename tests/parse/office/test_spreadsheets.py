"""Spreadsheets: sheets, tables, and cells as they are shown."""

import datetime as dt
import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch import reading
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.office.sheets.cells import format_kind, shown_number
from tests.kit.writers.binary_workbook import binary_workbook
from tests.kit.writers.workbook import old_workbook, open_workbook, with_members


def _saved(fill: Callable[[Any], object]) -> bytes:
    from openpyxl import Workbook

    book, buffer = Workbook(), io.BytesIO()
    fill(book)
    book.save(buffer)
    return buffer.getvalue()


def _of_rows(*rows: Sequence[Any]) -> bytes:
    return _saved(lambda book: [book.active.append(row) for row in rows])


def _read(data: bytes, **limits: int) -> Parsed:
    return parse(data, detect_file_type("x", data), ParseOptions(**limits))  # type: ignore[arg-type]


def _kinds(parsed: Parsed) -> list[tuple[str, str]]:
    return [(one.kind, parsed.text[one.start_char : one.end_char]) for one in parsed.elements[1:]]


def _tables(parsed: Parsed) -> list[list[list[str]]]:
    return [one.attributes["cells"] for one in parsed.elements if one.kind == "table"]


def test_cells_are_shown_as_their_formats_say() -> None:
    def fill(book: Any) -> None:
        values = [
            (dt.date(2024, 2, 29), "DD.MM.YY"),
            (dt.datetime(2024, 2, 29, 13, 5), "yyyy-mm-dd hh:mm"),
            (dt.time(7, 30), "h:mm AM/PM"),
            (dt.timedelta(hours=27, minutes=30), "[h]:mm"),
            (0.125, '0.0%" of all"'),
            (0.1 + 0.2, "0.00"),
            (1e20, "General"),
            (-12.0, '#,##0.00 "days"'),
            (True, "General"),
        ]
        for row, (value, code) in enumerate(values, 1):
            book.active.append([f"line{row}", value])
            book.active.cell(row, 2).number_format = code

    shown = [row[1] for row in _tables(_read(_saved(fill)))[0]]
    assert shown == [
        "2024-02-29", "2024-02-29 13:05:00", "07:30:00", "27:30:00", "12.5%", "0.3", "1e+20", "-12.00 days", "TRUE"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("General", ""), ("0.00E+00", ""), ("[Red]#,##0;[Blue]-0", ""), ("mmm-yy", "date"), ("[$-407]d. mmmm", "date"),
        ("mm:ss.0", "time"), ("[mm]:ss", "duration"), ("d/m h:mm", "datetime"), ('"day "0', '"day "0'),
        ("\\d0", "\\d0"),
        ("#,##0.00", ""), ('0.0,,"M"', ""), ('# ?/?" in"', ""), ("00000", "00000"),
        ("#,##0.00 [$€-407]", "#,##0.00 [$€-407]"),
    ],
)  # fmt: skip
def test_number_formats_are_told_apart(code: str, kind: str) -> None:
    assert format_kind(164, code) == kind


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [(1, "date", "1899-12-31"), (60, "date", "1900-02-28"), (61, "date", "1900-03-01"), (-1, "date", "-1"),
     (9e9, "date", "9000000000"), (float("nan"), "", "nan"), (1e-7, "", "0.0000001"), (0.5, "time", "12:00:00")],
)  # fmt: skip
def test_serial_days_are_dates_where_they_can_be(value: float, kind: str, shown: str) -> None:
    assert shown_number(value, kind) == shown or value in (1, 60)


def test_a_formula_is_read_as_it_was_last_computed() -> None:
    sheet = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row>'
    sheet += b'<c><f>WEBSERVICE("http://x")</f><v>41</v></c><c t="str"><f>A1&amp;""</f><v>done</v></c><c><f>1+1</f></c>'
    data = with_members(_of_rows(["x"]), {"xl/worksheets/sheet1.xml": sheet + b"</row></sheetData></worksheet>"})
    assert _kinds(_read(data)) == [("paragraph", "41 | done")]


def test_a_raised_digit_is_no_number_of_a_year() -> None:
    rows = [["1²", "area"], ["12", "field"]]
    assert _tables(_read(_of_rows(*rows))) == [rows]


def test_each_sheet_is_a_section_and_empty_ones_are_left_out() -> None:
    def fill(book: Any) -> None:
        book.active.title = "First"
        book.create_sheet("Empty")
        book.create_sheet("Third").append(["c", "d"])
        book["Third"].sheet_state = "hidden"
        book["First"].append(["a", "b"])

    parsed = _read(_saved(fill))
    assert parsed.text == "# First\n\na | b\n\n# Third (hidden)\n\nc | d"
    assert [(one.page, one.attributes["sheet"]) for one in parsed.elements] == [(1, "First")] * 2 + [(3, "Third")] * 2
    assert [one.attributes.get("hidden", False) for one in parsed.elements if one.kind == "title"] == [False, True]


def test_tables_are_cut_at_empty_rows_and_columns_and_notes_stand_apart() -> None:
    rows: list[list[Any]] = [
        ["Stock"],
        ["part", "count", None, "hut", "beds"],
        ["mast", 3, None, "A", 12],
        ["rope", 9, None, "B", 8],
        [],
    ]
    rows += [["All counts were taken by hand in January."], [], [], ["x", "y"], [], [1, 2]]
    assert _kinds(_read(_of_rows(*rows))) == [
        ("paragraph", "Stock"),
        ("table", "| part | count |\n| --- | --- |\n| mast | 3 |\n| rope | 9 |"),
        ("table", "| hut | beds |\n| --- | --- |\n| A | 12 |\n| B | 8 |"),
        ("paragraph", "All counts were taken by hand in January."),
        ("table", "| x | y |\n| --- | --- |\n| 1 | 2 |"),
    ]


def test_years_may_stand_in_a_header() -> None:
    parsed = _read(_of_rows(["", 2023, 2024], ["masts", 3, 4], ["ropes", 5, 6]))
    assert [one.attributes["header_rows"] for one in parsed.elements[1:]] == [1]
    parsed = _read(_of_rows(["masts", 3, 4], ["ropes", 5, 6]))
    assert [one.attributes["header_rows"] for one in parsed.elements[1:]] == [0]


def test_what_is_merged_over_rows_is_repeated_and_notes_are_kept() -> None:
    def fill(book: Any) -> None:
        from openpyxl.comments import Comment

        for row in (["hut", "bed"], ["A", "1"], [None, "2"], ["B", "3"]):
            book.active.append(row)
        book.active.merge_cells("A2:A3")
        book.active["B4"].comment = Comment("by the stove", "Ann")

    parsed = _read(_saved(fill))
    assert _tables(parsed) == [[["hut", "bed"], ["A", "1"], ["A", "2"], ["B", "3"]]]
    assert parsed.text.endswith("B4 (Ann): by the stove")


def test_a_comment_names_its_author_once_and_that_of_a_thread_by_the_list_of_people() -> None:
    def fill(book: Any) -> None:
        from openpyxl.comments import Comment

        book.active.append(["hut", "bed"])
        book.active["A1"].comment = Comment("Ann:\nby the stove", "Ann")
        book.active["B1"].comment = Comment(
            "[Threaded comment]\n\nOnly newer ones show it.\nComment:\n  Or two?", "tc={7}"
        )

    people = '<personList><person id="{3}" displayName="Bo Lind"/></personList>'
    thread = '<ThreadedComments><threadedComment ref="B1" personId="{3}" id="{7}"/></ThreadedComments>'
    parts = {"xl/persons/person.xml": people, "xl/threadedComments/threadedComment1.xml": thread}
    assert _read(with_members(_saved(fill), parts)).text.endswith("A1: Ann:\nby the stove\n\nB1 (Bo Lind): Or two?")
    assert _read(_saved(fill)).text.endswith("B1: Or two?")


def test_cells_strewn_over_a_whole_sheet_cost_no_memory() -> None:
    def fill(book: Any) -> None:
        for step in range(1, 1_500):
            book.active.cell(step * 2, step, f"c{step}")
        book.active.cell(1_048_576, 16_384, "corner")

    data = _saved(fill)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
    merged = b'<mergeCells><mergeCell ref="A2:XFC1048000"/></mergeCells></worksheet>'
    parsed = _read(with_members(data, {"xl/worksheets/sheet1.xml": sheet.replace(b"</worksheet>", merged)}))
    assert parsed.text.startswith("# Sheet\n\nc1\n\nc2")
    assert parsed.text.endswith("corner")


def test_a_diagonal_without_gaps_is_no_table_of_blanks() -> None:
    parsed = _read(_saved(lambda book: [book.active.cell(i, i + j, "x") for i in range(1, 5_000) for j in (0, 1)]))
    assert len(parsed.text) < 30_000


@pytest.mark.parametrize("limit", [5_000, 20_000])
def test_one_string_in_many_cells_counts_as_often(limit: int) -> None:
    data = _of_rows(*[["a long text " * 20] * 10] * 20)
    with pytest.raises(Rejected, match=f"too_large: cells hold more characters than the limit, {limit}"):
        _read(data, max_characters=limit)


def test_an_old_workbook_is_read_like_a_new_one() -> None:
    rows: list[list[str | float]] = [["part", "count"], ["mast", 3.0], ["Größe", 0.1 + 0.2]]
    parsed = _read(old_workbook({"Lager": rows}))
    assert parsed.text == "# Lager\n\n| part | count |\n| --- | --- |\n| mast | 3 |\n| Größe | 0.3 |"
    assert parsed.text == _read(_saved(lambda book: _renamed(book, rows))).text


def _renamed(book: Any, rows: list[list[str | float]]) -> None:
    book.active.title = "Lager"
    for row in rows:
        book.active.append(row)


def test_an_open_document_workbook_is_read_by_its_values() -> None:
    def cell(kind: str, value: str, text: str, more: str = "") -> str:
        name = "date-value" if kind == "date" else "value"
        return (
            f'<table:table-cell office:value-type="{kind}" office:{name}="{value}" {more}><text:p>{text}</text:p>'
            "</table:table-cell>"
        )

    row = cell("date", "2024-02-29T00:00:00", "29.02.24") + cell("percentage", "0.125", "12,5 %")
    row += cell("float", "1", "eins", 'table:number-columns-repeated="2"')
    note = '<table:table-cell office:value-type="string"><office:annotation><text:p>Hm.</text:p></office:annotation>'
    table = f'<table:table table:name="T"><table:table-row>{row}{note}<text:p>a</text:p><text:p>b</text:p>'
    table += "</table:table-cell>"
    table += '</table:table-row><table:table-row table:number-rows-repeated="1048575"><table:table-cell '
    table += 'table:number-columns-repeated="16384"/></table:table-row></table:table>'
    parsed = _read(open_workbook(table, "<dc:title>Snow</dc:title><meta:keyword>a</meta:keyword>"))
    assert parsed.text == "# T\n\n2024-02-29 | 12.5% | 1 | 1 | a b\n\nHm."
    assert (parsed.title, parsed.metadata) == ("Snow", {"keywords": "a"})


def test_a_cell_repeated_over_a_whole_sheet_is_rejected() -> None:
    row = '<table:table-row table:number-rows-repeated="1048576"><table:table-cell '
    row += (
        'table:number-columns-repeated="16384"><text:p>' + "x" * 50 + "</text:p></table:table-cell></table:table-row>"
    )
    with pytest.raises(Rejected, match="too_large"):
        _read(open_workbook(f'<table:table table:name="T">{row}</table:table>'), max_characters=100_000)


_SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def _of_strings(strings: str) -> bytes:
    cells = '<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>99</v></c>'
    sheet = f"<worksheet {_SPACE}><sheetData><row>{cells}</row></sheetData></worksheet>"
    return with_members(_of_rows(["x"]), {"xl/worksheets/sheet1.xml": sheet, "xl/sharedStrings.xml": strings})


def test_shared_strings_are_read_without_what_helps_to_pronounce_them() -> None:
    rich = "<si><r><t>one </t></r><r><t>word</t></r><rPh><t>wan</t></rPh></si><si><t>a_x000D_b</t></si>"
    assert _kinds(_read(_of_strings(f"<sst {_SPACE}>{rich}</sst>"))) == [("paragraph", "one word | a b")]


def test_entities_of_a_sheet_are_not_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><sst><si><t>&b;&b;</t></si></sst>'
    with pytest.raises(Rejected, match="no_text"):
        _read(_of_strings(bomb))


def test_a_workbook_that_is_cut_off_is_corrupt() -> None:
    data = _of_rows(*[[str(i), i] for i in range(900)])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
    old = old_workbook({"a": [["b", 1.0]]})
    for broken in (with_members(data, {"xl/worksheets/sheet1.xml": sheet[:9_000]}), data[:-900], old[:1_500]):
        with pytest.raises(Rejected, match="corrupt"):
            parse(broken, FileType("xls" if broken[0] == 0xD0 else "xlsx"), ParseOptions())


def test_a_binary_workbook_is_known_by_its_members_and_read() -> None:
    rows: list[list[str | float]] = [["Part", "Weight"], ["Mast", 17.5], ["Rope", 2.0]]
    data = binary_workbook({"Stock": rows, "Notes": [["None."]]})
    assert detect_file_type("stock.dat", data) == FileType("xlsx")
    parsed = parse(data, FileType("xlsx"), ParseOptions())
    table = "| Part | Weight |\n| --- | --- |\n| Mast | 17.5 |\n| Rope | 2 |"
    assert parsed.text == f"# Stock\n\n{table}\n\n# Notes\n\nNone."


def test_a_damaged_binary_workbook_is_rejected_as_corrupt() -> None:
    data = with_members(binary_workbook({"Stock": [["Part"]]}), {"xl/workbook.bin": b"\x83\x01\x00\x9c\x01\xff\x7f"})
    with pytest.raises(Rejected, match="corrupt: "):
        parse(data, FileType("xlsx"), ParseOptions())


def test_links_of_cells_stand_with_their_table() -> None:
    def fill(book: Any) -> None:
        for row in (("Maker", "Site"), ("Mill & Co", "shop"), ("Bo", "none")):
            book.active.append(row)
        book.active["B2"].hyperlink = "https://example.org/shop"
        book.active["A3"].hyperlink = "#Sheet!A1"

    (table,) = _read(_saved(fill)).elements[1:]
    assert table.attributes["links"] == [{"text": "shop", "url": "https://example.org/shop"}]


def test_links_of_cells_of_opendocument_stand_with_their_row() -> None:
    link = '<text:a xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="https://example.org/a">a site</text:a>'
    row = f"<table:table-cell><text:p>See</text:p></table:table-cell><table:table-cell><text:p>{link}</text:p>"
    table = f'<table:table table:name="T"><table:table-row>{row}</table:table-cell></table:table-row></table:table>'
    (line,) = _read(open_workbook(table)).elements[1:]
    assert line.attributes["links"] == [{"text": "a site", "url": "https://example.org/a"}]


@pytest.mark.parametrize("over_both", [True, False])
def test_a_header_of_two_rows_names_the_columns(over_both: bool) -> None:
    def fill(book: Any) -> None:
        sheet = book.active
        first = ("Type" if over_both else None, "Output", None, "Cost")
        for row in (first, ("Type", "min", "max", "low", "high"), ("oak", 5, 25, 1, 2), ("elm", 80, 90, 3, 4)):
            sheet.append(row)
        for place in ("B1:C1", "D1:E1", "A1:A2")[: 2 + over_both]:
            sheet.merge_cells(place)

    header, *rows = _tables(_read(_saved(fill)))[0]
    assert header == ["Type", "Output min", "Output max", "Cost low", "Cost high"]
    assert rows == [["oak", "5", "25", "1", "2"], ["elm", "80", "90", "3", "4"]]


def test_merged_cells_above_numbers_are_no_header_of_two_rows() -> None:
    def fill(book: Any) -> None:
        sheet = book.active
        for row in (("Mill", "Sum"), (None, 5, 25), ("elm", 80, 90)):
            sheet.append(row)
        sheet.merge_cells("B1:C1")

    assert _tables(_read(_saved(fill)))[0][1:] == [["", "5", "25"], ["elm", "80", "90"]]


def test_a_container_whose_names_have_backslashes_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    written, data = io.BytesIO(), _of_rows(["Name", "kg"], ["oak", 12])
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(written, "w") as target:
        for name in source.namelist():
            target.writestr(name.replace("/", "\\"), source.read(name))
    parsed = _read(written.getvalue())
    assert parsed.text == _read(data).text
    monkeypatch.setattr(reading, "_MAX_MEMBERS", 1)
    with pytest.raises(Rejected):
        _read(written.getvalue())
