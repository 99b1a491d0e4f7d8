"""What names a part of a document, a heading, a caption or a question, stands in a chunk with what it names."""

import re

import pytest

from docmill.storage.schema import Draft, Parsed, reading
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.parse.caption_labels import is_caption
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.split.parts.captions import bound_captions
from tests.kit.documents import tokenizer

FILLER = "The mill grinds the grain that the farmers bring down from the hills in autumn. "


def reading_of(text: str, name: str = "a.md") -> Parsed:
    data = text.encode()
    return parse(data, detect_file_type(name, data), ParseOptions())


def split(text: str, strategy: str, size: int = 200, name: str = "a.md") -> list[Draft]:
    return chunk(reading_of(text, name), "", Route(strategy, {"size": size}), tokenizer(), ChunkOptions(256))


def texts(text: str, strategy: str, size: int = 200, name: str = "a.md") -> list[str]:
    return [one.text for one in split(text, strategy, size, name)]


def test_a_table_that_answers_stays_with_its_question_and_apart_from_the_next_heading() -> None:
    cards = "### Which cards do you take?\n\n| Card | Fee |\n|---|---|\n| Visa | 0 % |"
    refund = "### Getting a refund\n\nWrite to us."
    found = split(f"# Questions\n\n### When am I charged?\n\nMonthly.\n\n{cards}\n\n{refund}\n", "qa")
    assert [one.text for one in found[1:]] == [cards, refund]
    assert [one.headings[-1] for one in found[1:]] == ["Which cards do you take?", "Getting a refund"]


def test_a_heading_of_any_level_stays_with_the_first_part_of_a_long_section_of_a_faq() -> None:
    text = f"# FAQ\n\n## How are errors mended?\n\n### Of the wheel\n\n{FILLER * 20}\n\n## What is rye?\n\nA grain.\n"
    first, second, *_ = texts(text, "qa")
    assert first.startswith("# FAQ\n\n## How are errors mended?\n\n### Of the wheel\n\nThe mill grinds")
    assert second.startswith("The mill grinds")


def test_an_empty_question_is_no_part_of_the_next() -> None:
    found = texts("## What is bran?\n\n## What is rye?\n\nA grain.\n", "qa")
    assert found == ["## What is bran?", "## What is rye?\n\nA grain."]


@pytest.mark.parametrize(
    "text",
    [
        "**What is rye?**\nA grain.\n\n**What is bran?**\nThe husk.",
        "Pregunta: What is rye?\n\nA grain.\n\nPregunta: What is bran?\n\nThe husk.",
        "Q1\uff1a\u9ea6\u3068\u306f\u4f55\u3067\u3059\u304b\u3002\nA1\uff1a grain\n\nQ2\uff1a bran\nA2\uff1a husk",
        "\u95ee\uff1a grain\n\u7b54\uff1a rye\n\n\u95ee\uff1a bran\n\u7b54\uff1a husk",
    ],
)
def test_questions_are_found_as_detection_finds_them(text: str) -> None:
    first, second = texts(text, "qa")
    assert "grain" in first
    assert "husk" in second


def test_columns_of_questions_are_those_that_detection_finds() -> None:
    first, second = texts("Pregunta,Respuesta\nWhat is rye?,A grain.\nWhat is bran?,The husk.\n", "qa", name="a.csv")
    assert first.endswith("| What is rye? | A grain. |")
    assert second == "| What is bran? | The husk. |"


ROWS = "".join(f"| Part {i} | ground in the year {1900 + i} |\n" for i in range(30))
GRID = f"| Part | Note |\n|---|---|\n{ROWS}"


@pytest.mark.parametrize(
    "above", ["Table 1: Parts of the mill.", "Parts of the mill", "The parts are:", "*Table 1. Parts.*"]
)
def test_a_table_stands_with_its_caption_which_all_of_its_rows_say(above: str) -> None:
    first, second, *rest = split(f"# Mill\n\n{FILLER}\n\n{above}\n\n{GRID}", "table")
    assert first.text.endswith(FILLER.strip())
    assert second.text.startswith(f"{above}\n\n| Part | Note |\n|---|---|\n| Part 0 |")
    assert {one.context for one in rest} == {f"Mill\n{above.strip('*')}\nPart | Note"}


def test_a_caption_below_a_table_stands_with_its_last_rows() -> None:
    *_, last, after = texts(f"{GRID}\nTable 1: Parts of the mill.\n\n{FILLER}", "table")
    assert last.endswith("| Part 29 | ground in the year 1929 |\n\nTable 1: Parts of the mill.")
    assert after == FILLER.strip()


def test_headings_stand_with_the_header_of_a_table_where_its_first_row_is_too_long() -> None:
    row = f"| {FILLER * 2}|\n"
    first, second, *_ = split(
        f"# The mill and its parts by name and by number\n\n| Note |\n|---|\n{row}{row}", "table", 40
    )
    assert first.text == "# The mill and its parts by name and by number\n\n| Note |\n|---|"
    assert second.text.startswith("| The mill grinds")
    assert second.context.endswith("\nNote")


