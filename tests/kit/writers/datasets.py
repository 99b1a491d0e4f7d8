"""Write small files of tables and drawings: SQLite, Parquet, Arrow, dBase, Visio, and an iWork bundle."""

import io
import sqlite3
import struct
import zipfile
from contextlib import closing
from typing import Any

from tests.kit.writers.pdf import Pdf
from tests.kit.writers.workbook import zipped

STATIONS: dict[str, list[Any]] = {
    "station": ["KS-01", "KS-02", "Küche"],
    "height": [812, 1_204, None],
    "snow": [0.84, 1.5, None],
}
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_VISIO = "http://schemas.microsoft.com/office/visio/2012/main"
_LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def sqlite_file() -> bytes:
    """Return a database of two tables, a view, an index of words, and a value of bytes."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(
            "PRAGMA page_size = 512;"
            "CREATE TABLE station (name TEXT PRIMARY KEY, height INTEGER, snow REAL);"
            "CREATE TABLE note (station TEXT, said TEXT, picture BLOB);"
            "CREATE VIEW high AS SELECT name FROM station WHERE height > 1000;"
            "CREATE VIRTUAL TABLE words USING fts5(said);"
        )
        database.executemany("INSERT INTO station VALUES (?, ?, ?)", zip(*STATIONS.values(), strict=True))
        database.execute("INSERT INTO note VALUES ('KS-01', 'The mast | is iced.', x'00ff')")
        database.execute("INSERT INTO words VALUES ('ice on the mast')")
        database.commit()
        return bytes(database.serialize())


def parquet_file(rows: int = 1) -> bytes:
    """Return a Parquet file of the stations, as often as said."""
    import pyarrow
    import pyarrow.parquet as parquet

    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table({name: values * rows for name, values in STATIONS.items()}), buffer)
    return buffer.getvalue()


def arrow_file() -> bytes:
    """Return an Arrow file of the stations."""
    import pyarrow

    buffer = io.BytesIO()
    table = pyarrow.table(STATIONS)
    with pyarrow.ipc.new_file(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def dbase_file() -> bytes:
    """Return a dBase III file of three records, one of which is deleted, in code page 850."""
    fields = [(b"STATION", b"C", 8), (b"HEIGHT", b"N", 5), (b"SINCE", b"D", 8)]
    described = b"".join(
        name.ljust(11, b"\0") + kind + bytes(4) + bytes([length]) + bytes(15) for name, kind, length in fields
    )
    rows = [b" KS-01     81220240301", b"*KS-02    120420240301", b" K\x81che        20250201"]
    header = struct.pack("<BBBBIHH", 3, 125, 2, 1, len(rows), 32 + len(described) + 1, len(rows[0]))
    return header.ljust(29, b"\0") + b"\x02\0\0" + described + b"\r" + b"".join(rows) + b"\x1a"


def visio_file() -> bytes:
    """Return a drawing of one page: two boxes, and a line with a word from one to the other."""
    shapes = "".join(
        f"<Shape ID='{number}'><Cell N='PinX' V='{x}'/><Cell N='PinY' V='{y}'/><Text>{text}</Text></Shape>"
        for number, x, y, text in ((1, 2, 9, "Reservoir"), (2, 5, 4, "Turbine house"), (3, 3, 6, "mill race"))
    )
    ends = "".join(
        f"<Connect FromSheet='3' FromCell='{cell}' ToSheet='{to}'/>" for cell, to in (("BeginX", 1), ("EndX", 2))
    )
    relation = f"<Relationships xmlns='{_RELATIONS}'><Relationship Id='rId1' Type='{_LINK}/page' Target='page1.xml'/>"
    return zipped(
        {
            "[Content_Types].xml": "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>",
            "visio/pages/pages.xml": f"<Pages xmlns='{_VISIO}' xmlns:r='{_LINK}'><Page ID='0' Name='How water runs'>"
            "<Rel r:id='rId1'/></Page></Pages>",
            "visio/pages/_rels/pages.xml.rels": f"{relation}</Relationships>",
            "visio/pages/page1.xml": f"<PageContents xmlns='{_VISIO}'><Shapes>{shapes}</Shapes>"
            f"<Connects>{ends}</Connects></PageContents>",
        }
    )


def pages_file(preview: bool = True) -> bytes:
    """Return a bundle of Pages, with or without a PDF to look at."""
    pdf = Pdf({})
    pdf.add_page()
    pdf.text(60, 700, "A letter to all members", 16, "bold")
    pdf.lines(60, 670, ["The mill is open again from the first of May.", "Bring boots."])
    members = {"Index/Document.iwa": b"\0iwa"} | ({"QuickLook/Preview.pdf": pdf.to_bytes()} if preview else {})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as bundle:
        for name, data in members.items():
            bundle.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()
