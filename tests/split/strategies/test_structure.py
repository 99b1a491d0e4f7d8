"""What structure-aware splitting keeps together and what it keeps apart."""

import re

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from tests.kit.documents import document, tokenizer

SENTENCE = "The mill grinds the grain that the farmers bring down from the hills in autumn. "


def split(parsed: Parsed, strategy: str = "structure", **options: int) -> list[str]:
    return [d.text for d in chunk(parsed, "", Route(strategy, options), tokenizer(), ChunkOptions(256))]


def test_a_chunk_stays_in_its_section() -> None:
    parsed = document(
        ("title", "# One", 1), ("paragraph", SENTENCE * 4), ("title", "# Two", 1), ("paragraph", SENTENCE * 4)
    )
    assert [text.split("\n")[0] for text in split(parsed)] == ["# One", "# Two"]


def test_small_sections_under_one_heading_share_a_chunk_and_others_do_not() -> None:
    parsed = document(
        ("title", "# Letters", 1),
        ("title", "## A", 2),
        ("paragraph", "First."),
        ("title", "## B", 2),
        ("paragraph", "Second."),
        ("title", "# Numbers", 1),
        ("title", "## 1", 2),
        ("paragraph", "One."),
        ("paragraph", SENTENCE * 4),
    )
    first, second = split(parsed)
    assert first.startswith("# Letters")
    assert first.endswith("Second.")
    assert second.startswith("# Numbers")


def test_the_last_part_of_a_section_does_not_join_the_next_section() -> None:
    parsed = document(
        ("title", "# Versions", 1),
        ("title", "## Two", 2),
        ("title", "### Added", 3),
        ("paragraph", SENTENCE * 8),
        ("title", "### Fixed", 3),
        ("paragraph", "The dam."),
        ("title", "## One", 2),
        ("title", "### Added", 3),
        ("paragraph", "The mill."),
        ("title", "### Fixed", 3),
        ("paragraph", "The wheel."),
    )
    *_, fixed, one = chunk(parsed, "", Route("structure"), tokenizer(), ChunkOptions(256))
    assert fixed.text == "### Fixed\n\nThe dam."
    assert fixed.headings == ("Versions", "Two", "Fixed")
    assert one.text == "## One\n\n### Added\n\nThe mill.\n\n### Fixed\n\nThe wheel."


def test_the_end_of_a_long_section_does_not_join_the_next_one() -> None:
    parsed = document(
        ("title", "# One", 1),
        *[("paragraph", SENTENCE * 8)] * 2,
        ("paragraph", "A few last words."),
        ("title", "# Two", 1),
        ("paragraph", "Short."),
    )
    assert split(parsed)[-1] == "# Two\n\nShort."


def test_a_heading_stays_with_what_follows() -> None:
    parsed = document(("paragraph", SENTENCE * 3), ("title", "# Long", 1), ("paragraph", SENTENCE * 30))
    assert any(text.startswith("# Long\n\nThe mill") for text in split(parsed))


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("strategy", ["structure", "recursive", "sentence", "table"])
def test_a_heading_with_nothing_under_it_goes_with_the_next(strategy: str, level: int) -> None:
    parsed = document(
        ("title", "# Terms", 1),
        ("paragraph", SENTENCE * 8),
        ("title", "## References", 2),
        ("title", "## Copyright", level),
        ("paragraph", SENTENCE * 8),
    )
    found = chunk(parsed, "", Route(strategy), tokenizer(), ChunkOptions(256))
    assert [draft.text[:40].split("\n\nThe")[0] for draft in found] == ["# Terms", "## References\n\n## Copyright"]
    above = {1: (), 2: ("Terms",), 3: ("Terms", "References")}[level]
    assert found[-1].headings == (*above, "Copyright"), "the section that its text is of"


def test_an_announcement_stays_with_its_list() -> None:
    items = [("list_item", f"- {i}: {SENTENCE}".strip(), 1) for i in range(30)]
    found = split(document(("paragraph", SENTENCE * 9), ("paragraph", "**As follows:**"), *items))
    assert any(text.startswith("**As follows:**\n\n- 0:") for text in found)
    assert all(text.endswith(("autumn.", "autumn. ")) for text in found)


def test_a_table_is_cut_between_rows_and_its_header_goes_into_the_context() -> None:
    rows = [f"| {i} | {SENTENCE.strip()} |" for i in range(40)]
    table = "\n".join(["| Number | What it says |", "| --- | --- |", *rows])
    parsed = document(("title", "# Tables", 1), ("table", table), ("paragraph", "After it."), title="Manual")
    drafts = chunk(parsed, "", Route("structure"), tokenizer(), ChunkOptions(256))
    assert drafts[0].text.startswith("# Tables\n\n| Number | What it says |\n| --- | --- |\n| 0 |")
    for draft in drafts[1:-1]:
        assert re.fullmatch(r"(\| \d+ \| [^|]+ \|\n?)+", draft.text)
        assert draft.context == "Manual › Tables\nNumber | What it says"
    assert drafts[-1].text == "After it."
    assert drafts[-1].context == "Manual › Tables"


def test_what_stands_like_a_heading_stays_with_what_follows() -> None:
    found = split(document(*[("paragraph", SENTENCE * 6 + "End."), ("paragraph", "2. PRICES AND TERMS")] * 5))
    assert not any(text.endswith("TERMS") for text in found[:-1])


def test_code_that_fits_is_whole_and_other_code_is_cut_at_its_parts() -> None:
    whole = "```python\n" + "\n\n".join(f"def f{i}(x):\n    return x + {i}" for i in range(6)) + "\n```"
    parts = [
        f"@cached\ndef g{i}(x):\n    # adds\n    y = x + {i}\n\n    z = y - x * {i}\n    return z" for i in range(30)
    ]
    found = split(document(("paragraph", SENTENCE * 6), ("code", whole), ("code", "\n\n\n".join(parts))))
    assert any(whole in text for text in found)
    assert all(text.startswith("@cached\ndef") and text.endswith("return z") for text in found if "def g" in text)


def test_a_long_paragraph_is_cut_between_sentences_even_where_its_lines_are_wrapped() -> None:
    wrapped = re.sub(r"(.{50,60}) ", r"\1\r\n", SENTENCE * 20).strip()
    found = split(document(("paragraph", wrapped)))
    assert len(found) > 1
    assert all(text.startswith("The mill") and text.endswith("autumn.") for text in found)


def test_no_chunk_reaches_over_front_matter_and_furniture_stands_in_none_alone() -> None:
    parsed = document(
        ("front_matter", "---\ntitle: A\n---"),
        ("paragraph", "First."),
        ("furniture", "Page 1"),
        ("paragraph", "Second."),
        ("furniture", "Page 2"),
    )
    assert split(parsed) == ["First.\n\nPage 1\n\nSecond."]
