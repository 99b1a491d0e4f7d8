"""Token counts: how many tokens of a model texts have, and how much of a text it can read, by its tokenizer alone.

A tokenizer cuts a word that it does not know into short pieces, or replaces it by one sign for all of them. Texts of a
language that the model was not made for are full of such words, and their vectors then differ by chance.
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
"""Letters below which a piece of a word says nothing. Of questions, the share in such pieces is .00 to .08 in English
and .22 to .80 in four languages that the packaged model does not know; with 2 or 4 it parts them less."""
_SHORT_UNSPACED = 2
"""The same for scripts without spaces, whose words are short, and whose sentences are one word for some tokenizers."""
_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
"""Thai, Lao, Myanmar, Khmer, Kana and Han."""
_TOKENIZERS = 4
"""Tokenizers that a process keeps: the embedding model's, one to measure sizes by, and the same of another store."""


@lru_cache(maxsize=_TOKENIZERS)
def load_tokenizer(model_dir: str) -> "Tokenizer":
    """Return the tokenizer of a model's folder; raise ConfigError without one."""
    path = Path(model_dir) / "tokenizer.json"
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; a model needs a fast tokenizer, saved as tokenizer.json")
    return read_tokenizer(path)


def read_tokenizer(path: Path) -> "Tokenizer":
    """Return the tokenizer of a file.

    It does not pad, nor truncate: a text that is too long has to be told, and not cut in silence.
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

    These are letters in unknown tokens, and in pieces of words that are too short to mean anything. 0 without letters.
    """
    tokenizer = load_tokenizer(model_dir)
    unknown = _unknown(tokenizer)
    if len(texts) == 1:  # a batch waits for threads, which takes longer than to read one question
        return [_unread(tokenizer.encode(texts[0], add_special_tokens=False), texts[0], unknown)]
    found = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return [_unread(one, text, unknown) for one, text in zip(found, texts, strict=True)]


def _unknown(tokenizer: Any) -> int | None:
    """Return the id of the token that stands for what the model does not know, or None if it has none."""
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


# Two letters are a token, two white spaces are unless they are one between words, and every other ASCII character is.
# A character beyond ASCII is as many tokens as it has bytes, for no byte-level tokenizer makes more of it. The packaged
# model counts no more in any of the passages of 800 characters of tests/corpus and storage/, and over half as many in
# all of them, which a test says. With three letters a token, it counted more in 5 of 1073 passages.
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
    """Return the folder of the tokenizer's file in the user's cache, which worker processes read."""
    data = json.dumps(_TOKENIZER, indent=1).encode("ascii")
    target = cache_file(f"tokenizers/cautious-{hash_bytes(data)}", "tokenizer.json")
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, data)
    return target.parent
