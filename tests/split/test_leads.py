"""A heading is never the end of a chunk, and a bracket never parted from its number."""

import pytest

from docmill.storage.schema import Parsed
from docmill.storage.search.sentences.sentence_spans import sentence_starts
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.split.spans.span import Span
from tests.kit.documents import document, tokenizer

SENTENCES = "The miller describes the values recorded in spring and all of the others that were not. " * 12
LISTING = "```\n" + "\n".join(f"value_{number} = {number} * area" for number in range(24)) + "\n```"


def chunks(parsed: Parsed, strategy: str, size: int) -> list[str]:
    route = Route(strategy, {"size": size})
    return [parsed.text[one.start_char : one.end_char] for one in chunk(parsed, "legal", route, tokenizer(), OPTIONS)]


OPTIONS = ChunkOptions(token_limit=512)


@pytest.mark.parametrize("strategy", ["structure", "legal", "recursive", "sentence", "code"])
@pytest.mark.parametrize("size", range(40, 130, 10))
def test_a_heading_is_never_the_end_of_a_chunk(strategy: str, size: int) -> None:
    blocks: list[tuple[str, str] | tuple[str, str, int]] = []
    for number in range(1, 7):
        blocks.append(("title", f"# {number}. What is said about the mill and its wheels", 1))
        blocks.append(("code", LISTING) if number == 3 else ("paragraph", SENTENCES[: 150 * number].strip()))
    parsed = document(*blocks)
    ends = [one.rstrip().splitlines()[-1] for one in chunks(parsed, strategy, size)]
    assert not [line for line in ends if line.startswith("# ")]


@pytest.mark.parametrize("strategy", ["recursive", "sentence"])
def test_a_heading_stays_with_text_that_begins_on_the_next_line(strategy: str) -> None:
    gaps = "\n" * 4, "\n"
    sections = "\n".join(
        f"## {number}. What is said{gaps[number % 2]}{SENTENCES[: 95 * number]}" for number in range(1, 9)
    )
    parsed = parse(sections.encode(), FileType("markdown"), ParseOptions())
    for size in range(24, 80, 4):
        ends = [one.rstrip().splitlines()[-1] for one in chunks(parsed, strategy, size)]
        assert not [line for line in ends if line.startswith("## ")]


@pytest.mark.parametrize(
    "text",
    [
        "The Supplier shall deliver. (iv) The Buyer shall pay. (v) Both shall agree.",
        "The parties agree that: (i) the fee is due; (ii) it is paid! (iii) No. 5 is. (iv) yes?",
        "(i) one.(ii) two.(iii) three (\niv) four",
    ],
)
def test_a_bracket_is_never_parted_from_its_number(text: str) -> None:
    places = [0, *sentence_starts(text, *Span(0, len(text))), len(text)]
    assert len(places) > 3
    assert not [place for place in places[1:] if text[:place].rstrip().endswith("(")]


def test_a_list_of_contents_is_in_no_chunk() -> None:
    parsed = document(
        ("title", "# Contents", 1), ("toc", "1 Mills .... 2"), ("title", "# 1 Mills", 1), ("paragraph", "Oak.")
    )
    found = chunks(parsed, "structure", 60)
    assert found == ["# Contents", "# 1 Mills\n\nOak."]


def test_the_header_of_a_table_is_told_whole_or_not_at_all() -> None:
    columns = [f"reading number {number}" for number in range(9)]
    rows = "\n".join("| " + " | ".join(f"{row}.{column}" for column in range(9)) + " |" for row in range(40))
    table = f"| {' | '.join(columns)} |\n{rows}"
    parsed = document(
        ("title", "# Everything that was read at the upper gate in the spring of 1911", 1), ("table", table)
    )
    for budget in (20, 44, 60):
        route, options = Route("structure", {"size": 100}), ChunkOptions(token_limit=512, context_tokens=budget)
        contexts = {one.context for one in chunk(parsed, "table", route, tokenizer(), options)[1:]}
        assert contexts
        assert all(" | ".join(columns) in one or " | " not in one for one in contexts)
        assert any(" | " in one for one in contexts)
    wide = "| " + " | ".join(f"reading number {number}" for number in range(45)) + " |"
    parsed = document(("table", f"{wide}\n{rows}"))
    route, options = Route("structure", {"size": 100}), ChunkOptions(token_limit=512)
    contexts = {one.context for one in chunk(parsed, "table", route, tokenizer(), options)[1:]}
    assert contexts == {"", " | ".join(columns)}  # the columns that the rows fill
