"""Figures as readers find them: the picture, its place in the text, its words, and what is no figure."""

import io
import struct
import zlib
from collections.abc import Callable

import pytest
from PIL import Image

from docmill.storage.errors import Rejected
from docmill.storage.keys import hash_bytes
from docmill.storage.schema import KeptPicture, Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pictures import album
from docmill.tasks.parse.pictures.addresses import of_data_uri
from docmill.tasks.parse.pictures.album import Unkept, look_at
from docmill.tasks.split.spans.reading_map import reading_of
from docmill.tasks.work.document.process import figure_rows
from tests.kit.writers import figures as writers

FIRST, SECOND = writers.drawn(1), writers.drawn(2)
DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "html": lambda: writers.html(FIRST, SECOND),
    "docx": lambda: writers.docx(FIRST),
    "odt": lambda: writers.odt(FIRST),
    "epub": lambda: writers.epub(FIRST),
    "pptx": lambda: writers.pptx(FIRST),
    "ipynb": lambda: writers.ipynb(FIRST),
    "eml": lambda: writers.eml(FIRST, SECOND),
    "mht": lambda: writers.mht(FIRST),
}
JPEG, OTHER, LOGO = (writers.drawn(seed, 400, 300, "JPEG") for seed in (1, 2, 3))


def read(data: bytes, form: str) -> Parsed:
    return parse(data, FileType(form), ParseOptions())


