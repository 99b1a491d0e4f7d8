"""Titles by their looks: which lines of a text without headings by markup begin sections, and which do not."""

import json
from io import BytesIO

import pytest
from docx import Document

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.parser import faults
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.split.spans.reading_map import reading_of

PROSE = (
    "The sensor stands on a mast of six metres and measures how deep the snow below it lies, every ten minutes.",
    "A technician reads the values on the first Monday of each month, and writes them into the log of the station.",
    "When the battery falls below eleven volts, the lamp at the foot of the mast turns red and blinks at night.",
    "Nobody has seen the lamp blink since the battery was exchanged for a larger one in the autumn of that year.",
)


def read(text: str, form: str = "text") -> Parsed:
    parsed = parse(text.encode(), FileType(form), ParseOptions())
    assert not faults(parsed)
    return parsed


def titles(text: str, form: str = "text") -> list[tuple[int, str]]:
    found = [element for element in read(text, form).elements if element.kind == "title"]
    return [(element.level, element.attributes["text"]) for element in found]


def below(*lines: str) -> str:
    """Return a text with a paragraph of prose below each line."""
    return "\n\n".join(f"{line}\n\n{prose}" for line, prose in zip(lines, PROSE, strict=False))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((" = Masts = ", " = = Height = = ", " = Snow = "), [(1, "Masts"), (2, "Height"), (1, "Snow")]),
        (("==Masts==", "=== Height ===", "== Snow =="), [(2, "Masts"), (3, "Height"), (2, "Snow")]),
        (("MASTS", "THE DEPTH OF SNOW", "BATTERIES"), [(1, "MASTS"), (1, "THE DEPTH OF SNOW"), (1, "BATTERIES")]),
        (("Masts and poles", "Depth of snow"), [(1, "Masts and poles"), (1, "Depth of snow")]),
        (("3 Masts", "3.1 Height", "3.1.1 Wood"), [(1, "3 Masts"), (2, "3.1 Height"), (3, "3.1.1 Wood")]),
        (("1. Costs of masts.", "2. What snow costs."), [(1, "1. Costs of masts."), (1, "2. What snow costs.")]),
        (("IV. MASTS", "V. SNOW"), [(1, "IV. MASTS"), (1, "V. SNOW")]),
        (("Item 1. Business", "Item 1A. Risk Factors"), [(1, "Item 1. Business"), (1, "Item 1A. Risk Factors")]),
        (("Article 5", "Article 6. Masts"), [(1, "Article 5"), (1, "Article 6. Masts")]),
        (("Masts\n=====", "Height\n------", "Snow\n===="), [(1, "Masts"), (2, "Height"), (1, "Snow")]),
        (("PART I", "Item 1. Masts", "Of wood"), [(1, "PART I"), (2, "Item 1. Masts"), (3, "Of wood")]),
        (("**Masts**", "**Snow**"), [(1, "Masts"), (1, "Snow")]),
    ],
)  # fmt: skip
def test_a_line_like_a_title_in_its_place_is_one(lines: tuple[str, ...], expected: list[tuple[int, str]]) -> None:
    assert titles(below(*lines)) == expected


POEM = """\
Tyger Tyger, burning bright,
In the forests of the night

What immortal hand or eye
Could frame thy fearful symmetry

In what distant deeps or skies
Burnt the fire of thine eyes"""
ADDRESS = "Ann Reed\n\n12 Mill Lane\n\nLOWER WOLD\n\nDear Bo\n\n" + PROSE[0] + "\n\nYours sincerely\n\nAnn Reed"
SHOPPING = "Bread\n\nMilk\n\nEGGS\n\n1. Flour\n\n2. Salt\n\n" + PROSE[0]
NUMBERS = "YEAR SNOW\n\n2019 3.5\n\n2020 4.1\n\nTOTAL 7.6\n\n" + PROSE[0]
SCRIPT = "\n\n".join(f"{who}\n\n{said}" for who, said in zip(("ANN", "BO") * 4, PROSE * 2, strict=True))
BROKEN = PROSE[0][:-1].replace("mast of", "mast\n\nOf steel and\n\nof") + "\n\n" + PROSE[1]
VALGRIND = "==123==\n\n" + PROSE[0] + "\n\n==123==\n\n" + PROSE[1]
CLAUSES = below(
    "5.1. The buyer pays the seller a deposit of fifty dollars when both have signed.",
    "5.2. The provisions of this part shall survive the end of the agreement between them.",
)
SHOUTS = below("STOP!", "WATCH OUT, BO:", "(APPLAUSE)")
CODE = "#include <stdio.h>\n\nMAX_SIZE\n\nint main(void)\n{\n  return 0;\n}\n\nEND_OF_FILE\n\nstatic int depth(void);\n"
QUESTIONS = "Did it snow?\n\n" + PROSE[0] + "\n\nWhy not?\n\n" + PROSE[1]


