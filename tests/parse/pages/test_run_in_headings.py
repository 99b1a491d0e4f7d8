"""Run-in headings: bold beginnings of paragraphs as headings on their own line, where they are no mere emphasis."""

from io import BytesIO

from docx import Document

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.pdf_pages import page as page_of_pdf
from tests.kit.pdf_pages import read
from tests.kit.writers.pdf import text_width, wrap

REST = " ".join(["The goods stay the property of the mill until the price of them is paid in full by the buyer."] * 2)
LEADS = ("Delivery.", "Price of the goods:", "Property")


def titles(parsed: Parsed) -> list[tuple[int, str]]:
    return [(one.level, one.attributes["text"]) for one in parsed.elements if one.kind == "title"]


def page(*leads: str, rest: str = REST) -> Parsed:
    text = "".join(f"<p><b>{lead}</b>{'.' * (lead[-1] not in '.:')} {rest}</p>" for lead in leads)
    return parse(f"<h1>Terms</h1><h2>Sale</h2>{text}".encode(), FileType("html"), ParseOptions())


def test_bold_beginnings_of_several_long_paragraphs_are_headings() -> None:
    parsed = page(*LEADS)
    below = [(3, "Delivery"), (3, "Price of the goods"), (3, "Property")]
    assert titles(parsed) == [(1, "Terms"), (2, "Sale"), *below]
    assert [parsed.text[one.start_char : one.end_char] for one in parsed.elements if one.kind == "paragraph"] == [
        REST
    ] * 3
    document, buffer = Document(), BytesIO()
    document.add_heading("Sale", 2)
    for lead in LEADS:
        paragraph = document.add_paragraph()
        paragraph.add_run(lead).bold = True
        paragraph.add_run(f"{'.' * (lead[-1] not in '.:')} {REST}")
    document.save(buffer)
    assert titles(parse(buffer.getvalue(), FileType("docx"), ParseOptions())) == [(2, "Sale"), *below]


def test_warnings_speakers_terms_and_emphasis_are_no_headings() -> None:
    plain = [(1, "Terms"), (2, "Sale")]
    assert titles(page("Delivery.", "Price.")) == plain  # two are emphasis
    assert titles(page("Note:", "Warning:", "Tip:", "Step 1.")) == plain
    assert titles(page("Ann Miller:", "Bert:", "Ann Miller:", "Bert:")) == plain
    assert titles(page(*LEADS, rest="is a word.")) == plain
    assert titles(page("the goods.", "of the mill.", "in full.")) == plain


def markdown(*leads: str, rest: str = REST, sign: str = "**") -> Parsed:
    text = "\n\n".join(f"{sign}{lead}{sign}{'.' * (lead[-1] not in '.:')} {rest}" for lead in leads)
    return parse(f"# Terms\n\n## Sale\n\n{text}\n".encode(), FileType("markdown"), ParseOptions())


def test_markdown_stays_as_it_is_and_its_leads_are_elements_of_their_own() -> None:
    parsed = markdown(*LEADS)
    assert titles(parsed) == [(1, "Terms"), (2, "Sale"), (3, "Delivery"), (3, "Price of the goods"), (3, "Property")]
    own = [(one.kind, one.line, parsed.text[one.start_char : one.end_char]) for one in parsed.elements[2:]]
    assert own[:2] == [("title", 5, "**Delivery.**"), ("paragraph", 5, REST)]
    assert own[4:] == [("title", 9, "**Property**."), ("paragraph", 9, REST)]
    assert parsed.elements[2].attributes["marks"] == [0, 1, 1, 2, 11, 12, 12, 13]
    assert titles(markdown(*LEADS, sign="_")) == titles(parsed)


def test_emphasis_of_other_kinds_is_no_heading_in_markdown() -> None:
    plain = [(1, "Terms"), (2, "Sale")]
    assert titles(markdown("Delivery.", "Price.")) == plain
    assert titles(markdown("Note:", "Warning:", "Tip:")) == plain
    assert titles(markdown(*LEADS, rest="is a word.")) == plain
    items = "\n".join(f"- **{lead}** {REST}" for lead in LEADS)
    quotes = "\n".join(f"> **{lead}** {REST}\n" for lead in LEADS)
    whole = "\n\n".join(f"**{lead} {REST}**" for lead in LEADS)
    middle = "\n\n".join(f"{REST} **{lead}** {REST}" for lead in LEADS)
    for text in (items, quotes, whole, middle):
        data = f"# Terms\n\n## Sale\n\n{text}\n".encode()
        assert titles(parse(data, FileType("markdown"), ParseOptions())) == plain


def printed(*leads: str, font: str = "bold", rest: str = REST) -> Parsed:
    pdf, y = page_of_pdf(), 740.0
    for lead in leads:
        pdf.text(60, y, lead, font=font)
        first, *more = wrap(rest, 10, 400)
        pdf.text(66 + text_width(lead, 10, font), y, first)
        y = pdf.lines(60, y - 12.5, more) - 10
    return read(pdf)


def test_bold_beginnings_are_headings_in_printed_pages() -> None:
    parsed = printed(*LEADS[:2], "Property.")
    assert titles(parsed) == [(1, "Delivery"), (1, "Price of the goods"), (1, "Property")]
    assert [parsed.text[one.start_char : one.end_char] for one in parsed.elements if one.kind == "paragraph"] == [
        REST
    ] * 3
    assert titles(printed(*LEADS[:2], "Property.", font="italic")) == titles(parsed)
    for plain in (
        printed(*LEADS[:2], "Property.", font="regular"),
        printed("Delivery.", "Price."),
        printed("Note:", "Warning:", "Tip:"),
        printed(*LEADS[:2], "Property.", rest="is a word."),
    ):
        assert titles(plain) == []