def png(width: int, height: int) -> bytes:
    """Return a picture of a size that its header states and no memory holds."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    whole = b"".join(struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in parts)
    return b"\x89PNG\r\n\x1a\n" + whole


@pytest.mark.parametrize("form", DOCUMENTS)
def test_a_figure_stands_where_the_document_shows_it_with_its_caption(form: str) -> None:
    parsed = read(DOCUMENTS[form](), form)
    row = figure_rows(parsed)[0]
    key = hash_bytes(FIRST)
    alt = "" if form == "ipynb" else "Bars by month"
    assert (row["key"], row["caption"], row["alt"]) == (key, writers.CAPTION, alt)
    assert (row["width"], row["height"], row["bytes"], row["media_type"]) == (160, 120, len(FIRST), "image/png")
    assert parsed.text[row["start_char"] : row["end_char"]] == f"![{alt}](docmill:figure/{key})"
    assert {one.key: one.data for one in parsed.pictures}[key] == FIRST
    assert len(parsed.pictures) == len({one.key for one in parsed.pictures})
    assert parsed.text.count(writers.CAPTION) == 1, "the caption is said once"
    assert "docmill:figure" not in reading_of(parsed).text, "its address is markup"
    assert alt in reading_of(parsed).text


def test_a_slide_says_where_its_picture_is() -> None:
    (row,) = figure_rows(read(writers.pptx(FIRST), "pptx"))
    assert (row["page"], row["box"]) == (2, [72.0, 144.0, 360.0, 360.0])


def test_a_page_of_a_pdf_says_where_its_picture_is_and_leaves_its_letterhead_out() -> None:
    parsed = read(writers.pdf(JPEG, OTHER, logo=LOGO), "pdf")
    first, second = figure_rows(parsed)
    assert (first["key"], first["page"], first["box"]) == (hash_bytes(JPEG), 1, [60.0, 110.0, 260.0, 260.0])
    assert (second["key"], second["page"]) == (hash_bytes(OTHER), 2)
    assert first["caption"] == writers.CAPTION
    assert second["caption"] == writers.CAPTION.replace("Figure 1", "Figure 2")
    assert [one.kind for one in parsed.elements] == 2 * ["paragraph", "figure", "paragraph", "paragraph"]
    assert [one.data for one in parsed.pictures] == [JPEG, OTHER]
    assert parsed.metadata["figures_left_out"] == {"decoration": 2}


def test_a_packed_jpeg_of_a_pdf_is_kept_as_it_is() -> None:
    (kept,) = read(writers.pdf(JPEG, packed=True), "pdf").pictures
    assert (kept.key, kept.media_type, kept.data) == (hash_bytes(JPEG), "image/jpeg", JPEG)


def test_greys_of_a_pdf_stay_greys() -> None:
    (kept,) = read(writers.pdf(FIRST), "pdf").pictures
    shown = Image.open(io.BytesIO(kept.data))
    assert (kept.media_type, shown.mode) == ("image/png", "L")
    assert shown.tobytes() == Image.open(io.BytesIO(FIRST)).convert("L").tobytes()


def test_a_damaged_picture_of_a_pdf_leaves_its_text() -> None:
    whole = writers.pdf(JPEG)
    at = whole.index(JPEG)
    parsed = read(whole[: at + 100] + b"\0" * (len(JPEG) - 200) + whole[at + len(JPEG) - 100 :], "pdf")
    assert writers.CAPTION in parsed.text
    assert len(parsed.pictures) <= 1


def test_a_logo_that_repeats_and_a_tracking_pixel_are_counted_and_left_out() -> None:
    parsed = read(writers.html(FIRST, SECOND), "html")
    assert parsed.metadata["figures_left_out"] == {"decoration": 4}  # a logo in three places, and one pixel
    assert {one.key for one in parsed.pictures} == {hash_bytes(FIRST), hash_bytes(SECOND)}


@pytest.mark.parametrize(("places", "kept"), [(album.REPEATED - 1, 1), (album.REPEATED, 0)])
def test_a_picture_in_so_many_places_is_decoration(places: int, kept: int) -> None:
    canvas = Canvas()
    canvas.paragraph("Words.")
    for _ in range(places):
        canvas.figure(FIRST)
    assert album.REPEATED == 3
    assert len(canvas.parsed().pictures) == kept


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (png(60_000, 60_000), "too_large"),
        (png(album.LEAST_SIDE - 1, 500), "decoration"),
        (FIRST[: len(FIRST) // 2], "broken"),
        (b"", "broken"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "unread"),
        (b"\0" * (album.MAX_BYTES + 1), "too_large"),
    ],
    ids=["bomb", "rule", "cut", "empty", "svg", "long"],
)
def test_a_hostile_picture_rejects_nothing_but_itself(data: bytes, why: str) -> None:
    assert look_at(data) == Unkept(why)
    page = f'<p>Before.</p><img src="{writers.data_uri(data)}" alt="An odd picture"><p>After.</p>'
    if len(data) < 100_000:
        parsed = read(page.encode(), "html")
        assert parsed.text.split("\n\n") == ["Before.", "An odd picture", "After."]
        assert parsed.metadata["figures_left_out"] == {why: 1}


def test_the_bounds_of_pictures_are_those_that_their_reasons_name() -> None:
    assert (album.MAX_BYTES, album.MAX_PIXELS, album.LEAST_SIDE) == (20_000_000, 80_000_000, 24)
    assert (album.MOST_PICTURES, album.MOST_BYTES) == (1_000, 100_000_000)


def test_an_album_holds_so_many_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(album, "MOST_PICTURES", 2)
    own = album.Album()
    assert [own.add(writers.drawn(seed)) is not None for seed in (1, 2, 3, 1)] == [True, True, False, True]
    monkeypatch.setattr(album, "MOST_BYTES", len(writers.drawn(1)))
    assert album.Album().add(writers.drawn(1)) is not None
    assert dict(own.left_out) == {"too_many": 1}


def test_an_image_file_is_a_figure_with_the_words_that_it_holds() -> None:
    exif = Image.Exif()
    exif[270] = "Bars by [month]"
    Image.open(io.BytesIO(FIRST)).save(buffer := io.BytesIO(), "PNG", exif=exif)
    parsed = read(buffer.getvalue(), "image")
    (row,) = figure_rows(parsed)
    assert parsed.text == f"![Bars by (month)](docmill:figure/{row['key']})"
    assert (row["key"], row["alt"], row["page"]) == (hash_bytes(buffer.getvalue()), "Bars by (month)", 1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (writers.drawn(1, 20, 300), "no_text"),  # an icon
        (FIRST[: len(FIRST) // 2], "corrupt"),
        (png(10_000, 10_000), "too_large"),
    ],
    ids=["icon", "cut", "large"],
)
def test_an_image_file_that_is_no_figure_is_rejected_for_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(Rejected) as why:
        read(data, "image")
    assert why.value.reason == reason


@pytest.mark.parametrize("kind", ["BMP", "TIFF"])
def test_a_picture_that_no_browser_shows_is_kept_as_png(kind: str) -> None:
    data = writers.drawn(1, kind=kind)
    kept = look_at(data)
    assert isinstance(kept, KeptPicture)
    assert (kept.key, kept.media_type) == (hash_bytes(data), "image/png")
    assert Image.open(io.BytesIO(kept.data)).size == (160, 120)


@pytest.mark.parametrize(
    ("address", "data"),
    [
        ("data:image/png;base64,aGk=", b"hi"),
        (" data:image/png;charset=x;base64,aG\nk", b"hi"),
        ("data:image/svg+xml,%3Csvg/%3E", b"<svg/>"),
        ("data:text/html;base64,aGk=", None),
        ("https://example.org/a.png", None),
        ("data:image/png;base64,a", b""),
    ],
)
def test_only_an_address_that_holds_a_picture_is_read(address: str, data: bytes | None) -> None:
    assert of_data_uri(address) == data


def test_brackets_in_words_do_not_end_them() -> None:
    canvas = Canvas()
    canvas.figure(FIRST, "a [b] c\n d")
    assert canvas.parsed().text.startswith("![a (b) c d](docmill:")
