"""What lies over the pages of PDFs: links, forms that are filled in, text that was added."""

import pytest

from docmill.storage.errors import Rejected
from tests.kit.pdf_pages import page, read


def test_links_are_attributes_of_the_text_that_they_lie_on() -> None:
    pdf = page()
    pdf.text(60, 740, "Read the manual before you go.")
    pdf.link(60, 740, 78, "https://example.org/manual")
    pdf.text(60, 640, "Nothing here leads anywhere.")
    first, second = read(pdf).elements
    assert first.attributes == {"links": [{"text": "Read the manual", "url": "https://example.org/manual"}]}
    assert second.attributes == {}


def filled(name: str, value: str) -> str:
    return f"/Subtype /Widget /FT /Tx /T ({name}) /V ({value})"


def ticked(name: str, state: str) -> str:
    return f"/Subtype /Widget /FT /Btn /T ({name}) /V /{state} /AS /{state}"


def test_what_is_filled_into_a_form_is_read_where_it_stands() -> None:
    pdf = page()
    for x, y, text in ((60, 740, "Name:"), (80, 700, "Lives at the mill"), (80, 680, "Keeps bees")):
        pdf.text(x, y, text)
    pdf.table(60, 660, (100, 100), [["Wheel", "Turns"], ["Upper", ""]])
    pdf.field(100, 740, 150, filled("name", "Agathe Miller"))
    pdf.field(60, 700, 10, ticked("lives", "Yes"))
    pdf.field(60, 680, 10, ticked("bees", "Off"))
    pdf.field(165, 633, 80, filled("turns", "12 a minute"))
    pdf.field(60, 560, 200, "/Subtype /FreeText /Contents (Seen by the miller.)")
    pdf.field(60, 540, 200, filled("hidden", "secret") + " /F 2")
    pdf.field(60, 520, 200, filled("password", "secret") + " /Ff 8192")
    text = read(pdf).text
    assert "Name: Agathe Miller" in text
    assert "\u2612 Lives at the mill" in text
    assert "\u2610 Keeps bees" in text
    assert "| Upper | 12 a minute |" in text
    assert text.endswith("Seen by the miller.")
    assert "secret" not in text


def test_empty_boxes_to_tick_are_no_text() -> None:
    pdf = page()
    pdf.field(60, 680, 10, ticked("bees", "Off"))
    with pytest.raises(Rejected, match="no_text"):
        read(pdf)


def test_fields_between_links_are_read() -> None:
    pdf = page()
    pdf.text(60, 740, "Read the manual before you go.")
    pdf.link(60, 740, 78, "https://example.org/manual")
    pdf.text(60, 700, "Name:")
    pdf.field(100, 700, 150, filled("name", "Agathe Miller"))
    pdf.text(60, 660, "Or ask the baker.")
    pdf.link(60, 660, 60, "https://example.org/baker")
    assert "Name: Agathe Miller" in read(pdf).text


@pytest.mark.parametrize("shift", [0.4, 3.0])
def test_text_that_is_drawn_again_a_little_beside_itself_is_read_once(shift: float) -> None:
    pdf = page()
    for off in (0.0, shift):
        pdf.text(60 + off, 740 - off, "The mill of the village grinds rye")
    pdf.text(60, 700, "Mill W-3190")
    pdf.text(60, 700, "Mill W 3190")
    pdf.text(90.5, 740, "of the")
    assert [one for one in read(pdf).text.split("\n") if one] == ["The mill of the village grinds rye", "Mill W-3190"]


def test_text_at_the_place_of_other_text_stays_where_it_says_something_else() -> None:
    pdf = page()
    pdf.text(60, 740, "Paid:        by the miller")
    pdf.text(92, 740, "12.50")
    pdf.text(60, 720, "Grinds rye")
    pdf.text(60, 708, "Grinds rye")
    pdf.text(64, 704, "rye")
    text = read(pdf).text
    assert "12.50" in text
    assert text.count("rye") == 3
