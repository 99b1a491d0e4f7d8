"""Charts: their points are a table under their title, alike in slides, Word documents and workbooks."""

import io
import zipfile
from collections.abc import Callable

import docx
import pptx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from lxml import etree
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.office.sheets import chart as of_charts
from docmill.tasks.parse.office.sheets import open_objects
from docmill.tasks.parse.office.sheets.chart import chart_of
from tests.kit.writers.workbook import zipped

TABLE = "Grain by year (Tons)\n\n| Year | Rye | Oats |\n| --- | --- | --- |\n| 1911 | 40.5 | 12 |\n| 1912 | 44 | 9 |"


def read(form: str, data: bytes) -> Parsed:
    return parse(data, FileType(form), ParseOptions())


def slides() -> bytes:
    data = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["1911", "1912"]
    data.add_series("Rye", (40.5, 44))  # type: ignore[no-untyped-call]
    data.add_series("Oats", (12, 9))  # type: ignore[no-untyped-call]
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Harvest"
    frame = slide.shapes.add_chart(XL_CHART_TYPE.LINE, Inches(1), Inches(2), Inches(6), Inches(4), data)
    chart = frame.chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Grain by year"
    for axis, words in ((chart.category_axis, "Year"), (chart.value_axis, "Tons")):
        axis.has_title = True
        axis.axis_title.text_frame.text = words
    deck.save(buffer := io.BytesIO())
    return buffer.getvalue()


def word() -> bytes:
    with zipfile.ZipFile(io.BytesIO(slides())) as container:
        (name,) = (one for one in container.namelist() if one.startswith("ppt/charts/chart"))
        content = container.read(name)
    document = docx.Document()
    part = Part(PackURI("/word/charts/chart1.xml"), "application/xml", content, document.part.package)
    number = document.part.relate_to(part, RELATIONSHIP_TYPE.CHART)
    spaces = " ".join(
        f'xmlns:{one}="http://schemas.openxmlformats.org/{path}"'
        for one, path in (
            ("w", "wordprocessingml/2006/main"),
            ("r", "officeDocument/2006/relationships"),
            ("c", "drawingml/2006/chart"),
        )
    )
    run = f'<w:r {spaces}><w:drawing><c:chart r:id="{number}"/></w:drawing></w:r>'
    document.add_paragraph("Harvest")._p.append(parse_xml(run))
    document.save(buffer := io.BytesIO())
    return buffer.getvalue()


