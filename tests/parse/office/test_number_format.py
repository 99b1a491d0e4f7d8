"""Numbers of sheets as they are shown: zeros in front, currencies, units, prefixes; and what has no stored value."""

import io
import zipfile
from typing import Any

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.office.sheets.cells import format_kind, shown_number


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (7030, "00000", "07030"),
        (42, '"KX-"0000', "KX-0042"),
        (1200.5, "#,##0.00 [$€-407]", "1,200.50 €"),
        (1234567, '"$"#,##0', "$1,234,567"),
        (0, '"$"#,##0.00', "$0.00"),
        (-12, '#,##0.00 "days"', "-12.00 days"),
        (-5, '"$"#,##0;("$"#,##0)', "($5)"),
        (5551234567, "(000) 000-0000", "(555) 123-4567"),
        (123456789, "000-00-0000", "123-45-6789"),
        (3.14159, '0.00" m"', "3.14159 m"),
        (5, "[<10]00;[>=10]0", "05"),
        (12, '[<10]00" few";0" many"', "12 many"),
        (1234.5, "#,##0.00", "1234.5"),
        (1_200_000, '0.0,,"M"', "1200000"),
        (0.5, "# ?/?", "0.5"),
        (959.99999999999909, '"$"0.00', "$960.00"),  # what a sum of binary fractions leaves wrong
        (0.0999999999999999, "0%", "10%"),
        (6.96409140369967, "0.0", "6.96409140369967"),
        (1.2345678901205, "0.0", "1.2345678901205"),  # of 13 figures it would save one
    ],
)
def test_a_number_has_the_signs_of_its_format_and_keeps_its_digits(value: float, code: str, shown: str) -> None:
    assert shown_number(value, format_kind(164, code)) == shown


def _workbook(fill: Any) -> Parsed:
    from openpyxl import Workbook

    book, buffer = Workbook(), io.BytesIO()
    fill(book)
    book.save(buffer)
    return parse(buffer.getvalue(), detect_file_type("book.xlsx", buffer.getvalue()), ParseOptions())


def test_a_link_by_formula_is_read_and_other_formulas_without_a_value_are_counted() -> None:
    def fill(book: Any) -> None:
        for row in (
            ["part", "where"],
            ["wheel", '=HYPERLINK("https://mill.example/w","list of wheels")'],
            ["sum", "=1+1"],
        ):
            book.active.append(row)

    parsed = _workbook(fill)
    assert "| wheel | list of wheels |" in parsed.text
    assert parsed.elements[1].attributes["links"] == [{"text": "list of wheels", "url": "https://mill.example/w"}]
    assert parsed.metadata["read_as"] == "a workbook without the values of a formula, which it does not store"


def test_a_workbook_whose_main_part_has_another_name_is_read() -> None:
    from openpyxl import Workbook

    book, buffer, moved = Workbook(), io.BytesIO(), io.BytesIO()
    book.active.append(["grain", "price"])
    book.active.append(["rye", 7])
    book.save(buffer)
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(moved, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name in ("_rels/.rels", "[Content_Types].xml"):
                content = content.replace(b"workbook.xml", b"book7.xml")
            target.writestr(name.replace("workbook.xml", "book7.xml"), content)
    assert "| rye | 7 |" in parse(moved.getvalue(), FileType("xlsx"), ParseOptions()).text


SHEET_2003 = """<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"
 xmlns:x="urn:schemas-microsoft-com:office:excel">
<Styles><Style ss:ID="s1"><NumberFormat ss:Format="00000"/></Style></Styles>
<Worksheet ss:Name="Mills"><Table>
<Row><Cell><Data ss:Type="String">name</Data></Cell><Cell><Data ss:Type="String">code</Data></Cell>
<Cell><Data ss:Type="String">since</Data></Cell></Row>
<Row ss:Index="2"><Cell ss:Index="2" ss:StyleID="s1"><Data ss:Type="Number">42</Data></Cell>
<Cell><Data ss:Type="DateTime">1910-05-01T00:00:00.000</Data></Cell></Row>
<Row><Cell ss:MergeAcross="1"><Data ss:Type="String">upper and lower</Data></Cell>
<Cell><Data ss:Type="Boolean">1</Data></Cell></Row></Table></Worksheet>
<Worksheet ss:Name="Old"><Table><Row><Cell><Data ss:Type="String">gone</Data></Cell></Row></Table>
<WorksheetOptions xmlns="urn:schemas-microsoft-com:office:excel"><Visible>SheetHidden</Visible></WorksheetOptions>
</Worksheet></Workbook>"""


def test_sheets_in_the_xml_of_2003_have_their_cells_in_the_stated_columns() -> None:
    data = SHEET_2003.encode()
    assert detect_file_type("mills.xls", data) == detect_file_type("mills.xml", data) == FileType("xls")
    parsed = parse(data, FileType("xls"), ParseOptions())
    assert parsed.elements[1].attributes["cells"] == [
        ["name", "code", "since"],
        ["", "00042", "1910-05-01"],
        ["upper and lower", "", "TRUE"],
    ]
    assert "# Old (hidden)" in parsed.text


def test_cells_of_opendocument_are_shown_with_their_zeros_and_currencies_and_hidden_sheets_are_marked() -> None:
    def cell(kind: str, value: str, shown: str) -> str:
        stated = f'office:value-type="{kind}" office:value="{value}"'
        return f"<table:table-cell {stated}><text:p>{shown}</text:p></table:table-cell>"

    rows = [
        [cell("float", "7030", "07030"), cell("currency", "1234.5", "1.234,50 €")],
        [cell("float", "0.333333333", "0.33"), cell("percentage", "0.5", "50.00%")],
    ]
    body = "".join(f"<table:table-row>{''.join(row)}</table:table-row>" for row in rows)
    spaces = " ".join(
        f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "text", "table", "style")
    )
    content = (
        f'<office:document-content {spaces}><office:automatic-styles><style:style style:name="h" style:family="table">'
        '<style:table-properties table:display="false"/></style:style></office:automatic-styles><office:body>'
        f'<office:spreadsheet><table:table table:name="S" table:style-name="h">{body}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as container:
        container.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        container.writestr("content.xml", content)
    parsed = parse(buffer.getvalue(), FileType("ods"), ParseOptions())
    assert parsed.elements[1].attributes["cells"] == [["07030", "1.234,50 €"], ["0.333333333", "50%"]]
    assert parsed.elements[0].attributes["text"] == "S (hidden)"
