"""What documents hold beside their text: comments, by choice, and titles of Excel's charts."""

from io import BytesIO

import pytest
from docx import Document
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.readers import parser_key
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.parsed import found
from tests.kit.writers.workbook import zipped


@pytest.fixture(scope="module")
def reviewed() -> bytes:
    document, buffer = Document(), BytesIO()
    paragraph = document.add_paragraph("Payment is due ")
    term = paragraph.add_run("net 30")
    paragraph.add_run(", as before.")
    document.add_comment([term], "Too short: 60 % pay later.", "Ann Miller", "AM")
    document.add_paragraph("Delivery is free.")
    document.save(buffer)
    return buffer.getvalue()


def read(data: bytes, comments: bool) -> Parsed:
    return parse(data, FileType("docx"), ParseOptions(comments=comments))


def test_comments_stand_below_their_paragraphs_where_settings_ask_for_them(reviewed: bytes) -> None:
    plain = [("paragraph", "Payment is due net 30, as before."), ("paragraph", "Delivery is free.")]
    remark = ("paragraph", "Comment by Ann Miller on \u201cnet 30\u201d: Too short: 60 % pay later.")
    assert found(read(reviewed, comments=False)) == plain
    assert found(read(reviewed, comments=True)) == [plain[0], remark, plain[1]]


def test_only_documents_with_comments_are_parsed_anew_for_them() -> None:
    plain, asked = ParseOptions(), ParseOptions(comments=True)
    forms = [FileType(form) for form in ("docx", "doc", "odt", "pdf", "rtf")]
    changed = {form.format for form in forms if parser_key(form, plain) != parser_key(form, asked)}
    assert changed == {"docx", "doc", "odt"}


def test_the_title_of_a_chart_and_its_axes_are_read() -> None:
    book, buffer = Workbook(), BytesIO()
    sheet = book.active
    assert sheet is not None
    for row in (["Year", "Flour"], [1911, 40], [1912, 44]):
        sheet.append(row)
    chart = BarChart()
    chart.title, chart.y_axis.title = "Flour by year", "Tons"
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "D2")
    book.save(buffer)
    parsed = parse(buffer.getvalue(), FileType("xlsx"), ParseOptions())
    assert ("paragraph", "Flour by year (Tons)") in found(parsed)


def test_items_of_a_list_in_a_cell_stay_apart() -> None:
    document, buffer = Document(), BytesIO()
    cell = document.add_table(1, 2).cell(0, 1)
    cell.paragraphs[0].text = "Each year:"
    for work in ("oil it", "close it"):
        cell.add_paragraph(work, "List Bullet")
    document.save(buffer)
    assert "Each year: oil it; close it" in parse(buffer.getvalue(), FileType("docx"), ParseOptions()).text


def test_comments_of_opendocument_are_read_where_settings_ask_for_them() -> None:
    spaces = " ".join(f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "text"))
    author = '<dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/">Ann</dc:creator>'
    note = f"<office:annotation>{author}<text:p>Too</text:p><text:p>short.</text:p></office:annotation>"
    body = f"<office:body><office:text><text:p>Due net 30{note} days.</text:p></office:text></office:body>"
    data = zipped({
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"<office:document-content {spaces}>{body}</office:document-content>",
        "styles.xml": f"<office:document-styles {spaces}><office:styles/></office:document-styles>",
    })  # fmt: skip
    plain = ("paragraph", "Due net 30 days.")
    assert found(parse(data, FileType("odt"), ParseOptions())) == [plain]
    asked = found(parse(data, FileType("odt"), ParseOptions(comments=True)))
    assert asked == [plain, ("paragraph", "Comment by Ann: Too short.")]
