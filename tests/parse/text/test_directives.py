"""Blocks that site generators add to Markdown, comments of AsciiDoc, dates of Org, and what Markdown is not."""

from typing import Any

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pandoc import document
from docmill.tasks.parse.pandoc.formats import source_parts
from docmill.tasks.parse.pandoc_program import read_tree
from tests.kit.parsed import found


def read(text: str, form: str = "markdown") -> Parsed:
    return parse(text.encode(), FileType(form), ParseOptions())


def kinds(text: str) -> list[tuple[str, str]]:
    return [(kind, said) for kind, said in found(read(text)) if kind != "furniture"]


@pytest.mark.parametrize(
    "opened",
    [
        '!!! warning "Frost"\n\n    {}\n',
        "??? tip\n    {}\n",
        "???+ note\n\n    {}\n",
        '=== "Winter"\n\n    {}\n',
        "````{{note}}\n{}\n````\n",
        "~~~{{admonition}} Frost\n:class: tip\n\n{}\n~~~\n",
        ":::{{warning}}\n{}\n:::\n",
        ":::note Frost\n\n{}\n\n:::\n",
        "::: {{.callout-note}}\n{}\n:::\n",
        "`````{{tab-set}}\n````{{tab-item}} Winter\n{}\n````\n`````\n",
    ],
)
def test_the_content_of_a_note_or_tab_is_markdown(opened: str) -> None:
    indent = "    " if "    {}" in opened else ""
    inner = "Oil the wheel.\n\n- by day\n- in frost\n\n```sh\nmill --oil\n```".replace("\n", f"\n{indent}")
    seen = kinds(f"# Mill\n\n{opened.format(inner)}\nTail.\n")
    assert [one for one in seen if one[0] == "code"] == [("code", f"```sh\n{indent}mill --oil\n{indent}```")]
    assert [said for kind, said in seen if kind == "list_item"] == ["- by day", "- in frost"]
    assert ("paragraph", "Oil the wheel.") in seen
    assert seen[-1] == ("paragraph", "Tail.")


def test_the_signs_of_a_directive_are_markup_and_its_title_is_text() -> None:
    parsed = read('!!! warning "Frost ahead"\n    Oil it.\n')
    first = parsed.elements[0]
    marks = first.attributes["marks"]
    said = "".join(
        parsed.text[i]
        for i in range(first.end_char)
        if not any(a <= i < b for a, b in zip(marks[::2], marks[1::2], strict=True))
    )
    assert said == 'warning "Frost ahead' or said.split() == ["warning", '"Frost', "ahead"]


@pytest.mark.parametrize(
    "text", ["```{code-cell} python\nprint(1)\n```\n", "```{math}\nx^2\n```\n", "```python\nx\n```\n"]
)
def test_directives_of_code_and_formulas_stay_code(text: str) -> None:
    assert [kind for kind, _ in kinds(text)] == ["code"]


def test_an_indented_block_below_other_signs_is_code_as_before() -> None:
    assert [kind for kind, _ in kinds("Text.\n\n    code\n\nTitle\n===\n\n!!!\n")] == [
        "paragraph",
        "code",
        "title",
        "paragraph",
    ]


def test_the_names_in_attributes_of_components_are_words() -> None:
    parsed = read(
        'import X from "x"\n\n<Field path="mill_id" type="string" className="wide">\n  Which mill.\n</Field>\n'
    )
    tag = next(one for one in parsed.elements if "mill_id" in parsed.text[one.start_char : one.end_char])
    marks, text = tag.attributes["marks"], parsed.text[tag.start_char : tag.end_char]
    said = "".join(
        sign
        for at, sign in enumerate(text)
        if not any(a <= at < b for a, b in zip(marks[::2], marks[1::2], strict=True))
    )
    assert "mill_id" in said
    assert "string" in said
    assert "wide" not in said


ADOC = """// a licence
////
- all rights
////
= Mill
:wheel:

[comment]
A remark of a paragraph.

[comment]
--
A remark in a block.
--

ifdef::wheel[The wheel turns.]
ifndef::wheel[It stands.]

ifndef::wheel[]
No wheel.
endif::[]

ifdef::stone[]
A stone.
endif::stone[]

* first
// between
* second

----
// code
////
code, too
----
"""


def test_comments_of_asciidoc_are_left_out_and_its_conditions_obeyed() -> None:
    parsed = read(ADOC, "asciidoc")
    assert parsed.title == "Mill"
    assert (
        parsed.text
        == "# Mill\n\nThe wheel turns.\n\nA stone.\n\n- first\n- second\n\n```\n// code\n////\ncode, too\n```"
    )


def test_dates_and_archived_parts_of_org_are_read() -> None:
    parsed = read(
        "* TODO Mend the wheel\n  DEADLINE: <2026-03-05 Thu>\n  Soon.\n* Old :ARCHIVE:\n  Bought in Ulm.\n", "org"
    )
    assert "2026-03-05" in parsed.text
    assert "Bought in Ulm." in parsed.text


def test_formulas_make_no_latex_of_a_markdown_file_and_options_no_yaml() -> None:
    formulas = "".join(
        f"Let $x_{{{i}}} \\in \\mathbb{{R}}^n$ be given.\n\n$$\n\\int_0^{{{i}}} e^{{-t}}\\,dt\n$$\n\n"
        for i in range(20)
    )
    assert detect_file_type("notes.md", f"{formulas}- an item\n".encode()) == FileType("markdown")
    options = (
        "# Timetable\n\nThis page is made from code.\n\n::: mill.timetable\n    options:\n" + "        a: b\n" * 30
    )
    assert detect_file_type("api.md", options.encode()) == FileType("markdown")
    tex = "\\documentclass{article}\n\\begin{document}\n" + "\\section{A}\nText $x$.\n" * 20 + "\\end{document}\n"
    assert detect_file_type("paper.md", tex.encode()) == FileType("latex")


