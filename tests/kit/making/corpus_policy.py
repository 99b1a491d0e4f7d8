"""Set the field safety policy of the corpus with python-docx: headings, lists, a table, header and footer."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from datetime import datetime

import docx
from docx.document import Document

USED_STYLES = {
    "Normal",
    "Title",
    "Heading 1",
    "Heading 2",
    "List Bullet",
    "List Number",
    "Table Grid",
    "Header",
    "Footer",
    "Default Paragraph Font",
    "Normal Table",
    "No List",
}
UNUSED_PARTS = ("stylesWithEffects", "thumbnail", "customXml")
DATE = datetime(2025, 1, 7, 9, 0)

ZONES = (
    ("Zone", "Where", "People", "Equipment", "Report"),
    ("Green", "Workshop yard, valley stations, huts with road access", "1", "Gloves, telephone", "None"),
    (
        "Yellow",
        "Roofs, masts up to 3 m, streams in low water",
        "2",
        "Harness, helmet, life vest at streams",
        "On return",
    ),
    (
        "Red",
        "Above the tree line, masts over 3 m, glaciers",
        "2, of whom 1 trained",
        "Red bag, satellite beacon",
        "Every 3 hours",
    ),
    (
        "Black",
        "Avalanche slopes between 1 November and 15 May",
        "3, of whom 2 trained",
        "Red bag, transceiver, probe, shovel, airbag",
        "Every hour",
    ),
)


def policy() -> Document:
    out = docx.Document()
    section = out.sections[0]
    section.header.paragraphs[0].text = "Serrach Instruments GmbH \u00b7 Field Safety and Travel Policy"
    section.footer.paragraphs[0].text = "FS-3, in force from 1 February 2025. Printed copies may be out of date."
    out.add_heading("Field Safety and Travel Policy", 0)
    out.add_paragraph(
        "We build instruments so that people need not stand in bad weather. It would be foolish to lose somebody "
        "while putting one up. This policy applies to everyone who works outdoors for Serrach Instruments, "
        "trainees, guests and the managing director included. It is taught once a year by Rafe Amundi, in October."
    )
    out.add_heading("1 Principles", 1)
    bullets(
        out,
        (
            "Anyone may call a trip off, at any time, without giving a reason and without consequences.",
            "No reading and no deadline is worth an injury. Data gaps are cheap.",
            "The least experienced person sets the pace.",
            "Whoever has been on call the night before does not climb.",
        ),
    )
    zones(out)
    travel(out)
    return out


def zones(out: Document) -> None:
    out.add_heading("2 Zones", 1)
    out.add_paragraph(
        "Every site belongs to a zone, which is written on its page in Ridgeline. In doubt the stricter counts."
    )
    table = out.add_table(rows=0, cols=len(ZONES[0]))
    table.style = "Table Grid"
    for row in ZONES:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    out.add_paragraph()
    out.add_heading("2.1 The red bag", 2)
    out.add_paragraph(
        "The red bag hangs beside the front door and is sealed. It holds a bivouac sack for two, a first-aid kit, "
        "30 m of rope, a headlamp, two litres of water, dry gloves and the satellite beacon. Whoever breaks the seal "
        "writes down why."
    )
    out.add_heading("2.2 Missed reports", 2)
    out.add_paragraph("If a report is missing, the person at base proceeds as follows:")
    numbers(
        out,
        (
            "After 15 minutes: call the telephone and the beacon of everybody in the party.",
            "After 30 minutes: ask huts and lift staff along the way.",
            "After 60 minutes, or 20 minutes in the zone Black: alert mountain rescue with the last known position.",
            "Do not set out alone to look for them.",
        ),
    )
    out.add_heading("2.3 Weather limits", 2)
    bullets(
        out,
        (
            "No work on masts in wind above 12 m/s or with lightning within 20 km.",
            "No trip into the zone Black at danger level 4 or 5; at level 3 only with the consent of Ilse Brandauer.",
            "No work at streams for 24 hours after the gauge upstream has risen by more than 30 cm.",
            "Below -20 °C every hour outside is followed by a quarter of an hour inside.",
        ),
    )


def travel(out: Document) -> None:
    out.add_heading("3 Travel", 1)
    out.add_heading("3.1 Means of transport", 2)
    out.add_paragraph(
        "Take the train where it takes no more than two hours longer than the car. The van is booked in the "
        "calendar and comes back with a full battery and without mud on the seats. Helicopters are ordered by "
        "Tomas Verell only; flights for masts are collected so that one rotation serves at least two sites."
    )
    out.add_heading("3.2 Allowances", 2)
    bullets(
        out,
        (
            "Meals: EUR 32 a day, EUR 48 above 1,500 m, because soup costs more up there.",
            "Nights in huts: the bill. Nights in hotels: up to EUR 120.",
            "Private car: EUR 0.42 for each kilometre.",
            "Field supplement: EUR 25 for each day in the zones Red and Black.",
        ),
    )
    out.add_heading("3.3 After the trip", 2)
    out.add_paragraph(
        "Receipts go to Dorothea Haslin within 30 days. Near misses are told at the next Tuesday meeting, without "
        "names if you prefer. In 2024 there were seven: three on ladders, two at streams, one with a goat and one with "
        "the van."
    )


def bullets(out: Document, items: Sequence[str]) -> None:
    for item in items:
        out.add_paragraph(item, style="List Bullet")


def numbers(out: Document, items: Sequence[str]) -> None:
    for item in items:
        out.add_paragraph(item, style="List Number")


def prune(out: Document) -> None:
    """Drop styles and parts of python-docx's template that the document does not use."""
    for style in list(out.styles):
        if style.name not in USED_STYLES:
            style.element.getparent().remove(style.element)
    for owner in (out.part, out.part.package):
        for key, relation in list(owner.rels.items()):
            if any(part in relation.reltype or part in relation.target_ref for part in UNUSED_PARTS):
                del owner.rels[key]


def field_safety_policy() -> bytes:
    """Return the policy as DOCX with fixed dates; members are stored, since compressors differ between machines."""
    out = policy()
    prune(out)
    facts = out.core_properties
    facts.title, facts.author = "Field Safety and Travel Policy", "Rafe Amundi"
    facts.last_modified_by = "Dorothea Haslin"
    facts.created = facts.modified = DATE
    facts.comments, facts.keywords, facts.revision = "", "safety; travel; field work", 3
    saved, fixed = io.BytesIO(), io.BytesIO()
    out.save(saved)
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(fixed, "w", zipfile.ZIP_STORED) as target:
        for name in source.namelist():
            target.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), source.read(name))
    return fixed.getvalue()
