"""Numbers that word processors compute: Word's fields AUTONUM and LISTNUM, and the headings of OpenDocument."""

import zipfile
from io import BytesIO

from docx import Document
from docx.oxml import parse_xml

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.format import FileType, ParseOptions
from tests.kit.parsed import found

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
ODF = " ".join(f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "text", "style"))


def said(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def field(instruction: str, result: str = "") -> str:
    kinds = ["begin", "separate", "end"] if result else ["begin", "end"]
    parts = {kind: f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in kinds}
    parts["begin"] += f"<w:r><w:instrText> {instruction} </w:instrText></w:r>"
    return "".join(parts[kind] + (said(result) if kind == "separate" else "") for kind in kinds)


def word(*paragraphs: tuple[str, str]) -> Parsed:
    document, buffer = Document(), BytesIO()
    for style, runs in paragraphs:
        stated = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
        document.element.body.insert(-1, parse_xml(f"<w:p {WORD}>{stated}{runs}</w:p>"))
    document.save(buffer)
    return parse(buffer.getvalue(), FileType("docx"), ParseOptions())


def texts(parsed: Parsed) -> list[str]:
    return [text.lstrip("# ") for _, text in found(parsed)]


def test_the_numbers_of_fields_stand_in_the_text() -> None:
    parsed = word(
        (
            "",
            said("It ")
            + field("LISTNUM")
            + said(" turns, ")
            + field("LISTNUM")
            + field("LISTNUM \\l 2")
            + said(" grinds."),
        ),
        ("", field("LISTNUM LegalDefault \\l 1") + said(" Sale")),
        ("", field("LISTNUM LegalDefault \\l 2") + said(" Goods")),
        ("", field("LISTNUM LegalDefault \\l 2 \\s 5") + said(" Price")),
        ("", field("LISTNUM OutlineDefault \\l 2") + said(" Notes")),
        ("Heading1", field("AUTONUMLGL") + said(" Terms")),
        ("Heading2", field("AUTONUMLGL \\e") + said(" Price")),
        ("", field("AUTONUMLGL") + said(" It is fixed.")),
        ("", field("AUTONUMLGL") + said(" It is low.")),
        ("Heading1", field("AUTONUMLGL") + said(" Rest")),
        ("", '<w:fldSimple w:instr=" AUTONUM "/>' + said(" First.")),
        ("", '<w:fldSimple w:instr=" AUTONUM "/>' + said(" Second.")),
        ("", field("AUTONUM", "7.") + said(" Kept.")),
        ("", field('LISTNUM "Own list"') + said("Unknown.")),
    )
    assert texts(parsed) == [
        "It 1) turns, 2)a) grinds.", "1. Sale", "1.1. Goods", "1.5. Price", "A. Notes", "1. Terms", "1.1 Price",
        "1.1.1. It is fixed.", "1.1.2. It is low.", "2. Rest", "1. First.", "2. Second.", "7. Kept.", "Unknown.",
    ]  # fmt: skip


def heading(text: str, level: int, more: str = "") -> str:
    return f'<text:h text:outline-level="{level}" {more}>{text}</text:h>'


def test_headings_of_opendocument_have_the_numbers_of_their_outline() -> None:
    outline = (
        '<text:outline-style><text:outline-level-style text:level="1" style:num-format="I" style:num-suffix="."/>'
        '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2" style:num-prefix="§ "/>'
        '<text:outline-level-style text:level="3" style:num-format=""/></text:outline-style>'
    )
    plain = '<style:style style:name="P1" style:family="paragraph" style:list-style-name=""/>'
    level = '<text:list-level-style-number text:level="1" style:num-format="a"/>'
    listed = f'<text:list-style style:name="L1">{level}</text:list-style>'
    body = [
        heading("Mills", 1), heading("Stones", 2), heading("Gears", 2), heading("Oak", 3),
        heading("Preface", 1, 'text:style-name="P1"'), heading("Notes", 1, 'text:is-list-header="true"'),
        heading("Races", 1), heading("Weir", 2),
        heading("Gate", 2, 'text:restart-numbering="true" text:start-value="9"'),
        f'<text:list text:style-name="L1"><text:list-item>{heading("Annex", 1)}</text:list-item></text:list>',
    ]  # fmt: skip
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as container:
        container.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        parts = f"<office:automatic-styles>{plain}{listed}</office:automatic-styles>"
        content = f"{parts}<office:body><office:text>{''.join(body)}</office:text></office:body>"
        container.writestr("content.xml", f"<office:document-content {ODF}>{content}</office:document-content>")
        styles = f"<office:styles>{outline}</office:styles>"
        container.writestr("styles.xml", f"<office:document-styles {ODF}>{styles}</office:document-styles>")
    parsed = parse(buffer.getvalue(), FileType("odt"), ParseOptions())
    assert texts(parsed) == [
        "I. Mills", "§ I.1 Stones", "§ I.2 Gears", "Oak", "Preface", "Notes", "II. Races", "§ II.1 Weir", "§ II.9 Gate",
        "a Annex",
    ]  # fmt: skip
