"""Camera facts: what pictures state of themselves, and nothing of where they were taken."""

import json
import struct
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from docmill.storage.stated_metadata import record_of
from docmill.tasks.parse.pictures.camera_facts import camera_facts
from tests.kit.workbench import Workbench
from tests.parse.pdf.test_ocr import tesseract

__all__ = ["tesseract"]
DETAILS, PLACE = 0x8769, 0x8825
WHOLE = {
    0x010E: "The mill by the river", 0x010F: "Canon", 0x0110: "Canon EOS R5", 0x0132: "2024:07:02 09:00:00",
    0x013B: "Ada  Lovelace\0left over",
    DETAILS: {0x9003: "2024:07:01 12:30:00", 0x9011: "+02:00"},
    PLACE: {1: "N", 2: (IFDRational(48), IFDRational(12), IFDRational(34)), 3: "E", 4: (11.0, 34.0, 0.0)},
}  # fmt: skip


def picture(tags: dict[int, Any], kind: str = "JPEG") -> bytes:
    exif, out = Image.Exif(), BytesIO()
    for tag, value in tags.items():
        exif[tag] = value
    whole = Image.Exif()
    whole.load(exif.tobytes())
    Image.new("RGB", (1400, 400), "white").save(out, kind, exif=whole)
    return out.getvalue()


def facts(data: bytes) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as where pictures are read
        return camera_facts(Image.open(BytesIO(data)))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_pictures_of_every_kind_state_author_dates_title_and_camera(kind: str) -> None:
    assert facts(picture(WHOLE, kind)) == {
        "author": "Ada Lovelace", "created": "2024-07-01T12:30:00+02:00", "modified": "2024-07-02T09:00:00",
        "title": "The mill by the river", "camera": "Canon EOS R5",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tags", "stated"),
    [
        ({}, {}),
        ({0x0132: "2024:07:01 12:30:00"}, {"created": "2024-07-01T12:30:00"}),
        ({0x0132: "0000:00:00 00:00:00", 0x010E: " \0"}, {}),
        ({0x0132: "    :  :     :  :  ", 0x010E: "SAMSUNG CAMERA PICTURES"}, {}),
        ({0x010F: "NIKON CORPORATION", 0x0110: "NIKON D850"}, {"camera": "NIKON D850"}),
        ({0x010F: "Apple", 0x0110: "iPhone 16"}, {"camera": "Apple iPhone 16"}),
        ({0x010F: "Leica"}, {"camera": "Leica"}),
        ({0x9C9D: "Müller".encode("utf-16-le") + b"\0\0"}, {"author": "Müller"}),
        ({0x013B: "x" * 30_000}, {"author": "x" * 500}),
    ],
)
def test_blanks_state_nothing_and_long_values_are_cut(tags: dict[int, Any], stated: dict[str, str]) -> None:
    assert facts(picture(tags)) == stated


def test_damaged_exif_states_nothing() -> None:
    exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 3000) + struct.pack("<HHII", 0x010E, 2, 2**31, 2**31) * 2
    out = BytesIO()
    Image.new("RGB", (40, 40)).save(out, "JPEG", exif=exif)
    assert facts(out.getvalue()) == {}
    loop = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 1) + struct.pack("<HHII", DETAILS, 4, 1, 8) + struct.pack("<I", 8)
    out = BytesIO()
    Image.new("RGB", (40, 40)).save(out, "JPEG", exif=loop)
    assert facts(out.getvalue()) == {}


@pytest.mark.usefixtures("fake_model", "tesseract")
def test_a_scanned_picture_is_found_by_its_camera_and_tells_no_place(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, {"metadata": {"camera": "text", "created": "date"}, "parse": {"ocr": "tesseract"}})
    bench.write({"mill.jpg": picture(WHOLE)})
    bench.ingest()
    (row,) = bench.store.documents("metadata.camera = 'Canon EOS R5' AND metadata.created = '2024-07-01'")
    assert (row.author, row.created, row.modified) == (
        "Ada Lovelace", "2024-07-01T12:30:00+02:00", "2024-07-02T09:00:00",
    )  # fmt: skip
    kept = json.loads(row.metadata)
    assert {"gps", "place", "latitude"}.isdisjoint(map(str.lower, kept))
    assert "48" not in json.dumps({name: value for name, value in kept.items() if name not in ("created", "modified")})
    assert record_of(row.described) == {}
