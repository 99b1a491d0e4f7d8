"""What can be asked of every strategy: bounds that `optimize` keeps, summaries of sections, words of the neighbours."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import ConfigError
from docmill.storage.schema import Draft, Parsed, indexed_text
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.split.strategies import options_of
from tests.kit.documents import document, documents, tokenizer
from tests.kit.drawing import examples

SENTENCES = [
    "The mill grinds wheat for the town.",
    "Wheat comes to the mill from the hills by cart.",
    "Sparrows wait on the roof.",
    "The town pays the mill in flour and wheat.",
    "A cat sleeps there.",
    "Nobody counts the stairs.",
]


def split(parsed: Parsed, strategy: str, contextualizer: str = "structural", **options: Any) -> list[Draft]:
    return chunk(parsed, "", Route(strategy, options), tokenizer(), ChunkOptions(256, contextualizer))


def test_chunks_that_are_too_small_join_a_neighbour_and_say_so() -> None:
    parsed = document(*[("paragraph", sentence) for sentence in SENTENCES])
    found = split(parsed, "separator", optimize={"min_tokens": 15})
    assert all(draft.tokens >= 15 for draft in found[:-1])
    assert [draft.note for draft in found if draft.note.startswith("merged")] != []
    assert not any(draft.note for draft in split(parsed, "separator"))


def test_chunks_that_are_too_large_are_cut_between_sentences_and_say_so() -> None:
    parsed = document(("paragraph", " ".join(SENTENCES)))
    found = split(parsed, "fixed", "none", size=120, optimize={"min_tokens": 0, "max_tokens": 30})
    assert all(draft.tokens <= 32 and draft.text.endswith(".") for draft in found)
    assert {draft.note for draft in found} == {f"split {len(found)}"}


def test_chunks_of_two_sections_are_never_joined() -> None:
    parsed = document(("title", "# A", 1), ("paragraph", "One."), ("title", "# B", 1), ("paragraph", "Two."))
    assert [d.text for d in split(parsed, "structure", small=0, optimize={})] == ["# A\n\nOne.", "# B\n\nTwo."]


@examples(30)
@given(documents(), st.sampled_from([32, 256]))
def test_words_of_the_neighbours_never_make_a_chunk_too_long(parsed: Parsed, limit: int) -> None:
    for draft in chunk(parsed, "", Route("structure"), tokenizer(), ChunkOptions(limit, "window", 8)):
        assert draft.tokens == len(tokenizer().encode(indexed_text(draft.context, draft.text, draft.unread))) <= limit


@pytest.mark.parametrize("wrong", [5, {"least": 3}, {"min_tokens": -1}, {"min_tokens": 90, "max_tokens": 40}])
def test_wrong_bounds_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="structure: optimize"):
        options_of("structure", {"optimize": wrong})


def test_a_section_is_summed_up_by_its_most_central_sentence() -> None:
    parsed = document(
        ("title", "# Mill", 1),
        ("paragraph", " ".join(SENTENCES)),
        ("title", "# Short", 1),
        ("paragraph", "Too short to sum up."),
    )
    found = split(parsed, "structure", summaries=True)
    (summary,) = [draft for draft in found if draft.role == "summary"]
    assert summary.text in SENTENCES
    assert "wheat" in summary.text.lower()
    assert summary.context.startswith("Mill\n")
    assert any(other in summary.context for other in SENTENCES if other != summary.text)
    assert [draft for draft in found if not draft.role] == split(parsed, "structure")


def test_a_window_says_a_sentence_of_each_neighbour() -> None:
    parsed = document(*[("paragraph", sentence) for sentence in SENTENCES])
    found = split(parsed, "separator", "window")
    assert found[0].context in SENTENCES
    about, before, after = found[2].context.split("\n")
    assert about == SENTENCES[0]
    assert before in SENTENCES[:2]
    assert after in SENTENCES[3:]
    assert all(draft.tokens <= 256 for draft in found)
