"""Own title: titles that name nothing are refused in every format, and headings that stand too late are none."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions

PROSE = (
    "The sensor stands on a mast of six metres and measures how deep the snow below it lies, every ten minutes. "
    "A technician reads the values on the first Monday of each month, and writes them into the log of the station."
)


def parsed(text: str, form: str) -> Parsed:
    return parse(text.encode(), FileType(form), ParseOptions())


JUNK = [
    *("(anonymous)", "Untitled", "untitled 3", "10811.exe", "report.docx", "Microsoft Word - wheel.doc", "Slide 1"),
    *("PowerPoint Presentation", "Document2", "{Style.Header}", "CV template", "10811", "---"),
    *("doi:10.1016/j.jhydrol.2005.01.006", "10.1000/182", "PII: S0022-1694(05)00006-1", "arXiv:2203.00274v2"),
]


@pytest.mark.parametrize("title", JUNK)
def test_a_title_that_names_nothing_is_refused_in_every_format_but_as_a_heading(title: str) -> None:
    stated = parsed(f"<title>{title}</title><p>{PROSE}</p>", "html")
    shown = parsed(f"<title>{title}</title><h1>{title}</h1><p>{PROSE}</p>", "html")
    instead = parsed(f"<title>{title}</title><h2>Of oak</h2><h1>The wheel</h1><p>{PROSE}</p>", "html")
    assert (stated.title, shown.title, instead.title) == ("", title, "The wheel")


KEPT = [
    "DOI: what it is",
    "ISBN 13 and the trade",
    "The template of the wheel",
    "Documents of the mill",
    "Microsoft at work",
    "1984 in brief",
]


@pytest.mark.parametrize("title", KEPT)
def test_titles_with_words_of_such_names_are_kept(title: str) -> None:
    assert parsed(f"<title>{title}</title><p>{PROSE}</p>", "html").title == title


def test_a_heading_in_the_later_part_of_a_text_is_not_its_title() -> None:
    assert parsed(f"{PROSE}\n\n{PROSE}\n\n# References\n\nMiller 1999.\n", "markdown").title == ""
    assert parsed(f"{PROSE}\n\n# The wheel\n\n{PROSE}\n\n{PROSE}\n", "markdown").title == "The wheel"


def test_a_line_between_signs_of_equality_within_a_sentence_is_no_title() -> None:
    kinds = [one.kind for one in parsed(f"{PROSE} The sum\n = of the costs =\nis small. {PROSE}", "text").elements]
    assert kinds == ["paragraph"]
    assert "title" in [one.kind for one in parsed(f"{PROSE}\n = The costs = \n{PROSE}", "text").elements]


def test_menus_above_a_heading_do_not_make_it_late() -> None:
    menus = "".join(f"<p>Wheel {number}</p>" for number in range(99))
    assert parsed(f"{menus}<h1>The mill</h1><p>{PROSE}</p>", "html").title == "The mill"


SERIES = [
    ("Chapter 1 Snow", "Chapter 2 Frost"),
    ("1. Snow", "2. Frost"),
    ("PART I", "PART II"),
    ("Item 1. Snow", "Item 2. Frost"),
]


@pytest.mark.parametrize(("first", "second"), SERIES)
def test_the_first_of_numbered_headings_does_not_name_the_whole(first: str, second: str) -> None:
    assert parsed(f"# {first}\n\n{PROSE}\n\n# {second}\n\n{PROSE}\n", "markdown").title == ""
    assert parsed(f"# {first}\n\n{PROSE}\n\n## {second}\n\n{PROSE}\n", "markdown").title == first
    assert parsed(f"# The mill\n\n## {first}\n\n{PROSE}\n\n## {second}\n\n{PROSE}\n", "markdown").title == "The mill"
