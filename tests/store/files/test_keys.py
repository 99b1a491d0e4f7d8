"""Keys hang on content alone."""

from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.keys import bucket_of, chunk_keys, document_key, embedding_key, key_of
from tests.kit.drawing import examples


def test_repeated_text_has_distinct_stable_ids() -> None:
    document = document_key("a.md")
    before = chunk_keys(document, ["same", "other", "same"])
    after = chunk_keys(document, ["new", "same", "other", "same"])
    assert len(set(before)) == 3
    assert after[1:] == before


@examples(100)
@given(st.lists(st.text(max_size=20), max_size=20), st.integers(0, 12))
def test_a_chunk_lies_in_the_bucket_of_its_document(texts: list[str], power: int) -> None:
    document = document_key("folder/a.md")
    buckets = 2**power
    assert {bucket_of(key, buckets) for key in chunk_keys(document, texts)} <= {bucket_of(document, buckets)}


@examples(100)
@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_only_equal_parts_have_equal_keys(left: list[str], right: list[str]) -> None:
    assert (key_of(*left) == key_of(*right)) == (left == right)


def test_the_key_of_a_vector_is_made_of_text_and_space_and_is_that_of_older_stores() -> None:
    assert embedding_key("text", "space") == "329b453787dec2a1678ebbe406ad7b7d"
    assert embedding_key("text", "space") != embedding_key("text", "other")
