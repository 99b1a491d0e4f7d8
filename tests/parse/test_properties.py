"""What old Office documents say of themselves."""

import struct
from datetime import datetime

from docmill.tasks.parse.office.properties import compound_properties
from tests.kit.writers.compound import compound_file


def _stream(codepage: int, values: dict[int, bytes], count: int = 0) -> bytes:
    values = {1: struct.pack("<HHHH", 2, 0, codepage, 0)} | values
    at, table, content = 8 + 8 * len(values), b"", b""
    for number, value in values.items():
        table += struct.pack("<II", number, at + len(content))
        content += value
    section = struct.pack("<II", 8 + len(table + content), count or len(values)) + table + content
    return struct.pack("<HHI16sI16sI", 0xFFFE, 0, 0, b"", 1, b"", 48) + section


def _narrow(text: bytes) -> bytes:
    return struct.pack("<II", 0x1E, len(text) + 1) + text + b"\0"


def _of(stream: bytes) -> dict[str, object]:
    return compound_properties(compound_file({"\x05SummaryInformation": stream}))


def test_title_author_and_dates_are_read_in_their_code_page() -> None:
    ticks = int((datetime(2003, 10, 17, 8) - datetime(1601, 1, 1)).total_seconds()) * 10_000_000
    wide = "Größe".encode("utf-16-le") + b"\0\0"
    values = {
        2: _narrow("水位".encode("big5")),
        3: struct.pack("<II", 0x1F, 6) + wide,
        12: struct.pack("<IQ", 0x40, ticks),
    }
    assert _of(_stream(950, values)) == {"title": "水位", "subject": "Größe", "created": "2003-10-17T08:00:00"}
    assert _of(_stream(65001, {4: _narrow("Möller".encode())})) == {"author": "Möller"}
    assert _of(_stream(7, {4: _narrow(b"Ann")})) == {"author": "Ann"}


def test_a_damaged_property_set_says_nothing_and_costs_no_time() -> None:
    good = _stream(1252, {2: _narrow(b"T")})
    assert _of(good[:20]) == {}
    assert _of(_stream(1252, {2: b"\x1e\0\0\0\xff\xff\xff\xffT"}, 0xFFFFFFFF)) == {"title": "T"}
    assert _of(_stream(1252, {12: struct.pack("<IQ", 0x40, 1 << 63)})) == {}
    assert compound_properties(b"no container") == {}