def test_directives_that_need_another_file_name_it() -> None:
    needs = ".. csv-table:: Prices\n   :header: a, b\n   :file: prices.csv\n\n.. include:: more.rst\n\n"
    more = ".. literalinclude:: mill.py\n   :language: python\n\n.. raw:: html\n   :file: page.html\n\n"
    parsed = read(f"Mill\n====\n\n{needs}{more}The *end*.\n", "rst")
    assert "read_as" not in parsed.metadata
    assert parsed.text == "# Mill\n\nPrices `prices.csv`\n\n`more.rst`\n\n`mill.py`\n\n`page.html`\n\nThe end."


def test_light_markup_that_pandoc_refuses_loses_its_paragraph_alone() -> None:
    rst = "Mill\n====\n\nOne\n---\n\nSee `the wheel`_ and `a gate`__ here.\n\nTwo\n---\n\nDeep\n~~~~\n\nThe *end*.\n\n"
    parsed = read(rst + ".. _the wheel: https://example.org/wheel\n", "rst")
    assert parsed.metadata["read_as"].startswith("rst in parts, 1 of them as text; cannot be read as rst: ")
    titles = [(one.level, one.attributes["text"]) for one in parsed.elements if one.kind == "title"]
    assert titles == [(1, "Mill"), (2, "One"), (2, "Two"), (3, "Deep")]
    assert parsed.text.endswith("`a gate`__ here.\n\n## Two\n\n### Deep\n\nThe end.")


def test_a_macro_of_org_that_another_file_defines_leaves_its_words() -> None:
    text = "#+MACRO: mill the /$1/ mill\nPress {{{kbd(C-c)}}} at {{{mill(old)}}}.{{{nothing}}}\n"
    assert read(text, "org").text == "Press C-c at the old mill."


def test_blocks_around_terms_and_listings_without_an_end_are_read_in_no_time() -> None:
    examples = "====\nWheel:: turns\nStone:: grinds\n====\n\n" * 30
    parsed = read(f"Mill\n====\n\n{examples}After.\n\nParts\n-----\n\n----\ncode\n", "asciidoc")
    assert "read_as" not in parsed.metadata
    assert [text for kind, text in found(parsed) if kind == "title"] == ["# Mill", "## Parts"]
    assert parsed.text.count("Stone: grinds") == 30
    assert parsed.text.endswith("After.\n\n## Parts\n\n```\ncode\n```")
    assert "'''" not in parsed.text


def test_underlined_titles_of_asciidoc_are_titles_and_ends_of_blocks_are_not() -> None:
    text = "mill(1)\n=======\n\nNAME\n----\nmill - grinds\n\n====\nStone\n====\n\nPart\n~~~~\nEnd.\n"
    shown = "# mill(1)\n\n## NAME\n\nmill - grinds\n\nStone\n\n### Part\n\nEnd."
    assert read(text, "asciidoc").text == shown


def test_attributes_that_asciidoc_takes_back_do_not_end_its_head() -> None:
    parsed = read("= Mill\n:icons!:\n:!toc:\n:keywords: wheel\n\nIt turns.\n", "asciidoc")
    assert (parsed.text, parsed.metadata["keywords"]) == ("# Mill\n\nIt turns.", "wheel")


def test_what_pandoc_is_too_slow_for_is_read_in_short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[int]()

    def slow(data: bytes, reader: str) -> dict[str, Any]:
        tried.append(len(data))
        if len(data) > source_parts._SHORT:
            raise Rejected("timeout", "pandoc took more than 20 seconds")
        return read_tree(data, reader)

    monkeypatch.setattr(document, "read_tree", slow)
    monkeypatch.setattr(source_parts, "read_tree", slow)
    section = "== Part\n\n" + "The wheel turns. " * 100 + "\n\n----\n== No title\n\n----\n\n"
    parsed = read("= Mill\n\n" + section * 8, "asciidoc")
    assert parsed.metadata["read_as"] == "asciidoc in parts, 0 of them as text; pandoc took more than 20 seconds"
    assert [kind for kind, _ in found(parsed)].count("title") == 9
    assert [kind for kind, _ in found(parsed)].count("code") == 8
    assert [size for size in tried if size > source_parts._SHORT] == tried[:1]


def test_attributes_of_asciidoc_name_others_and_pages_of_components_are_no_terms() -> None:
    text = (
        ":site: https://example.org\n:docs: {site}/docs\n\n* link:{docs}/a[The mill^]\n* xref:mill::wheel.adoc[Wheel]\n"
    )
    parsed = read(text, "asciidoc")
    assert parsed.text == "- The mill\n- Wheel"
    assert parsed.elements[0].attributes["links"][0]["url"] == "https://example.org/docs/a"


def test_what_is_documented_is_a_term_only_of_indented_lines() -> None:
    text = "Mill\n====\n\n.. module:: mill\n\n.. role:: code(x)\n\nIt grinds.\n\n.. function:: turn()\n\n   It turns.\n"
    assert read(text, "rst").text == "# Mill\n\n`mill`\n\nIt grinds.\n\n`turn()`: It turns."
