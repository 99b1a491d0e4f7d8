"""Rich text: letters of every code page, fonts of several, numbers with what old readers show in their place."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions


def read(body: bytes, head: bytes = rb"\ansi") -> Parsed:
    return parse(rb"{\rtf1" + head + body + b"}", FileType("rtf"), ParseOptions())


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (1251, "Привет, мир!"),
        (1253, "Καλημέρα, κόσμε!"),
        (1250, "Dobrý večer, světe!"),
        (932, "日本語、テスト"),
        (936, "中文文件"),
        (65001, "Grüße"),
        (1252, "café – 5 €"),
    ],
)
def test_letters_are_read_in_the_code_page_of_the_document(page: int, text: str) -> None:
    head, encoding = rb"\ansi\ansicpg%d" % page, "utf-8" if page == 65001 else f"cp{page}"
    escaped = b"".join(b"\\'%02x" % byte for byte in text.encode(encoding))
    assert read(rb"\pard " + escaped + rb"\par", head).text == text
    if not set(b"{}\\") & set(text.encode(encoding)):
        assert read(rb"\pard " + text.encode(encoding) + rb"\par", head).text == text


def test_the_second_byte_of_a_letter_may_stand_as_itself() -> None:
    assert read(rb"\pard \'83e\'83X\'83g\par", rb"\ansi\ansicpg932").text == "テスト"


def test_letters_are_read_in_the_code_page_of_their_font() -> None:
    fonts = rb"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fnil\fcharset204 Arial Cyr;}{\f2\fcharset161 Arial Greek;}}"
    parsed = read(fonts + rb"\pard\f1 \'cf\'f0{\f2 \'e1}\'e8 \plain caf\'e9\par", rb"\ansi\ansicpg1252\deff0")
    assert parsed.text == "Прαи café"


def test_no_letter_after_a_number_is_lost() -> None:
    parsed = read(rb"\pard \u8364?, \u8364?and {\uc2 \u1087 \'ef\'ef,}{\uc0\u1078,} \u-10179?\u-8704?!\par")
    assert parsed.text == "€, €and п,ж, 😀!"


def test_signs_of_rich_text_that_are_written_as_bytes_stay_letters() -> None:
    assert read(rb"\pard a\'7bb\'7d \b\'e9\b0\'5c\par").text == "a{b} é\\"


def test_what_a_revision_deleted_is_left_out() -> None:
    assert read(rb"\pard kept {\deleted\revauthdel1 gone} {\revised added}\par").text == "kept added"


def test_a_title_is_read_in_the_code_page_of_the_document() -> None:
    info = rb"{\info{\title \'cc\'e8\'f0 \{1\}}{\author \u1040?\u1085?\u1103?}}"
    parsed = read(info + rb"\pard Text.\par", rb"\ansicpg1251")
    assert (parsed.title, parsed.metadata["author"]) == ("Мир {1}", "Аня")


def test_a_title_is_not_in_the_code_page_of_the_font_of_the_text() -> None:
    fonts = rb"\deff1{\fonttbl{\f1\fcharset0 Arial;}}"
    info = rb"{\info{\title \'83\'65\'83\'58\'83\'67}}"
    assert read(fonts + info + rb"\pard Text.\par", rb"\ansicpg932").title == "テスト"


def test_the_bytes_of_a_picture_are_no_text() -> None:
    picture = b"{\\pict\\wmetafile8 \\bin10 \xff\xff}\xff\\'e9\xff\xff}"
    assert read(rb"\pard before " + picture + rb"after \'e9.\par").text == "before after é."


@pytest.mark.parametrize(
    "style",
    [
        rb"{\s1\snext2\fs40 Heading 1;}{\s2\fs30 heading 2;}",
        rb"{\s1\outlinelevel0 Kapitel;}{\s2\outlinelevel1 Abschnitt;}",
        rb"{\s1 \'dcberschrift 1;}{\s2 \'dcberschrift 2;}",
    ],
)
def test_headings_are_known_by_their_styles(style: bytes) -> None:
    body = rb"\pard\plain\s1\fs40 Mills\par\pard\plain\s2{Sails}\par\pard\plain\s12 They turn.\par"
    parsed = read(rb"{\stylesheet{\s0 Normal;}" + style + rb"{\s12 Body;}}" + body)
    assert [(one.kind, one.level) for one in parsed.elements] == [("title", 1), ("title", 2), ("paragraph", 0)]
    assert parsed.text == "# Mills\n\n## Sails\n\nThey turn."


def test_a_title_that_the_text_begins_with_is_said_once() -> None:
    assert read(rb"{\info{\title On mills}}\pard On mills\par\pard Text.\par").text == "# On mills\n\nText."


STYLES = rb"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s11 toc 1;}{\s12 toc 2;}}"
PROSE = (
    rb"\pard\plain\s1 Race\par\pard\plain "
    + b"The water of the upper race turns the wheel made of oak. " * 3
    + rb"\par"
)


@pytest.mark.parametrize(
    "entries",
    [
        rb"\pard\plain\tqr\tldot\tx9000 Race\tab 3\par Wheel\tab 5\par Gears of it\tab 7\par",
        rb"\pard\plain\s11 Race\tab 3\par\pard\plain\s12 Wheel\tab 5\par\pard\plain\s11 {Gears of it\tab }{7}\par",
        rb"\pard\plain Race .... 3\par Wheel .... 5\par Gears of it .... 7\par",
    ],
)
def test_a_list_of_contents_by_tabs_or_leaders_is_one_of_its_own_kind(entries: bytes) -> None:
    parsed = read(STYLES + rb"\pard\plain\s1 Contents\par" + entries + PROSE)
    listed = [parsed.text[one.start_char : one.end_char] for one in parsed.elements if one.kind == "toc"]
    assert listed == ["# Contents", "Race .... 3", "Wheel .... 5", "Gears of it .... 7"]
    assert [one.attributes["text"] for one in parsed.elements if one.kind == "title"] == ["Race"]


def test_tabs_before_figures_elsewhere_stay_as_they_are() -> None:
    assert read(STYLES + rb"\pard\tx900 Oak\tab 3\par Elm\tab 5\par Ash\tab 7\par").text == "Oak 3\n\nElm 5\n\nAsh 7"


ITEM = rb"{\listtext\pard\plain \u8226\'95\tab}\ilvl0\ls1 "


def test_a_list_above_a_table_stays_there() -> None:
    table = (
        rb"\trowd\cellx100\cellx200\pard\intbl a\cell b\cell\row\trowd\cellx100\cellx200\pard\intbl c\cell d\cell\row"
    )
    parsed = read(
        rb"\pard First.\par\pard " + ITEM + rb"oak\par\pard " + ITEM + rb"elm\par" + table + rb"\pard Last.\par"
    )
    assert parsed.text.split()[:3] == ["First.", "-", "oak"]
    assert [one.kind for one in parsed.elements] == ["paragraph", "list_item", "list_item", "table", "paragraph"]


def test_items_in_a_cell_stay_there_and_apart() -> None:
    cell = rb"\pard\intbl" + ITEM + rb"{oak}\par\pard\intbl" + ITEM + rb"{elm}\cell"
    row = rb"\trowd\cellx100\cellx200\pard\intbl "
    parsed = read(
        rb"\pard First.\par" + row + rb"a\cell b\cell\row" + row + rb"c\cell" + cell + rb"\row\pard Last.\par"
    )
    assert parsed.elements[1].attributes["cells"] == [["a", "b"], ["c", "\u2022 oak \u2022 elm"]]


def test_items_and_headings_have_the_numbers_that_the_file_shows() -> None:
    def item(number: str, style: str, level: int, text: str) -> bytes:
        shown = rf"{{\listtext\pard\plain {number}\tab}}\ilvl{level}\ls1 \li0{{\loch {text}}}\par"
        return rf"\pard\plain {style}{shown}".encode()

    levels = [("Article I.", r"\s1", 0, "Terms"), ("Section I.1", "", 1, "This means that."), ("(a)", "", 2, "one;")]
    more = [("Section I.2", "", 1, "Or this."), ("Article II.", r"\s1", 0, "Fees"), ("7.", "", 0, "Seven.")]
    styles = rb"{\stylesheet{\s1\outlinelevel0 Heading 1;}}"
    parsed = read(styles + b"".join(item(*one) for one in levels + more))
    assert [(one.kind, parsed.text[one.start_char : one.end_char]) for one in parsed.elements] == [
        ("title", "# Article I. Terms"),
        ("list_item", "Section I.1 This means that."),
        ("list_item", "(a) one;"),
        ("list_item", "Section I.2 Or this."),
        ("title", "# Article II. Fees"),
        ("list_item", "7. Seven."),
    ]


def row_of(cells: list[tuple[str, int, str]]) -> bytes:
    """Return a row of cells, each with what is stated of it, where it ends in twips, and its text."""
    stated = "".join(f"{flag}\\clvertalc\\cellx{end}" for flag, end, _ in cells)
    shown = "".join(f"\\pard\\plain\\intbl{{\\loch {text}}}\\cell" for *_, text in cells)
    return rf"\trowd\trql{stated}{shown}\row\pard".encode()


UPPER, LOWER = "\\clvmgf", "\\clvmrg"
HEADED = [
    [(UPPER, 800, "Region"), ("", 2000, "Sales"), (UPPER, 2700, "Total")],
    [(LOWER, 800, ""), ("", 1410, "2024"), ("", 2010, "2025"), (LOWER, 2700, "")],
    [("", 800, "North"), ("", 1400, "10"), ("", 2000, "12"), ("", 2700, "{\\b 22}")],
    [("", 2000, "All of them"), ("", 2700, "38")],
]


def test_cells_of_several_rows_and_columns_keep_their_columns() -> None:
    plain = b"".join(row_of([("", 900, one), ("", 2900, other)]) for one, other in ("ab", "cd"))
    parsed = read(rb"\pard Before.\par" + b"".join(map(row_of, HEADED)) + rb"\pard Between.\par" + plain)
    tables = [one.attributes for one in parsed.elements if one.kind == "table"]
    assert tables[0]["header_rows"] == 1
    assert tables[0]["cells"] == [
        ["Region", "Sales 2024", "Sales 2025", "Total"],
        ["North", "10", "12", "22"],
        ["All of them", "", "", "38"],
    ]
    assert tables[1]["cells"] == [["a", "b"], ["c", "d"]]


def test_cells_that_go_on_the_one_at_their_left_are_part_of_it() -> None:
    rows = [
        [("\\clmgf", 500, "Both"), ("\\clmrg", 900, ""), ("", 1300, "one")],
        [("", 500, "x"), ("", 900, "y"), ("", 1300, "z")],
    ]
    assert read(b"".join(map(row_of, rows))).elements[0].attributes["cells"] == [["Both", "", "one"], ["x", "y", "z"]]


@pytest.mark.parametrize("head", [rb"\cellx", rb"\cellx5\cellx5", rb"\clvmrg\cellx5\clmrg\cellx1", rb"\cellx-9\cellx9"])
def test_rows_that_state_nothing_useful_lose_no_cell(head: bytes) -> None:
    row = rb"\trowd" + head + rb"\pard\intbl one\cell two\cell\row"
    other = rb"\trowd\cellx5\cellx9\cellx99\pard\intbl three\cell four\cell five\cell\row"
    assert {"one", "two", "three", "four", "five"} <= set(read(row + other + row).text.split())


def test_a_table_within_a_cell_of_rich_text_is_in_that_cell() -> None:
    row = rb"{\*\nesttableprops\trowd\cellx4000\cellx6000\nestrow}{\nonesttables\par}"
    inner = rb"\itap2 Sink\nestcell steel\nestcell" + row + rb"\itap2 Oven\nestcell gas\nestcell" + row
    outer = rb"\trowd\cellx3000\cellx9000\pard\intbl Room\cell Details\cell\row"
    data = rb"{\rtf1\ansi " + outer + rb"\trowd\cellx3000\cellx9000\pard\intbl Kitchen\cell" + inner
    text = parse(data + rb"\pard\intbl\itap1\cell\row\pard After.\par}", FileType("rtf"), ParseOptions()).text
    assert "| Kitchen | Sink, steel; Oven, gas |" in text
    again = rb"\trowd\irow1\cellx3000\cellx9000"  # as Word writes it, in groups and with the row stated once more
    inner = inner.replace(rb"\nestcell", rb"{\fs20 \nestcell{\nonesttables\par}}") + rb"\ltrrow" + again
    end = rb"\pard\intbl\itap1{\cell}{" + again + rb"\row}\pard After.\par}"
    text = parse(data[: data.index(rb"\itap2")] + inner + end, FileType("rtf"), ParseOptions()).text
    assert "| Kitchen | Sink, steel; Oven, gas |" in text
