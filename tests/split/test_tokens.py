"""Counts by look-up are those of the tokenizer."""

import json
import string
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers

from docmill.storage.errors import ConfigError
from docmill.tasks.counting.counter import Counter, counter_of
from docmill.tasks.counting.tokens import CHARACTER_WIDTH, Tokens, load_tokenizer, word_bounds
from tests.kit.documents import WORDS, texts, tokenizer
from tests.kit.drawing import examples


def count(text: str, by: Tokenizer) -> int:
    return len(by.encode(text, add_special_tokens=False))


@cache
def byte_pairs() -> Tokenizer:
    """Return a tokenizer in the manner of GPT-2's: spaces belong to words, so words do not add up."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        [" the mill\n\n grinds"] * 50,
        trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False),
    )
    return made


@cache
def cased(folds: bool) -> Tokenizer:
    """Return the tokenizer of the model, or one like it for which the case of letters matters."""
    parts = json.loads(tokenizer().to_str())
    parts["normalizer"]["lowercase"] = folds
    return Tokenizer.from_str(json.dumps(parts))


@examples(300)
@given(text=texts(), cuts=st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_any_span_has_its_exact_count(text: str, cuts: list[float]) -> None:
    start, end = sorted(round(cut * len(text)) for cut in cuts)
    for by in (tokenizer(), byte_pairs()):
        tokens = Tokens(text, by)
        assert tokens.exact([(start, end), (0, len(text))]) == [count(text[start:end], by), count(text, by)]


@examples(300)
@given(
    st.lists(st.sampled_from(["-" * 9, "|=", "[SEP]", "[", "mill", "ß", "\x00", " "]), min_size=20, max_size=40),
    st.data(),
)
def test_any_span_of_a_long_rule_has_its_exact_count(parts: list[str], data: st.DataObject) -> None:
    text = "| a |\n" + "".join(parts) + "\n"
    tokens = Tokens(text, tokenizer())
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    assert tokens.exact([(start, end), (0, len(text))]) == [
        count(text[a:b], tokenizer()) for a, b in ((start, end), (0, len(text)))
    ]


@examples(200)
@given(texts())
@example("0\x1b0")
@example("0\x000 \x7f1")
def test_words_add_up_only_where_the_tokenizer_keeps_them_apart(text: str) -> None:
    assert counter_of(tokenizer()).count(text) == count(text, tokenizer())
    assert counter_of(byte_pairs()).count(text) == count(text, byte_pairs())


def test_it_is_known_which_tokenizers_keep_words_apart() -> None:
    assert Counter(tokenizer()).local
    assert not Counter(byte_pairs()).local


@examples(300)
@given(st.text(string.ascii_letters + string.digits, min_size=1, max_size=130), st.sampled_from([True, False]))
def test_a_run_of_plain_letters_falls_into_the_pieces_that_the_tokenizer_finds(run: str, folds: bool) -> None:
    assert counter_of(cased(folds)).count(run) == count(run, cased(folds))


def test_a_token_that_is_looked_for_after_normalizing_makes_words_depend_on_their_neighbours() -> None:
    other = Tokenizer.from_str(tokenizer().to_str())
    other.add_tokens([AddedToken("mill", normalized=True)])
    assert not Counter(other).local


@examples(100)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=9), max_size=30).map("".join))
def test_words_are_those_of_python(text: str) -> None:
    starts, ends = word_bounds(text)
    assert [text[a:b] for a, b in zip(starts, ends, strict=True)] == text.split()


@examples(100)
@given(text=texts(), tokens=st.integers(1, 50))
def test_reach_is_the_last_position_that_fits(text: str, tokens: int) -> None:
    counted = Tokens(text, tokenizer())
    end = counted.reach(0, tokens)
    assert counted.count(0, end) <= tokens
    assert end == len(text) or counted.count(0, end + 1) > tokens


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["word ", "x", "a.b", "{}", "水车。", "日本語", "é"])
def test_a_megabyte_without_line_ends_is_counted_as_the_tokenizer_counts(unit: str) -> None:
    text = unit * (300_000 // len(unit))
    counted = Tokens(text, tokenizer())
    assert counted.exact([(0, len(text))]) == [count(text, tokenizer())]


def test_a_model_without_a_fast_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tokenizer\.json: no such file"):
        load_tokenizer(str(tmp_path))


@examples(100)
@given(text=texts(), width=st.integers(0, 200), start=st.floats(0, 1))
def test_widths_grow_by_a_character_or_by_a_blank_of_padding(text: str, width: int, start: float) -> None:
    for by in (tokenizer(), byte_pairs()):
        tokens, begin = Tokens(text, by), round(start * len(text))
        widths = tokens.widths(range(len(text) + 1))
        assert {after - before for before, after in pairwise(widths)} <= {1, CHARACTER_WIDTH}
        end = tokens.within(begin, len(text), width)
        assert begin <= end
        assert widths[end] - widths[begin] <= width
        assert end == len(text) or widths[end + 1] - widths[begin] > width


def test_padding_takes_a_quarter_of_its_room() -> None:
    padded = Tokens("| rye" + " " * 40 + "| 2 |", tokenizer(), "  rye" + " " * 40 + "  2  ")
    words = Tokens("rye and oats", tokenizer())
    assert words.widths([0, 12]) == [0, 12 * CHARACTER_WIDTH]
    assert padded.widths([0, 50])[1] == 50 + (CHARACTER_WIDTH - 1) * len("rye 2 ")
