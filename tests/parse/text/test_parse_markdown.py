"""Markdown and MDX: blocks are exact spans of the file itself."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.markup.md.block_rules import with_tables
from docmill.tasks.parse.markup.md.markdown_file import parse_markdown
from tests.kit.drawing import examples
from tests.kit.parsed import found

GUIDE = """\
---
title: "The guide"
tags: [a, b]
date: 2025-03-01
---

Setext *heading*
================

Intro with a [link](https://example.org/a) and
a second line.

## Steps `one` {#steps}

- first
  continued
    - nested
      deeper

      ```python
      print("x")  # not a heading
      ```
- [ ] task

1. one
2. two

> quoted
> - item
>
> ```sh
> ls
> ```

| Name | Size |
|------|-----:|
| a\\|b | 1    |
| c    | 2    |

    indented code

***

<!-- a comment -->
[1]: https://example.org/reference
"""


def markdown(text: str) -> Parsed:
    return parse(text.encode(), FileType("markdown"), ParseOptions())


def shown(parsed: Parsed) -> list[tuple[str, int, str]]:
    return [(one.kind, one.level, parsed.text[one.start_char : one.end_char]) for one in parsed.elements]


def kinds(parsed: Parsed) -> list[str]:
    return [one.kind for one in parsed.elements]


def only(parsed: Parsed, kind: str) -> Element:
    (element,) = [one for one in parsed.elements if one.kind == kind]
    return element


def test_every_block_is_an_exact_span() -> None:
    parsed = markdown(GUIDE)
    assert parsed.text == GUIDE
    assert shown(parsed) == [
        ("front_matter", 0, '---\ntitle: "The guide"\ntags: [a, b]\ndate: 2025-03-01\n---'),
        ("title", 1, "Setext *heading*\n================"),
        ("paragraph", 0, "Intro with a [link](https://example.org/a) and\na second line."),
        ("title", 2, "## Steps `one` {#steps}"),
        ("list_item", 1, "- first\n  continued"),
        ("list_item", 2, "- nested\n      deeper"),
        ("code", 0, '```python\n      print("x")  # not a heading\n      ```'),
        ("list_item", 1, "- [ ] task"),
        ("list_item", 1, "1. one"),
        ("list_item", 1, "2. two"),
        ("quote", 1, "> quoted\n> - item\n>\n> ```sh\n> ls\n> ```"),
        ("code", 0, "> ```sh\n> ls\n> ```"),
        ("table", 0, "| Name | Size |\n|------|-----:|\n| a\\|b | 1    |\n| c    | 2    |"),
        ("code", 0, "    indented code"),
        ("furniture", 0, "***"),
        ("furniture", 0, "<!-- a comment -->"),
        ("furniture", 0, "[1]: https://example.org/reference"),
    ]


def test_elements_carry_what_their_kind_has() -> None:
    parsed = markdown(GUIDE)
    headings = [one.attributes["text"] for one in parsed.elements if one.kind == "title"]
    assert headings == ["Setext heading", "Steps one"]
    cells = [["Name", "Size"], ["a|b", "1"], ["c", "2"]]
    # The mark is the backslash before the bar.
    assert only(parsed, "table").attributes == {"cells": cells, "header_rows": 1, "marks": [35, 36]}
    assert [one.attributes["language"] for one in parsed.elements if one.kind == "code"] == ["python", "sh", ""]
    links = [{"text": "link", "url": "https://example.org/a"}]
    assert parsed.elements[2].attributes == {"links": links, "marks": [13, 14, 18, 42]}
    assert all(parsed.text.count("\n", 0, one.start_char) + 1 == one.line for one in parsed.elements)


def test_front_matter_is_metadata_and_its_title_the_documents() -> None:
    parsed = markdown(GUIDE)
    assert parsed.title == "The guide"
    assert parsed.metadata["front_matter"] == {"title": "The guide", "tags": ["a", "b"], "date": "2025-03-01"}
    assert parsed.metadata["created"] == "2025-03-01"


def test_toml_front_matter_is_read_too() -> None:
    parsed = markdown('+++\ntitle = "Toml"\n[extra]\nn = 1\n+++\n\ntext\n')
    assert parsed.title == "Toml"
    assert parsed.metadata["front_matter"]["extra"] == {"n": 1}


def test_rules_around_a_sentence_are_no_front_matter() -> None:
    assert kinds(markdown("---\njust a sentence\n---\n\ntext\n")) == ["furniture", "title", "paragraph"]


def test_yaml_aliases_are_not_followed() -> None:
    bomb = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    parsed = markdown(f"---\n{bomb}---\ntext\n")
    assert parsed.metadata["front_matter"] == {}
    assert kinds(parsed) == ["front_matter", "paragraph"]


def test_the_title_is_the_first_heading_of_the_highest_level() -> None:
    assert markdown("text\n\n## Two\n\n# One **bold**\n").title == "One bold"
    assert markdown("## Two\n\ntext\n").title == "Two"
    assert markdown("text\n\n## Two\n").title == ""


def test_newlines_of_the_file_are_kept_and_its_mark_is_dropped() -> None:
    text = "# One\r\n\r\nfirst line\r\nsecond line\r\n\r\n- item\r\n"
    parsed = parse(b"\xef\xbb\xbf" + text.encode(), FileType("markdown"), ParseOptions())
    assert parsed.text == text
    assert shown(parsed) == [
        ("title", 1, "# One"),
        ("paragraph", 0, "first line\r\nsecond line"),
        ("list_item", 1, "- item"),
    ]
    assert [one.line for one in parsed.elements] == [1, 3, 6]


MDX = """\
import { Card } from '/snippets/card.mdx'
import Other from "other"

# Page

<Tabs>
  <Tab title="Linux">
    Deep text, no code.

    ```bash
    # not a heading

    run
    ```
  </Tab>
</Tabs>

<Card
  title="More"
  href="/more"
>
  Inside the card.
</Card>

{/* a remark */}
A <Tooltip tip="x">word</Tooltip> in text.
"""


def test_mdx_tags_stand_for_themselves_and_what_they_hold_is_markdown() -> None:
    assert shown(markdown(MDX)) == [
        ("furniture", 0, "import { Card } from '/snippets/card.mdx'\nimport Other from \"other\""),
        ("title", 1, "# Page"),
        ("furniture", 0, "<Tabs>"),
        ("text", 0, '<Tab title="Linux">'),
        ("paragraph", 0, "Deep text, no code."),
        ("code", 0, "```bash\n    # not a heading\n\n    run\n    ```"),
        ("furniture", 0, "</Tab>"),
        ("furniture", 0, "</Tabs>"),
        ("text", 0, '<Card\n  title="More"\n  href="/more"\n>'),
        ("paragraph", 0, "Inside the card."),
        ("furniture", 0, "</Card>"),
        ("furniture", 0, "{/* a remark */}"),
        ("paragraph", 0, 'A <Tooltip tip="x">word</Tooltip> in text.'),
    ]


def test_components_in_a_code_block_do_not_make_a_text_mdx() -> None:
    assert kinds(markdown("```jsx\n<App>\n```\n\n    indented\n")) == ["code", "code"]


def test_hostile_markdown_is_parsed_in_time_and_loses_nothing() -> None:
    for text in (
        "[" * 50_000,
        "`" * 50_000 + "a",
        "> " * 5_000 + "a",
        "- " * 5_000 + "a",
        "*a " * 20_000,
        "<" * 50_000,
    ):
        parsed = markdown(text)
        inside = "".join(parsed.text[one.start_char : one.end_char] for one in parsed.elements)
        assert len(inside) >= len(text.strip())


CELLS = st.sampled_from(
    [
        "a",
        " b ",
        "|",
        "||",
        "\\|",
        "`|`",
        "---",
        ":-:",
        "-",
        ":",
        " ",
        "  ",
        "    ",
        "\t",
        "\n",
        "\n",
        "> ",
        "- ",
        "1. ",
        "# ",
        "```\n",
        "\\",
        "x|y",
        "|a|b|\n|-|-|\n",
    ]
)


@examples(300)
@given(st.lists(CELLS, max_size=40).map("".join))
def test_tables_are_those_that_the_library_finds(text: str) -> None:
    text = "|a|b|\n|-|-|\n" + text
    tables: list[tuple[list[int] | None, list[list[str]]]] = []
    tokens = MarkdownIt("commonmark").enable("table").disable(["inline", "reference"]).parse(text)
    for token, following in pairwise(tokens):
        if token.type == "table_open":
            tables.append((token.map, []))
        elif token.type == "tr_open":
            tables[-1][1].append([])
        elif token.type in ("th_open", "td_open"):
            tables[-1][1][-1].append(following.content)
    ours = with_tables(MarkdownIt("commonmark").enable("table").disable(["inline", "reference"])).parse(text)
    assert [(token.map, token.meta["rows"]) for token in ours if token.type == "table_rows"] == tables
    assert [token.type for token in ours if token.type != "table_rows"] == _outside_of_tables(tokens)


def _outside_of_tables(tokens: list[Token]) -> list[str]:
    kept, inside = [], False
    for token in tokens:
        inside = token.type == "table_open" or (inside and token.type != "table_close")
        if not inside and token.type != "table_close":
            kept.append(token.type)
    return kept


def test_authors_and_dates_of_front_matter_are_told_as_in_other_formats() -> None:
    text = "---\nauthors: [Ann Ridge, {name: Bo Hale}]\ndate: May 1, 2024\nupdated: 2024-06-02\n---\n\nText.\n"
    metadata = parse_markdown(text.encode(), ParseOptions()).metadata
    assert (metadata["author"], metadata["created"], metadata["modified"]) == (
        "Ann Ridge, Bo Hale",
        "2024-05-01",
        "2024-06-02",
    )


def test_links_by_label_and_bare_ones_are_links_and_their_definitions_furniture() -> None:
    text = "# Log\n\nSee [the *manual*][m], [Bo], [x](/x) and <https://a.org>; not [this] or \\[m].\n\n"
    text += '| A |\n|---|\n| [m] |\n\n[M]: <https://m.org> "The manual"\n[bo]: /bo\n\n'
    text += "[m]: /twice and more\n\n[^1]: A note\n"
    parsed = parse(text.encode(), FileType("markdown"), ParseOptions())
    kinds = ["title", "paragraph", "table", "furniture", "paragraph", "paragraph"]
    assert [one.kind for one in parsed.elements] == kinds
    assert [(link["text"], link["url"]) for link in parsed.elements[1].attributes["links"]] == [
        ("the manual", "https://m.org"),
        ("Bo", "/bo"),
        ("x", "/x"),
        ("https://a.org", "https://a.org"),
    ]
    assert parsed.elements[2].attributes["links"] == [{"text": "m", "url": "https://m.org"}]


def test_the_paragraphs_of_a_footnote_are_text_and_each_footnote_is_its_own() -> None:
    text = "Text[^1].\n\n[^1]: First\nline.\n\n    Second.\n\n        code\n\n    - item\n[^b]: Other.\n\nEnd.\n"
    assert found(parse_markdown(text.encode(), ParseOptions())) == [
        ("paragraph", "Text[^1]."),
        ("paragraph", "[^1]: First\nline."),
        ("paragraph", "Second."),
        ("code", "        code"),
        ("list_item", "- item"),
        ("paragraph", "[^b]: Other."),
        ("paragraph", "End."),
    ]


@pytest.mark.parametrize(
    "top",
    [
        '{\n  "title": "Mills",\n  "tags": ["a"]\n}\n\n',
        "Title: Mills\nTags: a\n\n",
        "<!-- Licence: of the\nmill -->\n---\ntitle: Mills\n---\n",
    ],
)
def test_front_matter_may_be_json_or_fields_or_below_a_comment(top: str) -> None:
    parsed = parse_markdown(f"{top}# Of wind [\u00b6](#w)\n\nIt blows.\n".encode(), ParseOptions())
    assert parsed.title == "Mills"
    assert [kind for kind, _ in found(parsed)] == ["front_matter", "title", "paragraph"]
    assert parsed.elements[1].attributes["text"] == "Of wind"


def test_a_list_of_fields_without_a_title_is_text() -> None:
    parsed = parse_markdown(b"Note: one\nTitle: two\n\n{\n", ParseOptions())
    assert [kind for kind, _ in found(parsed)] == ["paragraph", "paragraph"]