@pytest.mark.parametrize("size", [16, 24, 64])
def test_no_caption_makes_a_chunk_too_long(size: int) -> None:
    text = f"# {FILLER}\n\nTable 1: {FILLER}{FILLER}\n\n{GRID}\nTable 2: {FILLER}\n"
    found = split(text, "table", size)
    read = [reading(one.text, one.unread) for one in found]
    assert max(len(tokenizer().encode(one, add_special_tokens=False)) for one in read) <= size


def test_an_empty_heading_of_a_contract_goes_with_the_next_one() -> None:
    found = texts(
        "# Contract\n\nOf today.\n\n## CLAUSES\n\n## 1. Subject\n\n1.1 The mill.\n\n## 2. Term\n\nA year.\n", "legal"
    )
    assert found[1:] == ["## CLAUSES\n\n## 1. Subject\n\n1.1 The mill.", "## 2. Term\n\nA year."]


def test_slides_of_markdown_begin_after_rules() -> None:
    slides = ["# Mill", "## Grain\n\n- rye", "## Water\n\n- brook", "# Questions?"]
    deck = "\n\n---\n\n".join(slides)
    assert texts(f"---\ntitle: Mill\n---\n\n{deck}\n", "slides") == slides


def test_a_long_paragraph_that_announces_stands_with_what_it_announces() -> None:
    code = "```\n" + "grind --all\n" * 12 + "```"
    for number in range(6):  # which of two seams alike is closed first, the text decides
        announced = f"{number} times. {FILLER * 4}Do this:\n\n{code}"
        assert texts(f"{FILLER * 5}\n\n{announced}\n", "structure")[-1] == announced


def test_a_number_stands_with_the_sentence_that_it_counts() -> None:
    text = f"1. {FILLER * 2}\n2. {FILLER * 2}\n10. Dr. Rye came. He left.\n"
    for strategy in ("structure", "recursive", "sentence"):
        assert not [one for one in texts(text, strategy, 24) if re.search(r"(?:\A|\n)\d+\.\Z", one)], strategy


def test_a_fence_is_no_sentence() -> None:
    found = texts(f"# Mill\n\n{FILLER}\n\n```sh\ngrind rye\ngrind oat\n```\n\n{FILLER}\n", "hierarchical")
    assert [one for one in found if one.startswith("```") or one.endswith("```")][-2:] == [
        "```sh\ngrind rye",
        "grind oat\n```",
    ]


def rows_of(name: str) -> str:
    return "| State | Share |\n|---|---|\n" + "\n".join(f"| {name} {number} | {number}.5 |" for number in range(12))


MEN, WOMEN = "Table 6: Households by literacy of men", "Table 7: Households by literacy of women"
UNITS = "In percent of all households of the state that were asked in the year before."


@pytest.mark.parametrize("strategy", ["table", "structure"])
@pytest.mark.parametrize("between", ["", f"{UNITS}\n\n"], ids=["beside", "with-units"])
def test_a_caption_stands_with_its_table_wherever_a_document_has_them(strategy: str, between: str) -> None:
    above = f"{MEN}\n\n{between}{rows_of('Men')}\n\n{WOMEN}\n\n{between}{rows_of('Women')}\n"
    below = f"{rows_of('Men')}\n\n{MEN}\n\n{rows_of('Women')}\n\n{WOMEN}\n"
    for text in (above, below):
        for one in split(text, strategy, 120):
            said = one.text + one.context
            assert not ("Men 3 |" in one.text and WOMEN in said)
            assert not ("Women 3 |" in one.text and MEN in said)
    first, second = split(below, strategy, 120)
    assert first.text.endswith(MEN)
    assert second.text.endswith(WOMEN)


def test_every_chunk_of_a_table_has_the_caption_below_it() -> None:
    text = f"{rows_of('Men')}\n\n{MEN}\n\n{rows_of('Women')}\n\n{WOMEN}\n"
    first, *found = [one for one in split(text, "table", 50) if "| Men" in one.text]
    assert MEN in first.context
    assert found
    assert all(MEN in one.context + one.text for one in found)


def test_a_caption_is_bound_across_one_block_and_within_its_section_alone() -> None:
    near = f"{MEN}\n\n{UNITS}\n\n{rows_of('Men')}\n"
    far = f"{MEN}\n\n{UNITS}\n\n{UNITS}\n\n{rows_of('Men')}\n"
    apart = f"{MEN}\n\n## Women\n\n{rows_of('Women')}\n"
    bound = [bool(bound_captions(reading_of(text)).of) for text in (near, far, apart)]
    assert bound == [True, False, False]


def test_words_that_begin_like_a_label_are_no_caption() -> None:
    assert all(map(is_caption, ("Table 3: Mills", "**Table IV.** Mills", "Tab. A1 Mills", "Tableau 2. Moulins")))
    assert not any(map(is_caption, ("Table views are slow", "Figure in the text", "Table 3 " + "shows mills " * 20)))
