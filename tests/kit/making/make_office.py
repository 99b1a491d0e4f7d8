"""Write the samples of Office formats and Outlook's mail in tests/golden: `python -m tests.kit.making.make_office`."""

import datetime as dt
import io
import zipfile
from typing import Any

from tests.kit.making.make_golden import FOLDER
from tests.kit.writers import outlook
from tests.kit.writers.old_slides import Box, Slide, Table, old_slides
from tests.kit.writers.workbook import old_workbook, open_workbook, zipped

_TICKS_OF_2025 = 133_801_632_000_000_000


def field_report() -> bytes:
    """Return an Outlook message with a file and a message attached."""
    inner = outlook.message(
        {outlook.SUBJECT: "Mast 4", outlook.BODY: "Ice on mast 4.", outlook.SENDER: "Milo"}, header=24
    )
    text = (
        "The road is open again.\r\n\r\n- Mast 3: sound\r\n- Mast 4: iced\r\n\r\n________________________________\r\n"
    )
    text += "From: Milo\r\nSent: Monday\r\nTo: Rafe\r\nSubject: Road\r\n\r\nIs the road open?\r\n"
    masts: outlook.Properties = {outlook.LONG_FILE: "masts.csv", outlook.CONTENT: b"mast,ice\n3,0\n4,1\n"}
    return outlook.as_file(
        outlook.message(
            {
                outlook.SUBJECT: "RE: Road",
                outlook.BODY: text,
                outlook.SENDER: "Rafe Amundi",
                outlook.SENDER_MAIL: "rafe@serrach.example",
                outlook.SENT: _TICKS_OF_2025,
            },
            [
                {outlook.NAME: "Milo", outlook.MAIL: "milo@serrach.example", outlook.KIND: 1},
                {outlook.NAME: "Küche", outlook.KIND: 2},
            ],
            [masts, inner],
        )
    )


def readings() -> bytes:
    """Return a workbook of two sheets: dates, percentages, a formula, a comment, merged cells."""
    from openpyxl import Workbook
    from openpyxl.comments import Comment

    book = Workbook()
    book.properties.creator, book.properties.title = "Milo", "Snow readings"
    book.properties.created = book.properties.modified = dt.datetime(2025, 2, 1, 8)
    sheet = book.active
    sheet.title = "February"
    rows = [["Snow readings, station KS-03"], [], ["day", "depth in cm", "of normal"], [dt.date(2025, 2, 1), 84.0, 0.9]]
    rows += [[dt.date(2025, 2, 2), 90.10000000000001, 0.965], ["mean", "=AVERAGE(B4:B5)"]]
    for row in rows:
        sheet.append(row)
    for row in (4, 5):
        sheet.cell(row, 1).number_format, sheet.cell(row, 3).number_format = "dd.mm.yyyy", "0%"
    sheet["B5"].comment = Comment("wind from the north", "Milo")
    huts = book.create_sheet("Huts")
    for row in (
        ["hut", "bed", None, "key", "at"],
        ["Lower", "1", None, "K1", "office"],
        [None, "2", None, "K2", "van"],
    ):
        huts.append(row)
    huts.merge_cells("A2:A3")
    buffer = io.BytesIO()
    book.save(buffer)
    with zipfile.ZipFile(buffer) as archive:  # which holds the time of writing
        return zipped({name: archive.read(name) for name in archive.namelist()})


def stock() -> bytes:
    """Return a workbook of Excel 97."""
    return old_workbook({"Stock": [["part", "count"], ["mast", 3.0], ["guy rope, 5 m", 12.5]], "Notes": [["counted"]]})


def budget() -> bytes:
    """Return an OpenDocument workbook."""

    def cell(text: str, value: str = "") -> str:
        return f"<table:table-cell {value}><text:p>{text}</text:p></table:table-cell>"

    rows = [
        cell("item") + cell("share") + cell("due"),
        cell("masts")
        + cell("62,5 %", 'office:value-type="percentage" office:value="0.625"')
        + cell("3. März", 'office:value-type="date" office:date-value="2025-03-03"'),
        cell("ropes") + cell("1,5", 'office:value-type="float" office:value="1.5"') + cell(""),
    ]
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return open_workbook(
        f'<table:table table:name="Budget">{table}</table:table>',
        "<dc:title>Budget 2025</dc:title><meta:initial-creator>Dorothea</meta:initial-creator>",
    )


def plan() -> bytes:
    """Return a presentation with nested lists, a table, a chart, notes, columns, a group and a hidden slide."""
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    deck = Presentation()
    deck.core_properties.author, deck.core_properties.title = "Ilse Brandauer", "Winter plan"
    deck.core_properties.created = deck.core_properties.modified = dt.datetime(2025, 10, 1, 9)
    first = deck.slides.add_slide(deck.slide_layouts[0])
    first.shapes.title.text, first.placeholders[1].text = "Winter plan 2025", "Field team"
    stations = deck.slides.add_slide(deck.slide_layouts[1])
    stations.shapes.title.text = "Stations"
    frame = stations.placeholders[1].text_frame
    frame.text = "Above the tree line"
    for text, level in (("Gamskar, from December", 1), ("needs the helicopter", 2), ("In the valley", 0)):
        line = frame.add_paragraph()
        line.text, line.level = text, level
    stations.notes_slide.notes_text_frame.text = "Tomas orders the helicopter.\nAsk him by 1 November."
    costs = deck.slides.add_slide(deck.slide_layouts[5])
    costs.shapes.title.text = "Costs"
    table = costs.shapes.add_table(3, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for number, text in enumerate(("Item", "EUR", "Flights", "5200", "Ropes", "380")):
        table.cell(number // 2, number % 2).text = text
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["2024", "2025"]
    data.add_series("Flights", (4.8, 5.2))
    box = (Inches(1), Inches(4), Inches(4), Inches(2))
    costs.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *box, data)
    boxes = deck.slides.add_slide(deck.slide_layouts[6])
    boxes._element.set("show", "0")
    group = boxes.shapes.add_group_shape()
    for text, left, top in (("right, second", 5, 3.1), ("left, first", 1, 3)):
        group.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(1)).text_frame.text = text
    boxes.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1)).text_frame.text = "Spare rooms"
    buffer = io.BytesIO()
    deck.save(buffer)
    with zipfile.ZipFile(buffer) as archive:  # which holds the time of writing
        return zipped(
            {name: archive.read(name) for name in archive.namelist() if not name.endswith((".xlsx", ".jpeg"))}
        )


def old_plan() -> bytes:
    """Return a presentation of PowerPoint 97."""
    points = Box([("Above the tree line", 0), ("Gamskar, from December", 1), ("In the valley: Möslbach", 0)], 1, 900)
    costs = Table([["Item", "EUR"], ["Flights", "5200"], ["Ropes", "380"]])
    return old_slides(
        [
            Slide([Box(["Winter plan 2003"], 6), Box(["Field team"], 5, 1_500)]),
            Slide([points, Box(["Stations"], 0)], notes="Tomas orders the helicopter."),
            Slide([Box(["Costs"], 0), costs], hidden=True),
        ]
    )


MAKERS = {
    "ppt/plan.ppt": old_plan,
    "pptx/plan.pptx": plan,
    "msg/report.msg": field_report,
    "xlsx/readings.xlsx": readings,
    "xls/stock.xls": stock,
    "ods/budget.ods": budget,
}

if __name__ == "__main__":
    for name, make in MAKERS.items():
        path = FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(make())