def workbook() -> bytes:
    """Return a workbook whose chart names cells and, as openpyxl writes it, does not repeat what they hold."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Bob's grain"
    for row in (["Year", "Rye", "Oats"], ["1911", 40.5, 12], ["1912", 44, 9]):
        sheet.append(row)
    chart = BarChart()
    chart.title, chart.x_axis.title, chart.y_axis.title = "Grain by year", "Year", "Tons"
    chart.add_data(Reference(sheet, min_col=2, max_col=3, min_row=1, max_row=3), titles_from_data=True)
    chart.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=3))
    sheet.add_chart(chart, "E2")
    book.save(buffer := io.BytesIO())
    return buffer.getvalue()


_SPACES = " ".join(
    f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one.replace("draw", "drawing")}:1.0"'
    for one in ("office", "text", "table", "draw", "chart", "style")
)
OPEN_CHART = f"""<office:document-content {_SPACES}><office:body><office:chart><chart:chart>
<chart:title><text:p>Grain by year</text:p></chart:title><chart:plot-area>
<chart:axis chart:dimension="x"><chart:title><text:p>Year</text:p></chart:title></chart:axis>
<chart:axis chart:dimension="y"><chart:title><text:p>Tons</text:p></chart:title></chart:axis></chart:plot-area>
<table:table table:name="local-table"><table:table-header-rows>{{}}</table:table-header-rows>{{}}{{}}</table:table>
</chart:chart></office:chart></office:body></office:document-content>""".format(
    *(
        f"<table:table-row>{''.join(f'<table:table-cell><text:p>{one}</text:p></table:table-cell>' for one in row)}"
        "</table:table-row>"
        for row in (["", "Rye", "Oats"], ["1911", "40.5", "12"], ["1912", "44", "9"])
    )
)
FRAME = '<draw:frame><draw:object xlink:href="./Object 1"><text:p/></draw:object></draw:frame>'
OPEN_BODIES = {
    "odt": f"<office:text><text:p>Harvest{FRAME}</text:p></office:text>",
    "odp": f"<office:presentation><draw:page>{FRAME}</draw:page></office:presentation>",
    "ods": '<office:spreadsheet><table:table table:name="Grain"><table:shapes>'
    f"{FRAME}</table:shapes></table:table></office:spreadsheet>",
}


def open_document(form: str, frame: str = FRAME) -> bytes:
    body = OPEN_BODIES[form].replace(FRAME, frame)
    content = f'<office:document-content {_SPACES} xmlns:xlink="http://www.w3.org/1999/xlink"><office:automatic-styles/><office:body>{body}'
    members = {"content.xml": f"{content}</office:body></office:document-content>", "Object 1/content.xml": OPEN_CHART}
    members["styles.xml"] = f"<office:document-styles {_SPACES}/>"
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", **members})


@pytest.mark.parametrize("form", ["odt", "odp", "ods"])
def test_a_chart_of_opendocument_is_read_from_a_member_or_from_within(form: str) -> None:
    assert read(form, open_document(form)).text.endswith(TABLE)
    inside = OPEN_CHART.replace("document-content", "document")
    held = f"<draw:frame><draw:object>{inside}</draw:object></draw:frame>"
    assert read(form, open_document(form, held)).text.endswith(TABLE)


def test_a_point_without_a_value_is_blank() -> None:
    broken = OPEN_CHART.replace("40.5", "1.#NAN").replace("44", "NaN")
    assert "| 1911 |  | 12 |\n| 1912 |  | 9 |" in drawn_open(broken)


def test_blank_points_that_are_written_once_keep_their_columns() -> None:
    blanks = '<table:table-cell table:number-columns-repeated="2"/>'
    cells = "".join(f"<table:table-cell><text:p>{one}</text:p></table:table-cell>" for one in ("40.5", "12"))
    assert cells in OPEN_CHART
    assert "| 1911 |  |  |" in drawn_open(OPEN_CHART.replace(cells, blanks))


def test_a_chart_of_opendocument_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_objects, "MOST_CELLS", 7)
    text = drawn_open(OPEN_CHART)
    assert "| 1912 |" in text
    assert "44" not in text


def drawn_open(chart: str) -> str:
    held = f"<draw:frame><draw:object>{chart.replace('document-content', 'document')}</draw:object></draw:frame>"
    return read("odp", open_document("odp", held)).text


@pytest.mark.parametrize(("form", "written"), [("pptx", slides), ("docx", word), ("xlsx", workbook)])
def test_a_chart_is_a_table_under_its_title_in_each_format(form: str, written: Callable[[], bytes]) -> None:
    assert read(form, written()).text.endswith(TABLE)


def drawn(inner: str) -> of_charts.Chart:
    return chart_of(etree.fromstring(f'<c:chartSpace xmlns:c="urn:c">{inner}</c:chartSpace>'))


def points(*values: str, code: str = "General") -> str:
    shown = "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))
    return f"<c:numCache><c:formatCode>{code}</c:formatCode>{shown}</c:numCache>"


def series(name: str, labels: str, values: str, kinds: tuple[str, str] = ("cat", "val")) -> str:
    tx = f"<c:tx><c:v>{name}</c:v></c:tx>"
    return f"<c:ser>{tx}<c:{kinds[0]}>{labels}</c:{kinds[0]}><c:{kinds[1]}>{values}</c:{kinds[1]}></c:ser>"


def test_dates_and_shares_are_shown_as_the_workbook_shows_them() -> None:
    one = series("Flow", points("45292", "45293", code="d/m/yyyy"), points("0.30000000000000004", "0.5", code="0%"))
    assert drawn(f"<c:chart>{one}</c:chart>") == ("Flow", [["", "Flow"], ["2024-01-01", "30%"], ["2024-01-02", "50%"]])


def test_series_of_a_scatter_chart_with_their_own_places_are_one_below_the_other() -> None:
    kinds = ("xVal", "yVal")
    two = series("A", points("1", "2"), points("5", "6"), kinds) + series(
        "B", points("1", "3"), points("7", "8"), kinds
    )
    rows = [["", "", ""], ["A", "1", "5"], ["A", "2", "6"], ["B", "1", "7"], ["B", "3", "8"]]
    assert drawn(f"<c:chart>{two}</c:chart>") == ("", rows)


def test_levels_of_categories_are_joined() -> None:
    inner = "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(["May", "June", "May"]))
    outer = '<c:pt idx="0"><c:v>2025</c:v></c:pt><c:pt idx="2"><c:v>2026</c:v></c:pt>'
    levels = f"<c:multiLvlStrCache><c:lvl>{inner}</c:lvl><c:lvl>{outer}</c:lvl></c:multiLvlStrCache>"
    rows = drawn(f"<c:chart>{series('Rain', levels, points('1', '2', '3'))}</c:chart>").rows
    assert [row[0] for row in rows] == ["", "2025 May", "2025 June", "2026 May"]


def test_a_chart_of_office_2016_has_its_points_beside_its_series() -> None:
    names, values = (
        "".join(f'<cx:pt idx="{at}">{value}</cx:pt>' for at, value in enumerate(each))
        for each in (("Milled", "Lost"), ("90", "10.50"))
    )
    data = f"<cx:strDim><cx:lvl>{names}</cx:lvl></cx:strDim><cx:numDim><cx:lvl>{values}</cx:lvl></cx:numDim>"
    title = "<cx:title><cx:tx><cx:txData><cx:v>Where it went</cx:v></cx:txData></cx:tx></cx:title>"
    own = '<cx:series><cx:tx><cx:txData><cx:v>Tons</cx:v></cx:txData></cx:tx><cx:dataId val="0"/></cx:series>'
    chart = etree.fromstring(
        f'<cx:chartSpace xmlns:cx="urn:cx"><cx:chartData><cx:data id="0">{data}</cx:data></cx:chartData>'
        f"<cx:chart>{title}<cx:plotArea>{own}</cx:plotArea></cx:chart></cx:chartSpace>"
    )
    assert chart_of(chart) == ("Where it went", [["", "Tons"], ["Milled", "90"], ["Lost", "10.5"]])


@pytest.mark.parametrize(("deleted", "title"), [("0", "Rain"), ("1", "")])
def test_a_chart_of_one_series_is_named_by_it_unless_its_title_was_removed(deleted: str, title: str) -> None:
    one = series("Rain", points("May"), points("1"))
    assert drawn(f'<c:chart><c:autoTitleDeleted val="{deleted}"/>{one}</c:chart>').title == title


@pytest.mark.parametrize("inner", ["", "<c:chart/>", "<c:chart><c:ser/></c:chart>"])
def test_a_chart_without_points_has_no_table(inner: str) -> None:
    assert drawn(inner) == ("", [])


def test_a_hostile_chart_has_no_more_points_and_series_than_are_read() -> None:
    far = '<c:pt idx="999999999"><c:v>1</c:v></c:pt><c:pt idx="-5"><c:v>1</c:v></c:pt><c:pt idx="3"><c:v>2</c:v></c:pt>'
    assert drawn(f"<c:chart>{series('', '', far)}</c:chart>").rows == [["", ""], ["", "2"]]
    many = "".join(f'<c:ser><c:val><c:pt idx="{at}"><c:v>1</c:v></c:pt></c:val></c:ser>' for at in range(9_999))
    rows = drawn(f"<c:chart>{many}</c:chart>").rows
    assert len(rows) * len(rows[0]) < of_charts.MOST_CELLS + 1_000