ELSEWHERE = {
    "poem": POEM,
    "address": ADDRESS,
    "shopping": SHOPPING,
    "numbers": NUMBERS,
    "script": SCRIPT,
    "broken": BROKEN,
    "valgrind": VALGRIND,
    "clauses": CLAUSES,
    "shouts": SHOUTS,
    "code": CODE,
    "questions": QUESTIONS,
}


@pytest.mark.parametrize("text", ELSEWHERE.values(), ids=ELSEWHERE)
def test_lines_elsewhere_are_no_titles(text: str) -> None:
    assert titles(text) == []


def test_a_table_of_contents_names_titles_and_has_none() -> None:
    names = ("1. Masts", "2. Snow", "3. Batteries")
    text = "\n\n".join(names) + "\n\n" + below(*names)
    found = [element for element in read(text).elements if element.kind == "title"]
    assert [element.attributes["text"] for element in found] == list(names)
    assert found[0].start_char == text.rindex(names[0])


def test_lines_between_signs_of_equality_part_a_paragraph_and_its_marks() -> None:
    parsed = read(f" = Masts = \n {PROSE[0]}\n = = Height = = \n It is *six* metres, says [Bo](bo.md).\n", "markdown")
    assert [(e.kind, e.level, e.line) for e in parsed.elements] == [
        ("title", 1, 1), ("paragraph", 0, 2), ("title", 2, 3), ("paragraph", 0, 4),
    ]  # fmt: skip
    assert parsed.elements[3].attributes["links"] == [{"text": "Bo", "url": "bo.md"}]
    assert [e.attributes.get("links") for e in parsed.elements[:3]] == [None] * 3
    words = reading_of(parsed).text.split()
    assert not {"=", "[", "*six*"} & set(words)
    assert {"Masts", "Height", "six", "Bo"} <= {word.strip(".,") for word in words}


def test_markup_has_the_say_where_it_has_headings() -> None:
    assert titles(f"# Station\n\n{below('MASTS', 'SNOW')}", "markdown") == [(1, "Station")]


def test_a_page_and_a_document_without_headings_have_titles_by_their_looks() -> None:
    page = "".join(f"<p><b>{line}</b></p><p>{prose}</p>" for line, prose in zip(("Masts", "Snow"), PROSE, strict=False))
    assert titles(f"<html><body>{page}</body></html>", "html") == [(1, "Masts"), (1, "Snow")]
    made, buffer = Document(), BytesIO()
    for line, prose in zip(("MASTS", "SNOW"), PROSE, strict=False):
        made.add_paragraph(line)
        made.add_paragraph(prose)
    made.save(buffer)
    parsed = parse(buffer.getvalue(), FileType("docx"), ParseOptions())
    assert [e.attributes["text"] for e in parsed.elements if e.kind == "title"] == ["MASTS", "SNOW"]


def test_chats_mails_logs_and_tables_keep_their_own_elements() -> None:
    texts = {
        "chat": "10:00 <ann> MASTS\n10:01 <bo> Snow\n",
        "log": "2024-01-01 10:00:00 INFO MASTS\n",
        "csv": "MASTS,SNOW\nA,B\n",
        "subtitles": "1\n00:00:01,000 --> 00:00:02,000\nMASTS\n",
        "json": json.dumps({"MASTS": PROSE[0]}),
        "eml": f"From: a@b.c\nTo: b@b.c\nSubject: Masts\n\nMASTS\n\n{PROSE[0]}\n",
    }
    found = {form: titles(text, form) for form, text in texts.items()}
    assert found == {form: [] for form in texts} | {"eml": [(1, "Masts")]}, "the subject of a mail is its title"
