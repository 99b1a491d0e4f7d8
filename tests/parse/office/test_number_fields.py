"""Numbers that word processors compute: Word's fields AUTONUM and LISTNUM, and the headings of OpenDocument."""

import zipfile
from io import BytesIO

from docx import Document
from docx.oxml import parse_xml

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
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


def opened(body: str, automatic: str, styles: str = "") -> Parsed:
    """Return an OpenDocument text of a body, its automatic styles and its common ones."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as container:
        container.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        parts = f"<office:automatic-styles>{automatic}</office:automatic-styles>"
        content = f"{parts}<office:body><office:text>{body}</office:text></office:body>"
        container.writestr("content.xml", f"<office:document-content {ODF}>{content}</office:document-content>")
        common = f"<office:styles>{styles}</office:styles>"
        container.writestr("styles.xml", f"<office:document-styles {ODF}>{common}</office:document-styles>")
    return parse(buffer.getvalue(), FileType("odt"), ParseOptions())


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
    assert texts(opened("".join(body), plain + listed, outline)) == [
        "I. Mills", "§ I.1 Stones", "§ I.2 Gears", "Oak", "Preface", "Notes", "II. Races", "§ II.1 Weir", "§ II.9 Gate",
        "a Annex",
    ]  # fmt: skip


def level_style(number: int, form: str, prefix: str, suffix: str, shown: int = 1, start: int = 1) -> str:
    around = f'style:num-prefix="{prefix}" style:num-suffix="{suffix}"'
    counts = f'text:display-levels="{shown}" text:start-value="{start}"'
    return f'<text:list-level-style-number text:level="{number}" style:num-format="{form}" {around} {counts}/>'


def open_list(*items: str, more: str = "") -> str:
    return f"<text:list {more}>{''.join(items)}</text:list>"


def item(words: str, *lists: str, more: str = "") -> str:
    own = f"<text:p>{words}</text:p>" if words else ""
    return f"<text:list-item {more}>{own}{''.join(lists)}</text:list-item>"


def test_items_of_opendocument_have_the_numbers_that_libreoffice_shows() -> None:
    styles = {
        "S": [
            level_style(1, "1", "Section ", ""),
            level_style(2, "1", "Section ", "", 2),
            level_style(3, "a", "(", ")"),
        ],
        "A": [level_style(1, "A", "", "", 1, 3), level_style(2, "", "", ""), level_style(3, "1", "", ")", 3)],
        "B": ['<text:list-level-style-bullet text:level="1"/>', level_style(2, "1", "Point ", ":")],
    }
    listed = "".join(
        f'<text:list-style style:name="{name}">{"".join(own)}</text:list-style>' for name, own in styles.items()
    )
    clauses, letters, points = (f'text:style-name="{name}"' for name in "SAB")
    goes_on = f'{clauses} text:continue-numbering="true"'
    header = "<text:list-header><text:p>Unnumbered</text:p></text:list-header>"
    body = [
        open_list(
            item("mills", open_list(item("stones", open_list(item("oak"), item("elm"))), item("gears"))),
            item("races", open_list(item("weir"))),
            more=f'{clauses} xml:id="first"',
        ),
        "<text:p>Between.</text:p>",
        open_list(item("anew"), more=clauses),
        open_list(item("on"), item("from nine", more='text:start-value="9"'), item("ten"), more=goes_on),
        open_list(item("C", open_list(item("plain", open_list(item("deep"))))), more=letters),
        open_list(item("after another style"), more=goes_on),
        open_list(item("dot", open_list(item("one"))), item("dot", open_list(item("one again"))), more=points),
        open_list(header, item("", open_list(item("below none"))), item("second"), more=clauses),
        open_list(item("third of the first"), more=f'{clauses} text:continue-list="first"'),
    ]
    assert texts(opened("".join(body), listed)) == [
        "Section 1 mills", "Section 1.1 stones", "(a) oak", "(b) elm", "Section 1.2 gears", "Section 2 races",
        "Section 2.1 weir", "Between.", "Section 1 anew", "Section 2 on", "Section 9 from nine", "Section 10 ten",
        "C C", "plain", "C.1) deep", "Section 1 after another style", "- dot", "Point 1: one", "- dot",
        "Point 1: one again", "Unnumbered", "Section 1.1 below none", "Section 2 second",
        "Section 3 third of the first",
    ]  # fmt: skip
