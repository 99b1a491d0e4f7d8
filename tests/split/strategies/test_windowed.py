"""Windows, groups of sentences and naive splits cut where their options say."""

import itertools
import random
from typing import Any

import pytest

from docmill.storage.errors import ConfigError
from docmill.storage.schema import Parsed
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.split.strategies import options_of
from tests.kit.documents import document, tokenizer

SENTENCES = [f"Sentence number {i} says what the mill grinds today." for i in range(60)]
TEXT = " ".join(SENTENCES)


def split(text: str | Parsed, strategy: str, **options: Any) -> list[str]:
    parsed = Parsed(text, ()) if isinstance(text, str) else text
    return [d.text for d in chunk(parsed, "", Route(strategy, options), tokenizer(), ChunkOptions(256))]


def test_fixed_characters_are_so_many_and_share_so_many() -> None:
    found = split("abcdefghij" * 30, "fixed", size=100, unit="characters", overlap="20%")
    assert [len(text) for text in found] == [100, 100, 100, 60]
    assert all(a[-20:] == b[:20] for a, b in itertools.pairwise(found))


@pytest.mark.parametrize("unit", ["words", "tokens"])
def test_fixed_words_and_tokens_are_never_cut(unit: str) -> None:
    found = split(TEXT, "fixed", size=30, unit=unit, overlap=5)
    assert {word for text in found for word in text.split()} == set(TEXT.split())
    if unit == "words":
        assert [len(text.split()) for text in found[:-1]] == [30] * (len(found) - 1)
        assert found[1].split()[:5] == found[0].split()[-5:]


def test_fixed_chunks_respect_sentences() -> None:
    found = split(TEXT, "fixed", size=400, unit="characters", overlap=60, respect_sentences=True)
    assert all(text.startswith("Sentence number") and text.endswith("today.") for text in found)
    assert all(0 < len(text) <= 400 for text in found)
    assert found[1].startswith(found[0][found[0].rindex("Sentence") :])


def test_fixed_chunks_stay_in_their_parent_document() -> None:
    lines = "\n".join(SENTENCES)
    found = split(lines, "fixed", size=200, unit="characters", max_doc_size=500)
    ends = [text for text in found if text.endswith("today.")]
    assert len(ends) >= len(lines) // 500
    assert all(len(text) <= 200 for text in found)


def test_a_window_slides_by_its_stride() -> None:
    found = split(TEXT, "sliding_window", size=40, unit="words", stride=10)
    assert found[1].split()[:30] == found[0].split()[10:]
    assert len(found) == (len(TEXT.split()) - 40) // 10 + 1 + bool((len(TEXT.split()) - 40) % 10)


@pytest.mark.parametrize("strategy", ["fixed", "sliding_window"])
def test_anchored_windows_fall_again_as_before_after_an_edit(strategy: str) -> None:
    rng = random.Random(5)
    words = [f"{rng.choice('bdfgklmnprst')}{rng.choice('aeiou')}{rng.choice('lmnrst')}{i % 97}" for i in range(6000)]
    edited = [*words[:200], "new", *words[200:]]
    before, after = (split(" ".join(some), strategy, size=40, unit="words", anchored=True) for some in (words, edited))
    assert len(set(after) - set(before)) <= 12
    plain = [split(" ".join(some), strategy, size=40, unit="words") for some in (words, edited)]
    assert len(set(plain[1]) - set(plain[0])) > 30


def test_sentences_are_grouped_whole_and_repeated() -> None:
    found = split(TEXT, "sentence", size=80, overlap=1)
    assert all(text.startswith("Sentence number") and text.endswith("today.") for text in found)
    assert all(b.startswith(a[a.rindex("Sentence") :]) for a, b in itertools.pairwise(found))


def test_a_separator_is_obeyed_and_nothing_is_merged() -> None:
    assert split("a;b;\nc\n\nd", "separator", separator=";") == ["a;", "b;", "c\n\nd"]
    assert split(document(("paragraph", "One."), ("paragraph", "Two.")), "separator") == ["One.", "Two."]


@pytest.mark.parametrize(
    ("strategy", "options", "message"),
    [
        ("fixed", {"overlap": 200}, r"overlap must be in \[0, 188\] where size is 200, got 200"),
        ("fixed", {"overlap": "many"}, "a percentage such as"),
        ("fixed", {"unit": "bytes"}, "unit must be one of tokens, words, characters, got 'bytes'"),
        ("fixed", {"max_doc_size": 20}, "max_doc_size must be 0 or at least size=200"),
        ("fixed", {"anchored": 1}, "anchored must be true or false, got 1"),
        ("sliding_window", {"stride": 300}, r"stride must be an integer in \[12, 200\], got 300"),
        ("sentence", {"overlap": 99}, r"overlap must be an integer in \[0, 20\]"),
        ("separator", {"separator": ""}, "separator must be a non-empty string"),
    ],
)
def test_a_wrong_option_says_what_would_be_right(strategy: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        options_of(strategy, options)
