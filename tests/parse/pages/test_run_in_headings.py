"""Run-in headings: bold beginnings of paragraphs as headings on their own line, where they are no mere emphasis."""

from io import BytesIO

from docx import Document

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.format import FileType, ParseOptions

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
