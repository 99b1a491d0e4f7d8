"""Chunks say where they stand and fit the model."""

from dataclasses import replace

import pytest
from hypothesis import given

from docmill.storage.errors import ConfigError
from docmill.storage.schema import Parsed, indexed_text
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions, chunker_key
from docmill.tasks.chunking.route import Route
from docmill.tasks.context.context_input import context_input_of
from docmill.tasks.context.structural import structural
from docmill.tasks.counting.counter import Counter as Counting
from docmill.tasks.split.parts.outline import Outline
from docmill.tasks.split.spans.span import Span
from docmill.testing import new_chunks_of_edits
from tests.kit.documents import document, documents, must_cover, tokenizer
from tests.kit.drawing import examples
from tests.split.test_tokens import byte_pairs

LIMIT = ChunkOptions(256)
STRUCTURE = Route("structure")


def test_a_chunk_knows_its_headings_line_page_and_strategy() -> None:
    text = "Words of the section, a good many of them. " * 6
    parsed = document(
        ("title", "# Guide", 1), ("paragraph", text), ("title", "## Setup", 2), ("paragraph", text), title="Manual"
    )
    parsed = replace(parsed, elements=tuple(replace(e, page=4 + (i > 1)) for i, e in enumerate(parsed.elements)))
    first, second = chunk(parsed, "technical", STRUCTURE, tokenizer(), LIMIT)
    assert (first.headings, second.headings) == (("Guide",), ("Guide", "Setup"))
    assert (first.context, second.context) == ("Manual", "Manual › Guide")
    assert (first.line, second.line) == (1, 5)
    assert (first.page, second.page) == (4, 5)
    assert (second.content_type, second.strategy) == ("technical", "structure")


def test_a_title_that_is_also_the_first_heading_is_said_once() -> None:
    text = "Words of the section, a good many of them. " * 12
    parsed = document(("title", "# The Mill", 1), ("paragraph", text), ("paragraph", text), title="The mill")
    assert [draft.context for draft in chunk(parsed, "", STRUCTURE, tokenizer(), LIMIT)][-1] == "The Mill"


def test_without_context_text_alone_is_indexed() -> None:
    parsed = document(("title", "# Guide", 1), ("paragraph", "Words."), title="Manual")
    (only,) = chunk(parsed, "", STRUCTURE, tokenizer(), ChunkOptions(256, "none", 0))
    assert (only.context, only.headings) == ("", ("Guide",))


@pytest.mark.parametrize("budget", [0, 1, 2, 5, 9, 20, 100])
def test_a_context_keeps_to_its_budget_and_drops_the_middle_first(budget: int) -> None:
    levels = [("title", f"{'#' * level} Heading of level {level}", level) for level in range(1, 7)]
    parsed = document(*levels, ("paragraph", "Words."), title="The title of the document")
    counter = Counting(tokenizer())
    context = structural(
        context_input_of(parsed, Outline(parsed), counter, budget), Span(len(parsed.text) - 6, len(parsed.text))
    )
    assert counter.count(context) <= budget
    assert budget < 5 or context.endswith("level 6")
    assert budget < 20 or context.startswith("The title")


@examples(60)
@given(documents())
def test_a_tokenizer_whose_words_do_not_add_up_is_obeyed_as_well(parsed: Parsed) -> None:
    by = byte_pairs()
    found = chunk(parsed, "", STRUCTURE, by, ChunkOptions(64, context_tokens=8))
    read = [indexed_text(draft.context, draft.text, draft.unread) for draft in found]
    assert [draft.tokens for draft in found] == [len(by.encode(text)) for text in read]
    assert all(draft.tokens <= 64 for draft in found)
    assert must_cover(parsed) <= {i for draft in found for i in range(draft.start_char, draft.end_char)}


@pytest.mark.parametrize("strategy", ["recursive", "structure", "sentence"])
def test_one_sentence_more_makes_few_new_chunks(strategy: str) -> None:
    new = new_chunks_of_edits(strategy, {})
    assert new[int(0.95 * len(new))] <= 3
    assert new[-1] <= 6


def test_a_key_changes_with_all_that_chunks_depend_on() -> None:
    keys = {
        chunker_key(STRUCTURE, LIMIT, "a"),
        chunker_key(STRUCTURE, LIMIT, "b"),
        chunker_key(Route("recursive"), LIMIT, "a"),
        chunker_key(Route("structure", {"size": 100}), LIMIT, "a"),
        chunker_key(STRUCTURE, ChunkOptions(512), "a"),
        chunker_key(STRUCTURE, ChunkOptions(256, "none"), "a"),
        chunker_key(STRUCTURE, ChunkOptions(256, context_tokens=20), "a"),
    }
    assert len(keys) == 7
    assert chunker_key(Route("structure", {"size": 200}), LIMIT, "a") in keys


def test_wrong_options_say_what_would_be_right() -> None:
    with pytest.raises(ConfigError, match="nearest is 'structural'"):
        ChunkOptions(256, "structral")
    with pytest.raises(ConfigError, match=r"context_tokens must be in \[0, 232\]"):
        ChunkOptions(256, context_tokens=250)
