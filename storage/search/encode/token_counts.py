"""Token counts: count the tokens of texts, and how much of a text a model can read, using only its tokenizer.

A tokenizer cuts an unknown word into short pieces, or replaces it with the same token as all others. Texts in a
language that the model was not made for are full of such words, and their vectors are then nearly random.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docmill.storage.errors import ConfigError
from docmill.storage.files import write_whole
from docmill.storage.keys import hash_bytes
from docmill.storage.search.encode.space import cache_file

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_SHORT = 3
"""Pieces of words with fewer letters carry no meaning. The share of letters in such pieces is .00 to .08 for English
questions and .22 to .80 in four languages that the packaged model does not know; with 2 or 4, the ranges are closer."""
_SHORT_UNSPACED = 2
"""As `_SHORT`, for scripts without spaces: their words are short, and some tokenizers take a sentence for one word."""
_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
"""Thai, Lao, Myanmar, Khmer, Kana and Han."""
_TOKENIZERS = 4
"""Tokenizers that a process keeps: the embedding model's and one that measures sizes, each for two stores."""


@lru_cache(maxsize=_TOKENIZERS)
def load_tokenizer(model_dir: str) -> "Tokenizer":
    """Return the tokenizer of a model's folder; raise `ConfigError` if there is none."""
    path = Path(model_dir) / "tokenizer.json"
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; a model needs a fast tokenizer, saved as tokenizer.json")
    return read_tokenizer(path)


def read_tokenizer(path: Path) -> "Tokenizer":
    """Return the tokenizer of a file.

    It neither pads nor truncates: a text that is too long must be reported, not cut silently.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def token_counts(texts: Sequence[str], model_dir: str) -> list[int]:
    """Return the number of tokens of each text, without special tokens, as a model counts them."""
    found = load_tokenizer(model_dir).encode_batch_fast(list(texts), add_special_tokens=False)
    return [len(one.ids) for one in found]


def unread_shares(texts: Sequence[str], model_dir: str) -> list[float]:
    """Return for each text the share of its letters that the model of a folder cannot read, in [0, 1].

    These are letters in unknown tokens, and in pieces of words too short to mean anything. Without letters, it is 0.
    """
    tokenizer = load_tokenizer(model_dir)
    unknown = _unknown(tokenizer)
    if len(texts) == 1:  # a batch waits for threads, which takes longer than reading one question
        return [_unread(tokenizer.encode(texts[0], add_special_tokens=False), texts[0], unknown)]
    found = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return [_unread(one, text, unknown) for one, text in zip(found, texts, strict=True)]


def _unknown(tokenizer: Any) -> int | None:
    """Return the id of the token for unknown text, or None if the model has none."""
    name = getattr(tokenizer.model, "unk_token", None)
    return None if name is None else tokenizer.token_to_id(name)


def _unread(tokens: "Encoding", text: str, unknown: int | None) -> float:
    pieces, letters, unread = Counter(tokens.word_ids), 0, 0
    for number, (start, end), word in zip(tokens.ids, tokens.offsets, tokens.word_ids, strict=True):
        part = text[start:end]
        size = sum(map(str.isalpha, part))
        letters += size
        short = _SHORT_UNSPACED if re.search(_UNSPACED, part) else _SHORT
        if number == unknown or (pieces[word] > 1 and end - start < short):
            unread += size
    return unread / letters if letters else 0.0


# The cautious tokenizer counts a token for every two letters, every two white spaces, and every other ASCII character;
# a single space between words counts none. A character beyond ASCII counts its bytes, because no byte-level tokenizer
# makes more of it. In no passage of 800 characters from tests/corpus and storage/ does the packaged model count more,
# and in all of them it counts over half as many; a test checks this. With a token for every three letters, the model
# counted more in 5 of 1073 passages.
_BYTES = (("[\u0080-\u07ff]", 2), ("[\u0800-\uffff]", 3), ("[\U00010000-\U0010ffff]", 4))
_BETWEEN_WORDS = r"(?<=\S) (?=\S)"
_PIECES = r"[A-Za-z]{1,2}|\s{1,2}|[^A-Za-z\s]"


def _split(pattern: str, behavior: str) -> dict[str, object]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}


_TOKENIZER: dict[str, object] = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": {
        "type": "Sequence",
        "normalizers": [
            {"type": "Replace", "pattern": {"Regex": characters}, "content": "\x01" * count}
            for characters, count in _BYTES
        ],
    },
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [_split(_BETWEEN_WORDS, "Removed"), _split(_PIECES, "Isolated")],
    },
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"},
}


def cautious_folder() -> Path:
    """Return the folder of the cautious tokenizer's file in the user's cache, where worker processes read it."""
    data = json.dumps(_TOKENIZER, indent=1).encode("ascii")
    target = cache_file(f"tokenizers/cautious-{hash_bytes(data)}", "tokenizer.json")
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, data)
    return target.parent
