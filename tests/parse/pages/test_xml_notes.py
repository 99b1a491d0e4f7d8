"""Notes, raised letters and damage in XML of the trades."""

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions


def read(text: str) -> Parsed:
    return parse(text.encode(), FileType("xml"), ParseOptions())


@pytest.mark.parametrize(
    "raised",
    [
        "10<superscript>6</superscript> H<subscript>2</subscript>O",
        '10<hi rend="super">6</hi> H<hi rend="subscript">2</hi>O',
        '10<hi rendition="simple:superscript">6</hi> H<hi rendition="simple:subscript">2</hi>O',
    ],
)
def test_raised_letters_of_every_dialect_are_marked(raised: str) -> None:
    assert "10^6^ H~2~O and" in read(f"<d><p>It is {raised} and more.</p></d>").text


@pytest.mark.parametrize(
    "note", ["<footnote><para>Of oak.</para></footnote>", "<fn>Of oak.</fn>", "<note>Of oak.</note>"]
)
def test_a_note_within_a_sentence_stands_below_its_paragraph(note: str) -> None:
    parsed = read(f"<d><p>The wheel{note} turns.</p><p>It is old{note.replace('oak', 'elm')}.</p></d>")
    assert parsed.text.split("\n\n") == ["The wheel[^1] turns.", "[^1]: Of oak.", "It is old[^2].", "[^2]: Of elm."]


def test_a_note_at_the_end_of_an_article_has_the_mark_of_its_reference() -> None:
    body = '<body><p>A wheel<xref ref-type="fn" rid="f1">1</xref>.</p></body>'
    back = '<back><fn-group><fn id="f1"><label>1</label><p>Of oak, and of iron.</p></fn></fn-group></back>'
    text = read(f"<article>{body}{back}</article>").text
    assert "A wheel[^1]." in text
    assert "[^1]: Of oak" in text


@pytest.mark.parametrize(
    ("damaged", "kept"),
    [
        ("<d><p>The wheel turns.</p><p>It grinds", "It grinds"),
        ("<d><p>The <b>wheel turns.</p><p>It grinds.</p></d>", "wheel turns."),
        ("<d><p>One.</p><x:y>no prefix</x:y></d>", "no prefix"),
    ],
)
def test_what_can_be_read_of_damaged_xml_is_with_a_warning(damaged: str, kept: str) -> None:
    parsed = read(damaged)
    assert kept in parsed.text
    assert parsed.metadata["read_as"].startswith("XML that is not well-formed")


def test_a_bare_ampersand_is_one() -> None:
    parsed = read("<d><p>R&D & more; AT&T.</p></d>")
    assert parsed.text == "R&D & more; AT&T."
    assert "read_as" not in parsed.metadata


@pytest.mark.parametrize("damaged", ["<a><b c='<<<'>", "<d>no end", "{<d>}", "<w:p w:x='1'/>\n\n<w:p w:x='2'/>"])
def test_what_only_begins_like_xml_is_read_as_text(damaged: str) -> None:
    parsed = read(damaged)
    assert (parsed.text, parsed.elements[0].kind) == (damaged, "paragraph")
    assert parsed.metadata["read_as"].startswith("text; not well-formed XML: ")


def test_damaged_xml_that_defines_entities_is_rejected_with_its_damage() -> None:
    with pytest.raises(Rejected, match="corrupt: not well-formed XML: "):
        read('<!DOCTYPE a [<!ENTITY x "xx">]><a><b>&x; and so on')


def test_a_patent_has_the_title_in_its_own_language_and_the_symbols_of_its_classes() -> None:
    titles = "<B540><B541>de</B541><B542>WASSERRAD</B542><B541>en</B541><B542>WATER WHEEL</B542></B540>"
    codes = (
        "<B510EP><classification-ipcr><text>F03B   7/00        20060101AFI2019</text></classification-ipcr></B510EP>"
    )
    body = "<description><p>The invention relates to wheels of oak that water turns from above.</p></description>"
    parsed = read(f'<ep-patent-document lang="en"><SDOBI>{codes}{titles}</SDOBI>{body}</ep-patent-document>')
    assert parsed.title == "WATER WHEEL"
    assert parsed.metadata["classifications"] == ["F03B 7/00"]
    assert "20060101" not in parsed.text
