"""What surrounds a page is furniture, and tables keep their rows whatever stands in their cells."""

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions


def read(text: str, form: str = "html") -> Parsed:
    return parse(text.encode(), FileType(form), ParseOptions())


def said(parsed: Parsed, *kinds: str) -> list[str]:
    return [parsed.text[one.start_char : one.end_char] for one in parsed.elements if one.kind in kinds]


PAGE = """<div class="cookie-banner"><p>We use cookies.</p></div>
<ul class="breadcrumbs"><li><a href="/">Home</a></li></ul>
<h1>Mills<span class="mw-editsection">[<a href="/e">edit</a>]</span></h1><p>A text about cookies.</p>
<p><a href="/e">Edit links</a></p><p class="menu">Soup 3</p>
<div id="edit-this-page"><a href="/e">Improve it</a></div>"""


def test_banners_menus_and_links_to_edit_are_furniture() -> None:
    parsed = read(PAGE)
    assert said(parsed, "furniture") == ["We use cookies.", "Home", "Edit links", "Improve it"]
    assert said(parsed, "title", "paragraph") == ["# Mills", "A text about cookies.", "Soup 3"]


def test_a_table_without_a_header_keeps_its_rows_with_lists_in_it() -> None:
    rows = "".join(f"<tr><td>{one}</td><td><ul><li>oak</li><li>iron</li></ul></td></tr>" for one in "abc")
    assert said(read(f"<h1>T</h1><table>{rows}</table>"), "table") == [
        "| a | oak; iron |\n| --- | --- |\n| b | oak; iron |\n| c | oak; iron |"
    ]


def test_a_table_inside_a_cell_is_a_part_of_its_row() -> None:
    inner = "<table><tr><td>x</td><td>1</td></tr><tr><td>y</td><td>2</td></tr></table>"
    page = f"<h1>T</h1><table><tr><th>a</th><th>n</th></tr><tr><td>b</td><td>{inner}</td></tr></table><p>after</p>"
    assert said(read(page), "table", "paragraph") == ["| a | n |\n| --- | --- |\n| b | x, 1; y, 2 |", "after"]


def test_a_page_that_is_laid_out_by_tables_is_none() -> None:
    text = "A long text of the page. " * 40
    parsed = read(
        f"<table><tr><td>{text}</td><td><table><tr><td>menu</td></tr></table></td></tr><tr><td>a</td></tr></table>"
    )
    assert not said(parsed, "table")
    assert said(parsed, "paragraph")[1:] == ["menu", "a"]


PATENT = """<us-patent-grant lang="EN"><us-bibliographic-data-grant><invention-title>Undershot wheel</invention-title>
<classifications-ipcr><classification-ipcr><section>F</section><class>03</class><subclass>B</subclass><main-group>7</main-group>
<subgroup>00</subgroup></classification-ipcr></classifications-ipcr></us-bibliographic-data-grant>
<description><heading level="1">BACKGROUND</heading><p>Wheels are old.</p><heading level="2">Field</heading>
<p>It is about mills.</p><heading level="1">SUMMARY</heading><p>A wheel with paddles.</p></description>
<claims><claim num="00001"><claim-text>1. A method of milling, comprising: <claim-text>opening a gate; and</claim-text>
<claim-text>closing it.</claim-text></claim-text></claim><claim num="00002"><claim-text>2. The method of
<claim-ref>claim 1</claim-ref>, wherein the gate is oak.</claim-text></claim></claims></us-patent-grant>"""


def test_headings_flat_among_paragraphs_are_sections() -> None:
    parsed = read(PATENT, "xml")
    titles = [(one.level, one.attributes["text"]) for one in parsed.elements if one.kind == "title"]
    assert titles == [(1, "Undershot wheel"), (1, "BACKGROUND"), (2, "Field"), (1, "SUMMARY"), (1, "Claims")]


def test_claims_are_items_with_their_numbers_and_codes_are_metadata() -> None:
    parsed = read(PATENT, "xml")
    assert parsed.metadata["classifications"] == ["F03B 7/00"]
    assert "subclass" not in parsed.text
    claims = said(parsed, "list_item")
    assert claims[0].startswith("1. A method of milling, comprising: opening a gate; and closing it.")
    assert claims[1] == "2. The method of claim 1, wherein the gate is oak."


def test_what_other_sites_put_around_a_page_is_furniture() -> None:
    page = """<div class="qc-cmp2-container">We value your privacy.</div><header><a href="/">Mill News</a></header>
    <div class="user-menu"><a href="/i">Sign in</a><a href="/s">Subscribe</a></div><h1>Mills</h1><p>A text.</p>
    <div class="ad-slot">Advertisement</div>
    <div class="most-read"><h2>Most read</h2><a href="/x">Dog bites man</a></div>
    <div class="sidebar"><h2>Wheel</h2><p>It turns, as this box explains at length.</p></div>
    <div class="footer"><p>All rights reserved.</p></div>"""
    parsed = read(page)
    assert said(parsed, "furniture") == [
        "We value your privacy.",
        "Mill News",
        "Sign in Subscribe",
        "Advertisement",
        "Most read",
        "Dog bites man",
        "All rights reserved.",
    ]
    assert said(parsed, "title", "paragraph")[1:] == [
        "A text.",
        "## Wheel",
        "It turns, as this box explains at length.",
    ]


def test_formulas_and_notes_of_mediawiki_are_read() -> None:
    note = (
        '<ol><li id="n1"><span class="mw-cite-backlink"><b><a href="#r1">a</a></b></span> <span>Smith.</span></li></ol>'
    )
    picture = '<img src="x.svg" alt="{\\displaystyle P=\\rho gQ}">'
    parsed = read(f"<h1>Mills</h1><p>Power is {picture}, as we know.</p>{note}")
    assert said(parsed, "paragraph", "list_item") == ["Power is $P=\\rho gQ$, as we know.", "1. Smith."]
