"""Electronic books as they have been made since 2011: contents as a page, no older table of contents."""

import zipfile
from io import BytesIO

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions

CONTAINER = """\
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="O/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
PACKAGE = """\
<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>Mills</dc:title><dc:creator>Ann Reed</dc:creator><dc:creator>Bo Lind</dc:creator></metadata>
<manifest><item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>
<item id="b" href="b.xhtml" media-type="application/xhtml+xml"/></manifest><spine>{spine}</spine></package>"""
CONTENTS = """\
<nav epub:type="toc"><h1>Contents</h1><ol><li><a href="a.xhtml">Of <i>wind</i></a>
<ol><li><a href="b.xhtml#top">Of sails</a></li></ol></li></ol></nav>"""
PAGE = '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>{}</body></html>'


def book(spine: str, first: str = "<p>It blows.</p>") -> Parsed:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("mimetype", "application/epub+zip")
        made.writestr("META-INF/container.xml", CONTAINER)
        made.writestr("O/book.opf", PACKAGE.format(spine=spine))
        made.writestr("O/style.css", ".span2 { font-size: 0.8em; position: relative; top: -0.33em; }")
        for name, body in (("nav", CONTENTS), ("a", first), ("b", "<p>They turn.</p>")):
            made.writestr(f"O/{name}.xhtml", PAGE.format(body))
    return parse(buffer.getvalue(), FileType("epub"), ParseOptions())


def test_chapters_stand_below_their_titles_in_the_page_of_contents() -> None:
    parsed = book('<itemref idref="a"/><itemref idref="b"/>')
    assert parsed.text == "# Mills\n\n## Of wind\n\nIt blows.\n\n### Of sails\n\nThey turn."


def test_headings_of_chapters_are_as_deep_as_the_contents_say() -> None:
    parsed = book(
        '<itemref idref="b"/><itemref idref="a"/>', "<h3>Of wind</h3><p>It blows.</p><h4>East</h4><p>Cold.</p>"
    )
    titles = [(one.level, one.attributes["text"]) for one in parsed.elements if one.kind == "title"]
    assert titles == [(1, "Mills"), (3, "Of sails"), (2, "Of wind"), (3, "East")]


def test_authors_stand_in_the_order_of_the_book() -> None:
    assert book('<itemref idref="a"/>').metadata["author"] == "Ann Reed, Bo Lind"


def test_a_book_without_reading_order_says_so() -> None:
    with pytest.raises(Rejected, match="corrupt: the book has no reading order"):
        book("")


def test_tables_of_a_fiction_book_stand_where_they_were() -> None:
    table = "<table><tr><th>Part</th><th>Weight</th></tr><tr><td>Mast</td><td>17<sup>2</sup></td></tr></table>"
    book = '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><description/><body><section>'
    book += f"<title><p>One</p></title><p>Before.</p>{table}<p>Between.</p>{table}</section></body></FictionBook>"
    parsed = parse(book.encode(), FileType("fb2"), ParseOptions())
    cells = [["Part", "Weight"], ["Mast", "17^2^"]]
    assert [one.attributes["cells"] for one in parsed.elements if one.kind == "table"] == [cells, cells]
    drawn = "| Part | Weight |\n| --- | --- |\n| Mast | 17^2^ |"
    assert parsed.text == f"## One\n\nBefore.\n\n{drawn}\n\nBetween.\n\n{drawn}"


def test_letters_that_the_style_sheet_of_a_book_raises_are_marked() -> None:
    parsed = book('<itemref idref="a"/>', '<p><span class="span1">10</span><span class="span2">6</span> W</p>')
    assert "10^6^ W" in parsed.text


def test_readings_are_in_brackets_and_style_sheets_of_drawings_no_words() -> None:
    ruby = "<p><ruby>\u6f22<rp>\uff08</rp><rt>kan</rt><rp>\uff09</rp></ruby>\u3068<ruby>\u5b57<rt>ji</rt></ruby></p>"
    style = "<style><![CDATA[.a {fill:none}]]></style>"
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg">{style}<text>Wheel</text></svg>'
    parsed = book('<itemref idref="a"/>', f"<h1>Of wind</h1>{ruby}{drawing}")
    assert parsed.text == "# Mills\n\n## Of wind\n\n\u6f22(kan)\u3068\u5b57(ji)\n\nWheel"


def test_paragraphs_of_a_fiction_book_that_begin_like_items_are_items() -> None:
    lines = "In 1850 it ran.|• oak|• • hard|• elm|1. first|2. second|7. Alone stands the mill."
    body = "".join(f"<p>{line}</p>" for line in lines.split("|")) + "<p><strong>Old</strong> mill stands.</p>"
    data = f'<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><body><section>{body}</section></body></FictionBook>'
    parsed = parse(data.encode(), FileType("fb2"), ParseOptions())
    assert [(one.kind, parsed.text[one.start_char : one.end_char]) for one in parsed.elements] == [
        ("paragraph", "In 1850 it ran."),
        ("list_item", "- oak"),
        ("list_item", "- hard"),
        ("list_item", "- elm"),
        ("list_item", "1. first"),
        ("list_item", "2. second"),
        ("paragraph", "7. Alone stands the mill."),
        ("paragraph", "Old mill stands."),
    ]
