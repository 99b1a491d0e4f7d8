"""Cautious tokens: a tokenizer for a model that has none on this machine; it counts more tokens than models do."""

import json
from pathlib import Path

from docmill.storage.files import write_whole
from docmill.storage.keys import hash_bytes
from docmill.storage.search.encode.space import cache_file

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
