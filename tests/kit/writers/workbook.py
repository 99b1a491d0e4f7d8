"""Write workbooks for tests and samples: of Excel by `openpyxl`, of its older kind and of OpenDocument by hand."""

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

from tests.kit.writers.compound import compound_file

Cells = Sequence[Sequence[str | float]]


def old_workbook(sheets: Mapping[str, Cells]) -> bytes:
    """Return a workbook of Excel 97 (BIFF8) with texts and numbers."""
    bodies = [_begin(0x10) + b"".join(_cells(rows)) + _record(0x0A) for rows in sheets.values()]
    names = [name.encode("utf-16-le") for name in sheets]
    at = len(_begin(5)) + sum(4 + 8 + len(name) for name in names) + len(_record(0x0A))
    stream = _begin(5)
    for name, body in zip(names, bodies, strict=True):
        stream += _record(0x85, struct.pack("<IHBB", at, 0, len(name) // 2, 1) + name)
        at += len(body)
    return compound_file({"Workbook": (stream + _record(0x0A) + b"".join(bodies)).ljust(4096, b"\0")})


def _begin(kind: int) -> bytes:
    return _record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 0x07CC, 0, 6))


def _cells(rows: Cells) -> list[bytes]:
    records = []
    for row, cells in enumerate(rows):
        for column, value in enumerate(cells):
            place = struct.pack("<HHH", row, column, 0)
            if isinstance(value, str):
                text = value.encode("utf-16-le")
                records.append(_record(0x0204, place + struct.pack("<HB", len(value), 1) + text))
            else:
                records.append(_record(0x0203, place + struct.pack("<d", value)))
    return records


def _record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for name, space in (("office", "office"), ("table", "table"), ("text", "text"), ("meta", "meta"))
)


def open_workbook(tables: str, meta: str = "") -> bytes:
    """Return an OpenDocument workbook of `table:table` elements, with the elements of its metadata."""
    content = f"<office:document-content {_SPACES}><office:body><office:spreadsheet>{tables}"
    content += "</office:spreadsheet></office:body></office:document-content>"
    about = f'<office:document-meta {_SPACES} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta>{meta}'
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "content.xml": content,
            "meta.xml": about + "</office:meta></office:document-meta>",
        }
    )


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of members, the same bytes on every run."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def with_members(data: bytes, changed: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive with some members replaced or added."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return zipped({name: archive.read(name) for name in archive.namelist()} | dict(changed))
